//! Errors have codes and positions, and contain no values.

use std::cell::Cell;

use cel_interpreter::{CompileError, EvalError, Limits, Program};
use document::{Value, json};

/// A part of every value of the documents, which no message may contain.
const SECRET: &str = "hunter2";

fn variables(name: &str) -> Option<Value> {
    match name {
        "s" => Some(json!("hunter2")),
        "i" => Some(json!(777_777)),
        "l" => Some(json!(["hunter2", 777_777, null])),
        "m" => Some(json!({"a": "hunter2", "n": null, "b": {"c": 777_777}})),
        _ => None,
    }
}

fn error(text: &str) -> EvalError {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    match program.eval(&variables, &Limits::default()) {
        Ok(value) => panic!("{text} gives {value}"),
        Err(error) => error,
    }
}

fn check(text: &str, code: &str, message: &str) {
    let error = error(text);
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (code, message),
        "{text}"
    );
}

#[test]
fn each_error_has_a_code_and_a_message() {
    check("z + 1", "cel-undeclared", "undeclared variable `z`");
    check("m.z", "cel-no-such-key", "no such key `z`");
    check("m.b['x y']", "cel-no-such-key", "no such key `x y`");
    check("m[s]", "cel-no-such-key", "no such key `(computed)`");
    check(
        "l[3]",
        "cel-out-of-range",
        "`[]`: the index is out of range",
    );
    check(
        "s.charAt(99)",
        "cel-out-of-range",
        "`charAt`: the index is out of range",
    );
    check("s + i", "cel-type", "`+` cannot take (string, int)");
    check("m.n.x", "cel-type", "`.x` cannot take (null)");
    check("s ? 1 : 2", "cel-type", "`?:` cannot take (string)");
    check("l.sum()", "cel-type", "`sum` cannot take (string)");
    check("l.all(x, x)", "cel-type", "`all` cannot take (string)");
    check(
        "i * 9223372036854775807",
        "cel-overflow",
        "`*`: the result is out of range",
    );
    check("i / 0", "cel-divide-by-zero", "`/`: division by zero");
    check(
        "duration(s)",
        "cel-argument",
        "`duration`: the string is not a duration",
    );
    check("url(s)", "cel-argument", "`url`: the string is not a URL");
    check("ip(i)", "cel-type", "`ip` cannot take (int)");
    check(
        "quantity(i)",
        "cel-type",
        "`quantity` cannot take (int): convert it with string(…)",
    );
    check(
        "quantity(string(i)) + quantity('1')",
        "cel-type",
        "`+` cannot take (kubernetes.Quantity, kubernetes.Quantity): q.add(r) and q.sub(r) are exact, and .asApproximateFloat() makes a number",
    );
    check(
        "lists.range(9999999)",
        "cel-cost",
        "the evaluation exceeds the cost limit of 1000000",
    );
    check(
        "[quantity('1')]",
        "cel-not-json",
        "the result contains a kubernetes.Quantity, which has no JSON form: string(…) gives its text, and .asApproximateFloat() a number",
    );
    check(
        "0.0 / 0.0",
        "cel-not-json",
        "the result contains NaN or infinity, which has no JSON form",
    );
}

#[test]
fn messages_contain_no_values() {
    let values = [
        "s",
        "i",
        "l",
        "m",
        "m.a",
        "l[0]",
        "bytes(s)",
        "{s: s}",
        "[s]",
        "optional.of(s)",
    ];
    let functions = cel_interpreter::reference().flat_map(|(_, functions)| functions);
    let names = functions.map(|function| function.name);
    let mut failed = 0;
    let mut check = |text: String| {
        let Ok(program) = Program::compile(&text) else {
            return;
        };
        if let Err(error) = program.eval(&variables, &Limits::default()) {
            failed += 1;
            for shown in [error.to_string(), format!("{error:?}")] {
                assert!(
                    !shown.contains(SECRET) && !shown.contains("777"),
                    "{text}: {shown}"
                );
            }
        }
    };
    for name in names {
        for a in values {
            check(format!("{name}({a})"));
            check(format!("({a}).{name}()"));
            for b in values {
                check(format!("{name}({a}, {b})"));
                check(format!("({a}).{name}({b})"));
            }
        }
    }
    for operator in ["+", "-", "*", "/", "%", "<", "in", "&&", "||", "? 1 :"] {
        for a in values {
            for b in values {
                check(format!("{a} {operator} {b}"));
                check(format!("{a}[{b}]"));
                check(format!("{{{a}: {b}}}"));
                check(format!("{a}.map(x, x.y + {b})"));
                check(format!("-{a}"));
            }
        }
    }
    assert!(failed > 3_000, "{failed} errors");
}

#[test]
fn the_cost_limit_cannot_be_caught() {
    let bomb = "lists.range(9999999).size() > 0";
    for text in [
        format!("{bomb} || true"),
        format!("true && {bomb} && false"),
        format!("[1, 2].exists(x, x == 2 || {bomb})"),
        format!("[1, 2].all(x, x == 1 && {bomb})"),
        format!("false ? 1 : {bomb} ? 1 : 2"),
    ] {
        assert_eq!(error(&text).code(), "cel-cost", "{text}");
    }
}

#[test]
fn the_cost_limit_is_as_given() {
    let program = Program::compile("l.map(x, x)").unwrap();
    let cost = |cost| program.eval(&variables, &Limits { cost }).map(|_| ());
    assert_eq!(cost(5), Err(EvalError::CostExceeded { limit: 5 }));
    assert_eq!(cost(50), Ok(()));
    assert_eq!(Limits::default().cost, 1_000_000);
}

#[test]
fn variables_are_asked_for_when_needed_and_once() {
    let asked = Cell::new(0);
    let lookup = |name: &str| {
        assert_eq!(name, "a");
        asked.set(asked.get() + 1);
        Some(json!([1, 2, 3]))
    };
    let program = Program::compile("a.all(x, x in a) || b").unwrap();
    let value = program.eval(&lookup, &Limits::default());
    assert_eq!(value, Ok(json!(true)));
    assert_eq!(asked.get(), 1);
}

fn check_syntax(text: &str, line: usize, column: usize, message: &str) {
    match Program::compile(text).map(|_| ()) {
        Err(CompileError::Syntax {
            message: found,
            line: at_line,
            column: at_column,
            offset,
        }) => {
            assert_eq!(
                (at_line, at_column, found.as_str()),
                (line, column, message),
                "{text}"
            );
            assert!(text.is_char_boundary(offset), "{text}");
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn syntax_errors_have_a_place() {
    check_syntax("", 1, 1, "expected an operand, found the end");
    check_syntax("1 +", 1, 4, "expected an operand, found the end");
    check_syntax("1 + )", 1, 5, "expected an operand, found `)`");
    check_syntax("(1", 1, 3, "expected `)`, found the end");
    check_syntax("f(1 2)", 1, 5, "expected `)`, found a number");
    check_syntax(
        "'é' 'x'",
        1,
        5,
        "expected an operator or the end, found a string",
    );
    check_syntax(
        "a\n  .b\n  .+",
        3,
        4,
        "expected the name of a member, found `+`",
    );
    check_syntax("a ? b", 1, 6, "expected `:`, found the end");
    check_syntax("{1}", 1, 3, "expected `:`, found `}`");
    check_syntax("in", 1, 1, "expected an operand, found `in`");
    check_syntax(
        "a.map(b.c, 1)",
        1,
        7,
        "expected the name of a variable and `,`, found `b`",
    );
    check_syntax(
        "a.map(b)",
        1,
        7,
        "expected the name of a variable and `,`, found `b`",
    );
    check_syntax("a.all(b, 1, 2)", 1, 11, "expected `)`, found `,`");
    check_syntax("has(a)", 1, 5, "`has` takes a member, as in `has(a.b)`");
    check_syntax("has(a[0])", 1, 5, "`has` takes a member, as in `has(a.b)`");
    let index = "`has` takes a member, as in `has(a.b)`; for a key in brackets write `a.?b['key'].hasValue()`";
    check_syntax("has(a['b'])", 1, 5, index);
    check_syntax("has((a.b['c']))", 1, 5, index);
    check_syntax("1 # 2", 1, 3, "unexpected character");
    check_syntax("'abc", 1, 1, "the string has no end");
    check_syntax("'a\nb'", 1, 1, "the string has no end on its line");
    check_syntax(r"'\q'", 1, 2, "unknown escape sequence");
    check_syntax(r"'\x4'", 1, 2, "malformed escape sequence");
    check_syntax(r"'\ud800'", 1, 2, "the escape sequence is not a character");
    check_syntax(r"b'\u0100'", 1, 3, "the escape sequence is not a byte");
    check_syntax("9223372036854775808", 1, 1, "the number is out of range");
    check_syntax("1e999", 1, 1, "the number is out of range");
    check_syntax("12ab", 1, 1, "malformed number");
    check_syntax("a.`b", 1, 3, "malformed name in backquotes");
}

#[test]
fn signs_of_other_languages_are_known() {
    check_syntax("a = b", 1, 3, "found `=`, expected `==`");
    check_syntax("a & b", 1, 3, "found `&`, expected `&&`");
    check_syntax("a | b", 1, 3, "found `|`, expected `||`");
    check_syntax(
        "a =~ 'b'",
        1,
        3,
        "found `=~`; a regular expression is `a.matches('…')`",
    );
    check_syntax(
        "$.a > 1",
        1,
        1,
        "found `$`; in CEL the document is `object`, as in `object.metadata.name`",
    );
    check_syntax(
        "a and b",
        1,
        3,
        "expected an operator, such as `&&`, or the end, found `and`",
    );
}

#[test]
fn errors_of_functions_have_the_place_of_the_name() {
    for (text, offset) in [
        ("1 + foo(a)", 4),
        ("size(a.bar())", 7),
        ("size(1, 2, 3)", 0),
        ("[1].map(x, x.size(1, 2))", 13),
        ("a.matches('[')", 2),
        ("true || math.abs(1, 2)", 8),
    ] {
        let error = Program::compile(text).map(|_| ()).unwrap_err();
        assert_eq!(error.offset(), Some(offset), "{text}: {error}");
    }
    let error = Program::compile("a{}").map(|_| ()).unwrap_err();
    assert_eq!(error.offset(), None);
}
