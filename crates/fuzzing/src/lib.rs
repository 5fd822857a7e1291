//! Fuzz harnesses. Each one takes bytes, runs code of deltic that a user's input can reach, and
//! panics if an invariant does not hold. Tests run them on a corpus and on seeded bytes;
//! `fuzz/` connects them to cargo-fuzz.

// A harness panics on purpose, when an invariant does not hold.
#![allow(clippy::missing_panics_doc)]

mod bytes;
mod circuit;
mod operator;
mod patch;
mod request;

use std::sync::Arc;

use document::{Location, Path, Value};
use expr::{Env, Functions, Items, Scope};

pub use bytes::Bytes;
pub use circuit::circuit;
pub use operator::operator;
pub use patch::patch;
pub use request::request;

/// Any text as a path: parsing fails, or the path can be printed and parsed again, and a value
/// that it sets can be read back.
pub fn path(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let document = bytes.value(4);
    let text = format!("${}", String::from_utf8_lossy(bytes.rest()));
    let Ok(path) = Path::parse(&text) else { return };
    let again = Path::parse(&path.to_string()).expect("a printed path can be parsed");
    assert_eq!(path, again, "{text}");
    let first = path.first(&document, &document);
    if let Ok(all) = path.all(&document, &document) {
        assert_eq!(first, all.first().copied(), "{text}");
    }
    if path.is_singular()
        && let Ok(set) = path.set(&document, Value::from("set"), &document)
    {
        assert_eq!(path.first(&set, &set), Some(&Value::from("set")), "{text}");
    }
}

/// Any JSON as an expression: parsing fails with a location, or evaluation returns a value or
/// an error with a code, the same every time.
pub fn expression(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let (spec, document) = match std::str::from_utf8(data)
        .ok()
        .and_then(|text| text.parse::<Value>().ok())
    {
        Some(spec) => (spec.clone(), spec),
        None => (bytes.expression(4), bytes.value(3)),
    };
    let functions = Functions::builtin();
    match expr::compile(&spec, &Location::root(), &functions, Items::None) {
        Err(errors) => {
            assert!(!errors.is_empty());
            assert!(errors.iter().all(|error| !error.code().is_empty()));
        }
        Ok(expr) => {
            let mut env = Env::default();
            env.limits.steps = 100_000;
            env.limits.cel_cost = 10_000;
            let one = expr.eval(&Scope::new(&env, &document));
            let two = expr.eval(&Scope::new(&env, &document));
            assert_eq!(one, two, "{spec} on {document}");
            if let Err(error) = one {
                assert!(!error.code().is_empty());
            }
        }
    }
}

/// Any bytes as a manifest: parsing fails with a location, or the result can be printed and
/// parsed again.
pub fn yaml(data: &[u8]) {
    let Ok(manifests) = manifest::parse_bytes("fuzz", data.to_vec()) else {
        return;
    };
    for manifest in manifests {
        let text = manifest::to_yaml(&manifest.value);
        let source = Arc::new(manifest::Source {
            name: "again".to_owned(),
            text,
        });
        let again = manifest::parse(source).expect("printed YAML can be parsed");
        if !manifest.value.is_null() {
            assert_eq!(again[0].value, manifest.value);
        }
    }
}
