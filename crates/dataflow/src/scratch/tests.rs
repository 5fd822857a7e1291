//! Small cases, each with the whole state after every batch.

use document::{Location, Map, Value, json};
use expr::{Env, Functions};
use object::ObjectName;

use super::{Objects, Scratch, State};
use crate::apply::OutputKind;
use crate::failure::{Failure, RunError};
use crate::origin::{Component, Origin};
use crate::pipeline::Pipeline;

/// Runs a history. A batch is a map from source to objects, which are maps from name to
/// spec (null: deleted). After it come the expected targets, as maps from name to spec,
/// and the expected errors, as `stage origin code`.
fn check(sources: &[&str], pipeline: &Value, history: &[(Value, Value, &[&str])]) {
    check_targets(sources, &["T"], pipeline, history);
}

fn check_targets(
    sources: &[&str],
    targets: &[&str],
    pipeline: &Value,
    history: &[(Value, Value, &[&str])],
) {
    let scratch = scratch(sources, targets, pipeline);
    let mut objects = Objects::new();
    let mut state = State::default();
    for (i, (batch, expect, errors)) in history.iter().enumerate() {
        apply(batch, sources, &mut objects);
        let env = Env::new(Value::from(format!("t{i}")), 0);
        state = scratch.eval(&objects, &state, &env);
        let found: Vec<Value> = state.targets.iter().map(specs).collect();
        let found = if targets.len() == 1 {
            found[0].clone()
        } else {
            found.into()
        };
        assert_eq!(&found, expect, "targets after batch {i}");
        let found: Vec<String> = state.errors.iter().map(text).collect();
        assert_eq!(found, *errors, "errors after batch {i}");
    }
}

fn scratch(sources: &[&str], targets: &[&str], pipeline: &Value) -> Scratch {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    let pipeline = Pipeline::parse(
        pipeline,
        &Location::root(),
        &names(sources),
        &names(targets),
        &Functions::builtin(),
    );
    let kinds = targets.iter().map(|&kind| OutputKind {
        api_version: json!("v1"),
        kind: kind.into(),
    });
    Scratch::new(pipeline.unwrap(), kinds.collect())
}

fn apply(batch: &Value, sources: &[&str], objects: &mut Objects) {
    for (source, named) in batch.as_map().unwrap() {
        let source = sources
            .iter()
            .position(|name| *name == source.as_str())
            .unwrap();
        for (name, spec) in named.as_map().unwrap() {
            let key = (source, ObjectName::new("", name.as_str()));
            if spec.is_null() {
                objects.remove(&key);
            } else {
                let name = name.as_str();
                objects.insert(
                    key,
                    json!({"metadata": {"name": name}, "spec": (spec.clone())}),
                );
            }
        }
    }
}

fn specs(objects: &std::collections::BTreeMap<ObjectName, Value>) -> Value {
    let specs = objects.iter().map(|(name, object)| {
        assert_eq!(ObjectName::of(object).as_ref(), Some(name));
        (
            name.name.as_str().unwrap().into(),
            object.get("spec").clone(),
        )
    });
    specs.collect::<Map>().into()
}

fn text(error: &RunError) -> String {
    let mut text = format!(
        "{} {} {}",
        error.stage,
        origin_text(&error.origin),
        error.failure.code()
    );
    if let Failure::Conflict { key, winner, .. } = &error.failure {
        text = format!("{text} {key} {}", origin_text(winner));
    }
    text
}

fn origin_text(origin: &Origin) -> String {
    let parts = origin.components().iter().map(|component| match component {
        Component::Absent => "-".to_owned(),
        Component::Branch(branch) => format!("branch{branch}"),
        Component::Object(object) => object.name.name.as_str().unwrap().to_owned(),
        Component::Index(index) => format!("#{index}"),
        Component::Key(key) => key.to_string(),
    });
    parts.collect::<Vec<_>>().join("+")
}

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
            // What it held is forgotten once it has dropped the document.
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
            // The held member keeps its document too, and so the group its template.
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
fn the_check_of_the_output_holds_as_a_stage() {
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
            // What is held takes part in conflicts.
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

/// Names of the joined objects as name and spec.
fn named_by(inputs: &[&str]) -> Value {
    let names: Vec<Value> = inputs
        .iter()
        .map(|input| json!({"@definedOr": [(format!("$.{input}.metadata.name")), "none"]}))
        .collect();
    let specs: Vec<Value> = inputs
        .iter()
        .map(|input| Value::from(format!("$.{input}.spec.v")))
        .collect();
    let name = json!({"@join": [names, "-"]});
    json!({"@project": {"metadata": {"name": name}, "spec": specs}})
}

#[test]
fn join_keys_are_equal_members_or_selected() {
    let cases = [
        json!({"@eq": ["$.A.spec.k", "$.B.spec.k"]}),
        json!({"@in": ["$.A.spec.k", {"@map": ["$$.x", "$.B.spec.l"]}]}),
        json!({"@selector": ["$.A.spec.s", "$.B.spec.m"]}),
        json!({"@and": [{"@lt": ["$.A.spec.n", "$.B.spec.n"]}, {"@eq": ["$.B.spec.n", 2]}]}),
    ];
    for condition in cases {
        check(
            &["A", "B"],
            &json!([{"@join": condition}, (named_by(&["A", "B"]))]),
            &[(
                json!({
                    "A": {"a": {"k": 1, "s": {"x": "y"}, "n": 1}, "none": {"n": 4}},
                    "B": {
                        "b": {"k": 1, "l": [{"x": 1}, {"x": 1}], "m": {"x": "y"}, "n": 2},
                        "other": {"k": 2, "l": [], "n": 3},
                        "null": {"l": [null], "n": 1},
                    },
                }),
                json!({"a-b": [null, null]}),
                &[],
            )],
        );
    }
}

#[test]
fn a_key_that_fails_is_the_error_of_its_object() {
    let keys = [
        (
            json!({"@eq": [{"@int": "$.A.spec.k"}, "$.B.spec.k"]}),
            "0 bad text",
        ),
        (json!({"@in": ["$.B.spec.k", "$.A.spec.k"]}), "0 bad type"),
        (
            json!({"@selector": ["$.A.spec.k", "$.B.spec.labels"]}),
            "0 bad type",
        ),
        (
            json!({"@selector": ["$.B.spec.k", "$.A.spec.k"]}),
            "0 bad type",
        ),
        (json!({"@gt": ["$.A.spec.k", 1]}), "0 bad incomparable"),
    ];
    for (key, error) in keys {
        let pipeline = json!([{"@join": {"@and": [{"@ne": ["$.A.spec.v", "$.A.spec.w"]}, key]}}]);
        check(
            &["A", "B"],
            &pipeline,
            &[
                (
                    json!({"A": {"bad": {"k": "x", "v": 1}}}),
                    json!({}),
                    &[error],
                ),
                (json!({"B": {"b": {}, "c": {}}}), json!({}), &[error]),
                // False wins over error.
                (
                    json!({"A": {"bad": {"k": "x", "v": 1, "w": 1}}}),
                    json!({}),
                    &[],
                ),
            ],
        );
    }
}

#[test]
fn a_pair_that_fails_is_held_and_reported_by_itself() {
    let condition = json!({"@and": [
        {"@lt": ["$.A.spec.v", "$.B.spec.v"]},
        {"@eq": ["$.A.spec.k", "$.B.spec.k"]},
        {"@eq": [{"@int": "$.A.spec.i"}, "$.B.spec.i"]},
    ]});
    check(
        &["A", "B"],
        &json!([{"@join": condition}, (named_by(&["A", "B"]))]),
        &[
            (
                json!({"A": {"a": {"v": 1, "k": 1, "i": 1}}, "B": {"b": {"v": 2, "k": 1, "i": 1}, "c": {"v": 3, "k": 2, "i": 1}}}),
                json!({"a-b": [1, 2]}),
                &[],
            ),
            // With c it is out: the keys differ.
            (
                json!({"A": {"a": {"v": "x", "k": 1, "i": 1}}}),
                json!({"a-b": [1, 2]}),
                &["0 a+b incomparable"],
            ),
            // The failure of the object covers that of the pair.
            (
                json!({"A": {"a": {"v": "x", "k": 1, "i": "x"}}}),
                json!({"a-b": [1, 2]}),
                &["0 a text"],
            ),
            (
                json!({"B": {"b": {"v": 2, "k": 3, "i": 1}}}),
                json!({}),
                &["0 a text"],
            ),
        ],
    );
}

#[test]
fn three_sources_join() {
    let condition = json!({"@and": [
        {"@eq": ["$.A.spec.k", "$.B.spec.k"]},
        {"@lt": [{"@add": ["$.A.spec.v", "$.B.spec.v"]}, "$.C.spec.v"]},
    ]});
    check(
        &["A", "B", "C"],
        &json!([{"@join": condition}, (named_by(&["A", "B", "C"]))]),
        &[
            (
                json!({"A": {"a": {"k": 1, "v": 1}}, "B": {"b": {"k": 1, "v": 2}}, "C": {"c": {"v": 4}, "d": {"v": 3}}}),
                json!({"a-b-c": [1, 2, 4]}),
                &[],
            ),
            (
                json!({"C": {"d": {}}}),
                json!({"a-b-c": [1, 2, 4]}),
                &["0 a+b+d type"],
            ),
            (json!({"B": {"b": null}}), json!({}), &[]),
        ],
    );
}

#[test]
fn a_soft_input_may_be_missing() {
    check(
        &["S", "A"],
        &json!([{"@join": {"on": {"@eq": ["$.A.spec.k", "$.S.spec.k"]}, "soft": ["S"]}}, (named_by(&["S", "A"]))]),
        &[
            (
                json!({"A": {"a": {"k": 1, "v": 1}}, "S": {"z": {"k": 2}}}),
                json!({"none-a": [null, 1]}),
                &[],
            ),
            (
                json!({"S": {"s": {"k": 1, "v": 2}, "t": {"k": 1}}}),
                json!({"s-a": [2, 1], "t-a": [null, 1]}),
                &[],
            ),
            (
                json!({"S": {"s": null, "t": null}, "A": {"b": {"v": 3}}}),
                json!({"none-a": [null, 1], "none-b": [null, 3]}),
                &[],
            ),
        ],
    );
}

#[test]
fn the_null_row_holds_while_a_partner_fails() {
    let pipeline = json!([{"@join": {"on": {"@lt": ["$.A.spec.v", "$.S.spec.v"]}, "soft": ["S"]}}, (named_by(&["A", "S"]))]);
    check(
        &["A", "S"],
        &pipeline,
        &[
            (
                json!({"A": {"a": {"v": 1}}}),
                json!({"a-none": [1, null]}),
                &[],
            ),
            (
                json!({"S": {"s": {"v": "x"}}}),
                json!({"a-none": [1, null]}),
                &["0 a+s incomparable"],
            ),
            // A new row was never put out, so there is nothing to hold.
            (
                json!({"A": {"b": {"v": 1}}}),
                json!({"a-none": [1, null]}),
                &["0 a+s incomparable", "0 b+s incomparable"],
            ),
            (
                json!({"S": {"t": {"v": 2}}}),
                json!({"a-t": [1, 2], "b-t": [1, 2]}),
                &["0 a+s incomparable", "0 b+s incomparable"],
            ),
            (
                json!({"S": {"s": null, "t": {"v": "y"}}}),
                json!({"a-t": [1, 2], "b-t": [1, 2]}),
                &["0 a+t incomparable", "0 b+t incomparable"],
            ),
            (
                json!({"S": {"t": {"v": 0}}}),
                json!({"a-none": [1, null], "b-none": [1, null]}),
                &[],
            ),
        ],
    );
}

#[test]
fn a_row_whose_own_side_fails_is_in_error_without_partners() {
    let pipeline = json!([
        {"@join": {"on": {"@eq": [{"@int": "$.A.spec.k"}, "$.S.spec.k"]}, "soft": ["S"]}},
        (named_by(&["A", "S"])),
    ]);
    check(
        &["A", "S"],
        &pipeline,
        &[
            (
                json!({"A": {"a": {"k": 1}, "b": {"k": "x"}}}),
                json!({"a-none": [null, null]}),
                &["0 b text"],
            ),
            (
                json!({"A": {"a": {"k": "x", "v": 2}}}),
                json!({"a-none": [null, null]}),
                &["0 a text", "0 b text"],
            ),
        ],
    );
}

#[test]
fn a_key_to_a_soft_input_is_reported_without_any_row() {
    let condition = json!({"@and": [
        {"@eq": ["$.A.spec.k", "$.B.spec.k"]},
        {"@eq": [{"@int": "$.A.spec.i"}, "$.S.spec.i"]},
    ]});
    check(
        &["A", "B", "S"],
        &json!([{"@join": {"on": condition, "soft": ["S"]}}, (named_by(&["A", "B", "S"]))]),
        &[
            (
                json!({"A": {"a": {"k": 1, "i": "x"}}}),
                json!({}),
                &["0 a text"],
            ),
            (json!({"B": {"b": {"k": 1}}}), json!({}), &["0 a text"]),
            (
                json!({"A": {"a": {"k": 1, "i": 1}}}),
                json!({"a-b-none": [null, null, null]}),
                &[],
            ),
        ],
    );
}

#[test]
fn a_failing_soft_document_keeps_all_rows_without_a_partner_in_error() {
    let pipeline = json!([
        {"@join": {"on": {"@and": [{"@eq": ["$.A.spec.k", "$.S.spec.k"]}, {"@gt": ["$.S.spec.v", 0]}]}, "soft": ["S"]}},
        (named_by(&["A", "S"])),
    ]);
    check(
        &["A", "S"],
        &pipeline,
        &[
            (
                json!({"A": {"a": {"k": 1}, "b": {"k": 2}}}),
                json!({"a-none": [null, null], "b-none": [null, null]}),
                &[],
            ),
            // With b the key is false, which wins.
            (
                json!({"S": {"s": {"k": 1}}, "A": {"a": {"k": 1, "v": 1}, "b": {"k": 2, "v": 2}}}),
                json!({"a-none": [null, null], "b-none": [2, null]}),
                &["0 s type"],
            ),
            (
                json!({"S": {"s": {"k": 1, "v": 0}}}),
                json!({"a-none": [1, null], "b-none": [2, null]}),
                &[],
            ),
        ],
    );
}

#[test]
fn later_soft_inputs_see_null_for_absent_ones() {
    let condition = json!({"@and": [
        {"@eq": ["$.A.spec.k", "$.S.spec.k"]},
        {"@eq": [{"@concat": ["$.S.metadata.name"]}, "$.R.spec.s"]},
    ]});
    check(
        &["A", "S", "R"],
        &json!([{"@join": {"on": condition, "soft": ["S", "R"]}}, (named_by(&["A", "S", "R"]))]),
        &[
            (
                json!({"A": {"a": {"k": 1}}, "S": {"s": {"k": 1}}, "R": {"r": {"s": "s"}}}),
                json!({"a-s-r": [null, null, null]}),
                &[],
            ),
            // The key side reads an absent document: the error of the row itself.
            (
                json!({"A": {"b": {"k": 2}}}),
                json!({"a-s-r": [null, null, null]}),
                &["0 b+-+- type"],
            ),
            (
                json!({"R": {"r": null}}),
                json!({"a-s-none": [null, null, null]}),
                &["0 b+-+- type"],
            ),
        ],
    );
}

#[test]
fn a_held_row_enters_the_soft_part_as_it_was() {
    let condition = json!({"@and": [
        {"@lt": ["$.A.spec.v", "$.B.spec.v"]},
        {"@eq": ["$.A.spec.k", "$.S.spec.k"]},
    ]});
    check(
        &["A", "B", "S"],
        &json!([{"@join": {"on": condition, "soft": "S"}}, (named_by(&["A", "B", "S"]))]),
        &[
            (
                json!({"A": {"a": {"k": 1, "v": 1}}, "B": {"b": {"v": 2}}, "S": {"s": {"k": 1, "v": 3}}}),
                json!({"a-b-s": [1, 2, 3]}),
                &[],
            ),
            // The old key of a still finds s, and s may change.
            (
                json!({"A": {"a": {"k": 2, "v": "x"}}, "S": {"s": {"k": 1, "v": 4}, "t": {"k": 2}}}),
                json!({"a-b-s": [1, 2, 4]}),
                &["0 a+b incomparable"],
            ),
            (
                json!({"S": {"s": null}}),
                json!({"a-b-none": [1, 2, null]}),
                &["0 a+b incomparable"],
            ),
        ],
    );
}

#[test]
fn a_held_row_that_fails_is_the_error_of_its_object_if_that_has_no_other() {
    let condition = json!({"@and": [
        {"@eq": [{"@int": "$.A.spec.s"}, "$.S.spec.k"]},
        {"@lt": ["$.A.spec.v", "$.B.spec.v"]},
        {"@eq": [{"@int": "$.A.spec.k"}, "$.B.spec.k"]},
    ]});
    check(
        &["A", "B", "S"],
        &json!([{"@join": {"on": condition, "soft": "S"}}, (named_by(&["A", "B", "S"]))]),
        &[
            (
                json!({"A": {"a": {"k": 1, "v": 1, "s": {}}}, "B": {"b": {"k": 1, "v": 2}}}),
                json!({}),
                &["0 a type"],
            ),
            // The pair is held with the old document, on which the soft key still fails.
            (
                json!({"A": {"a": {"k": 1, "v": "x", "s": 1}}}),
                json!({}),
                &["0 a type", "0 a+b incomparable"],
            ),
            (
                json!({"A": {"a": {"k": "x", "v": 1, "s": 1}}}),
                json!({}),
                &["0 a text"],
            ),
            (
                json!({"A": {"a": {"k": 1, "v": 1, "s": 1}}}),
                json!({"a-b-none": [1, 2, null]}),
                &[],
            ),
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
fn random_numbers_hang_on_the_origin_alone() {
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
