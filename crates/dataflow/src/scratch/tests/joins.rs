//! `@join` with hard and soft inputs.

use document::{Value, json};

use super::check;

/// A `@project` to the names and the `spec.v` of the joined objects.
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
            // With c there is no pair: the keys differ.
            (
                json!({"A": {"a": {"v": "x", "k": 1, "i": 1}}}),
                json!({"a-b": [1, 2]}),
                &["0 a+b incomparable"],
            ),
            // The failure of the object is reported instead of that of the pair.
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
            // A new row has no output to hold.
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
            // With b the key is false, which wins over the error.
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
            // The key side reads an absent document, so the error belongs to the row.
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
            // The held row with the old key of a still finds s, and s may change.
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
            // The pair is held with the old document, and the soft key fails on it.
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
