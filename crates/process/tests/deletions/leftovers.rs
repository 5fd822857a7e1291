//! Objects that an earlier process derived and this one does not, and objects that only an earlier,
//! interrupted list contained.

use std::time::Duration;

use simulation::faults::Fault;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_origin_that_waits_in_a_conflict_keeps_no_old_object() {
    let project = json!({"@project": {
        "metadata": {"name": "$.metadata.labels.to", "namespace": "$.metadata.namespace"},
        "data": {"from": "$.metadata.name"}
    }});
    let controller = set(&copy("c", ""), &["pipeline"], json!([project]));
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"to": "x"}));
    world.make_with(&widget("o1"), &json!({"to": "y"}));
    world.apply("a", &spec(&[&controller]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x", "y"]);
    world.stop().await;
    world.make_with(&widget("o1"), &json!({"to": "x"}));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x"]);
    assert_eq!(world.reason("a"), "ReconciliationFailed");
    let from = world.data(&config_map("x")).get("from").clone();
    assert_eq!(from, json!("o0"));
}

#[tokio::test(start_paused = true)]
async fn objects_of_an_interrupted_list_are_removed_if_the_next_lacks_them() {
    let mut world = World::new(5);
    world.apply("a", &spec(&[&copy("c", "")]));
    world.slow_pages(Duration::from_secs(5));
    world.start();
    // Without a streamed list: the first page has arrived, the second is under way.
    tokio::time::sleep(Duration::from_secs(13)).await;
    world.compact();
    world.delete(&widget("o0"));
    rest().await;
    rest().await;
    assert_eq!(world.config_maps(None), ["o1", "o2", "o3", "o4"]);
    assert_eq!(world.reason("a"), "Ready");
}

/// The API server refuses objects with the label `quoted: yes`.
#[tokio::test(start_paused = true)]
async fn a_renamed_controller_removes_what_it_could_not_take_over() {
    let labels = json!({"quoted": "$.metadata.labels.quoted"});
    let project = json!({"@project": {
        "metadata": {
            "name": "$.metadata.name", "namespace": "$.metadata.namespace", "labels": labels,
        },
        "data": {"from": "$.metadata.name"}
    }});
    let controller = |name: &str| {
        set(
            &copy(name, ""),
            &["pipeline"],
            Value::list([project.clone()]),
        )
    };
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"quoted": "no"}));
    world.apply("a", &spec(&[&controller("old")]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
    // The new name cannot be written.
    world.make_with(&widget("o0"), &json!({"quoted": "yes"}));
    rest().await;
    world.apply("a", &spec(&[&controller("new")]));
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
    world.delete(&widget("o0"));
    rest().await;
    assert_eq!(world.config_maps(None), [""; 0]);
}

/// Requests for the object fail, so that nobody knows what it looks like.
#[tokio::test(start_paused = true)]
async fn a_renamed_controller_removes_an_object_that_was_in_doubt() {
    let mut world = World::new(1);
    world.apply("a", &spec(&[&copy("old", "")]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
    world.answer("/configmaps/o0", Fault::Answer(504));
    world.apply("a", &spec(&[&copy("new", "")]));
    rest().await;
    world.delete(&widget("o0"));
    rest().await;
    world.answer("/configmaps/o0", Fault::None);
    // The pause before the next try has grown.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(world.config_maps(None), [""; 0]);
    assert_eq!(world.reason("a"), "Ready");
}

/// An error never deletes: the object stays as long as one of its origins is in error, or yields it.
#[tokio::test(start_paused = true)]
async fn an_object_of_an_origin_in_error_does_not_go_with_another_origin() {
    let failing = json!({"to": "x", "n": "none"});
    // An output that cannot be where it is derived.
    let misplaced = json!({"to": "BAD_Name", "n": "1"});
    let cases = [failing, misplaced].into_iter();
    for (labels, restarted) in cases.flat_map(|labels| [(labels.clone(), false), (labels, true)]) {
        let mut world = World::new(0);
        world.make_with(&widget("o0"), &json!({"to": "x", "n": "1"}));
        world.make_with(&widget("o1"), &json!({"to": "x", "n": "2"}));
        world.apply("a", &spec(&[&numbered()]));
        world.start();
        rest().await;
        if restarted {
            world.stop().await;
        }
        world.make_with(&widget("o0"), &labels);
        if restarted {
            world.start();
        }
        rest().await;
        assert_eq!(world.config_maps(None), ["x"]);
        world.delete(&widget("o1"));
        rest().await;
        let found = world.config_maps(None);
        assert_eq!(found, ["x"], "{labels}, restarted: {restarted}");
        world.make_with(&widget("o0"), &json!({"to": "y", "n": "1"}));
        rest().await;
        assert_eq!(world.config_maps(None), ["y"]);
        assert_eq!(world.reason("a"), "Ready");
    }
}

#[tokio::test(start_paused = true)]
async fn another_origin_gets_the_object_when_the_error_is_cleared() {
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"to": "x", "n": "1"}));
    world.make_with(&widget("o1"), &json!({"to": "x", "n": "2"}));
    world.make_with(&widget("o2"), &json!({"to": "z", "n": "3"}));
    world.apply("a", &spec(&[&numbered()]));
    world.start();
    rest().await;
    world.stop().await;
    world.make_with(&widget("o0"), &json!({"to": "x", "n": "none"}));
    world.make_with(&widget("o2"), &json!({"to": "z", "n": "4"}));
    world.start();
    rest().await;
    let data = |world: &World, name: &str, field: &str| {
        let data = world.data(&config_map(name));
        data.get(field).clone()
    };
    assert_eq!(data(&world, "x", "from"), json!("o0"));
    assert_eq!(data(&world, "z", "n"), json!("4"), "others go on");
    assert_eq!(world.reason("a"), "ReconciliationFailed");
    world.make_with(&widget("o0"), &json!({"to": "y", "n": "1"}));
    rest().await;
    assert_eq!(data(&world, "x", "from"), json!("o1"));
    assert_eq!(world.config_maps(None), ["x", "y", "z"]);
    assert_eq!(world.reason("a"), "Ready");
}

/// Of many errors it is looked up only once in a while which have ended. Until then, the sweep keeps
/// the object, too.
#[tokio::test(start_paused = true)]
async fn an_object_passes_to_another_origin_in_one_piece_among_many_errors() {
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"to": "x", "n": "1"}));
    world.make_with(&widget("o1"), &json!({"to": "x", "n": "2"}));
    world.apply("a", &spec(&[&numbered()]));
    world.start();
    rest().await;
    world.stop().await;
    world.make_with(&widget("o0"), &json!({"to": "x", "n": "none"}));
    let name = |number: usize| format!("e{number}");
    for number in 0..1_200 {
        world.make_with(&widget(&name(number)), &json!({"to": "e", "n": "none"}));
    }
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x"]);
    world.server.with(|state| state.trace.take_sent());
    world.delete(&widget(&name(0)));
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.make_with(&widget("o0"), &json!({"to": "y", "n": "1"}));
    rest().await;
    let sent = world.server.with(|state| state.trace.take_sent());
    assert!(sent.iter().all(|request| request.method != "DELETE"));
    let from = world.data(&config_map("x")).get("from").clone();
    assert_eq!(from, json!("o1"));
    assert_eq!(world.config_maps(None), ["x", "y"]);
    // The sweep looks again, too.
    world.stop().await;
    world.make_with(&widget("o0"), &json!({"to": "y", "n": "none"}));
    world.start();
    rest().await;
    world.delete(&widget(&name(1)));
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.delete(&widget("o0"));
    rest().await;
    assert_eq!(world.config_maps(None), ["x"]);
}

/// There are as many errors as before.
#[tokio::test(start_paused = true)]
async fn an_object_goes_when_its_error_ends_although_another_begins() {
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"to": "x", "n": "1"}));
    world.make_with(&widget("o1"), &json!({"to": "y", "n": "1"}));
    world.apply("a", &spec(&[&numbered()]));
    world.start();
    rest().await;
    world.stop().await;
    world.make_with(&widget("o0"), &json!({"to": "x", "n": "none"}));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x", "y"]);
    world.delete(&widget("o0"));
    world.make_with(&widget("o1"), &json!({"to": "y", "n": "none"}));
    rest().await;
    assert_eq!(world.config_maps(None), ["y"]);
}

/// A member that fails has no last value after a restart: the group stays as it was.
#[tokio::test(start_paused = true)]
async fn a_list_behind_a_group_does_not_shrink_while_a_member_is_in_error() {
    let pipeline = json!([
        {"@groupBy": ["all", {"@int": "$.metadata.labels.n"}]},
        {"@project": {
            "metadata": {"name": "$.key", "namespace": "ns"},
            "data": {"sum": {"@string": {"@sum": "$.values"}}}
        }}
    ]);
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"n": "8"}));
    world.make_with(&widget("o1"), &json!({"n": "6"}));
    let sums = set(&copy("c", ""), &["pipeline"], pipeline);
    world.apply("a", &spec(&[&sums]));
    world.start();
    rest().await;
    let sum = |world: &World| world.data(&config_map("all")).get("sum").clone();
    assert_eq!(sum(&world), json!("14"));
    world.stop().await;
    world.make_with(&widget("o1"), &json!({"n": "none"}));
    world.start();
    rest().await;
    assert_eq!(sum(&world), json!("14"));
    world.make_with(&widget("o0"), &json!({"n": "9"}));
    rest().await;
    assert_eq!(sum(&world), json!("14"));
    world.make_with(&widget("o1"), &json!({"n": "7"}));
    rest().await;
    assert_eq!(sum(&world), json!("16"));
    // Later errors hold.
    world.make_with(&widget("o1"), &json!({"n": "none"}));
    world.make_with(&widget("o0"), &json!({"n": "1"}));
    rest().await;
    assert_eq!(sum(&world), json!("8"));
}

/// Another origin that yields the name of a held object derives it again, so that its removal is no
/// longer held, with and without a restart. Then it goes with this origin: single events are not
/// limited.
#[tokio::test(start_paused = true)]
async fn a_held_object_that_another_origin_yields_is_derived_again() {
    for restarted in [false, true] {
        let mut world = World::new(0);
        for name in ["o0", "o1", "o2"] {
            world.make_with(&widget(name), &json!({"to": name, "n": "1"}));
        }
        world.apply("a", &spec(&[&limited(&numbered(), json!(1))]));
        world.start();
        rest().await;
        world.lose(["o0", "o1"].map(widget)).await;
        rest().await;
        assert_eq!(world.held("a", "c"), 2);
        if restarted {
            world.stop().await;
        }
        world.make_with(&widget("o3"), &json!({"to": "o0", "n": "2"}));
        if restarted {
            world.start();
        }
        rest().await;
        let from = world.data(&config_map("o0")).get("from").clone();
        assert_eq!(from, json!("o3"));
        assert_eq!(world.held("a", "c"), 1);
        world.delete(&widget("o3"));
        rest().await;
        assert_eq!(world.config_maps(None), ["o1", "o2"]);
        assert_eq!(world.held("a", "c"), 1, "restarted: {restarted}");
    }
}
