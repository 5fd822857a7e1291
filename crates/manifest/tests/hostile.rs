//! Hostile input: it never causes a panic or takes long, and always yields a clear error.
#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write;
use std::time::{Duration, Instant};

use common::load;
use document::{Location, MAX_DEPTH, Value};
use seeded::Random;

/// Generous, because tests run without optimisation and on busy machines.
const SOON: Duration = Duration::from_secs(30);

/// Checks that the text is refused with this code within the time limit, and that the
/// diagnostic can be rendered.
fn check(text: &str, code: &str) {
    let started = Instant::now();
    let error = load(text).unwrap_err();
    assert_eq!(error.code, code, "{}", error.short());
    assert!(error.render(true).contains(code));
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
}

#[test]
fn nesting_bombs_are_refused() {
    const DEEP: usize = 100_000;
    for part in ["[", "{a: ", "- ", "[a: ", "[{a: "] {
        check(&part.repeat(DEEP), "too-deep");
    }
    for part in ["? ", "- ? ", "? - ", ": "] {
        check(
            &part.repeat(DEEP),
            if part == ": " {
                "missing-key"
            } else {
                "complex-key"
            },
        );
    }
    check(&"{? ".repeat(DEEP), "too-deep");
    let mut block = String::new();
    for level in 0..2_000 {
        let _ = writeln!(block, "{}a:", " ".repeat(level));
    }
    check(&block, "too-deep");
    check(&format!("a:\n- {}", "[".repeat(DEEP)), "too-deep");
    check(&format!("{{a: 1}}\n{}", "[".repeat(DEEP)), "too-deep");
}

#[test]
fn the_deepest_allowed_nesting_is_read() {
    let flow = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let pairs = |depth: usize| format!("{}1{}", "[a: ".repeat(depth), "]".repeat(depth));
    let block = |depth: usize| format!("{}1", "- ".repeat(depth));
    assert!(load(&flow(MAX_DEPTH)).is_ok());
    assert!(load(&block(MAX_DEPTH)).is_ok());
    assert!(load(&pairs(MAX_DEPTH / 2)).is_ok());
    check(&flow(MAX_DEPTH + 1), "too-deep");
    check(&block(MAX_DEPTH + 1), "too-deep");
    check(&pairs(MAX_DEPTH / 2 + 1), "too-deep");
    check(&format!("- {}", flow(MAX_DEPTH)), "too-deep");
}

#[test]
fn nesting_through_aliases_counts() {
    let mut text = "- &a0 [1]\n".to_owned();
    for i in 1..MAX_DEPTH {
        let _ = writeln!(text, "- &a{i} [*a{}]", i - 1);
    }
    check(&text, "too-deep");
    let fits: String = text
        .lines()
        .take(MAX_DEPTH - 1)
        .fold(String::new(), |all, line| all + line + "\n");
    assert!(load(&fits).is_ok());
}

#[test]
fn alias_bombs_are_refused() {
    let bomb = |first: &str, each: &str, close: &str| {
        let mut text = format!("- &a0 {first}\n");
        for i in 1..30 {
            let inside = each.replace('$', &format!("*a{}", i - 1));
            let _ = writeln!(text, "- &a{i} {inside}{close}");
        }
        text
    };
    check(
        &bomb("lol", &format!("[{}", "$, ".repeat(9)), "]"),
        "too-many-nodes",
    );
    check(
        &bomb("{x: 1}", "{a: $, b: $, c: $, d: $", "}"),
        "too-many-nodes",
    );
    // One long text many times over.
    let long = "x".repeat(1_000_000);
    let text = format!("- &a {long}\n- [{}]\n", "*a, ".repeat(1_000));
    check(&text, "too-many-nodes");
    // Merging a large map many times over.
    let mut large = "- &a {".to_owned();
    for i in 0..10_000 {
        let _ = write!(large, "k{i}: 1, ");
    }
    let text = format!("{large}}}\n- <<: [{}]\n", "*a, ".repeat(1_000));
    check(&text, "too-many-nodes");
}

#[test]
fn a_modest_use_of_aliases_is_fine() {
    let text = format!("- &a {{x: [1, 2, 3]}}\n- [{}]\n", "*a, ".repeat(10_000));
    let value = &load(&text).unwrap()[0].value;
    assert_eq!(value.at(1).at(9_999), value.at(0));
}

#[test]
fn giant_scalars_are_read_soon() {
    let started = Instant::now();
    let plain = "x".repeat(4_000_000);
    for text in [
        plain.clone(),
        format!("'{plain}'"),
        format!("\"{}\"", "x\\n".repeat(1_000_000)),
        format!("a: |\n{}", "  x\n".repeat(1_000_000)),
        "x y\n".repeat(1_000_000),
        format!("{plain}: {plain}").replace(": ", " "),
    ] {
        assert_eq!(load(&text).unwrap().len(), 1);
    }
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
}

#[test]
fn long_and_repetitive_texts_are_handled_soon() {
    let started = Instant::now();
    for part in [
        "- 1\n", "[", "]", "{", "}", ",", ":", ": ", "? ", "-", "- ", "'", "\"", "\\", "#",
        "# x\n", " ", "\n", "\r", "\t", "&a ", "*a ", "!a ", "!!str ", "%A b\n", "---\n", "...\n",
        "|\n", ">\n", "{}", "[]", "[1]\n", "a: ", "a:\n", "a\n", "{a: 1}\n", "<<: ", "\u{feff}",
        "é", "@",
    ] {
        let _ = load(&part.repeat(200_000 / part.len()));
    }
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
}

#[test]
fn a_stream_of_many_small_objects_is_read_soon() {
    let started = Instant::now();
    assert_eq!(load(&"{a: 1}\n".repeat(20_000)).unwrap().len(), 20_000);
    assert_eq!(load(&"{\n}{\n}".repeat(20_000)).unwrap().len(), 40_000);
    assert_eq!(load(&"[1]".repeat(16)).unwrap().len(), 16);
    check(&"[1]".repeat(17), "syntax");
    check(&"[1]".repeat(100_000), "syntax");
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
}

#[test]
fn too_much_text_is_refused() {
    check(&" ".repeat(manifest::MAX_SIZE + 1), "too-large");
}

const SEED: u64 = 0x5eed_0001;

/// Loads bytes and walks over everything that comes out.
fn survive(bytes: Vec<u8>) {
    match manifest::parse_bytes("random", bytes) {
        Ok(manifests) => {
            for manifest in manifest::expand_lists(manifests) {
                let length = manifest.source().text.len();
                let mut open = vec![(Location::root(), manifest.value.clone())];
                while let Some((location, value)) = open.pop() {
                    let (value_span, key_span) =
                        (manifest.span(&location), manifest.key_span(&location));
                    assert!(value_span.start <= value_span.end && value_span.end <= length);
                    assert!(key_span.start <= key_span.end && key_span.end <= length);
                    if let Some(map) = value.as_map() {
                        open.extend(
                            map.iter()
                                .map(|(k, v)| (location.key(k.as_str()), v.clone())),
                        );
                    } else if let Some(items) = value.as_list() {
                        open.extend(
                            items
                                .iter()
                                .enumerate()
                                .map(|(i, v)| (location.index(i), v.clone())),
                        );
                    }
                }
                let yaml = manifest::to_yaml(&manifest.value);
                let again: Vec<Value> = load(&yaml)
                    .unwrap()
                    .into_iter()
                    .map(|again| again.value)
                    .collect();
                assert_eq!(again, std::slice::from_ref(&manifest.value), "{yaml}");
            }
        }
        Err(error) => {
            assert!(!error.render(true).is_empty());
            assert!(!error.short().contains('\n'));
        }
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random::new(seeded::seed(SEED));
    for _ in 0..5_000 {
        let length = random.below(200);
        survive(random.bytes(length));
    }
}

#[test]
fn random_yaml_syntax_never_panics() {
    let parts = [
        "a",
        "b",
        "1",
        "é",
        "'x'",
        "\"y\"",
        ": ",
        ":",
        "- ",
        "-",
        "\n",
        "\n  ",
        "\n    ",
        "\r\n",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ",",
        "? ",
        "&a ",
        "*a",
        "*a ",
        "!!str ",
        "!x ",
        "<<",
        "|",
        ">-",
        "\n---\n",
        "\n...\n",
        "# c",
        " #",
        "\t",
        "%YAML 1.2\n",
        "~",
        "null",
        "true",
        ".inf",
        "\u{feff}",
        "\\",
        "'",
        "\"",
        "@",
        "kind: List",
        "items:",
        " ",
    ];
    let mut random = Random::new(seeded::seed(SEED));
    for _ in 0..20_000 {
        let length = random.below(30);
        let text = random.text(length, &parts);
        survive(text.into_bytes());
    }
}

#[test]
fn mutations_of_valid_files_never_panic() {
    let directory = format!("{}/tests/fixtures/reference", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<Vec<u8>> = manifest::files(&directory, false)
        .unwrap()
        .files
        .iter()
        .map(|file| std::fs::read(&file.name).unwrap())
        .collect();
    files.push(b"{\"kind\": \"List\", \"items\": [{\"a\": \"}\"}, [1]], \"x\": 1}\n{}\n".to_vec());
    files.push(b"kind: List\nitems:\n- a: 1\n  b: |\n    - c\n- d\nx: 1\n---\n{}\n".to_vec());
    files.push(
        b"a: &x {b: [1, 2]}\nc:\n- *x\n- <<: *x\n  d: |+\n    t\n\n  e: !!str 1\r\n---\n{\"f\":\t\"\\u00e9\"}\n".to_vec(),
    );
    let mut random = Random::new(seeded::seed(SEED));
    for round in 0..10_000 {
        let mut bytes = files[round % files.len()].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len().max(1)).min(bytes.len());
            match random.below(4) {
                0 if at < bytes.len() => bytes[at] = random.bits() as u8,
                1 if at < bytes.len() => {
                    bytes.remove(at);
                }
                2 => bytes.insert(at, *random.pick(b"[]{},:-?&*!|>'\"%@` \n\t#<~\\\r0a")),
                _ => {
                    let from = random.below(at + 1);
                    let piece = bytes[from..at].to_vec();
                    let to = random.below(bytes.len() + 1);
                    bytes.splice(to..to, piece.into_iter().take(40));
                }
            }
        }
        // The same bytes as a large file, which is split.
        for manifest in manifest::Documents::new("random", &bytes[..], 20).flatten() {
            manifest.span(&Location::root().key("a"));
        }
        survive(bytes);
    }
}
