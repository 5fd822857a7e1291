//! Stages other than `@join`, branches, and conflicts.

use document::{Value, json};
use expr::Env;
use object::ObjectName;

use super::{apply, check, check_targets, scratch};
use crate::scratch::{Objects, State};

#[test]
fn an_empty_pipeline_copies() {
    check(
        &["A"],
        &json!([]),
        &[
            (json!({"A": {"a": 1, "b": 2}}), json!({"a": 1, "b": 2}), &[]),
            (json!({"A": {"a": null, "b": 3}}), json!({"b": 3}), &[]),
        ],
    );
}

#[test]
fn a_failing_select_holds_until_its_input_goes() {
    check(
        &["A"],
        &json!([{"@select": {"@gt": ["$.spec", 1]}}]),
        &[
            (
                json!({"A": {"a": 2, "b": {}}}),
                json!({"a": 2}),
                &["0 b type"],
            ),
            (
                json!({"A": {"a": []}}),
                json!({"a": 2}),
                &["0 a type", "0 b type"],
            ),
            (
                json!({"A": {"a": {}, "b": 3}}),
                json!({"a": 2, "b": 3}),
                &["0 a type"],
            ),
            (json!({"A": {"a": 1}}), json!({"b": 3}), &[]),
            // After the document was deleted, nothing is held any more.
            (json!({"A": {"a": []}}), json!({"b": 3}), &["0 a type"]),
            (json!({"A": {"a": null}}), json!({"b": 3}), &[]),
        ],
    );
}

#[test]
fn a_failing_project_holds_and_later_stages_see_no_change() {
    let pipeline = json!([
        {"@project": [{"$.": "$."}, {"$.spec.n": {"@int": "$.spec.n"}}]},
        {"@project": {"metadata": "$.metadata", "spec": {"n": "$.spec.n", "now": "@now"}}},
    ]);
    check(
        &["A"],
        &pipeline,
        &[
            (
                json!({"A": {"a": {"n": "1"}}}),
                json!({"a": {"n": 1, "now": "t0"}}),
                &[],
            ),
            (
                json!({"A": {"a": {"n": "x"}}}),
                json!({"a": {"n": 1, "now": "t0"}}),
                &["0 a text"],
            ),
            (
                json!({"A": {"a": {"n": {}}}}),
                json!({"a": {"n": 1, "now": "t0"}}),
                &["0 a type"],
            ),
            (
                json!({"A": {"a": {"n": "1"}}}),
                json!({"a": {"n": 1, "now": "t0"}}),
                &[],
            ),
            (
                json!({"A": {"a": {"n": 2}}}),
                json!({"a": {"n": 2, "now": "t4"}}),
                &[],
            ),
        ],
    );
}

#[test]
fn a_failing_unwind_holds_all_elements() {
    check(
        &["A"],
        &json!([{"@unwind": "$.spec"}]),
        &[
            (
                json!({"A": {"a": [1, null]}}),
                json!({"a-0": 1, "a-1": null}),
                &[],
            ),
            (
                json!({"A": {"a": 1}}),
                json!({"a-0": 1, "a-1": null}),
                &["0 a no-list"],
            ),
            (json!({"A": {"a": [[3]]}}), json!({"a-0": [3]}), &[]),
            (json!({"A": {"a": []}}), json!({}), &[]),
            (json!({"A": {"a": 1}}), json!({}), &["0 a no-list"]),
        ],
    );
}

#[test]
fn unwind_then_gather_gives_the_list_back() {
    check(
        &["A"],
        &json!([
            {"@unwind": "$.spec.l"},
            {"@unwind": "$.spec.l"},
            {"@gather": ["$.spec.g", "$.spec.l"]},
            {"@project": {"metadata": {"name": "$.spec.g"}, "spec": "$.spec.l"}},
        ]),
        &[
            (
                json!({"A": {"b": {"g": "x", "l": [[3, 1], [2]]}}}),
                json!({"x": [3, 1, 2]}),
                &[],
            ),
            (
                json!({"A": {"a": {"g": "x", "l": [[9]]}}}),
                json!({"x": [9, 3, 1, 2]}),
                &[],
            ),
            (
                json!({"A": {"a": {"g": "x", "l": [[9], 1]}}}),
                json!({"x": [9, 3, 1, 2]}),
                &["1 a+#1 no-list"],
            ),
            (
                json!({"A": {"b": null}}),
                json!({"x": [9]}),
                &["1 a+#1 no-list"],
            ),
        ],
    );
}

#[test]
fn a_failing_member_of_a_group_keeps_its_contribution() {
    check(
        &["A"],
        &json!([
            {"@gather": [{"@int": "$.spec.k"}, "$.spec.v"]},
            {"@project": {"metadata": "$.metadata", "spec": "$.spec.v"}},
        ]),
        &[
            (
                json!({"A": {"a": {"k": 1, "v": 1}, "b": {"k": 1, "v": 2}, "c": {"k": 2}}}),
                json!({"a": [1, 2]}),
                &[],
            ),
            // The held member keeps its document, so the group keeps its template.
            (
                json!({"A": {"a": {"k": "x", "v": 3}, "c": {"k": 2, "v": 4}}}),
                json!({"a": [1, 2], "c": [4]}),
                &["0 a text"],
            ),
            (
                json!({"A": {"b": {"k": 2, "v": 5}}}),
                json!({"a": [1], "b": [5, 4]}),
                &["0 a text"],
            ),
            (json!({"A": {"a": null}}), json!({"b": [5, 4]}), &[]),
        ],
    );
}

#[test]
fn group_by_collects_values_and_documents() {
    let pipeline = |options: Value| {
        json!([
            {"@groupBy": ["$.spec.k", "$.spec.v", options]},
            {"@project": {"metadata": {"name": {"@string": "$.key"}}, "spec": {
                "values": "$.values",
                "from": {"@map": ["$$.metadata.name", "$.documents"]},
            }}},
        ])
    };
    let objects =
        json!({"A": {"a": {"k": 1, "v": 2}, "b": {"k": 1}, "c": {"k": 1, "v": 2}, "d": {}}});
    check(
        &["A"],
        &pipeline(json!({})),
        &[(
            objects.clone(),
            json!({"1": {"values": [2, 2], "from": ["a", "b", "c"]}}),
            &[],
        )],
    );
    check(
        &["A"],
        &pipeline(json!({"distinct": true})),
        &[(
            objects,
            json!({"1": {"values": [2], "from": ["a", "b", "c"]}}),
            &[],
        )],
    );
}

#[test]
fn distinct_passes_a_document_while_a_member_exists() {
    check(
        &["A"],
        &json!([{"@project": {"metadata": {"name": {"@concat": ["$.spec"]}}, "spec": "$.spec"}}, "@distinct"]),
        &[
            (
                json!({"A": {"a": "x", "b": "x", "c": "y"}}),
                json!({"x": "x", "y": "y"}),
                &[],
            ),
            (json!({"A": {"a": null, "c": null}}), json!({"x": "x"}), &[]),
            (json!({"A": {"b": "y"}}), json!({"y": "y"}), &[]),
        ],
    );
}

#[test]
fn the_output_check_holds_like_a_stage() {
    check(
        &["A"],
        &json!([{"@project": {"metadata": {"name": "$.spec.n"}, "spec": "$.spec.v"}}]),
        &[
            (
                json!({"A": {"a": {"n": "x", "v": 1}}}),
                json!({"x": 1}),
                &[],
            ),
            (
                json!({"A": {"a": {"n": 5, "v": 2}}}),
                json!({"x": 1}),
                &["1 a output-no-name"],
            ),
            // A held output takes part in conflicts.
            (
                json!({"A": {"A": {"n": "x", "v": 3}}}),
                json!({"x": 3}),
                &["1 a output-no-name", "1 a conflict x A"],
            ),
            (
                json!({"A": {"a": {"n": "y", "v": 2}}}),
                json!({"x": 3, "y": 2}),
                &[],
            ),
        ],
    );
}

#[test]
fn of_two_origins_with_one_key_the_first_is_written() {
    check(
        &["A"],
        &json!([{"@project": {"metadata": {"name": "x"}, "spec": "$.spec"}}]),
        &[
            (
                json!({"A": {"b": 1, "c": 2}}),
                json!({"x": 1}),
                &["1 c conflict x b"],
            ),
            (
                json!({"A": {"a": 3}}),
                json!({"x": 3}),
                &["1 b conflict x a", "1 c conflict x a"],
            ),
            (
                json!({"A": {"a": 2}}),
                json!({"x": 2}),
                &["1 b conflict x a"],
            ),
            (json!({"A": {"a": null, "b": null}}), json!({"x": 2}), &[]),
        ],
    );
}

#[test]
fn branches_meet_in_streams_and_targets() {
    let pipeline = json!([
        [{"@inputs": ["Both"]}, {"@select": {"@gt": ["$.spec", 1]}}, {"@output": "T"}],
        [{"@inputs": ["B"]}, {"@output": "Both"}],
        [{"@inputs": ["A"]}, {"@output": "Both"}],
        [{"@inputs": ["A"]}, {"@output": "T"}],
        [{"@inputs": ["Both", "A"]}, {"@join": true}, {"@project": {"metadata": "$.A.metadata", "spec": "$.Both.spec"}}, {"@output": "U"}],
    ]);
    check_targets(
        &["A", "B"],
        &["T", "U"],
        &pipeline,
        &[
            (
                json!({"A": {"a": 2}, "B": {"a": 3}}),
                json!([{"a": 3}, {"a": 3}]),
                &[
                    "1 branch0+branch2+a conflict a branch0+branch1+a",
                    "0 branch3+a conflict a branch0+branch1+a",
                    "2 branch4+branch2+a+a conflict a branch4+branch1+a+a",
                ],
            ),
            (
                json!({"B": {"a": {}}}),
                json!([{"a": 3}, {"a": {}}]),
                &[
                    "0 branch1+a type",
                    "1 branch0+branch2+a conflict a branch0+branch1+a",
                    "0 branch3+a conflict a branch0+branch1+a",
                    "2 branch4+branch2+a+a conflict a branch4+branch1+a+a",
                ],
            ),
            (json!({"B": {"a": null}}), json!([{"a": 2}, {"a": 2}]), &[]),
        ],
    );
}

#[test]
fn now_is_kept_while_the_input_of_its_stage_is_the_same() {
    check(
        &["A"],
        &json!([{"@project": {"metadata": "$.metadata", "spec": ["$.spec", "@now"]}}]),
        &[
            (json!({"A": {"a": 1}}), json!({"a": [1, "t0"]}), &[]),
            (
                json!({"A": {"b": 1}}),
                json!({"a": [1, "t0"], "b": [1, "t1"]}),
                &[],
            ),
            (
                json!({"A": {"a": 2}}),
                json!({"a": [2, "t2"], "b": [1, "t1"]}),
                &[],
            ),
            (json!({"A": {"a": null}}), json!({"b": [1, "t1"]}), &[]),
            (
                json!({"A": {"a": 2}}),
                json!({"a": [2, "t4"], "b": [1, "t1"]}),
                &[],
            ),
        ],
    );
}

#[test]
fn random_numbers_depend_on_the_origin_alone() {
    let pipeline =
        json!([{"@project": {"metadata": "$.metadata", "spec": {"@rnd": [0, 1_000_000]}}}]);
    let scratch = scratch(&["A"], &["T"], &pipeline);
    let spec = |objects: Value, name| {
        let mut all = Objects::new();
        apply(&objects, &["A"], &mut all);
        let state = scratch.eval(&all, &State::default(), &Env::default());
        state.targets[0][&ObjectName::new("", name)]
            .get("spec")
            .clone()
    };
    let first = spec(json!({"A": {"a": 1}}), "a");
    assert_eq!(first, spec(json!({"A": {"a": 2, "b": 1}}), "a"));
    assert_ne!(first, spec(json!({"A": {"a": 2, "b": 1}}), "b"));
}
