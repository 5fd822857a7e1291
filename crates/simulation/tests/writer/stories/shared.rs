//! Fields and maps that a Patcher shares with others, or with another Patcher.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_map_that_we_made_is_shared_with_those_who_add_to_it() {
    check(
        json!({}),
        &[
            Wants("p", json!({"spec": {"m": {"x": 1}}})),
            They(json!({"spec": {"m": {"y": 1}}})),
            Wants("p", json!({"spec": {"m": {"x": 1, "y": 1}}})),
            Is(json!({"spec": {"m": {"x": 1, "y": 1}}})),
            Restart,
            Gone("p"),
            Is(json!({"spec": {"m": {"y": 1}}})),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_map_with_a_value_that_came_back_is_not_ours_alone() {
    let patch = |name: &'static str, m: Value| Wants(name, json!({"spec": {"m": m}}));
    for (first, second) in [("p", "q"), ("q", "p")] {
        for end in [patch(second, json!({"z": 1})), Gone(second), Restart] {
            let steps = [
                patch(first, json!({"x": 1})),
                They(json!({"spec": {"m": {"y": 1}}})),
                patch(second, json!({"y": 2, "z": 1})),
                end,
                Gone(first),
                Restart,
                Gone(second),
                Is(json!({"spec": {"m": {"y": 1}}})),
            ];
            check(json!({}), &steps).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_others_change_to_the_wanted_value_is_theirs() {
    check(
        json!({}),
        &[
            Wants("p", json!({"data": {"a": "1", "b": "1"}})),
            TheyMeanwhile(json!({})),
            Is(json!({"data": {"a": "1", "b": "1"}})),
        ],
    )
    .await;
    // The pipeline yields 2 only after they have written it.
    let mut story = Story::new(config_map("x"), &json!({}));
    story.run(&Wants("p", json!({"data": {"a": "1"}}))).await;
    story.they(&json!({"data": {"a": "2"}}));
    story.run(&Wants("p", json!({"data": {"a": "2"}}))).await;
    story.run(&Gone("p")).await;
    assert_eq!(story.on_server(), json!({"data": {"a": "2"}}));
    assert_eq!(content(&story.object), json!({"data": {"a": "2"}}));
}

#[tokio::test(start_paused = true)]
async fn two_patchers_of_one_place_leave_what_was_there() {
    let theirs = json!({"metadata": {"annotations": {"team": "a"}}});
    check(
        theirs.clone(),
        &[
            Wants("p", theirs.clone()),
            Wants("q", theirs.clone()),
            Gone("p"),
            Is(theirs.clone()),
            Restart,
            Gone("q"),
            Is(theirs),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_place_is_inherited_by_the_other_patcher_that_wants_it() {
    for theirs in [json!({}), json!({"data": {"a": "0"}})] {
        inherited(&theirs).await;
    }
}

async fn inherited(theirs: &Value) {
    let one = json!({"data": {"a": "1"}});
    let ends: [&[Step]; 3] = [
        &[Gone("p")],
        &[Wants("p", json!({"data": {"b": "1"}}))],
        &[Restart, Wants("p", json!({})), Restart],
    ];
    for end in ends {
        for second in [one.clone(), json!({"data": {"a": "2"}})] {
            let mut steps = vec![Wants("p", one.clone()), Wants("q", second.clone())];
            steps.push(Is(one.clone()));
            steps.extend(end.iter().cloned());
            steps.extend([Gone("p"), Is(second), Gone("q"), Is(theirs.clone())]);
            check(theirs.clone(), &steps).await;
        }
    }
    let steps = [
        Wants("q", one.clone()),
        Wants("p", one.clone()),
        Gone("q"),
        Is(one),
        Gone("p"),
        Is(theirs.clone()),
    ];
    check(theirs.clone(), &steps).await;
}

/// A story of a Pod that an Updater creates.
async fn check_created(steps: &[Step]) {
    let pod = ObjectKey::new("", "Pod", "ns", "x");
    let mut story = Story::without_object(pod);
    for (number, step) in steps.iter().enumerate() {
        story.run(step).await;
        let requests = writes(&story.h);
        assert!(requests.len() < 10, "step {number}: {requests:?}");
        assert_eq!(
            story.on_server(),
            content(&story.object),
            "step {number}: {step:?}"
        );
        if let Is(expected) = step {
            assert_eq!(story.on_server(), *expected, "step {number}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_on_an_object_of_an_updater_is_taken_back() {
    let whole = Wants("u", json!({"spec": {"a": 1}}));
    let patch = Wants(
        "p",
        json!({"spec": {"b": 1}, "status": {"x": 1, "y": {"z": 1}}}),
    );
    for between in [&[][..], &[Restart]] {
        let mut steps = vec![
            whole.clone(),
            They(json!({"status": {"x": 0, "theirs": 1}})),
            patch.clone(),
            Is(json!({"spec": {"a": 1, "b": 1}, "status": {"x": 1, "y": {"z": 1}, "theirs": 1}})),
        ];
        steps.extend(between.iter().cloned());
        let some = json!({"spec": {"b": 1}, "status": {"x": 1}});
        steps.push(Wants("p", some));
        steps.push(Is(
            json!({"spec": {"a": 1, "b": 1}, "status": {"x": 1, "theirs": 1}}),
        ));
        steps.extend(between.iter().cloned());
        steps.push(Gone("p"));
        steps.push(Is(
            json!({"spec": {"a": 1}, "status": {"x": 0, "theirs": 1}}),
        ));
        check_created(&steps).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_map_of_theirs_stays_and_one_of_ours_goes() {
    let theirs = json!({"spec": {"empty": {}, "rest": 1}, "data": {}});
    let patch = json!({"spec": {"empty": {"x": 1}, "ours": {"y": 1}}, "data": {"a": "1"}, "more": {"b": "1"}});
    check_undone(theirs, patch).await;
}

#[tokio::test(start_paused = true)]
async fn what_another_operator_has_set_is_left_to_it() {
    let mut h = harness();
    let key = config_map("x");
    h.sim
        .foreign(&key, "human", |_| json!({"data": {"a": "1", "b": "1"}}));
    // Another Operator sets a field; its record is on the object.
    let mut record: Option<(String, Value)> = None;
    h.want(&key, &patcher().wants(&json!({"data": {"a": "2"}})));
    h.settle().await;
    for (name, text) in h
        .live(&key)
        .get("metadata")
        .get("annotations")
        .as_map()
        .unwrap()
    {
        let text = text.as_str().unwrap().replace("\"op\"", "\"other\"");
        record = Some((name.as_str().to_owned(), Value::from(text)));
    }
    let (name, text) = record.unwrap();
    let theirs = object::marks::set_annotation("other", "p");
    h.withdraw(&key, "p");
    h.sim.foreign(&key, "human", |object| {
        let object = unset(object, &["metadata", "annotations", &name]);
        set(&object, &["metadata", "annotations", &theirs], text)
    });
    h.settle().await;
    h.want(
        &key,
        &patcher().wants(&json!({"data": {"a": "3", "b": "3"}})),
    );
    h.settle().await;
    assert_eq!(h.live(&key).get("data"), &json!({"a": "2", "b": "3"}));
    assert_eq!(h.codes(&key), ["conflict"].into());
    assert!(
        h.messages(&key)
            .join("")
            .contains(".data.a is set by Operator other")
    );
    writes(&h);
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
}
