//! The fuzz harnesses on a small corpus and on bytes from fixed seeds. What a fuzzer finds becomes a
//! row of `CORPUS` or, for one harness, a file in `corpus/NAME`.

// The seeds are printed, so that a failing one can be repeated.
#![allow(clippy::print_stdout)]
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::fs;
use std::path::Path;

use seeded::Random;
use seeded::memory::{Counting, peak_of};

/// The memory of each input is counted.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that a harness may hold for one input, in bytes.
const MAX_MEMORY: usize = 256 << 20;

/// Inputs that found a bug once, or are likely to.
const CORPUS: [&[u8]; 27] = [
    b"",
    b"$",
    b"$.a[?(@.b=='c')].d",
    b"..*[::-1]['a','b'][?!@.x || @.y =~ /z/i]",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"\xff\xfe\x00\xc3\x28",
    br#"{"@range": [0, 9223372036854775807]}"#,
    br#"{"@map": [{"@map": ["$$", {"@range": 1000}]}, {"@range": 1000}]}"#,
    br#"{"@concat": [{"@concat": ["$.", "$."]}, "$."]}"#,
    br#"{"@getField": {"@concat": [{"@literal": "$["}, "x"]}}"#,
    br#"{"@cel": "[1,2,3].map(x, [1,2,3].map(y, x*y))"}"#,
    br#"{"@div": [-9223372036854775808, -1]}"#,
    br#"{"@mod": [-9223372036854775808, -1]}"#,
    br#"{"@abs": -9223372036854775808}"#,
    br#"{"@substring": ["abc", -9223372036854775808, 9223372036854775807]}"#,
    br#"{"@setField": ["$.a[9223372036854775807]", 1]}"#,
    br#"{"@regexp": ["(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}"#,
    b"a: &a [*a]",
    b"a: &a [1,2]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]",
    b"\x07\x00\x00\x00l[?(@.a=='b')]/c[*]/-",
    b"\x07\x00\x00\x00a[?(@.a=='\\u0027]/[')]~2~3",
    b"\x00\x00\x00\x00[18446744073709551615]/18446744073709551616",
    br#"[{"op": "copy", "from": "", "path": "/-"}, {"op": "copy", "from": "", "path": "/-"}]"#,
    br#"[{"op": "move", "from": "/0", "path": "/[*]/x"}, {"op": "test", "path": "", "value": 1}]"#,
    b"? [complex]\n: key",
    b"- - - - - - - - - - - - - - 1",
    b"%YAML 1.2\n---\n!!binary x\n...\n--- |\n  text\n",
];

/// The files of a harness.
fn files(name: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(files) = fs::read_dir(root.join("corpus").join(name)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The examples: each an Operator with its objects.
fn examples() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let directories = fs::read_dir(root).unwrap();
    let mut examples = Vec::new();
    for directory in directories.map(|directory| directory.unwrap().path()) {
        let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
        if let (Some(operator), Some(objects)) = (read("operator.yaml"), read("objects.yaml")) {
            examples.push(format!("{operator}\n---\n{objects}").into_bytes());
        }
    }
    examples
}

/// Runs a harness on one input.
fn one(harness: fn(&[u8]), data: &[u8]) {
    let peak = peak_of(|| harness(data));
    let text = || String::from_utf8_lossy(data).into_owned();
    assert!(peak <= MAX_MEMORY, "{peak} bytes for {:.1000}", text());
}

fn run(name: &str, runs: u64, harness: fn(&[u8])) {
    for data in CORPUS {
        one(harness, data);
    }
    for data in files(name) {
        one(harness, &data);
    }
    let seeds = seeded::seeds(runs);
    println!("{name}: seeds {seeds:?}");
    for seed in seeds {
        let mut random = Random::new(seed);
        let length = random.below(256);
        let data = random.bytes(length);
        let result = std::panic::catch_unwind(|| one(harness, &data));
        assert!(result.is_ok(), "{name} fails with seed {seed}: {data:?}");
    }
}

#[test]
fn paths_never_fail() {
    run("path", 20_000, fuzzing::path);
}

#[test]
fn expressions_never_fail() {
    run("expression", 20_000, fuzzing::expression);
}

#[test]
fn patches_never_fail() {
    run("patch", 20_000, fuzzing::patch);
}

#[test]
fn manifests_never_fail() {
    run("yaml", 5_000, fuzzing::yaml);
}

#[test]
fn circuits_equal_the_evaluation_from_scratch() {
    run("circuit", 3_000, fuzzing::circuit);
}

#[test]
fn operators_stay_within_their_bounds() {
    run("operator", 5_000, fuzzing::operator);
}

#[test]
fn examples_stay_within_their_bounds() {
    let examples = examples();
    assert!(examples.len() > 5);
    for example in examples {
        one(fuzzing::operator, &example);
    }
}

/// Files that are not Operators with objects would test nothing.
#[test]
fn the_corpus_has_operators_that_run() {
    let corpus = files("operator");
    assert!(!corpus.is_empty());
    for data in corpus.into_iter().chain(examples()) {
        let text = String::from_utf8_lossy(&data).into_owned();
        let manifests = manifest::parse_bytes("corpus", data).unwrap();
        let is_operator =
            |manifest: &&manifest::Manifest| operator::spec::is_operator(&manifest.value);
        let spec = manifests.iter().find(is_operator).unwrap();
        let (read, problems) = operator::read(&spec.value, &expr::Functions::builtin());
        assert!(read.is_some(), "{text}\n{problems:?}");
        assert!(manifests.len() > 1, "{text}");
    }
}

#[test]
fn requests_are_answered() {
    run("request", 3_000, fuzzing::request);
}
