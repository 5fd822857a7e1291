//! Random CEL: many expressions build lists and maps, and read from them.

use seeded::Random;

/// An expression that is nested this deep at most, inside this many macros.
pub(super) fn text(random: &mut Random, depth: usize, locals: usize) -> String {
    if depth == 0 || random.chance(20) {
        return leaf(random, locals);
    }
    let mut sub = |locals: usize| text(random, depth - 1, locals);
    let (a, b, c) = (sub(locals), sub(locals), sub(locals));
    let body = sub(locals + 1);
    let x = format!("x{locals}");
    match random.below(24) {
        0 | 1 => format!("[{a}, {b}]"),
        2 => format!("{{'p': {a}, 'q': {b}}}"),
        3 => format!("{{'p': {a}, string({c}): {b}}}"),
        4 => format!("({a}) + ({b})"),
        5 => format!("[{a}] + [{b}]"),
        6 => format!("[{a}, {b}].map({x}, {body})"),
        7 => format!("object.l.map({x}, {body})"),
        8 => format!("[{a}, {b}].filter({x}, {x} == {c})"),
        9 => format!("[{a}, {b}][0]"),
        10 => format!("[{{'p': {a}}}, {{'p': {b}}}][1].p"),
        11 => format!("{{'p': {a}}}.p"),
        12 => format!("{{'p': {a}, 'q': [{b}]}}.q"),
        13 => format!("true ? ({a}) : ({b})"),
        14 => format!("({a}) == ({b}) ? ({c}) : [{c}]"),
        15 => format!("[{a}].transformMap(i, {x}, {body})"),
        16 => format!("[{a}, {b}].transformList(i, {x}, {body})"),
        17 => format!("string({a})"),
        18 => format!("size([{a}])"),
        19 => format!("[{a}].all({x}, {body})"),
        20 => format!("{{?'p': optional.of({a}), 'q': {b}}}"),
        21 => format!("[?optional.of({a}), {b}]"),
        22 => format!("[timestamp('2024-01-01T00:00:00Z'), timestamp({a})][0] < now"),
        _ => format!("[{a}, {b}].sortBy({x}, 1)"),
    }
}

fn leaf(random: &mut Random, locals: usize) -> String {
    let leaves = [
        "1",
        "1.5",
        "'a'",
        "'4'",
        "null",
        "true",
        "2u",
        "object.n",
        "object.s",
        "object.b",
        "object.l",
        "object.l[0]",
        "object.m",
        "object.m.s",
        "object.o",
        "object.o.k",
        "s",
        "timestamp('2024-01-01T00:00:00Z')",
        "duration('1h')",
        "now",
        "b'a'",
        "[]",
        "{}",
    ];
    if locals > 0 && random.chance(50) {
        let local = random.below(locals);
        return match random.below(3) {
            0 => format!("x{local}.s"),
            _ => format!("x{local}"),
        };
    }
    (*random.pick(&leaves)).to_owned()
}
