//! The sources that several tests share.
#![allow(dead_code, unreachable_pub, clippy::result_large_err)]

use std::sync::Arc;

use manifest::{Diagnostic, Manifest, Source};

/// Loads a text under the name `test.yaml`.
pub fn load(text: &str) -> Result<Vec<Manifest>, Diagnostic> {
    manifest::parse(source(text))
}

/// A source named `test.yaml`.
pub fn source(text: &str) -> Arc<Source> {
    Arc::new(Source {
        name: "test.yaml".to_owned(),
        text: text.to_owned(),
    })
}
