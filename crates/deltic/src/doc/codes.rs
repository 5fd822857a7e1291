//! The form of the documentation of codes, and their page.

use std::fmt::Write;

use super::errors::FAMILIES;

/// The documentation of a code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeDoc {
    /// The code, which never changes its meaning.
    pub(crate) code: &'static str,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// What to do about it.
    pub(crate) fix: &'static str,
    /// What produces it.
    pub(crate) trigger: Trigger,
}

pub(crate) const fn code(
    code: &'static str,
    meaning: &'static str,
    fix: &'static str,
    trigger: Trigger,
) -> CodeDoc {
    CodeDoc {
        code,
        meaning,
        fix,
        trigger,
    }
}

/// An example that produces a code. All but [`Trigger::Message`] run as tests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trigger {
    /// `deltic check` of a file with this text.
    File(&'static str),
    /// `deltic check` of an Operator with these fields, as JSON.
    Operator(&'static str),
    /// `deltic check` of a pipeline on these sources, as JSON.
    Check(&'static [&'static str], &'static str),
    /// `deltic eval` of an expression on an object, both as JSON.
    Eval(&'static str, &'static str),
    /// `deltic render` of a pipeline on an object, both as JSON.
    Render(&'static str, &'static str),
    /// Operations of a patch on a document, both as JSON.
    Patch(&'static str, &'static str),
    /// The arguments of a command.
    Usage(&'static [&'static str]),
    /// The arguments of a command, and what it reads on stdin. `operator.yaml` names the objects of
    /// the kind A, and derives nothing else from them.
    Stream(&'static [&'static str], &'static str),
    /// `deltic render` of a pipeline on the source A and these objects, with these arguments.
    Objects(&'static str, &'static str, &'static [&'static str]),
    /// `deltic render` of a file with an Operator and objects, with these arguments.
    Manifests(&'static str, &'static [&'static str]),
    /// Commands of a shell, in an empty directory.
    Script(&'static str),
    /// A situation that needs more than a command, and the message there. A test of the crate that
    /// writes the message compares it with the page (`cases::documented`).
    Message(&'static str, &'static str),
}

impl Trigger {
    /// The example in a line or a few.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::File(text) => format!("a file with `{}`", text.trim().replace('\n', "⏎ ")),
            Self::Operator(fields) => format!("an Operator with `{fields}`"),
            Self::Check([source], pipeline) => {
                format!("the pipeline `{pipeline}` on the source {source}")
            }
            Self::Check(sources, pipeline) => {
                let sources = sources.join(" and ");
                format!("the pipeline `{pipeline}` on the sources {sources}")
            }
            Self::Eval(expr, "{}") => format!("the expression `{expr}`"),
            Self::Eval(expr, object) => format!("the expression `{expr}` on `{object}`"),
            Self::Render(pipeline, object) => format!("the pipeline `{pipeline}` on `{object}`"),
            Self::Patch(patch, document) => format!("the operations `{patch}` on `{document}`"),
            Self::Usage(arguments) => format!("`deltic {}`", arguments.join(" ")),
            Self::Stream(arguments, input) => {
                format!("`deltic {}` of `{input}`", arguments.join(" "))
            }
            Self::Objects(pipeline, objects, arguments) => {
                let with = match arguments {
                    [] => String::new(),
                    arguments => format!(", with `{}`", arguments.join(" ")),
                };
                format!("the pipeline `{pipeline}` on `{objects}`{with}")
            }
            Self::Manifests(text, arguments) => {
                let arguments = [&["deltic", "render", "example.yaml"], *arguments].concat();
                let text = text.trim().replace('\n', "⏎ ");
                format!("`{}`, where the file has `{text}`", arguments.join(" "))
            }
            Self::Script(commands) => format!("`{commands}`"),
            Self::Message(situation, message) => format!("{situation}: `{message}`"),
        }
    }
}

/// All codes.
pub(crate) fn codes() -> impl Iterator<Item = &'static CodeDoc> {
    FAMILIES.iter().flat_map(|(_, codes)| codes.iter())
}

/// `docs/reference/errors.md`.
pub(crate) fn errors_page() -> String {
    let mut page = String::from(PREFACE);
    for (family, codes) in FAMILIES {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {family}\n");
        for doc in *codes {
            let _ = write!(page, "\n### {}\n\n{}\n\n", doc.code, doc.meaning);
            let _ = writeln!(page, "- Example: {}", doc.trigger.text());
            let _ = writeln!(page, "- What to do: {}", doc.fix);
        }
    }
    page
}

const PREFACE: &str = "\
# Reference: errors and warnings

<!-- Generated from the table in `deltic` by `UPDATE=1 cargo test -p deltic --test cli doc`. Do not
edit. -->

Every error and warning has a code, which is printed in brackets: `error[bad-path]: …`. Codes are
stable: a code never changes its meaning. `deltic doc CODE` prints the same as this page. Examples run as
tests; where that needs a cluster, the example is a situation with its message.
";
