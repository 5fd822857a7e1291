//! Codes of files that cannot be read.

use crate::doc::codes::Trigger::{File, Script, Usage};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "syntax",
        "The text is not YAML or JSON.",
        "Correct it at the place that is shown; most often the indentation is wrong or a quote is missing.",
        File("a: [1"),
    ),
    code(
        "duplicate-key",
        "A key occurs twice in a map.",
        "Remove one of them.",
        File("a: 1\na: 2\n"),
    ),
    code(
        "complex-key",
        "A list or a map is used as a key.",
        "Use a text as the key.",
        File("? [a]\n: 1\n"),
    ),
    code(
        "missing-key",
        "There is a value without a key.",
        "Write the key before the colon.",
        File("{: 1}"),
    ),
    code(
        "merge-key",
        "The value of `<<` is neither a map nor a list of maps.",
        "Refer to a map with an alias.",
        File("a:\n  <<: 1\n"),
    ),
    code(
        "unknown-anchor",
        "An alias names no anchor before it.",
        "Define the anchor with `&name` before it is used. In files over 1 MiB the items of a List cannot share anchors.",
        File("a: *b\n"),
    ),
    code(
        "recursive-alias",
        "An alias is inside the value that it refers to.",
        "Write the value out.",
        File("a: &a [*a]\n"),
    ),
    code(
        "unsupported-tag",
        "A tag has no type in JSON.",
        "Remove the tag.",
        File("a: !other 1\n"),
    ),
    code(
        "tag-mismatch",
        "A tag does not match its value.",
        "Remove the tag, or correct the value.",
        File("a: !!int x\n"),
    ),
    code(
        "no-json-number",
        "A number is infinite, not a number, or out of range.",
        "Quote it if it is meant as text.",
        File("a: .inf\n"),
    ),
    code(
        "too-many-nodes",
        "A document has too many values, with aliases expanded.",
        "Write fewer aliases.",
        File(
            "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n",
        ),
    ),
    code(
        "bad-list",
        "A document of more than 1 MiB has `items`, and is not a List.",
        "Give it a kind that ends in `List`, before the items.",
        Script(
            r#"(printf '{"items": ['; yes '{},' | head -n 400000; printf '{}]}') > a.json; deltic render a.json"#,
        ),
    ),
    code(
        "invalid-utf8",
        "A file is not UTF-8.",
        "Save it as UTF-8; bytes that are not text go into `data` as base64.",
        Script(r"printf '\377' | deltic check -"),
    ),
    code(
        "read",
        "A file or directory cannot be read.",
        "Check the name and the permissions; `-R` also reads subdirectories.",
        Usage(&["check", "missing.yaml"]),
    ),
];
