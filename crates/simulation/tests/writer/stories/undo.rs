//! What a Patcher set is taken back, and what was there before comes back.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_is_passed_through_stays() {
    let theirs = json!({
        "metadata": {"labels": {"app": "x", "role": "y"}, "annotations": {"team": "a"}},
        "data": {"a": "1", "b": "2"},
    });
    let added = set(&theirs, &["metadata", "annotations", "seen"], json!("yes"));
    check(
        theirs.clone(),
        &[
            Wants("p", added.clone()),
            Is(added.clone()),
            They(json!({"metadata": {"labels": {"role": null}}})),
            Is(added.clone()),
            They(json!({"metadata": {"labels": {"role": "z"}}})),
            Is(added.clone()),
            Gone("p"),
            Is(set(&theirs, &["metadata", "labels", "role"], json!("z"))),
        ],
    )
    .await;
    check_undone(theirs, added).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_not_written() {
    let theirs = json!({"metadata": {"labels": {"app": "x"}}, "data": {"a": "1"}});
    let mut story = Story::new(config_map("x"), &theirs);
    story.h.sim.take_sent();
    for step in [Wants("p", theirs.clone()), Restart, Gone("p"), Restart] {
        story.run(&step).await;
        assert_eq!(writes(&story.h), [""; 0], "{step:?}");
    }
    assert_eq!(story.on_server(), theirs);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_says_less_takes_back_only_what_was_set() {
    let theirs = json!({"metadata": {"annotations": {"team": "a"}}});
    let both = json!({"metadata": {"annotations": {"team": "a", "mine": "1"}}});
    let mine = json!({"metadata": {"annotations": {"mine": "1"}}});
    check(
        theirs.clone(),
        &[
            Wants("p", both.clone()),
            Wants("p", mine),
            Is(both),
            Wants("p", json!({"metadata": {"annotations": {"new": "1"}}})),
            Is(json!({"metadata": {"annotations": {"team": "a", "new": "1"}}})),
            Gone("p"),
            Is(theirs),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn elements_with_the_same_content_stay() {
    let container = json!({"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]});
    let theirs =
        json!({"spec": {"containers": [(container.clone()), {"name": "b", "image": "2"}]}});
    let containers = |list: Value| json!({"spec": {"containers": list}});
    check_undone(theirs.clone(), theirs.clone()).await;
    check_undone(theirs.clone(), containers(json!([(container)]))).await;
    check_undone(theirs.clone(), containers(json!([{"name": "a"}]))).await;
    let env = json!([{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]);
    check_undone(
        theirs.clone(),
        containers(json!([{"name": "a", "image": "1", "env": env}, {"name": "c", "image": "1"}])),
    )
    .await;
    // Without keys, by position; and whole.
    let theirs = json!({"spec": {"l": [{"k": 1}, {"k": 2}], "s": [1, 2]}});
    check_undone(theirs.clone(), theirs.clone()).await;
    check_undone(theirs.clone(), json!({"spec": {"l": [{"k": 1, "x": 1}]}})).await;
    check_undone(theirs, json!({"spec": {"l": [{}, {"k": 2}, {"k": 3}]}})).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_replaced_comes_back() {
    let theirs = json!({
        "metadata": {"labels": {"l": "1"}},
        "spec": {"replicas": 3, "l": [1], "text": "x", "containers": [{"name": "a", "image": "1"}]},
    });
    check_undone(theirs.clone(), json!({"spec": {"replicas": 5}})).await;
    check_undone(
        theirs.clone(),
        json!({"metadata": {"labels": {"l": "2"}}, "spec": {"l": [], "text": {"x": 1},
            "containers": [{"name": "a", "image": "2"}, {"name": "b"}]}}),
    )
    .await;
    let replicas = |number: i64| set(&theirs, &["spec", "replicas"], json!(number));
    let patch = |number: i64| Wants("p", json!({"spec": {"replicas": number}}));
    check(
        theirs.clone(),
        &[
            patch(5),
            patch(6),
            Restart,
            patch(7),
            Is(replicas(7)),
            // What others write in between is what comes back.
            They(json!({"spec": {"replicas": 4}})),
            Is(replicas(7)),
            Restart,
            Gone("p"),
            Is(replicas(4)),
        ],
    )
    .await;
    check(
        theirs.clone(),
        &[
            patch(5),
            TheyMeanwhile(json!({"spec": {"replicas": 9}})),
            Is(replicas(5)),
            Gone("p"),
            Is(replicas(9)),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_removed_comes_back() {
    let theirs = json!({"data": {"a": "1", "b": "1"}, "spec": {"m": {"x": 1}}});
    check_undone(theirs.clone(), json!({"data": {"a": null, "none": null}})).await;
    check_undone(theirs.clone(), json!({"spec": {"m": null}})).await;
    let without = unset(&theirs, &["data", "a"]);
    let patch = Wants("p", json!({"data": {"a": null}}));
    let steps = [
        patch.clone(),
        Is(without.clone()),
        Restart,
        Is(without),
        They(json!({"data": {"a": "2"}})),
        Gone("p"),
        Is(set(&theirs, &["data", "a"], json!("2"))),
    ];
    check(theirs, &steps).await;
    // What others have removed before, they have removed.
    let gone = json!({"data": {"b": "1"}});
    check(gone.clone(), &[patch, Gone("p"), Is(gone)]).await;
}

#[tokio::test(start_paused = true)]
async fn what_others_have_deleted_stays_deleted() {
    let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1", "b": "1"}}));
    story.run(&Wants("p", json!({"data": {"a": "2"}}))).await;
    story.they(&json!({"data": {"a": null}}));
    story.run(&Gone("p")).await;
    assert_eq!(story.on_server(), json!({"data": {"b": "1"}}));
    assert_eq!(content(&story.object), json!({"data": {"b": "1"}}));
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_there_stays() {
    let key = ObjectKey::new("example.com", "Widget", "ns", "x");
    let theirs = json!({"spec": {"defaulted": "yes"}, "status": {"ready": true, "n": 1}});
    let more = json!({"status": {"ready": true, "n": 2, "ours": 1}});
    let with = |n: i64, ours: i64| {
        let object = set(&theirs, &["status", "n"], json!(n));
        set(&object, &["status", "ours"], json!(ours))
    };
    let steps = [
        Wants("p", more),
        Is(with(2, 1)),
        Restart,
        Wants("p", json!({"status": {"n": 3, "ours": 2}})),
        Is(with(3, 2)),
        Restart,
        Wants("p", json!({"status": {"ours": 2}})),
        Is(with(1, 2)),
        Gone("p"),
        Is(theirs.clone()),
    ];
    check_on(key, theirs.clone(), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_others_have_changed_comes_back() {
    let key = ObjectKey::new("example.com", "Widget", "ns", "x");
    let theirs = json!({"spec": {"defaulted": "yes"}, "status": {"n": 1}});
    let with = |n: i64| set(&theirs, &["status", "n"], json!(n));
    for between in [&[][..], &[Restart]] {
        let mut steps = vec![
            Wants("p", json!({"status": {"n": 2}})),
            Is(with(2)),
            They(json!({"status": {"n": 5}})),
            Is(with(2)),
        ];
        steps.extend(between.iter().cloned());
        steps.extend([Gone("p"), Is(with(5))]);
        check_on(key.clone(), theirs.clone(), &steps).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_field_changes_while_another_one_goes() {
    let key = ObjectKey::new("example.com", "Widget", "ns", "x");
    let theirs = json!({"spec": {"defaulted": "yes"}});
    let status = |fields: Value| json!({"status": fields});
    let with = |fields: Value| set(&theirs, &["status"], fields);
    let steps = [
        Wants("p", status(json!({"p": 1, "q": 1}))),
        Is(with(json!({"p": 1, "q": 1}))),
        Wants("p", status(json!({"p": 2}))),
        Is(with(json!({"p": 2}))),
        Restart,
        Is(with(json!({"p": 2}))),
    ];
    check_on(key, theirs.clone(), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn an_updater_writes_a_status_that_a_patcher_had_set_before() {
    let key = ObjectKey::new("example.com", "Widget", "ns", "x");
    let spec = json!({"defaulted": "yes"});
    let with = |status: Value| json!({"spec": (spec.clone()), "status": status});
    let steps = [
        Wants("u", json!({"spec": (spec.clone())})),
        Wants("p", json!({"status": {"ready": 2}})),
        Is(with(json!({"ready": 2, "seen": 1}))),
        Gone("p"),
        They(json!({"status": {"ready": 0, "seen": null}})),
        Is(with(json!({"ready": 0}))),
        Wants("u", with(json!({"ready": 2}))),
        Is(with(json!({"ready": 2}))),
    ];
    check_on(key, with(json!({"seen": 1})), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn a_field_that_changes_its_type_leaves_nothing_behind() {
    let values = [json!(3), json!({"c": 1}), json!([1])];
    for theirs in [json!({"spec": {"x": 1}}), json!({"spec": {"x": 1, "b": 7}})] {
        for one in &values {
            for other in &values {
                let patch = |value: &Value| json!({"spec": {"b": (value.clone())}});
                let steps = [
                    Wants("p", patch(one)),
                    Wants("p", patch(other)),
                    Restart,
                    Gone("p"),
                    Is(theirs.clone()),
                ];
                check(theirs.clone(), &steps).await;
            }
        }
    }
}

/// Quantities may be written in several ways.
#[tokio::test(start_paused = true)]
async fn an_equal_quantity_is_there() {
    let theirs = json!({"spec": {"limits": {"cpu": "1", "memory": "1Gi"}}});
    let mut story = Story::new(config_map("x"), &theirs);
    story.h.sim.take_sent();
    let equal = json!({"spec": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}});
    story
        .h
        .want(&story.key, &controller_of("p", &equal).wants(&equal));
    story.h.settle().await;
    assert_eq!(writes(&story.h), [""; 0]);
    story.h.withdraw(&story.key, "p");
    story.h.settle().await;
    assert_eq!(story.on_server(), theirs);
}

#[tokio::test(start_paused = true)]
async fn a_change_between_read_and_write_is_seen() {
    let racing = |patch: Value| {
        let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1"}}));
        let key = story.key.clone();
        story.h.sim.race(&key, patch);
        let wanted = json!({"data": {"a": "1", "b": "1"}});
        story
            .h
            .want(&key, &controller_of("p", &wanted).wants(&wanted));
        story
    };
    // It was there when we read it, and is something else when we write.
    let mut story = racing(json!({"data": {"a": "2"}}));
    story.h.settle().await;
    assert!(!story.h.sim.has_races());
    assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
    // It was not there when we read it, and is what we want when we write: it is theirs.
    let mut story = racing(json!({"data": {"b": "1"}}));
    story.h.settle().await;
    assert!(!story.h.sim.has_races());
    story.h.withdraw(&story.key.clone(), "p");
    story.h.settle().await;
    assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
}

#[tokio::test(start_paused = true)]
async fn an_element_that_was_removed_comes_back_to_where_it_was() {
    let containers = |list: Value| json!({"spec": {"containers": list}});
    let gone = |name: &str| json!({"name": name, "$patch": "delete"});
    let theirs = containers(json!([{"name": "a", "image": "1"}, {"name": "b"}, {"name": "c"}]));
    for names in [
        vec!["a"],
        vec!["b"],
        vec!["a", "b"],
        vec!["a", "c"],
        vec!["c"],
    ] {
        let names = names.into_iter().map(gone).collect::<Value>();
        check_undone(theirs.clone(), containers(names)).await;
    }
    // One after the other, and with one that others add.
    check(
        containers(json!([{"name": "a"}, {"name": "b"}, {"name": "c"}])),
        &[
            Wants("p", containers(json!([(gone("a"))]))),
            Wants("p", containers(json!([(gone("a")), (gone("b"))]))),
            Is(containers(json!([{"name": "c"}]))),
            They(containers(json!([{"name": "new"}, {"name": "c"}]))),
            Restart,
            Gone("p"),
            Is(containers(
                json!([{"name": "a"}, {"name": "b"}, {"name": "new"}, {"name": "c"}]),
            )),
        ],
    )
    .await;
}
