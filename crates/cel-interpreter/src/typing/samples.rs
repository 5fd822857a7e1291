//! A sample of each type.

use std::sync::LazyLock;

use crate::eval::Interpreter;
use crate::parser::parse;
use crate::types::Type;
use crate::value::Val;

/// Expressions whose values are the samples. Functions that take a string need different ones. Lists
/// and maps are empty, so that nothing in them is refused.
const SAMPLES: &[&str] = &[
    "null",
    "true",
    "1",
    "1u",
    "1.5",
    "'1'",
    "'a'",
    "'2024-01-01T00:00:00Z'",
    "'1s'",
    "'192.0.2.1'",
    "'192.0.2.0/24'",
    "'https://example.com/a'",
    "'1.2.3'",
    "'true'",
    "'UTC'",
    "b'a'",
    "[]",
    "{}",
    "timestamp(0)",
    "duration('1s')",
    "optional.none()",
    "int",
    "quantity('1')",
    "ip('192.0.2.1')",
    "cidr('192.0.2.0/24')",
    "url('https://example.com/a')",
    "semver('1.2.3')",
    "format.named('dns1123Label').value()",
];

static VALUES: LazyLock<Vec<Val>> = LazyLock::new(|| {
    let evaluated = SAMPLES.iter().filter_map(|text| {
        let parsed = parse(text).ok()?;
        let lookup = |_: &str| None;
        let mut interpreter = Interpreter::new(&parsed.names, &lookup, 1_000);
        interpreter.eval(&parsed.tree).ok()
    });
    evaluated.collect()
});

/// The samples of a type.
pub(super) fn of(wanted: Type) -> impl Iterator<Item = &'static Val> {
    VALUES.iter().filter(move |value| Type::of(value) == wanted)
}

/// All types, each once.
pub(super) fn types() -> impl Iterator<Item = Type> {
    let mut known: Vec<Type> = Vec::new();
    for value in VALUES.iter() {
        let found = Type::of(value);
        if !known.contains(&found) {
            known.push(found);
        }
    }
    known.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_sample_of_every_type() {
        assert_eq!(VALUES.len(), SAMPLES.len());
        assert_eq!(types().count(), 19);
    }
}
