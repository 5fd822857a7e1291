//! Finding files and directories.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use manifest::{Diagnostic, MAX_SIZE, files};

/// An empty directory of this test.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The names of the files in a directory, without its own path.
fn names(path: &std::path::Path, recursive: bool) -> Vec<String> {
    let found = files(path.to_str().unwrap(), recursive).unwrap().files;
    let prefix = format!("{}/", path.to_str().unwrap());
    let names = found
        .iter()
        .map(|file| file.name.strip_prefix(&prefix).unwrap().to_owned());
    names.collect()
}

#[test]
fn a_file_is_read_without_its_byte_order_mark() {
    let path = directory("file").join("a.txt");
    fs::write(&path, "\u{feff}a: 1\n").unwrap();
    let found = files(path.to_str().unwrap(), false).unwrap().files;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, path.to_str().unwrap());
    assert_eq!((found[0].size, found[0].found), (Some(8), false));
    let manifests: Vec<_> = found[0].documents(MAX_SIZE).unwrap().collect();
    let [Ok(manifest)] = manifests.as_slice() else {
        panic!("{manifests:?}");
    };
    assert_eq!(manifest.value.to_string(), r#"{"a":1}"#);
}

#[test]
fn a_directory_is_its_manifests_in_name_order() {
    let path = directory("directory");
    for name in ["b.yml", "a.yaml", "c.json", "d.txt", "e", ".f.yaml"] {
        fs::write(path.join(name), name).unwrap();
    }
    for (directory, file) in [
        ("sub.yaml", "y.yaml"),
        ("sub", "x.yaml"),
        (".git", "z.yaml"),
    ] {
        fs::create_dir(path.join(directory)).unwrap();
        fs::write(path.join(directory).join(file), "x").unwrap();
    }
    let flat = [".f.yaml", "a.yaml", "b.yml", "c.json"];
    assert_eq!(names(&path, false), flat);
    let nested = ["sub/x.yaml", "sub.yaml/y.yaml"];
    assert_eq!(names(&path, true), [&flat[..], &nested[..]].concat());
    assert!(files(path.to_str().unwrap(), true).unwrap().files[0].found);
}

#[cfg(unix)]
#[test]
fn a_directory_is_read_once_however_many_links_lead_to_it() {
    use std::os::unix::fs::symlink;

    let path = directory("circle");
    fs::write(path.join("a.yaml"), "a").unwrap();
    fs::create_dir(path.join("sub")).unwrap();
    fs::write(path.join("sub/b.yaml"), "b").unwrap();
    for name in ["again", "and-again"] {
        symlink(&path, path.join(name)).unwrap();
        symlink("..", path.join("sub").join(name)).unwrap();
    }
    symlink("sub", path.join("sub-too")).unwrap();
    assert_eq!(names(&path, true), ["a.yaml", "sub/b.yaml"]);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_skipped_and_named() {
    use std::os::unix::fs::symlink;

    let path = directory("dangling");
    fs::write(path.join("a.yaml"), "a").unwrap();
    symlink("gone", path.join("b.yaml")).unwrap();
    symlink("c.yaml", path.join("c.yaml")).unwrap();
    symlink("gone", path.join("notes.txt")).unwrap();
    let text = path.to_str().unwrap();
    let broken = |found: manifest::Found| -> Vec<String> {
        let names = found.broken_links.iter();
        names
            .map(|name| name[text.len() + 1..].to_owned())
            .collect()
    };
    assert_eq!(names(&path, false), ["a.yaml"]);
    assert_eq!(broken(files(text, false).unwrap()), ["b.yaml", "c.yaml"]);
    // A link without a target may have been one to a directory.
    assert_eq!(
        broken(manifest::test_files(text).unwrap()),
        ["b.yaml", "c.yaml", "notes.txt"]
    );
    // It is an error if it is named itself.
    files(path.join("b.yaml").to_str().unwrap(), false).unwrap_err();
}

#[cfg(unix)]
#[test]
fn pipes_in_a_directory_are_skipped() {
    use std::process::Command;

    let path = directory("pipes");
    fs::write(path.join("a.yaml"), "a").unwrap();
    let made = Command::new("mkfifo").arg(path.join("b.yaml")).status();
    assert!(made.unwrap().success());
    assert_eq!(names(&path, false), ["a.yaml"]);
    // A pipe that is named itself is read, as that of a shell's `<(…)`.
    let named = files(path.join("b.yaml").to_str().unwrap(), false).unwrap();
    assert_eq!(named.files.len(), 1);
}

#[test]
fn what_cannot_be_read_is_named() {
    let empty = directory("empty");
    let error = files(empty.to_str().unwrap(), false).unwrap_err();
    let message = error.to_string();
    assert!(
        message.ends_with("has no file that ends in .yaml, .yml or .json"),
        "{message}"
    );
    assert_eq!(Diagnostic::from(error).help, None);
    fs::create_dir(empty.join("sub")).unwrap();
    let error = Diagnostic::from(files(empty.to_str().unwrap(), false).unwrap_err());
    assert!(error.help.unwrap().contains("-R"));
    let error = files("does-not-exist.yaml", false).unwrap_err();
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
    let found = files(path.to_str().unwrap(), false).unwrap().files;
    let error = found[0].documents(MAX_SIZE).unwrap().next().unwrap();
    let error = error.unwrap_err();
    assert_eq!(error.code, "invalid-utf8");
    assert_eq!(
        error.span.map(|span| (span.line, span.column)),
        Some((2, 7))
    );
}
