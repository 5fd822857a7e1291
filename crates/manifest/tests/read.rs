//! Reading files and directories.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use manifest::{Diagnostic, MAX_SIZE, read};

/// An empty directory of this test.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_file_is_one_source_without_its_byte_order_mark() {
    let path = directory("file").join("a.txt");
    fs::write(&path, "\u{feff}a: 1\n").unwrap();
    let sources = read(path.to_str().unwrap()).unwrap();
    assert_eq!(sources.len(), 1);
    assert_eq!(sources[0].text, "a: 1\n");
    assert_eq!(sources[0].name, path.to_str().unwrap());
}

#[test]
fn a_directory_is_its_manifests_in_name_order() {
    let path = directory("directory");
    for name in ["b.yml", "a.yaml", "c.json", "d.txt", "e", ".f.yaml"] {
        fs::write(path.join(name), name).unwrap();
    }
    fs::create_dir(path.join("sub.yaml")).unwrap();
    fs::create_dir(path.join("sub")).unwrap();
    fs::write(path.join("sub/x.yaml"), "x").unwrap();
    let sources = read(path.to_str().unwrap()).unwrap();
    let texts: Vec<_> = sources.iter().map(|source| source.text.as_str()).collect();
    assert_eq!(texts, [".f.yaml", "a.yaml", "b.yml", "c.json"]);
    assert_eq!(sources[1].name, path.join("a.yaml").to_str().unwrap());
}

#[test]
fn what_cannot_be_read_is_named() {
    let empty = directory("empty");
    let error = read(empty.to_str().unwrap()).unwrap_err().to_string();
    assert!(
        error.ends_with("has no file that ends in .yaml, .yml or .json"),
        "{error}"
    );
    let error = read("does-not-exist.yaml").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read does-not-exist.yaml: "),
        "{error}"
    );
    let short = Diagnostic::from(error).short();
    assert!(
        short.starts_with("error[read]: cannot read does-not-exist.yaml"),
        "{short}"
    );
}

#[test]
fn text_that_is_no_utf8_keeps_its_place() {
    let path = directory("latin").join("a.yaml");
    fs::write(&path, b"a: 1\nb: caf\xe9\n").unwrap();
    let error = Diagnostic::from(read(path.to_str().unwrap()).unwrap_err());
    assert_eq!(error.code, "invalid-utf8");
    assert_eq!(
        error.span.map(|span| (span.line, span.column)),
        Some((2, 7))
    );
}

#[test]
fn a_file_over_the_limit_is_refused() {
    let path = directory("large").join("a.yaml");
    fs::File::create(&path)
        .unwrap()
        .set_len(MAX_SIZE as u64 + 1)
        .unwrap();
    let error = read(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("has more than 67108864 bytes"), "{error}");
    fs::remove_file(path).unwrap();
}
