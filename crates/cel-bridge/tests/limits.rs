//! Bombs: whatever an expression does, compiling and evaluating it ends soon, with
//! little memory and without overflowing the stack.

use std::time::{Duration, Instant};

use cel_bridge::{CompileError, EvalError, Limits, MAX_DEPTH, MAX_LENGTH, Program};
use document::{Value, json};

fn variables(name: &str) -> Option<Value> {
    match name {
        "s" => Some(json!("0123456789abcdef")),
        "big" => Some(Value::from("a".repeat(1 << 20))),
        "l" => Some((0..1000).map(Value::from).collect()),
        "deep" => {
            let nest = |_: usize| "[".repeat(90) + &"]".repeat(90);
            let text = (0..50).map(nest).collect::<Vec<_>>().join(",");
            format!("[{text}]").parse().ok()
        }
        "object" => Some(json!({"spec": {"replicas": 5}, "metadata": {"name": "abc"}})),
        _ => None,
    }
}

fn eval(text: &str) -> Result<Value, EvalError> {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    program.eval(&variables, &Limits::default())
}

/// The expression ends in time, with the error for its cost.
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
    println!("{took:?} {shown}");
    assert!(took < Duration::from_secs(50), "{shown}: {took:?}");
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
    check(&format!("[s]{}.size()", ".map(x, [x, x]).flatten()".repeat(50)));
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
    check("math.greatest([1].map(x, lists.range(400000))) == 1");
}

#[test]
fn regular_expressions_end() {
    check("l.all(x, big.matches('(a|aa)+$'))");
    check("l.all(x, s.matches('x' + string(x)) || true)");
    check("l.map(x, big.find('(a{1,50}){1,20}b'))");
    check("big.matches('\\\\w+\\\\d+x') || l.all(x, big.matches('\\\\w+\\\\d+x') || true)");
}

/// Runs in a thread with the stack of a tokio worker.
fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap()
}

#[test]
fn x_depth_probe() {
    let Ok(n) = std::env::var("PROBE") else { return };
    let n: usize = n.parse().unwrap();
    let kind = std::env::var("KIND").unwrap();
    on_small_stack(move || {
        let text = shape(&kind, n);
        match Program::compile(&text) {
            Ok(program) => {
                if std::env::var("COMPILE").is_ok() { std::mem::forget(program); return; }
                let r = program.eval(&variables, &Limits::default());
                program.reads();
                println!("{kind} {n} {:?}", r.map(|_| ()));
            }
            Err(error) => println!("{kind} {n} {error:?}"),
        }
    });
}

fn shape(kind: &str, n: usize) -> String {
    match kind {
        "paren" => format!("{}1{}", "(".repeat(n), ")".repeat(n)),
        "list" => format!("{}1{}", "[".repeat(n), "]".repeat(n)),
        "map" => format!("{}1{}", "{'a':".repeat(n), "}".repeat(n)),
        "call" => format!("{}1{}", "dyn(".repeat(n), ")".repeat(n)),
        "macro" => format!("{}1{}", "[1].map(x,".repeat(n), ")".repeat(n)),
        "all" => format!("{}true{}", "[1].all(x,".repeat(n), ")".repeat(n)),
        "add" => format!("1{}", "+1".repeat(n)),
        "and" => format!("true{}", "&&true".repeat(n)),
        "member" => format!("object{}", ".b".repeat(n)),
        "index" => format!("l{}", "[0]".repeat(n)),
        "method" => format!("s{}", ".trim()".repeat(n)),
        "maps" => format!("[1]{}", ".map(x, x)".repeat(n)),
        "tern" => format!("{}1", "true?1:".repeat(n)).replace("true", "false"),
        "not" => format!("{}true", "!".repeat(n)),
        "nots" => format!("{}true{}", "!!(".repeat(n), ")".repeat(n)),
        "opt" => format!("object{}", ".?b".repeat(n)),
        "lib" => format!("math.abs({}1{})", "math.abs(".repeat(n), ")".repeat(n)),
        _ => panic!(),
    }
}
