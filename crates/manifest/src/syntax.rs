//! Errors of the YAML parser in the words of this crate, with help for the mistakes that
//! are made most.

use granit_parser::{ErrorKind, ScanError};

use crate::problem::Problem;

/// The problem that a parser error is about.
pub(crate) fn problem(error: &ScanError) -> Problem {
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(),
        ErrorKind::UnknownAnchor => {
            Problem::new("unknown-anchor", "the alias names no anchor before it")
        }
        kind => {
            let problem = Problem::new("syntax", message(kind));
            match help(kind) {
                Some(help) => problem.help(help),
                None => problem,
            }
        }
    }
}

/// Nested too deep, whether the parser or the loader found it.
pub(crate) fn too_deep() -> Problem {
    Problem::new(
        "too-deep",
        format!("nested deeper than {} levels", document::MAX_DEPTH),
    )
}

fn message(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::ExpectedDocumentStart => {
            "expected the end of the document, or `---` and the next one".to_owned()
        }
        ErrorKind::UnexpectedCharacter { character } => {
            format!("unexpected character `{}`", character.escape_debug())
        }
        ErrorKind::ExpectedBlockMappingKey => {
            "expected a key at the indentation of the map".to_owned()
        }
        ErrorKind::ExpectedBlockSequenceEntry => {
            "expected `-` at the indentation of the list".to_owned()
        }
        // What the parser calls the end of the file may be a comma: `[1, , 2]`.
        ErrorKind::UnexpectedEofImplicitFlowMapping | ErrorKind::UnexpectedEofFlowSequence => {
            "expected an element of the list".to_owned()
        }
        ErrorKind::SimpleKeyExpected => "expected `:` after a key".to_owned(),
        ErrorKind::MappingValueNotAllowed => "a `:` cannot stand here".to_owned(),
        kind => kind.to_string(),
    }
}

fn help(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::UnexpectedCharacter {
            character: '@' | '`' | '%',
        } => Some("put quotes around a key or a text that starts with this character"),
        ErrorKind::MappingValueNotAllowed => {
            Some("check the indentation, and put quotes around text that holds `: `")
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => Some("YAML is indented with spaces, not tabs"),
        _ => None,
    }
}
