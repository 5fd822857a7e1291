//! The documentation of paths, as data: the page `docs/reference/paths.md` and `deltic doc` are
//! made of it, and the examples run as tests.

use std::fmt::Write;

use crate::function::Example;
use crate::reference::add_examples;

/// A part of the syntax of paths.
#[derive(Clone, Copy, Debug)]
pub struct PathDoc {
    /// The syntax, such as `$.a.b`.
    pub syntax: &'static str,
    /// What it means.
    pub summary: &'static str,
    /// Expressions with the path.
    pub examples: &'static [Example],
}

/// All parts of the syntax, in the order of the page.
pub const PATHS: [PathDoc; 13] = [
    PathDoc {
        syntax: "$",
        summary: "The document. `$.` is the same.",
        examples: &[
            Example(r#""$""#, r#"{"a": 1}"#, r#"{"a":1}"#),
            Example(r#""$.""#, "[1, 2]", "[1,2]"),
        ],
    },
    PathDoc {
        syntax: "$.name",
        summary: "A member of a map. A name may contain every character but `. [ ] ( )`, spaces and \
                  quotes, so `-` and `/` need no brackets. A member that does not exist is null, \
                  and so is a member of a list or a scalar.",
        examples: &[
            Example(
                r#""$.metadata.name""#,
                r#"{"metadata": {"name": "web"}}"#,
                r#""web""#,
            ),
            Example(r#""$.spec.missing.field""#, r#"{"spec": {}}"#, "null"),
            Example(
                r#""$.labels.app-name""#,
                r#"{"labels": {"app-name": "web"}}"#,
                r#""web""#,
            ),
        ],
    },
    PathDoc {
        syntax: "$['name']",
        summary: "A member whose name contains dots or spaces, such as most labels and annotations. \
                  Single and double quotes mean the same.",
        examples: &[
            Example(
                r#""$.labels['app.kubernetes.io/name']""#,
                r#"{"labels": {"app.kubernetes.io/name": "web"}}"#,
                r#""web""#,
            ),
            Example(
                r#""$.labels.app.kubernetes.io/name""#,
                r#"{"labels": {"app.kubernetes.io/name": "web"}}"#,
                "null",
            ),
        ],
    },
    PathDoc {
        syntax: "$[index]",
        summary: "An element of a list, from 0. A negative index counts from the end. An index out \
                  of range is null.",
        examples: &[
            Example(r#""$.ports[0]""#, r#"{"ports": [80, 443]}"#, "80"),
            Example(r#""$.ports[-1]""#, r#"{"ports": [80, 443]}"#, "443"),
            Example(r#""$.ports[5]""#, r#"{"ports": [80, 443]}"#, "null"),
        ],
    },
    PathDoc {
        syntax: "$[start:end:step]",
        summary: "A slice of a list; each part may be left out. As a value, a path is its first \
                  match: `@query` gives all matches as a list.",
        examples: &[
            Example(
                r#"{"@query": "$.l[1:3]"}"#,
                r#"{"l": [1, 2, 3, 4]}"#,
                "[2,3]",
            ),
            Example(
                r#"{"@query": "$.l[::2]"}"#,
                r#"{"l": [1, 2, 3, 4]}"#,
                "[1,3]",
            ),
            Example(r#""$.l[1:3]""#, r#"{"l": [1, 2, 3, 4]}"#, "2"),
        ],
    },
    PathDoc {
        syntax: "$.* and $[*]",
        summary: "All members of a map, in the order of their keys, or all elements of a list.",
        examples: &[
            Example(
                r#"{"@query": "$.l[*].n"}"#,
                r#"{"l": [{"n": 1}, {}, {"n": 3}]}"#,
                "[1,3]",
            ),
            Example(
                r#"{"@query": "$.m.*"}"#,
                r#"{"m": {"b": 2, "a": 1}}"#,
                "[1,2]",
            ),
        ],
    },
    PathDoc {
        syntax: "$[a, b]",
        summary: "Several selectors, in the order in which they are written.",
        examples: &[Example(
            r#"{"@query": "$['b', 'a']"}"#,
            r#"{"a": 1, "b": 2}"#,
            "[2,1]",
        )],
    },
    PathDoc {
        syntax: "$..name",
        summary: "All members of that name, at any depth. A source whose objects are searched this \
                  way stores them completely.",
        examples: &[Example(
            r#"{"@query": "$..image"}"#,
            r#"{"spec": {"containers": [{"image": "a"}, {"image": "b"}]}}"#,
            r#"["a","b"]"#,
        )],
    },
    PathDoc {
        syntax: "$[?(condition)]",
        summary: "The elements for which a condition holds; `@` is the element, and `$` is the \
                  document. Conditions have `== != < <= > >=`, `&&`, `||`, `!`, `in [..]` and \
                  `=~ /re/`; the parentheses may be left out. A path alone is true if it exists. \
                  Filters are typed: `'1'` is not `1`.",
        examples: &[
            Example(
                r#""$.conditions[?(@.type=='Ready')].status""#,
                r#"{"conditions": [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]}"#,
                r#""True""#,
            ),
            Example(
                r#"{"@query": "$.l[?@.n > 1]"}"#,
                r#"{"l": [{"n": 1}, {"n": 2}]}"#,
                r#"[{"n":2}]"#,
            ),
            Example(
                r#"{"@query": "$.l[?(@ in ['a', 'b'])]"}"#,
                r#"{"l": ["a", "c"]}"#,
                r#"["a"]"#,
            ),
            Example(
                r#"{"@query": "$.l[?(@.n =~ /^w/)].n"}"#,
                r#"{"l": [{"n": "web"}, {"n": "db"}]}"#,
                r#"["web"]"#,
            ),
            Example(
                r#"{"@query": "$.l[?(@.n == $.want)].n"}"#,
                r#"{"l": [{"n": 1}, {"n": 2}], "want": 2}"#,
                "[2]",
            ),
            Example(
                r#"{"@query": "$.l[?(@ == '1')]"}"#,
                r#"{"l": [1, "1"]}"#,
                r#"["1"]"#,
            ),
        ],
    },
    PathDoc {
        syntax: "$$",
        summary: "The current item inside `@map @filter @any @all @none @sortBy`, and paths below \
                  it. `$` is still the document. Elsewhere it is an error when the pipeline is \
                  created.",
        examples: &[
            Example(
                r#"{"@map": [{"@add": ["$$.n", "$.plus"]}, "$.l"]}"#,
                r#"{"l": [{"n": 1}, {"n": 2}], "plus": 10}"#,
                "[11,12]",
            ),
            Example(
                r#"{"@filter": [{"@gt": ["$$", 1]}, "$.l"]}"#,
                r#"{"l": [1, 2, 3]}"#,
                "[2,3]",
            ),
        ],
    },
    PathDoc {
        syntax: r#"{"$.a.b": value}"#,
        summary: "As the key of a map, a path sets a field of the result and creates the maps on \
                  the way. `$.a[1]` sets an element and pads the list with null. A path with a \
                  filter or wildcard sets every match, and is an error if there is none. Setters \
                  apply after the plain keys, sorted by their text; they always read the input.",
        examples: &[
            Example(r#"{"$.a.b": 1}"#, "{}", r#"{"a":{"b":1}}"#),
            Example(r#"{"$.l[1]": "x"}"#, "{}", r#"{"l":[null,"x"]}"#),
            Example(
                r#"{"a": {"c": 2}, "$.a.b": "$.n"}"#,
                r#"{"n": 1}"#,
                r#"{"a":{"b":1,"c":2}}"#,
            ),
            Example(r#"{"a": 1, "$.a.b": 2}"#, "{}", "error: set-not-map"),
        ],
    },
    PathDoc {
        syntax: r#"{"$.": map}"#,
        summary: "Copies all keys of a map into the result; plain keys and setters overwrite them. \
                  The key `\"$\"` is an error when the pipeline is created.",
        examples: &[
            Example(
                r#"{"$.": "$.spec", "n": 2}"#,
                r#"{"spec": {"n": 1, "m": 1}}"#,
                r#"{"m":1,"n":2}"#,
            ),
            Example(
                r#"{"$.": "$", "$.l[*].n": 0}"#,
                r#"{"l": [{"n": 1}, {"n": 2, "k": 3}]}"#,
                r#"{"l":[{"n":0},{"k":3,"n":0}]}"#,
            ),
        ],
    },
    PathDoc {
        syntax: "text that is no path",
        summary: "Only a string that is written in the pipeline and starts with `$` is a path. A \
                  string from an object is never evaluated again. `@literal` writes such a string \
                  as data.",
        examples: &[
            Example(r#"{"@literal": "$.a"}"#, r#"{"a": 1}"#, r#""$.a""#),
            Example(r#""$.a""#, r#"{"a": "$.b", "b": 1}"#, r#""$.b""#),
        ],
    },
];

/// `docs/reference/paths.md`.
pub fn paths_page() -> String {
    let mut page = String::from(PREFACE);
    for doc in &PATHS {
        let _ = write!(page, "\n## `{}`\n\n{}\n", doc.syntax, doc.summary);
        add_examples(&mut page, doc.examples);
    }
    page
}

const PREFACE: &str = "\
# Reference: paths

<!-- Generated from the table in `expr` by `UPDATE=1 cargo test -p expr`. Do not edit. -->

A string that starts with `$` is a path. The dialect is RFC 9535 with a few additions. A path as a
value gives its first match, or null if there is none; `@query` gives all matches. A path that cannot
be parsed is an error when the pipeline is created. Each example shows an expression, the value of
`$`, and the result. All examples run as tests.
";
