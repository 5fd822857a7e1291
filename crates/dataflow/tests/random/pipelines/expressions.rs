//! Random expressions on documents of a known shape.

use document::{Value, json};

use super::super::entry;
use super::Writer;
use super::shape::Shape;

impl Writer<'_> {
    /// A path with this depth of nested lists; any path if there is none.
    pub(super) fn path(&mut self, shape: &Shape, depth: impl Fn(usize) -> bool) -> String {
        let fitting: Vec<&String> = shape
            .paths
            .iter()
            .filter(|(_, nested)| depth(*nested))
            .map(|(path, _)| path)
            .collect();
        if fitting.is_empty() {
            return self.random.pick(&shape.paths).0.clone();
        }
        (*self.random.pick(&fitting)).clone()
    }

    /// A path that should give a number.
    pub(super) fn number(&mut self, shape: &Shape) -> String {
        self.likely(shape, 0, &[".n"])
    }

    /// A path that should give a list of numbers.
    pub(super) fn numbers(&mut self, shape: &Shape) -> String {
        self.likely(shape, 1, &[".l", ".n", ".values"])
    }

    /// A path with this nesting and one of these endings, if there is one. Sometimes any other path.
    pub(super) fn likely(&mut self, shape: &Shape, depth: usize, endings: &[&str]) -> String {
        let fitting: Vec<&String> = shape
            .paths
            .iter()
            .filter(|(path, nested)| {
                *nested == depth && endings.iter().any(|ending| path.ends_with(ending))
            })
            .map(|(path, _)| path)
            .collect();
        if fitting.is_empty() || self.random.chance(8) {
            return self.path(shape, |nested| nested == depth);
        }
        (*self.random.pick(&fitting)).clone()
    }

    pub(super) fn name(&mut self, shape: &Shape) -> Value {
        let name = self.random.pick(&shape.names).clone();
        let path = self.path(shape, |depth| depth == 0);
        match self.random.below(20) {
            0 => json!("one"),
            1 if self.random.chance(50) => path.into(),
            2..5 => json!({"@concat": [name, "-", path]}),
            5..10 => {
                let names: Vec<Value> = shape
                    .names
                    .iter()
                    .map(|name| json!({"@definedOr": [name, "none"]}))
                    .collect();
                json!({"@join": [names, "-"]})
            }
            10..12 => json!({"@string": path}),
            12..14 => json!({"@concat": [(self.random.pick(&shape.names).as_str()), "-", name]}),
            _ => name.into(),
        }
    }

    /// A value for a field. It usually has the right type.
    pub(super) fn value_for(&mut self, shape: &Shape, field: &str) -> Value {
        match field {
            "k" | "g" => match self.random.below(6) {
                0 => self.value(shape, 1),
                _ => self.path(shape, |depth| depth == 0).into(),
            },
            "n" => self.value(shape, 1),
            "b" => self.condition(shape, 1),
            "l" => self.list(shape),
            _ => match self.random.below(3) {
                0 => json!([(self.list(shape)), (self.list(shape))]),
                _ => self.path(shape, |depth| depth == 2).into(),
            },
        }
    }

    pub(super) fn list(&mut self, shape: &Shape) -> Value {
        let path = self.numbers(shape);
        match self.random.below(7) {
            0 => json!({"@map": [{"@add": ["$$", 1]}, path]}),
            1 => json!({"@filter": [{"@gt": ["$$", 1]}, path]}),
            2 => json!({"@query": (format!("{path}[*]"))}),
            3 => json!([(self.number(shape)), (self.path(shape, |depth| depth == 0))]),
            4 => json!({"@map": [["$$", "@now"], path]}),
            _ => path.into(),
        }
    }

    pub(super) fn value(&mut self, shape: &Shape, depth: usize) -> Value {
        let number = self.number(shape);
        let list = self.path(shape, |depth| depth > 0);
        let numbers = self.numbers(shape);
        match self.random.below(if depth == 0 { 11 } else { 17 }) {
            0 if self.random.chance(30) => json!({"@int": (self.path(shape, |depth| depth == 0))}),
            0 => json!({"@int": number}),
            1 => json!({"@add": [number, 1]}),
            2 => json!({"@len": list}),
            3 => json!({"@sum": numbers}),
            4 => match self.random.below(3) {
                0 => json!("@now"),
                1 => json!({"@timeSub": ["@now", "1970-01-01T00:00:00Z"]}),
                _ => json!({"@cond": [(self.deadline(&number)), "@now", number]}),
            },
            5 => json!({"@rnd": [0, 9]}),
            6 => json!({"@rnd": [0, number]}),
            7 => json!({"@definedOr": [number, 7]}),
            8 => json!({"@hash": list}),
            9 => json!({"@max": numbers}),
            11 => {
                json!({"@cond": [(self.condition(shape, 0)), (self.value(shape, 0)), (self.value(shape, 0))]})
            }
            12 => json!({"@sub": [(self.value(shape, 0)), number]}),
            13 => json!({"@map": [{"@rnd": [0, 3]}, list]}),
            _ => number.into(),
        }
    }

    /// A time near the batches of a history, with or without a fraction. A list item, `$$`, may be
    /// the number.
    fn time(&mut self, number: &str) -> Value {
        let factors = [json!(1), json!(3), json!(2.5)];
        let factor = self.random.pick(&factors).clone();
        let seconds = json!({"@mul": [number, factor]});
        let time = json!({"@timeAdd": ["1970-01-01T00:00:01Z", seconds]});
        match self.random.below(6) {
            0 => json!({"@definedOr": [time, "1970-01-01"]}),
            1 => json!({"@timeAdd": ["1970-01-01T00:00:02+00:00", number]}),
            2 => json!({"@cond": [{"@gt": [number, 0]}, time, "1970-01-01T00:00:04.5Z"]}),
            _ => time,
        }
    }

    /// A comparison with `@now`. Most of them set a deadline.
    pub(super) fn deadline(&mut self, number: &str) -> Value {
        let relation = *self.random.pick(&["@lt", "@lte", "@gt", "@gte"]);
        let time = self.time(number);
        let sides = match self.random.below(9) {
            0..4 => json!(["@now", time]),
            4..8 => json!([time, "@now"]),
            _ => json!([time, {"@timeAdd": ["@now", 1]}]),
        };
        entry(relation, sides)
    }

    /// A condition on one document.
    pub(super) fn condition(&mut self, shape: &Shape, depth: usize) -> Value {
        let number = self.number(shape);
        let scalar = self.path(shape, |depth| depth == 0);
        let list = self.path(shape, |depth| depth > 0);
        match self.random.below(if depth == 0 { 14 } else { 17 }) {
            0 => json!({"@and": [(scalar.replace(".n", ".b"))]}),
            1 => json!({"@eq": [scalar, (self.path(shape, |depth| depth == 0))]}),
            2 => json!({"@eq": [scalar, "a"]}),
            3 => json!({"@not": {"@isnil": scalar}}),
            4 => json!({"@in": [scalar, list]}),
            5 => json!({"@lt": [{"@len": list}, 3]}),
            6 => json!({"@any": [{"@gt": ["$$", 0]}, (self.numbers(shape))]}),
            7 => self.deadline(&number),
            10 => {
                let numbers = self.numbers(shape);
                let operator = *self.random.pick(&["@any", "@all"]);
                entry(operator, json!([(self.deadline("$$")), numbers]))
            }
            11 => json!({"@cel": "now > timestamp('1970-01-01T00:00:03Z')"}),
            8 => json!({"@lt": [{"@rnd": [0, 10]}, 7]}),
            9 => json!({"@exists": list}),
            14 => json!({"@or": [(self.condition(shape, 0)), (self.condition(shape, 0))]}),
            15 => json!({"@not": (self.condition(shape, 0))}),
            16 => {
                let path = number
                    .trim_start_matches("$.")
                    .replace("documents[0]", "object");
                json!({"@cel": (format!("{path} < 3"))})
            }
            _ => json!({"@gt": [number, 0]}),
        }
    }
}
