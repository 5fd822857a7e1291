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
