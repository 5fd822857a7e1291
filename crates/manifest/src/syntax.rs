//! Errors of the YAML parser as diagnostics of this crate, with help for the most common
//! mistakes.

use granit_parser::{ErrorKind, ScanError};

use crate::problem::LoadProblem;

/// The problem that a parser error describes.
pub(crate) fn problem(error: &ScanError) -> LoadProblem {
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(),
        ErrorKind::UnknownAnchor => {
            LoadProblem::new("unknown-anchor", "the alias names no anchor before it")
        }
        kind => {
            let problem = LoadProblem::new("syntax", message(kind));
            match help(kind) {
                Some(help) => problem.help(help),
                None => problem,
            }
        }
    }
}

/// The problem of a value that is nested too deep, found by the parser or the loader.
pub(crate) fn too_deep() -> LoadProblem {
    LoadProblem::new(
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
        // The parser also reports an unexpected comma this way: `[1, , 2]`.
        ErrorKind::UnexpectedEofImplicitFlowMapping | ErrorKind::UnexpectedEofFlowSequence => {
            "expected an element of the list".to_owned()
        }
        ErrorKind::SimpleKeyExpected => "expected `:` after a key".to_owned(),
        ErrorKind::MappingValueNotAllowed => "a `:` is not allowed here".to_owned(),
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
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            Some("between { and } or [ and ], put quotes around text that holds one of `,[]{}`")
        }
        ErrorKind::MissingAnchorOrAliasName => {
            Some("put quotes around text that starts with `*` or `&`")
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => Some("YAML is indented with spaces, not tabs"),
        _ => None,
    }
}
