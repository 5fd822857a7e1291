//! The macros, which the parser knows.

use super::Example;
use crate::reference::Documented;

pub(super) static MACROS: &[Documented] = &[
    Documented::new(
        "has",
        "has(<x.y>)",
        "Whether a member is there. A key in brackets is no member: `a.?b['key'].hasValue()`.",
        &[
            Example("has({'a': 1}.a)", "true"),
            Example("has({'a': 1}.b)", "false"),
            Example("{'a': {'b.c': 1}}.?a['b.c'].hasValue()", "true"),
        ],
    ),
    Documented::new(
        "all",
        "x.all(v, <condition>), x.all(k, v, <condition>)",
        "Whether a condition holds for all items of a list or keys of a map. With two variables, for indexes and items, or keys and values. An error counts only if nothing else decides.",
        &[
            Example("[1, 2].all(v, v > 0)", "true"),
            Example("{'a': 1}.all(k, v, k == 'a' && v == 1)", "true"),
        ],
    ),
    Documented::new(
        "exists",
        "x.exists(v, <condition>), x.exists(k, v, <condition>)",
        "Whether a condition holds for at least one.",
        &[Example("[1, 2].exists(v, v > 1)", "true")],
    ),
    Documented::new(
        "exists_one",
        "x.exists_one(v, <condition>), x.exists_one(k, v, <condition>)",
        "Whether a condition holds for exactly one. `existsOne` is the same.",
        &[Example("[1, 2].exists_one(v, v > 0)", "false")],
    ),
    Documented::new(
        "map",
        "x.map(v, <value>), x.map(v, <condition>, <value>)",
        "A list of a value for each item or key, or for those for which a condition holds.",
        &[
            Example("[1, 2].map(v, v * 2)", "[2,4]"),
            Example("[1, 2].map(v, v > 1, v * 2)", "[4]"),
        ],
    ),
    Documented::new(
        "filter",
        "x.filter(v, <condition>)",
        "The items or keys for which a condition holds.",
        &[Example("[1, 2, 3].filter(v, v != 2)", "[1,3]")],
    ),
    Documented::new(
        "sortBy",
        "list.sortBy(v, <key>)",
        "The items in the order of a key that is computed for each.",
        &[Example(
            "[{'n': 2}, {'n': 1}].sortBy(v, v.n).map(v, v.n)",
            "[1,2]",
        )],
    ),
    Documented::new(
        "transformList",
        "x.transformList(k, v, <value>), x.transformList(k, v, <condition>, <value>)",
        "A list of a value for each index and item, or key and value.",
        &[Example(
            "['a', 'b'].transformList(k, v, string(k) + v)",
            r#"["0a","1b"]"#,
        )],
    ),
    Documented::new(
        "transformMap",
        "x.transformMap(k, v, <value>), x.transformMap(k, v, <condition>, <value>)",
        "A map with the same keys (or indexes) and other values.",
        &[Example(
            "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)",
            r#"{"b":20}"#,
        )],
    ),
    Documented::new(
        "transformMapEntry",
        "x.transformMapEntry(k, v, <map>), x.transformMapEntry(k, v, <condition>, <map>)",
        "A map of the entries of all maps that are computed. A key may occur once only.",
        &[Example(
            "{'a': 'x'}.transformMapEntry(k, v, {v: k})",
            r#"{"x":"a"}"#,
        )],
    ),
    Documented::new(
        "optMap",
        "optional.optMap(v, <value>)",
        "An optional with a value that is computed from the value, if there is one.",
        &[Example("{'a': 1}.?a.optMap(v, v + 1).value()", "2")],
    ),
    Documented::new(
        "optFlatMap",
        "optional.optFlatMap(v, <optional>)",
        "The optional that is computed from the value, if there is one.",
        &[Example(
            "{'a': {}}.?a.optFlatMap(v, v.?b).hasValue()",
            "false",
        )],
    ),
    Documented::new(
        "or",
        "optional.or(<optional>)",
        "The first of two optionals that has a value.",
        &[Example("{'a': 1}.?b.or({'a': 1}.?a).value()", "1")],
    ),
    Documented::new(
        "orValue",
        "optional.orValue(<any>)",
        "The value, or another if there is none.",
        &[Example("{'a': 1}.?b.orValue(5)", "5")],
    ),
];
