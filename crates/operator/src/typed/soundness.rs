//! The value of an expression is always in the type that is inferred for it.

mod cel;

use document::{Key, Location, Value, View, json};
use expr::{Env, Functions, Items, Scope as Values};
use schema::{Budget, Fields, Numbers, Strings, Type};
use seeded::Random;

use super::inference::{Inference, Scope};

/// Whether a type contains a value.
fn contains(of: &Type, value: &Value) -> bool {
    if of.any {
        return true;
    }
    match value.view() {
        View::Null => of.null,
        View::Bool(_) => of.boolean,
        View::Int(_) => of.number != Numbers::None,
        View::Float(_) => of.number == Numbers::All,
        View::Str(text) => match &of.string {
            Strings::None => false,
            Strings::Known(known) => known.iter().any(|known| **known == *text),
            Strings::All => true,
        },
        View::Bytes(_) => false,
        View::List(items) => {
            let element = of.list.as_ref();
            element.is_some_and(|element| items.iter().all(|item| contains(element, item)))
        }
        View::Map(map) => of.fields().is_some_and(|fields| {
            let inside = map.iter().all(|(key, value)| {
                let field = fields.named.get(key).or(fields.rest.as_ref());
                field.is_some_and(|field| contains(field, value))
            });
            let mut named = fields.named.iter();
            inside && named.all(|(key, field)| field.null || field.any || map.get(key).is_some())
        }),
    }
}

fn document_type() -> Type {
    let item = Type::map(Fields::closed([
        (Key::new("n"), Type::integer().or_null()),
        (Key::new("s"), Type::string()),
    ]));
    Type::map(Fields::closed([
        (Key::new("n"), Type::number()),
        (Key::new("s"), Type::string().or_null()),
        (Key::new("b"), Type::boolean()),
        (Key::new("l"), Type::list(item.clone())),
        (Key::new("m"), item),
        (Key::new("o"), Type::map_of(Type::string())),
    ]))
}

fn document(random: &mut Random) -> Value {
    let item = |random: &mut Random| {
        if random.chance(50) {
            json!({"s": "x"})
        } else {
            json!({"n": (random.below(5)), "s": "7"})
        }
    };
    let items: Value = (0..random.below(3)).map(|_| item(random)).collect();
    let number = if random.chance(50) {
        json!(2)
    } else {
        json!(0.5)
    };
    let other = random.pick(&[json!({}), json!({"k": "v"})]).clone();
    let mut document = json!({
        "n": number, "b": (random.chance(50)), "l": items, "m": (item(random)), "o": other,
    });
    if random.chance(60)
        && let Some(map) = document.as_map()
    {
        let text = *random.pick(&["", "3", "abc"]);
        document = map.with(Key::new("s"), text.into()).into();
    }
    document
}

/// A random expression; most are well typed.
fn expression(random: &mut Random, depth: usize, item: bool) -> Value {
    let paths = [
        "$.n",
        "$.s",
        "$.b",
        "$.l",
        "$.m",
        "$.o",
        "$.l[0].n",
        "$.l[*].s",
        "$.l[?(@.n > 1)].s",
        "$.m.n",
        "$.o.k",
        "$",
        "$.l[-1]",
    ];
    if depth == 0 || random.chance(20) {
        return match random.below(if item { 5 } else { 4 }) {
            0 => random
                .pick(&[
                    json!(1),
                    json!(1.5),
                    json!("a"),
                    json!("4"),
                    json!(null),
                    json!(true),
                ])
                .clone(),
            1..4 => Value::from(*random.pick(&paths)),
            _ => Value::from(*random.pick(&["$$", "$$.n", "$$.s"])),
        };
    }
    let mut sub = |item: bool| expression(random, depth - 1, item);
    let (a, b, c) = (sub(item), sub(item), sub(item));
    let inner = sub(true);
    match random.below(30) {
        0 => json!({"@add": [a, b]}),
        1 => json!({"@div": [a, b]}),
        2 => json!({"@concat": [a, b]}),
        3 => json!({"@concat": [a]}),
        4 => json!({"@len": a}),
        5 => json!({"@len": [a]}),
        6 => json!({"@map": [inner, a]}),
        7 => json!({"@filter": [{"@exists": inner}, a]}),
        8 => json!({"@sortBy": [1, a]}),
        9 => json!({"@cond": [{"@exists": a}, b, c]}),
        10 => json!({"@cond": [{"@isnil": a}, b]}),
        11 => json!({"@switch": [[{"@eq": [a, 1]}, b]]}),
        12 => json!({"@switch": [[{"@eq": [a, 1]}, b], [true, c]]}),
        13 => json!({"@definedOr": [a, b]}),
        14 => json!({"@merge": [a, b]}),
        15 => json!({"@keys": a}),
        16 => json!({"@values": a}),
        17 => json!({"@enumerate": [a, b]}),
        18 => json!({"@sum": [a, b]}),
        19 => json!({"@max": a}),
        20 => json!({"@query": (*random.pick(&paths))}),
        21 => json!({"@setField": ["$.m.x", a]}),
        22 => json!({"@setField": ["$.l[0].y", a]}),
        23 => json!({"$.": "$.m", "x": a}),
        24 => json!({"x": a, "$.x.y": b}),
        25 => json!({"x": {"p": a}, "$.x.p": b, "$.q[1]": c}),
        26 => json!({"$.": a, "$.s": b}),
        27 => json!([a, b]),
        28 => json!({"@list": a}),
        _ => json!({"@string": a}),
    }
}

/// Checks an expression on a random document. Returns whether it has a value.
fn check(spec: &Value, random: &mut Random) -> bool {
    let functions = Functions::builtin();
    let Ok(expr) = expr::compile(spec, &Location::root(), &functions, Items::None) else {
        return false;
    };
    let document = document(random);
    assert!(contains(&document_type(), &document), "{document}");
    let env = Env::default();
    let Ok(value) = expr.eval(&Values::new(&env, &document)) else {
        return false;
    };
    let mut inference = Inference::new(Budget::default(), &[]);
    let scope = Scope::of(document_type());
    let found = inference.infer(&expr, &Location::root(), &scope);
    assert!(
        contains(&found, &value),
        "{spec} on {document} is {value}, not {found}: {found:?}"
    );
    let errors = inference.problems.iter();
    let errors: Vec<_> = errors
        .filter(|p| p.severity == crate::Severity::Error)
        .collect();
    assert!(
        errors.is_empty(),
        "{spec} on {document} is {value}: {errors:?}"
    );
    true
}

fn check_all(make: impl Fn(&mut Random) -> Value, at_least: usize) {
    let counts = std::cell::Cell::new(0);
    seeded::check(20_000, |random| {
        let spec = make(random);
        counts.set(counts.get() + usize::from(check(&spec, random)));
    });
    assert!(
        seeded::alone() || counts.get() > at_least,
        "{}",
        counts.get()
    );
}

#[test]
fn values_have_the_types_that_are_inferred() {
    check_all(|random| expression(random, 3, false), 3_000);
}

#[test]
fn values_of_cel_have_the_types_that_are_inferred() {
    check_all(
        |random| {
            let text = cel::text(random, 3, 0);
            json!({"@cel": text})
        },
        3_000,
    );
}
