//! Limits: compiling and evaluating any expression takes bounded time and memory, and does not
//! overflow the stack.

use std::time::{Duration, Instant};

use cel_interpreter::{
    CompileError, EvalError, Limits, MAX_DEPTH, MAX_LENGTH, MAX_NESTING, Program,
};
use document::{Value, json};
use seeded::Random;

fn variables(name: &str) -> Option<Value> {
    match name {
        "s" => Some(json!("0123456789abcdef")),
        "big" => Some(Value::from("a".repeat(1 << 20))),
        "l" => Some((0..1000).map(Value::from).collect()),
        "docs" => Some(
            (0..1000)
                .map(|_| Value::from("0123456789".repeat(10)))
                .collect(),
        ),
        "deep" => {
            let nest = |_: usize| "[".repeat(90) + &"]".repeat(90);
            let text = (0..50).map(nest).collect::<Vec<_>>().join(",");
            format!("[{text}]").parse().ok()
        }
        "i" => Some(json!(7)),
        "object" => Some(json!({"spec": {"replicas": 5}, "metadata": {"name": "abc"}})),
        _ => None,
    }
}

fn eval(text: &str) -> Result<Value, EvalError> {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{error}"));
    program.eval(&variables, &Limits::default())
}

/// Checks that the evaluation ends in time, with the error for its cost.
fn check(text: &str) {
    let started = Instant::now();
    let result = eval(text);
    let shown = &text[..text.len().min(80)];
    assert_eq!(
        result.map(|_| ()),
        Err(EvalError::CostExceeded { limit: 1_000_000 }),
        "{shown}"
    );
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "{shown}: {took:?}");
}

#[test]
fn nested_loops_end() {
    check("l.map(a, l.map(b, l.map(c, a + b + c)))");
    check("l.all(a, l.all(b, l.all(c, a + b + c >= 0)))");
    check("l.filter(a, l.exists(b, l.exists_one(c, c == a + 2000)))");
    check("lists.range(1000).map(a, lists.range(1000).map(b, lists.range(1000)))");
}

#[test]
fn doubling_ends() {
    check(&format!("[s]{}", ".map(x, x + x)".repeat(60)));
    check(&format!("[l]{}", ".map(x, x + x)".repeat(60)));
    check(&format!("[s]{}", ".map(x, [x, x])".repeat(60)));
    check(&format!("[s]{}", ".map(x, {'a': x, 'b': x})".repeat(60)));
    check(&format!("[bytes(s)]{}", ".map(x, x + x)".repeat(60)));
    check(&format!(
        "[s]{}.size()",
        ".map(x, [x, x]).flatten()".repeat(50)
    ));
}

#[test]
fn large_results_end() {
    check("lists.range(2000000000)");
    check("lists.range(9223372036854775807)");
    check("big.replace('a', big)");
    check("big.replace('', big)");
    check("l.map(x, string(x)).join(big)");
    check("l.map(x, big.split(''))");
    check("l.map(x, big.replace('a', 'bb'))");
    check("l.map(x, '%s%s%s%s'.format([big, big, big, big]))");
    check("l.map(x, big.findAll('a'))");
    check("l.map(x, base64.encode(bytes(big)))");
    check("l.map(x, url('http://' + big).getHost())");
    // A text or document that is shared is small in memory, but not when it is written out.
    let text = "a".repeat(16_000);
    check(&format!("lists.range(300000).map(x, '{text}')"));
    check("l.map(x, big)");
    check("l.map(x, {'a': docs, 'b': docs})");
}

#[test]
fn comparing_ends() {
    let nested = format!("[s]{}", ".map(x, [x, x])".repeat(40));
    check(&format!("{nested} == {nested}"));
    check(&format!("{nested} in [{nested}]"));
    check(&format!("'%s'.format({nested}).size()"));
    check("l.all(x, big == big + '')");
    check("l.all(x, deep == deep)");
    check("l.all(a, sets.equivalent(l, l))");
    check("l.map(a, l.map(b, a * 1000 + b)).flatten().distinct()");
    check("l.map(x, (l + l + l).sort())");
}

#[test]
fn regular_expressions_end() {
    check("l.all(x, big.matches('(a|aa)+$'))");
    check("l.all(x, s.matches('x' + string(x)) || true)");
    check("l.map(x, big.find('(a{1,50}){1,20}b'))");
    check("big.matches('\\\\w+\\\\d+x') || l.all(x, big.matches('\\\\w+\\\\d+x') || true)");
}

/// A third of the default stack of a thread, so that the limits leave a margin.
const STACK: usize = (2 << 20) / 3;

fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
    let ended = thread.expect("a thread starts").join();
    ended.expect("it does not panic");
}

/// Expressions of each kind that nests, with this many levels.
type Shape = fn(usize) -> String;

const SHAPES: [(&str, Shape); 20] = [
    ("parentheses", |n| around("(", "1", ")", n)),
    ("lists", |n| around("[", "1", "]", n)),
    ("maps", |n| around("{'a':", "1", "}", n)),
    ("functions", |n| around("dyn(", "1", ")", n)),
    ("library functions", |n| around("math.abs(", "1", ")", n)),
    ("macros", |n| around("[1].map(x, ", "1", ")", n)),
    ("conditions of macros", |n| {
        around("[1].all(x, ", "true", ")", n)
    }),
    ("indexes", |n| around("l[", "0", "]", n)),
    ("nots in parentheses", |n| around("!!(", "true", ")", n)),
    ("open brackets", |n| "(".repeat(n)),
    ("sums", |n| around("", "1", "+1", n)),
    ("comparisons", |n| around("", "1", "==1", n)),
    ("members of members", |n| around("", "object", ".b", n)),
    ("optional members", |n| around("", "object", ".?b", n)),
    ("elements of elements", |n| around("", "l", "[0]", n)),
    ("methods of methods", |n| around("", "s", ".trim()", n)),
    ("macros of macros", |n| around("", "[1]", ".map(x, x)", n)),
    ("conditions", |n| around("false ? 1 : ", "1", "", n)),
    ("nots", |n| around("!", "true", "", n)),
    ("signs", |n| around("-", "i", "", n)),
];

fn around(before: &str, inside: &str, after: &str, levels: usize) -> String {
    before.repeat(levels) + inside + &after.repeat(levels)
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    on_small_stack(|| {
        for (name, shape) in SHAPES {
            for levels in [MAX_NESTING, MAX_DEPTH - 2, MAX_DEPTH * 2, 1300] {
                match Program::compile(&shape(levels)) {
                    Ok(program) => {
                        // Any result is fine, as long as it returns.
                        let _ = program.eval(&variables, &Limits::default());
                        program.reads();
                    }
                    Err(CompileError::TooDeep) => assert!(levels > MAX_NESTING, "{name}"),
                    Err(error) => assert_eq!(error.code(), "cel-syntax", "{name}: {error}"),
                }
            }
        }
    });
}

#[test]
fn values_that_are_nested_too_deep_are_refused() {
    let lists = around("[", "x", "]", 20);
    let maps = around("{'a': ", "x", "}", 20);
    let optionals = around("optional.of(", "x", ")", 20);
    on_small_stack(move || {
        for text in [
            format!("[1]{}", format!(".map(x, {lists})").repeat(250)),
            format!("[1]{}", format!(".map(x, {maps})").repeat(90)),
            format!(
                "optional.of(1){}",
                format!(".optMap(x, {optionals})").repeat(50)
            ),
            format!("[1]{} == []", format!(".map(x, {lists})").repeat(250)),
            format!(
                "'%s'.format([1]{})",
                format!(".map(x, {lists})").repeat(250)
            ),
        ] {
            assert_eq!(eval(&text), Err(EvalError::TooDeep));
        }
        for text in [
            format!("[1]{}", format!(".map(x, {lists})").repeat(4)),
            format!("[deep]{0} == [deep]{0}", ".map(x, [x])".repeat(98)),
            format!(
                "'%s'.format([[deep]{}]).size() > 1000",
                ".map(x, [x])".repeat(97)
            ),
            format!(
                "[deep]{}.flatten(1000).size() == 0",
                ".map(x, [x])".repeat(98)
            ),
        ] {
            eval(&text).unwrap();
        }
    });
}

#[test]
fn what_is_long_and_flat_is_allowed() {
    let entries: Vec<String> = (0..1500).map(|n| format!("{n}:1")).collect();
    on_small_stack(move || {
        for text in [
            format!("[{}]", "1,".repeat(5000)),
            format!("true{}", "&&true".repeat(2500)),
            format!("false{}", "||false".repeat(2000)),
            format!("size({{{}}})", entries.join(",")),
            format!("'{}'", "a".repeat(MAX_LENGTH - 2)),
            format!("1{}", " ".repeat(MAX_LENGTH - 1)),
            format!("1{}", " // (((((\n".repeat(1000)),
            format!("{}true", "!".repeat(10_000)),
        ] {
            let program = Program::compile(&text).unwrap();
            program.eval(&variables, &Limits::default()).unwrap();
        }
    });
    let error = Program::compile(&" ".repeat(MAX_LENGTH + 1)).unwrap_err();
    let found = MAX_LENGTH + 1;
    assert_eq!(error, CompileError::TooLong { found });
}

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "a", "l", "s", "object", "x", "1", "2.5", "3u", "'t'", "\"t\"", "b'x'", "r'y'", "true", "null", "(", ")",
    "[", "]", "{", "}", ",", ".", "?", ":", "+", "-", "*", "/", "%", "!", "&&", "||", "==", "!=", "<", ">=",
    " in ", ".?", "[?", "has(", ".map(x,", ".all(x,", ".filter(x,", ".size()", ".b", "dyn(", "'", "\"", "'''",
    "\\", "@", "$", "0x", "1e", "é", "😀", "//c\n", "\n", " ", "b'", "b'''x'''", "br'x'", "`a`", "0xffu",
    "9223372036854775808", "-9223372036854775808", "has(object.spec)", ".orValue(", "math.abs(", "'\\u00e9'",
    "string(", "int(", "duration(", "timestamp(", "quantity(", "url(", "semver(", ".sort()", ".join(",
    ".split(", ".format(", ".substring(", ".matches(", "size(", "lists.range(", "\\x4", "'\\777'", "'\\ud800'",
];

#[test]
fn random_tokens_do_no_harm() {
    let mut random = Random::new(seeded::seed(0x00c0_ffee));
    let mut compiled = 0;
    for _ in 0..20_000 {
        let length = 1 + random.below(14);
        let text = random.text(length, TOKENS);
        if let Ok(program) = Program::compile(&text) {
            compiled += 1;
            program.reads();
            let _ = program.eval(&variables, &Limits { cost: 20_000 });
        }
    }
    assert!(compiled > 300, "{compiled} of 20000 are expressions");
}

#[rustfmt::skip]
const VALUES: &[&str] = &[
    "null", "true", "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615u", "2.5",
    "-0.0", "1e308", "double('NaN')", "double('inf')", "''", "'a'", "'é😀'", "'1e9999999999'", "'-1.5Ei'",
    "'%s%.3f%d'", "'2024-02-30T25:61:61Z'", "'0000-01-01T00:00:00Z'", "'9999-12-31T23:59:60.9Z'", "'1h-1m'",
    "'1.2.3-é'", "'::ffff:1.2.3.4'", "'1.2.3.4/33'", "'http://[::1]:99999/?%zz'", "'(?i)a{2,1}'", "b''",
    "b'\\xff'", "[]", "[1, 'a', null]", "[[1], {}]", "['a', 'é']", "[1, 2.5, 3u]", "{}", "{'a': 1}",
    "optional.none()", "optional.of(1)", "quantity('1e18')", "semver('1.0.0')", "ip('::1')", "cidr('10.0.0.0/8')",
    "url('http://a/?b')", "format.date()", "timestamp('9999-12-31T23:59:59Z')", "duration('-2562047h')",
    "'2024-é2-30'", "'12:é0:00'", "'é'.reverse()", "s", "object", "l", "7", "63", "'2024-01-01T00:é0:00Z'",
];

/// Calls functions with arguments of wrong types and with unusual values.
#[test]
fn odd_arguments_do_no_harm() {
    let mut random = Random::new(seeded::seed(0x0bad_5eed));
    let functions = cel_interpreter::reference().flat_map(|(_, functions)| functions);
    let mut compiled = 0;
    for name in functions.map(|function| function.name) {
        for _ in 0..100 {
            let [a, b, c] = [(); 3].map(|()| random.pick(VALUES));
            for text in [
                format!("{name}()"),
                format!("{name}({a})"),
                format!("{name}({a}, {b})"),
                format!("({a}).{name}()"),
                format!("({a}).{name}({b})"),
                format!("({a}).{name}({b}, {c})"),
                format!("format.{name}({b})"),
            ] {
                if let Ok(program) = Program::compile(&text) {
                    compiled += 1;
                    let _ = program.eval(&variables, &Limits { cost: 50_000 });
                }
            }
        }
    }
    assert!(compiled > 10_000, "{compiled} calls");
}

#[test]
fn operators_on_odd_values_do_no_harm() {
    for operator in [
        "+", "-", "*", "/", "%", "==", "<", ">=", "in", "||", "? 1 :",
    ] {
        for a in VALUES {
            for b in VALUES {
                let program = Program::compile(&format!("({a}) {operator} ({b})")).unwrap();
                let _ = program.eval(&variables, &Limits::default());
            }
        }
    }
}
