//! Our parser and interpreter agree with those of the library, where the latter are right.

use cel_interpreter::{Limits, Program};
use document::Value;
use kube_cel::KubeCelExt;
use kube_cel::cel;
use seeded::Random;

/// Checks that both return the same value, or both fail.
fn check(text: &str) {
    let ours = Program::compile(text)
        .map_err(|error| error.to_string())
        .and_then(|program| {
            let value = program.eval(&|_| None::<Value>, &Limits::default());
            value.map_err(|error| error.to_string())
        });
    let context = cel::Context::default().with_all();
    let theirs = cel::Program::compile(text)
        .map_err(|error| error.to_string())
        .and_then(|program| {
            let value = program.execute(&context).map_err(|error| error.to_string());
            value.map(|value| plain(&value))
        });
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text}"),
        (Err(_), Err(_)) => {}
        _ => panic!("{text}: {ours:?} and {theirs:?}"),
    }
}

fn plain(value: &cel::Value) -> Value {
    match value {
        cel::Value::Null => Value::NULL,
        cel::Value::Bool(b) => Value::from(*b),
        cel::Value::Int(i) => Value::from(*i),
        cel::Value::Float(f) => Value::number(*f).unwrap_or_default(),
        cel::Value::String(text) => Value::from(text.as_str()),
        cel::Value::List(items) => items.iter().map(plain).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn on_what_is_written_by_hand() {
    for text in [
        "1 + 2 * 3 - 4 % 3 / 2",
        "10 - 3 - 2",
        "2 * (3 + 4) == 14 && !(1 > 2) || false",
        "1 < 2 == true",
        "true ? false ? 1 : 2 : 3",
        "false ? 1 : true ? 2 : 3",
        "true || false && false",
        "-5 + 3",
        "-(5)",
        "5 - -3",
        "'a' + 'b' == \"ab\"",
        "'a\\tb\\x41\\u00e9\\101'",
        "r'a\\d'",
        "[1, 2, 3][1]",
        "{'a': [1, {'b': 2}]}.a[1].b",
        "{'a': 1}['a'] + {'a': 1}.a",
        "[1, 2, 3].map(x, x * 2).filter(x, x > 2)",
        "[1, 2, 3].map(x, x > 1, x * 2)",
        "[1, 2].all(x, [3, 4].exists(y, y > x)) && [1, 2].exists_one(x, x == 1)",
        "[[1, 2], [3]].map(x, x.map(x, x + 1))",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
        "2 in [1, 2] && 'a' in {'a': 1}",
        "'hello'.substring(1, 3) + 'Hello'.lowerAscii() + ' x '.trim()",
        "'a,b,c'.split(',').join('-') + 'abc'.replace('b', 'x')",
        "'hello'.indexOf('l') + 'hello'.lastIndexOf('l') + 'hello'.size()",
        "'abc'.charAt(1) + 'abc'.reverse()",
        "'%s %d %.2f %x'.format(['a', 5, 2.5, 255])",
        "[3, 1, 2].sort() + [3, 1, 2].reverse() + [1, 1].distinct() + [[1]].flatten()",
        "[3, 1, 2].min() + [3, 1, 2].max() + [3, 1, 2].sum()",
        "sets.contains([1, 2], [1]) && sets.equivalent([1], [1]) && sets.intersects([1], [1])",
        "'abc'.matches('^a') && 'abc'.find('b.') == 'bc' && 'a1b2'.findAll('[0-9]').size() == 2",
        "quantity('1Gi').asInteger() + quantity('1.5k').asInteger()",
        "duration('1h') > duration('59m') && timestamp('2024-01-01T00:00:00Z').getFullYear() == 2024",
        "optional.of(1).orValue(2) + optional.none().orValue(2)",
        "int('5') + int(2.5) + int(3.5 + 0.5)",
        "string(5) + string(2.5)",
        "1 / 0",
        "1 + 'a'",
        "[1][5]",
        "{'a': 1}.b",
        "1 +",
        "(1",
        "a.b",
        "f(1)",
        "1 2",
        "[1, 2",
        "{'a' 1}",
        "'a",
        "1 ? 2 : 3",
        "x.map(1, 2)",
        "has(1)",
    ] {
        check(text);
    }
}

/// Generates expressions.
struct Expressions(Random);

impl Expressions {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// An int, with the variables `x0`, `x1`, … in scope.
    fn int(&mut self, depth: usize, scope: usize) -> String {
        if depth == 0 {
            return match self.below(3) {
                0 if scope > 0 => format!("x{}", self.below(scope)),
                _ => self.below(9).to_string(),
            };
        }
        let (deeper, wide) = (depth - 1, self.below(9));
        match wide {
            0..4 => {
                let operator = ["+", "-", "*", "/", "%"][self.below(5)];
                let (a, b) = (self.int(deeper, scope), self.int(deeper, scope));
                format!("{a} {operator} {b}")
            }
            4 => format!("({})", self.int(deeper, scope)),
            5 => format!("size({})", self.list(deeper, scope)),
            6 => format!("{}[{}]", self.list(deeper, scope), self.below(3)),
            7 => format!("{}.size()", self.text(deeper, scope)),
            _ => {
                let condition = self.bool(deeper, scope);
                let (a, b) = (self.int(deeper, scope), self.int(deeper, scope));
                format!("(({condition}) ? {a} : {b})")
            }
        }
    }

    fn bool(&mut self, depth: usize, scope: usize) -> String {
        if depth == 0 {
            return ["true", "false"][self.below(2)].to_owned();
        }
        let deeper = depth - 1;
        match self.below(7) {
            0 | 1 => {
                let operator = ["==", "!=", "<", "<=", ">", ">="][self.below(6)];
                let (a, b) = (self.int(deeper, scope), self.int(deeper, scope));
                format!("{a} {operator} {b}")
            }
            2 | 3 => {
                let operator = ["&&", "||"][self.below(2)];
                let (a, b) = (self.bool(deeper, scope), self.bool(deeper, scope));
                format!("{a} {operator} {b}")
            }
            4 => format!("!({})", self.bool(deeper, scope)),
            5 => format!("{} in {}", self.int(0, scope), self.list(deeper, scope)),
            _ => {
                let method = ["all", "exists", "exists_one"][self.below(3)];
                let (list, body) = (self.list(deeper, scope), self.bool(deeper, scope + 1));
                format!("{list}.{method}(x{scope}, {body})")
            }
        }
    }

    fn list(&mut self, depth: usize, scope: usize) -> String {
        let items: Vec<String> = (0..self.below(4)).map(|_| self.int(0, scope)).collect();
        let list = format!("[{}]", items.join(", "));
        if depth == 0 {
            return list;
        }
        let (deeper, inner) = (depth - 1, scope + 1);
        match self.below(4) {
            0 => list,
            1 => format!("{list}.map(x{scope}, {})", self.int(deeper, inner)),
            2 => format!("{list}.filter(x{scope}, {})", self.bool(deeper, inner)),
            _ => format!("({list} + {})", self.list(deeper, scope)),
        }
    }

    fn text(&mut self, depth: usize, scope: usize) -> String {
        match self.below(3) {
            _ if depth == 0 => ["'a'", "'bc'", "''"][self.below(3)].to_owned(),
            0 => format!("string({})", self.int(depth - 1, scope)),
            1 => format!(
                "({} + {})",
                self.text(depth - 1, scope),
                self.text(depth - 1, scope)
            ),
            _ => format!("{}.upperAscii()", self.text(depth - 1, scope)),
        }
    }
}

#[test]
fn on_random_expressions() {
    let mut random = Expressions(Random::new(seeded::seed(0x0dd5_eed5)));
    for round in 0..3_000 {
        let depth = round % 5;
        let text = match round % 3 {
            0 => random.int(depth, 0),
            1 => random.bool(depth, 0),
            _ => random.list(depth, 0),
        };
        check(&text);
    }
}
