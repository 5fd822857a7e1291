//! Optionals.

use super::super::optional;
use super::{Example, Function, function, method};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "optional.none",
        0,
        0,
        optional::none,
        "optional.none()",
        "The optional without a value.",
        &[Example("optional.none().hasValue()", "false")],
    ),
    function(
        "optional.of",
        1,
        1,
        optional::of,
        "optional.of(<any>)",
        "An optional with a value.",
        &[Example("optional.of(1).value()", "1")],
    ),
    function(
        "optional.ofNonZeroValue",
        1,
        1,
        optional::of_non_zero,
        "optional.ofNonZeroValue(<any>)",
        "An optional, without a value if that is null, 0, false or empty.",
        &[Example("optional.ofNonZeroValue('').hasValue()", "false")],
    ),
    function(
        "optional.unwrap",
        1,
        1,
        optional::unwrap,
        "optional.unwrap(<list of optionals>)",
        "The values that are there.",
        &[Example(
            "optional.unwrap([optional.of(1), optional.none()])",
            "[1]",
        )],
    ),
    method(
        "unwrapOpt",
        0,
        0,
        optional::unwrap,
        "list.unwrapOpt()",
        "The same as a method.",
        &[Example(
            "[optional.of(1), optional.none()].unwrapOpt()",
            "[1]",
        )],
    ),
    method(
        "hasValue",
        0,
        0,
        optional::has_value,
        "optional.hasValue()",
        "Whether there is a value.",
        &[Example("{'a': 1}.?b.hasValue()", "false")],
    ),
    method(
        "value",
        0,
        0,
        optional::value,
        "optional.value()",
        "The value, or an error.",
        &[
            Example("{'a': 1}.?a.value()", "1"),
            Example("{'a': 1}.?b.value()", "error: cel-argument"),
        ],
    ),
];
