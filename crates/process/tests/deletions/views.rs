//! Removals that are passed on through views count like the removals that caused them.

use super::*;

/// A controller that puts every widget into the view `V`.
fn fills(name: &str) -> Value {
    let view = copy(name, "");
    set(&view, &["target"], json!({"kind": "V"}))
}

/// A controller that derives a config map from every object of its own Operator's view `V`.
fn reads(name: &str) -> Value {
    let reader = copy(name, "");
    set(&reader, &["sources"], json!([{"kind": "V"}]))
}

/// The same for the view of another Operator.
fn reads_of(operator: &str, name: &str) -> Value {
    from(&format!("{operator}.view.dcontroller.io"), "V", name, "")
}

/// An Operator `producer` that fills a view, and an Operator `a` that reads it.
async fn two(widgets: usize, producer: &Value, reader: &Value) -> World {
    let mut world = World::new(widgets);
    world.apply("producer", producer);
    world.apply("a", reader);
    world.start();
    rest().await;
    assert_eq!(world.reason("a"), "Ready", "{}", world.status("a"));
    assert_eq!(world.count(), widgets);
    world
}

#[tokio::test(start_paused = true)]
async fn through_a_view_of_the_same_operator() {
    let reader = limited(&reads("r"), json!(0));
    let world = running(12, &spec(&[&fills("f"), &reader])).await;
    world.lose(widgets(10)).await;
    assert_eq!((world.count(), world.held("a", "r")), (12, 10));
    // A single event is a single event behind the view, too.
    world.delete(&widget("o10"));
    rest().await;
    assert_eq!((world.count(), world.held("a", "r")), (11, 10));
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!((world.count(), world.reason("a").as_str()), (1, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn through_a_view_of_another_operator() {
    let reader = spec(&[&limited(&reads_of("producer", "r"), json!(0))]);
    let world = two(12, &spec(&[&fills("f")]), &reader).await;
    world.lose(widgets(10)).await;
    assert_eq!((world.count(), world.held("a", "r")), (12, 10));
    world.delete(&widget("o10"));
    rest().await;
    assert_eq!((world.count(), world.held("a", "r")), (11, 10));
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!((world.count(), world.reason("a").as_str()), (1, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn through_two_views() {
    let second = set(&reads("s"), &["target"], json!({"kind": "W"}));
    let third = from("producer.view.dcontroller.io", "W", "r", "");
    let reader = spec(&[&limited(&third, json!(0))]);
    let world = two(12, &spec(&[&fills("f"), &second]), &reader).await;
    world.lose(widgets(10)).await;
    assert_eq!((world.count(), world.held("a", "r")), (12, 10));
    world.delete(&widget("o10"));
    rest().await;
    assert_eq!((world.count(), world.held("a", "r")), (11, 10));
}

/// The union of two kinds, in a view `V`.
fn union_view(name: &str) -> Value {
    let view = set(&union(name), &["target"], json!({"kind": "V"}));
    let output = json!({"@output": "V"});
    let pipeline = view.get("pipeline").clone();
    let last = pipeline.at(2).clone();
    let last = json!([(last.at(0).clone()), (last.at(1).clone()), output]);
    let pipeline = json!([(pipeline.at(0).clone()), (pipeline.at(1).clone()), last]);
    set(&view, &["pipeline"], pipeline)
}

#[tokio::test(start_paused = true)]
async fn removals_are_summed_until_the_sources_of_the_view_are_synced() {
    let mut world = World::new(2);
    let reader = limited(&reads("r"), json!(3));
    world.apply("a", &spec(&[&union_view("u"), &reader]));
    lists_one_after_the_other(&mut world).await;
    assert_eq!((world.count(), world.held("a", "r")), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn removals_are_summed_until_the_sources_of_another_operators_view_are_synced() {
    let mut world = World::new(2);
    world.apply("producer", &spec(&[&union_view("u")]));
    let reader = limited(&reads_of("producer", "r"), json!(3));
    world.apply("a", &spec(&[&reader]));
    lists_one_after_the_other(&mut world).await;
    assert_eq!((world.count(), world.held("a", "r")), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn removals_that_wait_for_a_view_are_carried_out_when_its_sources_are_synced() {
    let mut world = World::new(2);
    world.make(&plain("p0"));
    world.apply("producer", &spec(&[&union_view("u")]));
    let reader = limited(&reads_of("producer", "r"), json!(3));
    world.apply("a", &spec(&[&reader]));
    world.start();
    rest().await;
    world.answer_no_lists("Plain");
    world.expire("Plain");
    world.lose([widget("o0")]).await;
    assert_eq!(world.count(), 3);
    // The last list changes nothing in the view.
    world.answer_all();
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (2, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_the_operator_that_fills_the_view_counts_for_its_readers() {
    let reader = spec(&[&limited(&reads_of("producer", "r"), json!(3))]);
    let world = two(10, &spec(&[&fills("f")]), &reader).await;
    let renamed = set(
        &fills("f"),
        &["pipeline"],
        json!([{"@select": {"@eq": ["$.metadata.name", "o1"]}}]),
    );
    world.apply("producer", &spec(&[&renamed]));
    rest().await;
    assert_eq!((world.count(), world.held("a", "r")), (10, 9));
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.config_maps(None), ["o1"]);
}

#[tokio::test(start_paused = true)]
async fn objects_of_views_are_held_too() {
    let reader = spec(&[&reads_of("producer", "r")]);
    let world = two(10, &spec(&[&limited(&fills("f"), json!(3))]), &reader).await;
    world.lose(widgets(5)).await;
    assert_eq!((world.count(), world.held("producer", "f")), (10, 5));
    world.make(&widget("o1"));
    rest().await;
    assert_eq!((world.count(), world.held("producer", "f")), (10, 4));
    world.delete(&widget("o1"));
    rest().await;
    assert_eq!((world.count(), world.held("producer", "f")), (9, 4));
    world
        .allow("producer", Some(world.generation("producer")))
        .await;
    assert_eq!(world.count(), 5);
    assert_eq!(world.reason("producer"), "Ready");
}

#[tokio::test(start_paused = true)]
async fn view_objects_of_a_renamed_controller_are_held() {
    let reader = spec(&[&reads_of("producer", "r")]);
    let producer = limited_spec(&[&fills("old")], json!(3));
    let world = two(10, &producer, &reader).await;
    let select = json!([{"@select": {"@eq": ["$.metadata.name", "o1"]}}]);
    let new = set(&fills("new"), &["pipeline"], select);
    world.apply("producer", &limited_spec(&[&new], json!(3)));
    rest().await;
    assert_eq!((world.count(), world.held("producer", "old")), (10, 9));
    world
        .allow("producer", Some(world.generation("producer")))
        .await;
    assert_eq!(world.config_maps(None), ["o1"]);
    assert_eq!(world.reason("producer"), "Ready");
}

#[tokio::test(start_paused = true)]
async fn a_restart_counts_at_the_reader() {
    let reader = spec(&[&limited(&reads_of("producer", "r"), json!("50%"))]);
    let mut world = two(10, &spec(&[&fills("f")]), &reader).await;
    world.stop().await;
    for widget in widgets(6) {
        world.delete(&widget);
    }
    world.start();
    rest().await;
    assert_eq!((world.count(), world.held("a", "r")), (10, 6));
}

#[tokio::test(start_paused = true)]
async fn patches_on_objects_that_users_put_into_views_are_held() {
    let patcher = |name: &str| {
        let patcher = set(&copy(name, ""), &["target"], json!({"kind": "U"}));
        set(&patcher, &["target", "type"], json!("Patcher"))
    };
    let world = running(5, &limited_spec(&[&patcher("p")], json!(2))).await;
    for name in names(5) {
        world.put_into_view(&name);
    }
    rest().await;
    assert_eq!(world.patched_in_view(), 5);
    world.lose(widgets(3)).await;
    assert_eq!((world.patched_in_view(), world.held("a", "p")), (5, 3));
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.patched_in_view(), 2);
    for widget in widgets(3) {
        world.make(&widget);
    }
    rest().await;
    assert_eq!(world.patched_in_view(), 5);
    // An edit would undo all of them.
    world.apply("a", &limited_spec(&[&fills("other")], json!(2)));
    rest().await;
    assert_eq!((world.patched_in_view(), world.held("a", "p")), (5, 5));
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.patched_in_view(), 0);
    assert_eq!(world.reason("a"), "Ready");
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_view_that_another_controller_derives_is_not_removed() {
    let labelled = |name: &str, label: &str| {
        let sources = json!([{"apiGroup": "example.com", "kind": "Widget",
            "labelSelector": {"matchLabels": {"by": label}}}]);
        limited(&set(&fills(name), &["sources"], sources), json!(0))
    };
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"by": "one"}));
    world.make_with(&widget("o1"), &json!({"by": "one"}));
    let spec = spec(&[
        &labelled("one", "one"),
        &labelled("two", "two"),
        &reads("r"),
    ]);
    world.apply("a", &spec);
    world.start();
    rest().await;
    assert_eq!(world.count(), 2, "{}", world.status("a"));
    // One object moves from the first to the second controller, one is removed.
    world.expire("Widget");
    world.make_with(&widget("o0"), &json!({"by": "two"}));
    world.lose([widget("o1")]).await;
    assert_eq!((world.count(), world.held("a", "one")), (2, 1));
    // The second controller takes over the held object, too.
    world.make_with(&widget("o1"), &json!({"by": "two"}));
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (2, "Ready"));
    world.delete(&widget("o1"));
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
}
