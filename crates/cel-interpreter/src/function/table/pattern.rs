//! Regular expressions.

use super::super::pattern;
use super::{Example, Function, both, method};

pub(super) static FUNCTIONS: &[Function] = &[
    method(
        "find",
        1,
        1,
        pattern::find,
        "string.find(<pattern>)",
        "The first match of a regular expression in the syntax of RE2, or an empty string.",
        &[Example("'app-12'.find('[0-9]+')", r#""12""#)],
    ),
    method(
        "findAll",
        1,
        2,
        pattern::find_all,
        "string.findAll(<pattern>), string.findAll(<pattern>, <limit>)",
        "All matches, or the first ones.",
        &[
            Example("'a1b22'.findAll('[0-9]+')", r#"["1","22"]"#),
            Example("'a1b22'.findAll('[0-9]+', 1)", r#"["1"]"#),
        ],
    ),
    both(
        "matches",
        2,
        pattern::matches,
        "string.matches(<pattern>), matches(<string>, <pattern>)",
        "Whether a part of the string matches. `^` and `$` are its ends.",
        &[Example("'app-12'.matches('^[a-z]+-[0-9]+$')", "true")],
    ),
];
