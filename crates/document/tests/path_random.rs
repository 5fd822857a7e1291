//! Random tests: random paths find the same values in random documents as another implementation
//! of RFC 9535, and no text makes the parser panic.

use document::{Map, Path, Value, View};
use seeded::Random;
use serde_json_path::JsonPath;

/// Random choices, and how paths are written.
struct Choices {
    random: Random,
    /// Whether to write `<` and `==` for all comparisons, as the RFC defines the others,
    /// and slices for negative indexes. The other implementation needs that: there
    /// `true >= false` holds, nothing `<=` nothing does not, and `@[-1]` finds nothing.
    spelled_out: bool,
}

impl Choices {
    fn new(seed: u64, spelled_out: bool) -> Self {
        let random = Random::new(seed);
        Self {
            random,
            spelled_out,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.random.pick::<&str>(choices)
    }
}

const DEPTH: usize = 4;
const NAMES: [&str; 5] = ["a", "b", "c", "d-e", ""];
const INDEXES: [&str; 4] = ["0", "1", "2", "3"];
const BOUNDS: [&str; 8] = ["0", "1", "2", "3", "9", "-1", "-2", "-4"];
const SCALARS: [&str; 16] = [
    "null", "true", "false", "0", "1", "2", "-1", "1.5", "2.0", "1e2", "\"\"", "\"a\"", "\"b\"",
    "\"ab\"", "\"1\"", "\"é\"",
];

/// A JSON text, a list or map at depth [`DEPTH`].
fn document(random: &mut Choices, depth: usize) -> String {
    if depth == 0 || (depth < DEPTH && random.below(3) == 0) {
        return random.pick(&SCALARS).to_owned();
    }
    let size = random.below(6);
    if random.below(2) == 0 {
        let items: Vec<_> = (0..size).map(|_| document(random, depth - 1)).collect();
        return format!("[{}]", items.join(","));
    }
    let entries: Vec<_> = (0..size)
        .map(|_| {
            let name = random.pick(&NAMES);
            format!("\"{name}\":{}", document(random, depth - 1))
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

/// A path of RFC 9535 from `root`.
fn query(random: &mut Choices, root: &str, depth: usize) -> String {
    let mut text = root.to_owned();
    for _ in 0..random.below(4) {
        text += &segment(random, depth);
    }
    text
}

fn segment(random: &mut Choices, depth: usize) -> String {
    let dots = if random.below(6) == 0 { ".." } else { "" };
    match random.below(8) {
        0 => format!("{}*", if dots.is_empty() { "." } else { dots }),
        1..4 => {
            let name = random.pick(&["a", "b", "c"]);
            format!("{}{name}", if dots.is_empty() { "." } else { dots })
        }
        _ => {
            let selectors: Vec<_> = (0..=random.below(5) / 3)
                .map(|_| selector(random, depth))
                .collect();
            format!("{dots}[{}]", selectors.join(random.pick(&[",", " , "])))
        }
    }
}

fn selector(random: &mut Choices, depth: usize) -> String {
    match random.below(if depth == 0 { 8 } else { 14 }) {
        0 | 1 => format!("'{}'", random.pick(&NAMES)),
        2 => format!("\"{}\"", random.pick(&NAMES)),
        3 => "*".to_owned(),
        4 => random.pick(&INDEXES).to_owned(),
        5 => {
            let back = 1 + random.below(4);
            match (back, random.spelled_out) {
                (1, true) => "-1:".to_owned(),
                (_, true) => format!("-{back}:-{}", back - 1),
                _ => format!("-{back}"),
            }
        }
        6 | 7 => slice(random),
        _ => format!("?{}", condition(random, depth - 1)),
    }
}

fn slice(random: &mut Choices) -> String {
    let part = |random: &mut Choices| match random.below(2) {
        0 => String::new(),
        _ => random.pick(&BOUNDS).to_owned(),
    };
    let (start, end) = (part(random), part(random));
    match random.below(2) {
        0 => format!("{start}:{end}"),
        _ => format!("{start}:{end}:{}", part(random)),
    }
}

fn condition(random: &mut Choices, depth: usize) -> String {
    match random.below(if depth == 0 { 8 } else { 12 }) {
        0..5 => {
            let operator = random.pick(&["==", "!=", "<", "<=", ">", ">="]);
            let left = operand(random, depth);
            let right = operand(random, depth);
            match (operator, random.spelled_out) {
                (">", true) => format!("{right} < {left}"),
                ("<=", true) => format!("({left} < {right} || {left} == {right})"),
                (">=", true) => format!("({right} < {left} || {left} == {right})"),
                _ => format!("{left} {operator} {right}"),
            }
        }
        5 => any_query(random, depth),
        6 => format!("!{}", any_query(random, depth)),
        7 => {
            let function = random.pick(&["match", "search"]);
            let pattern = random.pick(&["'a'", "'a|b'", "'.'", "'[ab]+'", "''", "@.a", "$.b"]);
            format!("{function}({}, {pattern})", operand(random, depth))
        }
        8 => format!(
            "{}&&{}",
            condition(random, depth - 1),
            condition(random, depth - 1)
        ),
        9 => format!(
            "{} || {}",
            condition(random, depth - 1),
            condition(random, depth - 1)
        ),
        10 => format!("({})", condition(random, depth - 1)),
        _ => format!("!({})", condition(random, depth - 1)),
    }
}

fn any_query(random: &mut Choices, depth: usize) -> String {
    let root = random.pick(&["@", "@", "$"]);
    query(random, root, depth)
}

fn operand(random: &mut Choices, depth: usize) -> String {
    match random.below(9) {
        0..3 => random.pick(&SCALARS).to_owned(),
        3 => {
            let text = random.pick(&["'a'", "'ab'"]);
            format!("length({text})")
        }
        4 => format!("length({})", singular_query(random)),
        5 => format!("count({})", any_query(random, depth)),
        6 => format!("value({})", any_query(random, depth)),
        _ => singular_query(random),
    }
}

fn singular_query(random: &mut Choices) -> String {
    let mut text = random.pick(&["@", "@", "@", "$"]).to_owned();
    for _ in 0..random.below(3) {
        let step = match random.below(3) {
            0 => format!("[{}]", random.pick(&INDEXES)),
            1 => format!("['{}']", random.pick(&NAMES)),
            _ => format!(".{}", random.pick(&["a", "b", "c"])),
        };
        text += &step;
    }
    text
}

/// A document and a path; `spelled_out` says how the path is written, not what it means.
fn pair(seed: u64, spelled_out: bool) -> (Value, String) {
    let random = &mut Choices::new(seed, spelled_out);
    let value = document(random, DEPTH).parse().expect("JSON");
    (value, query(random, "$", 3))
}

/// The matches of the other implementation.
fn expected(value: &Value, path: &str) -> Vec<Value> {
    let json: serde_json::Value = serde_json::from_str(&value.to_string()).expect("JSON");
    let path = JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    path.query(&json)
        .all()
        .into_iter()
        .map(|value| value.to_string().parse().expect("JSON"))
        .collect()
}

#[test]
fn random_paths_find_what_the_rfc_says() {
    let mut matched = 0;
    for seed in seeded::seeds(20_000) {
        let (value, text) = pair(seed, false);
        let about = format!("RANDOM_SEED={seed}: {text} in {value}");

        let path = Path::parse(&text).unwrap_or_else(|error| panic!("{about}: {error}"));
        let all = path.all(&value, &Value::NULL).unwrap();
        let expected = expected(&value, &pair(seed, true).1);
        assert!(
            all.iter().copied().eq(&expected),
            "{about}: {all:?}, not {expected:?}"
        );
        assert_eq!(
            path.first(&value, &Value::NULL),
            expected.first(),
            "{about}"
        );
        matched += usize::from(!path.is_root() && !all.is_empty());
        assert_eq!(Path::parse(&path.to_string()), Ok(path), "{about}");
    }
    assert!(
        seeded::alone() || matched > 3_000,
        "only {matched} paths matched"
    );
}

/// `value` with "new" for all values whose address is one of `places`.
fn replaced(value: &Value, places: &[&Value]) -> Value {
    if places.iter().any(|place| std::ptr::eq(*place, value)) {
        return Value::from("new");
    }
    match value.view() {
        View::List(list) => list.iter().map(|item| replaced(item, places)).collect(),
        View::Map(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), replaced(value, places)))
            .collect::<Map>()
            .into(),
        _ => value.clone(),
    }
}

#[test]
fn setting_replaces_what_was_found_and_nothing_else() {
    let (mut singular, mut several) = (0, 0);
    for seed in seeded::seeds(20_000) {
        let (value, text) = pair(seed, false);
        let about = format!("RANDOM_SEED={seed}: {text} in {value}");
        let path = Path::parse(&text).unwrap();
        let Ok(changed) = path.set(&value, Value::from("new"), &value) else {
            continue;
        };
        if path.is_singular() {
            singular += 1;
            let found = path.first(&changed, &Value::NULL);
            assert_eq!(found, Some(&Value::from("new")), "{about}");
        }
        // Names and indexes after another segment may create what was not there.
        let segments = path.segments().iter();
        if segments.is_sorted_by_key(|segment| !segment.is_singular()) {
            let places = path.all(&value, &Value::NULL).unwrap();
            if !places.is_empty() {
                several += 1;
                assert_eq!(changed, replaced(&value, &places), "{about}");
            }
        }
    }
    let enough = singular > 1_000 && several > 1_000;
    assert!(seeded::alone() || enough, "{singular}, {several}");
}

/// Pieces of paths, which are combined at random.
const PIECES: [&str; 48] = [
    "$",
    "$$",
    "@",
    ".",
    "..",
    "[",
    "]",
    "(",
    ")",
    "?",
    "?(",
    "*",
    ",",
    ":",
    "'",
    "\"",
    "\\",
    "\\u",
    "\\ud83d",
    "/",
    "=~",
    "==",
    "!=",
    "<",
    "<=",
    "&&",
    "||",
    "!",
    " ",
    "\n",
    "in",
    "in [",
    "0",
    "-1",
    "01",
    "1e999",
    "9007199254740993",
    "true",
    "null",
    "length(",
    "count(",
    "match(",
    "a",
    "é",
    "😀",
    "\u{0}",
    "(?i)",
    "{9999}",
];

#[test]
fn no_text_makes_the_parser_panic() {
    let document: Value = r#"{"a": [1, {"a": "b"}], "b": "a"}"#.parse().unwrap();
    let mut good = 0;
    for seed in seeded::seeds(30_000) {
        let random = &mut Choices::new(seed, false);
        let text = match seed % 3 {
            0 => noise(random),
            1 => mutation(random),
            _ => (0..random.below(12)).fold("$".to_owned(), |text, _| text + random.pick(&PIECES)),
        };
        if let Ok(path) = Path::parse(&text) {
            good += 1;
            let _ = path.all(&document, &document);
            let _ = path.set(&document, Value::NULL, &document);
            assert_eq!(
                Path::parse(&path.to_string()),
                Ok(path),
                "RANDOM_SEED={seed}: {text}"
            );
        }
    }
    assert!(
        seeded::alone() || good > 1_000,
        "only {good} texts were paths"
    );
}

/// Random bytes as text.
fn noise(random: &mut Choices) -> String {
    let length = random.below(40);
    let bytes = random.random.bytes(length);
    format!("${}", String::from_utf8_lossy(&bytes))
}

/// A valid path with a few characters removed, doubled or replaced.
fn mutation(random: &mut Choices) -> String {
    let mut chars: Vec<char> = query(random, "$", 3).chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(chars.len() + 1);
        let piece = random.pick(&PIECES);
        match random.below(3) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            1 if at < chars.len() => chars.insert(at, chars[at]),
            _ => {
                chars.splice(at..at, piece.chars());
            }
        }
    }
    chars.into_iter().collect()
}
