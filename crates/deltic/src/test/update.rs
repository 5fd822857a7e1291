//! `--update`: replaces expectations that do not hold.

use std::collections::BTreeMap;
use std::path::Path;

use document::Value;
use manifest::Manifest;
use testing::{Replacement, TestFile};

use super::Report;
use crate::exit::Stop;
use crate::input;
use crate::output::Output;

/// Writes new expectations into the files. Returns whether there were any.
pub(super) fn write(
    tests: &[TestFile],
    report: &Report<'_>,
    output: &mut Output,
) -> Result<bool, Stop> {
    let mut replaced: BTreeMap<&str, Vec<(&Manifest, Replacement)>> = BTreeMap::new();
    let mut files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for file in &report.files {
        for test in &file.tests {
            for failure in &test.result.failures {
                for replacement in failure.mismatch.replacements() {
                    if let Some(name) = &replacement.file {
                        let path = Path::new(file.name()).with_file_name(name);
                        let objects = replacement.value.as_list().into_iter().flatten();
                        let objects = objects.cloned().collect();
                        files.insert(path.to_string_lossy().into_owned(), objects);
                    } else {
                        let replaced = replaced.entry(file.name()).or_default();
                        replaced.push((&file.file.manifest, replacement));
                    }
                }
            }
        }
    }
    for (name, replacements) in &replaced {
        let text = tests
            .iter()
            .find(|test| test.manifest.source().name == *name);
        let text = text.map_or("", |test| test.manifest.source().text.as_str());
        store(name, &testing::updated(text, replacements))?;
    }
    for (name, objects) in &files {
        let documents: Vec<String> = objects.iter().map(manifest::to_yaml).collect();
        store(name, &documents.join("---\n"))?;
    }
    let names = replaced
        .keys()
        .copied()
        .chain(files.keys().map(String::as_str));
    for name in names {
        output.say(&format!("updated {name}\n"))?;
    }
    Ok(!replaced.is_empty() || !files.is_empty())
}

fn store(name: &str, text: &str) -> Result<(), Stop> {
    std::fs::write(name, text).map_err(|error| {
        Stop::failed(input::error(
            "write",
            format!("cannot write {name}: {error}"),
        ))
    })
}
