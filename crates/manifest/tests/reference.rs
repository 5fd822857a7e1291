//! The examples of the language reference load as they are printed.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use document::json;
use manifest::to_yaml;

/// The one example with a duplicate key, because it shows two alternatives. Each alternative
/// also has a file of its own.
const ALTERNATIVES: &str = "01-pipeline-introduction.yaml";

fn directory() -> String {
    format!("{}/tests/fixtures/reference", env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> Vec<manifest::Manifest> {
    manifest::parse_bytes(path, std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_example_loads() {
    let files = manifest::files(&directory(), false).unwrap().files;
    assert_eq!(files.len(), 37);
    for file in files {
        let name = Path::new(&file.name).file_name().unwrap().to_owned();
        let name = name.to_str().unwrap();
        let manifests = read(&file.name);
        let duplicates = manifests[0].duplicates();
        if name == ALTERNATIVES {
            let expect = "duplicate key `pipeline`, first given at line 2, column 1";
            assert_eq!(duplicates[0].message, expect);
            assert_eq!(duplicates[0].span.map(|span| span.line), Some(6));
            assert_eq!(
                manifests[0]
                    .value
                    .get("pipeline")
                    .as_list()
                    .map(document::ListRef::len),
                Some(3)
            );
        } else {
            assert_eq!(duplicates, []);
        }
        let count = match name {
            "12-pipeline-gather-mux.yaml" => 3,
            "14-pipeline-gather-mux.yaml" => 2,
            _ => 1,
        };
        assert_eq!(manifests.len(), count, "{name}");
        for manifest in manifests {
            let again = common::load(&to_yaml(&manifest.value)).unwrap();
            assert_eq!(again[0].value, manifest.value, "{name}");
        }
    }
}

#[test]
fn a_function_inside_a_flow_list_is_a_map() {
    let manifests = read(&format!("{}/02-pipeline-join.yaml", directory()));
    assert_eq!(
        manifests[0].value.get("@join").get("@and").at(1),
        &json!({"@in": [
            "$.Gateway.metadata.name",
            {"@map": ["$$.name", "$.UDPRoute.spec.parentRefs"]}
        ]})
    );
}
