//! Random join conditions.

use document::{Value, json};

use super::Writer;
use super::shape::Shape;

/// The number of kinds of join keys: strings, numbers, namespaces, pairs, groups, and the field
/// `k`, which has any type.
const KEY_KINDS: usize = 6;

impl Writer<'_> {
    /// The argument of a `@join`.
    pub(super) fn join(&mut self, inputs: &[String]) -> Value {
        let mut conjuncts = Vec::new();
        let star = self.random.chance(30);
        for i in 1..inputs.len() {
            let partner = if star { 0 } else { i - 1 };
            if self.random.chance(85) {
                let (a, b) = self.either(&inputs[partner], &inputs[i]);
                conjuncts.push(self.conjunct(a, b));
            }
        }
        while self.random.chance(30) {
            let a = self.random.pick(inputs).clone();
            let b = self.random.pick(inputs).clone();
            let conjunct = match self.random.below(10) {
                _ if a != b => self.conjunct(&a, &b),
                0 => json!({"@eq": (format!("$.{a}.spec.pair"))}),
                1 => json!({"@exists": "$"}),
                2 if inputs.len() > 2 => json!({"@lt": [
                    {"@add": [(format!("$.{}.spec.n", inputs[0])), (format!("$.{}.spec.n", inputs[1]))]},
                    {"@add": [(format!("$.{}.spec.n", inputs[2])), 2]},
                ]}),
                _ => self.stable_condition(&a),
            };
            conjuncts.push(conjunct);
        }
        self.random.shuffle(&mut conjuncts);
        let condition = self.conjunction(conjuncts);
        let mut soft: Vec<Value> = Vec::new();
        if self.random.chance(45) {
            soft = inputs
                .iter()
                .filter(|_| self.random.chance(50))
                .map(Value::from)
                .collect();
            if soft.len() == inputs.len() {
                soft.remove(self.random.below(soft.len()));
            }
        }
        match self.random.below(6) {
            0 if inputs.len() > 1 => {
                let (a, b) = self.either(&inputs[0], &inputs[1]);
                json!([condition, {"soft": soft, "index": (self.keys(a, b))}])
            }
            1 => json!([condition, {"soft": soft}]),
            2 | 3 if soft.is_empty() => condition,
            _ => json!({"on": condition, "soft": soft}),
        }
    }

    /// Conjuncts in randomly nested `@and`s.
    fn conjunction(&mut self, mut conjuncts: Vec<Value>) -> Value {
        if conjuncts.len() == 1 && self.random.chance(60) {
            return conjuncts.remove(0);
        }
        if conjuncts.is_empty() && self.random.chance(50) {
            return json!(true);
        }
        if conjuncts.len() > 2 && self.random.chance(30) {
            let inner = conjuncts.split_off(1);
            conjuncts.push(json!({"@and": inner}));
        }
        json!({"@and": conjuncts})
    }

    fn either<'a>(&mut self, a: &'a str, b: &'a str) -> (&'a str, &'a str) {
        if self.random.chance(50) {
            (a, b)
        } else {
            (b, a)
        }
    }

    /// A conjunct on two inputs.
    fn conjunct(&mut self, a: &str, b: &str) -> Value {
        let number = |input: &str| format!("$.{input}.spec.n");
        match self.random.weighted(&[40, 22, 12, 12, 4, 5, 5]) {
            0 => json!({"@eq": (self.keys(a, b))}),
            1 => json!({"@in": (self.key_and_list(a, b))}),
            2 => {
                json!({"@selector": [(format!("$.{a}.spec.sel")), (format!("$.{b}.metadata.labels"))]})
            }
            3 => json!({"@lte": [(number(a)), (number(b))]}),
            4 => json!({"@cel": (format!("{a}.spec.n <= {b}.spec.n"))}),
            5 => json!({"@ne": (self.keys(a, b))}),
            _ => json!({"@or": [{"@eq": (self.keys(a, b))}, {"@lt": [(number(a)), (number(b))]}]}),
        }
    }

    /// Two join keys, usually of the same type.
    fn keys(&mut self, a: &str, b: &str) -> Value {
        let kind = self.random.below(KEY_KINDS);
        let other = if self.random.chance(90) {
            kind
        } else {
            self.random.below(KEY_KINDS)
        };
        json!([(self.key(a, kind)), (self.key(b, other))])
    }

    fn key(&mut self, input: &str, kind: usize) -> Value {
        let spec = |field: &str| Value::from(format!("$.{input}.spec.{field}"));
        match (kind, self.random.below(4)) {
            (0, 0) | (4, _) => spec("g"),
            (0, 1) => json!({"@string": (spec("k"))}),
            (0, _) => format!("$.{input}.metadata.name").into(),
            (1, 0) => json!({"@int": (spec("k"))}),
            (1, 1) => json!({"@add": [(spec("n")), 1]}),
            (1, 2) => json!({"@sum": (spec("l"))}),
            (1, _) => spec("n"),
            (2, _) => format!("$.{input}.metadata.namespace").into(),
            (3, _) => json!([(spec("g")), (spec("n"))]),
            _ => spec("k"),
        }
    }

    /// A join key and a list of join keys.
    fn key_and_list(&mut self, a: &str, b: &str) -> Value {
        let spec = |field: &str| format!("$.{b}.spec.{field}");
        let (kind, list) = match self.random.below(7) {
            0 | 1 => (0, json!({"@map": ["$$.name", (spec("refs"))]})),
            2 => (1, json!({"@map": [{"@int": "$$"}, (spec("l"))]})),
            3 => (0, json!({"@query": (spec("refs[*].name"))})),
            4 => (KEY_KINDS - 1, json!([(spec("k")), (spec("g"))])),
            _ => (1, spec("l").into()),
        };
        json!([(self.key(a, kind)), list])
    }

    /// A condition on one input, without `@now` and `@rnd`.
    fn stable_condition(&mut self, input: &str) -> Value {
        let shape = Shape::object(&format!("$.{input}"));
        loop {
            let condition = self.condition(&shape, 1);
            let text = condition.to_string();
            if ["@now", "@rnd", "now >"]
                .iter()
                .all(|word| !text.contains(word))
            {
                return condition;
            }
        }
    }
}
