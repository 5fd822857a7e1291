//! Turns bytes into a patch and a document.

use document::Value;
use document::patch::{Operation, Patch, PatchPath};

use crate::bytes::Bytes;

/// Parts of paths: some exist in the documents, some do not, and some are invalid.
const PIECES: [&str; 16] = [
    "/a",
    "/b",
    "/spec",
    "/labels",
    "/",
    "/0",
    "/1",
    "/-",
    "/~0~1~2~3",
    "[0]",
    "[*]",
    "/[*]",
    "/[?(@.a=='a')]",
    "[?(@.a.b==\"1\")]",
    "[?(@.name == 'b')]",
    "[?(@.a!='a')]",
];

/// Any text as a path, in any operation. Parsing fails with a location, or the path prints as
/// it was. The patch returns a document that can be printed and parsed, or an error with a
/// code, the same every time.
pub fn patch(data: &[u8]) {
    if let Ok(json) = Value::from_json(data) {
        own(&json);
    }
    let mut bytes = Bytes::new(data);
    let document = bytes.value(4);
    let strict = bytes.byte().is_multiple_of(4);
    let count = 1 + bytes.below(4);
    let mut operations: Vec<_> = (0..count)
        .filter_map(|_| {
            let path = pieces(&mut bytes);
            let from = pieces(&mut bytes);
            operation(&mut bytes, path?, from)
        })
        .collect();
    let text = format!("/{}", String::from_utf8_lossy(bytes.rest()));
    operations.extend(path(&text).map(|path| Operation::Remove { path }));

    let patch = Patch::new(operations).strict(strict);
    let one = patch.apply(&document);
    assert_eq!(one, patch.apply(&document), "{patch:?} on {document}");
    match one {
        Ok(result) => {
            let again = result.to_string().parse();
            assert_eq!(again.ok(), Some(result), "{patch:?} on {document}");
        }
        Err(error) => {
            assert!(error.operation < patch.operations().len());
            assert!(!error.code().is_empty());
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Any JSON as a patch of itself.
fn own(json: &Value) {
    match Patch::read(json) {
        Ok(patch) => assert_eq!(patch.apply(json), patch.apply(json), "{json}"),
        Err(error) => assert!(!error.code().is_empty()),
    }
}

fn pieces(bytes: &mut Bytes<'_>) -> Option<PatchPath> {
    let length = bytes.below(5);
    let text: String = (0..length)
        .map(|_| PIECES[bytes.below(PIECES.len())])
        .collect();
    path(&text)
}

fn path(text: &str) -> Option<PatchPath> {
    match PatchPath::parse(text) {
        Ok(path) => {
            assert_eq!(path.to_string(), text);
            Some(path)
        }
        Err(error) => {
            assert!(error.offset <= text.len());
            assert!(text.is_char_boundary(error.offset), "{text:?}: {error}");
            None
        }
    }
}

fn operation(bytes: &mut Bytes<'_>, path: PatchPath, from: Option<PatchPath>) -> Option<Operation> {
    Some(match bytes.below(7) {
        0 => Operation::Add {
            path,
            value: bytes.value(2),
        },
        1 => Operation::Replace {
            path,
            value: bytes.value(2),
        },
        2 => Operation::Remove { path },
        3 => Operation::Test {
            path,
            value: Value::NULL,
        },
        4 => Operation::Copy { from: from?, path },
        5 => Operation::Move { from: from?, path },
        _ => Operation::Merge {
            path,
            value: bytes.value(2),
        },
    })
}
