//! The fuzz harnesses on a small corpus and on bytes from fixed seeds.

// The seeds are printed, so that a failing one can be repeated.
#![allow(clippy::print_stdout)]

use seeded::Random;

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

fn run(name: &str, runs: u64, harness: fn(&[u8])) {
    for data in CORPUS {
        harness(data);
    }
    let seeds = seeded::seeds(runs);
    println!("{name}: seeds {seeds:?}");
    for seed in seeds {
        let mut random = Random::new(seed);
        let length = random.below(256);
        let data = random.bytes(length);
        let result = std::panic::catch_unwind(|| harness(&data));
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
