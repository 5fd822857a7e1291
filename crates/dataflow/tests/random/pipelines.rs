//! Random pipelines that are always accepted: joins, stages and branches.

use document::{Value, json};

use super::{Random, entry};

/// Kinds of targets, and a pipeline that writes them.
pub fn pipeline(random: &mut Random, sources: &[String]) -> (Vec<String>, Value) {
    let mut writer = Writer { random };
    if writer.random.chance(75) {
        let stages = writer.branch(sources);
        let single = stages.len() == 1 && writer.random.chance(50);
        let spec = if single {
            stages[0].clone()
        } else {
            stages.into()
        };
        return (vec!["T".to_owned()], spec);
    }
    writer.branches(sources)
}

/// What is known of the documents at some place of a pipeline.
#[derive(Clone, Debug)]
struct Shape {
    /// Paths with how deep lists are nested there, as long as the data is as it should.
    paths: Vec<(String, usize)>,
    /// Paths of names.
    names: Vec<String>,
    /// Paths of whole objects.
    objects: Vec<String>,
    /// Whether the document has metadata.
    named: bool,
}

impl Shape {
    /// An object at this path.
    fn object(at: &str) -> Self {
        let fields = [
            ("k", 0),
            ("n", 0),
            ("n", 0),
            ("g", 0),
            ("b", 0),
            ("l", 1),
            ("ll", 2),
            ("refs", 1),
        ];
        Self {
            paths: fields
                .iter()
                .map(|(field, depth)| (format!("{at}.spec.{field}"), *depth))
                .collect(),
            names: vec![format!("{at}.metadata.name")],
            objects: vec![if at == "$" {
                "$.".to_owned()
            } else {
                at.to_owned()
            }],
            named: at == "$",
        }
    }

    /// The documents of a join.
    fn compound(inputs: &[String]) -> Self {
        let parts: Vec<Self> = inputs
            .iter()
            .map(|input| Self::object(&format!("$.{input}")))
            .collect();
        Self {
            paths: parts.iter().flat_map(|part| part.paths.clone()).collect(),
            names: parts.iter().flat_map(|part| part.names.clone()).collect(),
            objects: parts.iter().flat_map(|part| part.objects.clone()).collect(),
            named: false,
        }
    }

    /// The documents of a `@groupBy` of documents of this shape.
    fn group(&self) -> Self {
        let first = |path: &str| path.replacen('$', "$.documents[0]", 1);
        let mut paths = vec![
            ("$.key".to_owned(), 0),
            ("$.values".to_owned(), 1),
            ("$.documents".to_owned(), 1),
        ];
        paths.extend(self.paths.iter().map(|(path, depth)| (first(path), *depth)));
        Self {
            paths,
            names: self.names.iter().map(|path| first(path)).collect(),
            objects: self
                .objects
                .iter()
                .map(|path| first(path.trim_end_matches('.')))
                .collect(),
            named: false,
        }
    }

    /// Without the fields of `spec` that are not among these.
    fn keep(&mut self, fields: &[&str]) {
        self.paths.retain(|(path, _)| {
            fields
                .iter()
                .any(|field| path.ends_with(&format!(".spec.{field}")))
        });
    }

    /// After lists were opened (-1) or made (+1) at a path.
    fn nest(&mut self, path: &str, by: isize) {
        for (known, depth) in &mut self.paths {
            if known == path {
                *depth = depth.saturating_add_signed(by);
            }
        }
    }
}

/// How many kinds of join keys there are: texts, numbers, namespaces, pairs, groups, and
/// the field `k`, which is anything.
const KEY_KINDS: usize = 6;

struct Writer<'a> {
    random: &'a mut Random,
}

impl Writer<'_> {
    /// Several branches: a graph without cycles, in any order.
    fn branches(&mut self, sources: &[String]) -> (Vec<String>, Value) {
        let count = 2 + self.random.below(3);
        let targets = 1 + self.random.below(2);
        let targets: Vec<String> = ["T", "U"][..targets]
            .iter()
            .map(|&name| name.to_owned())
            .collect();
        let mut outputs: Vec<String> = Vec::new();
        let mut all_inputs: Vec<Vec<String>> = Vec::new();
        for number in 0..count {
            let mut known: Vec<String> = outputs.clone();
            known.sort();
            known.dedup();
            // Streams first, so that they are read.
            self.random.shuffle(&mut known);
            let mut from = sources.to_vec();
            self.random.shuffle(&mut from);
            known.extend(from);
            let inputs = 1 + self.random.weighted(&[60, 30, 10]);
            if self.random.chance(40) {
                self.random.shuffle(&mut known);
            }
            known.truncate(inputs);
            // A branch must not read what it writes, nor what is written further on.
            let later = number + targets.len() >= count;
            let output = if later {
                targets[count - 1 - number].clone()
            } else if self.random.chance(65) {
                format!("S{}", self.random.below(2))
            } else {
                self.random.pick(&targets).clone()
            };
            all_inputs.push(known);
            outputs.push(output);
        }
        self.untangle(&mut all_inputs, &mut outputs, sources, &targets);
        let mut branches: Vec<Value> = Vec::new();
        for (inputs, output) in all_inputs.iter().zip(&outputs) {
            let mut branch =
                vec![json!({"@inputs": (inputs.iter().map(Value::from).collect::<Value>())})];
            branch.extend(self.branch(inputs));
            branch.push(json!({"@output": output}));
            branches.push(branch.into());
        }
        self.random.shuffle(&mut branches);
        (targets, branches.into())
    }

    /// A branch reads a stream only if no branch from it on writes there; streams that
    /// nobody reads become targets.
    fn untangle(
        &mut self,
        inputs: &mut [Vec<String>],
        outputs: &mut [String],
        sources: &[String],
        targets: &[String],
    ) {
        loop {
            for (number, names) in inputs.iter_mut().enumerate() {
                names.retain(|name| sources.contains(name) || !outputs[number..].contains(name));
                if names.is_empty() {
                    names.push(self.random.pick(sources).clone());
                }
            }
            let unread = outputs.iter().position(|output| {
                !targets.contains(output) && !inputs.iter().any(|names| names.contains(output))
            });
            match unread {
                Some(number) => outputs[number] = self.random.pick(targets).clone(),
                None => return,
            }
        }
    }

    /// The stages between inputs and output.
    fn branch(&mut self, inputs: &[String]) -> Vec<Value> {
        let mut stages = Vec::new();
        let mut shape = Shape::object("$");
        if inputs.len() > 1 || self.random.chance(12) {
            stages.push(json!({"@join": (self.join(inputs))}));
            shape = Shape::compound(inputs);
            if self.random.chance(55) {
                stages.push(self.project(&mut shape));
            }
        }
        for _ in 0..self.random.weighted(&[15, 30, 25, 20, 10]) {
            self.stage(&mut shape, &mut stages);
        }
        if !shape.named && self.random.chance(95) {
            stages.push(self.project(&mut shape));
        }
        stages
    }

    fn stage(&mut self, shape: &mut Shape, stages: &mut Vec<Value>) {
        let unwind = if shape.named { 22 } else { 2 };
        match self.random.weighted(&[16, 22, unwind, 18, 14, 8]) {
            0 => stages.push(json!({"@select": (self.condition(shape, 1))})),
            1 => stages.push(self.project(shape)),
            2 => {
                // Often twice, where there are lists of lists.
                let path = self.path(shape, |depth| depth > 0);
                loop {
                    let name = *self.random.pick(&["@unwind", "@demux"]);
                    stages.push(entry(name, path.as_str().into()));
                    shape.nest(&path, -1);
                    let deeper = shape
                        .paths
                        .iter()
                        .any(|(known, depth)| *known == path && *depth > 0);
                    if self.random.chance(if deeper { 30 } else { 97 }) {
                        break;
                    }
                }
            }
            3 => {
                let key = self.group_key(shape);
                let path = self.path(shape, |_| true);
                let name = *self.random.pick(&["@gather", "@mux"]);
                stages.push(entry(name, json!([key, (path.as_str())])));
                shape.nest(&path, 1);
            }
            4 => {
                stages.push(json!({"@groupBy": (self.group_by(shape))}));
                *shape = shape.group();
            }
            _ => {
                if self.random.chance(60) {
                    stages.push(self.project(shape));
                }
                stages.push(
                    self.random
                        .pick(&[json!("@distinct"), json!({"@distinct": null})])
                        .clone(),
                );
            }
        }
    }

    fn group_by(&mut self, shape: &Shape) -> Value {
        let key = self.group_key(shape);
        let value = match self.random.below(4) {
            0 => Value::NULL,
            1 => self.value(shape, 1),
            _ => self.path(shape, |_| true).into(),
        };
        match self.random.below(3) {
            0 => json!([key, value]),
            1 => json!([key, value, {"distinct": false}]),
            _ => json!([key, value, {"distinct": true}]),
        }
    }

    fn group_key(&mut self, shape: &Shape) -> Value {
        let path = self.path(shape, |depth| depth == 0);
        match self.random.below(12) {
            0 => json!({"@int": (self.number(shape))}),
            1 => json!({"@concat": [path, "-"]}),
            2 => json!([path, (self.path(shape, |depth| depth == 0))]),
            3 => Value::from(self.random.pick(&shape.names)),
            4 => json!("all"),
            _ => path.into(),
        }
    }

    /// A path of the shape with such nesting; any path if there is none.
    fn path(&mut self, shape: &Shape, depth: impl Fn(usize) -> bool) -> String {
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
    fn number(&mut self, shape: &Shape) -> String {
        self.likely(shape, 0, &[".n"])
    }

    /// A path that should give a list of numbers.
    fn numbers(&mut self, shape: &Shape) -> String {
        self.likely(shape, 1, &[".l", ".n", ".values"])
    }

    /// A path of this nesting with one of these endings, if there is one; now and then
    /// any other.
    fn likely(&mut self, shape: &Shape, depth: usize, endings: &[&str]) -> String {
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

    /// A `@project` to an object, in one of its modes.
    fn project(&mut self, shape: &mut Shape) -> Value {
        let before = shape.clone();
        *shape = Shape::object("$");
        let spec = match self.random.below(10) {
            // A copy with changes.
            0..3 => {
                let object = self.random.pick(&before.objects).clone();
                let mut steps = vec![entry("$.", object.into())];
                for _ in 0..=self.random.below(2) {
                    let field = *self.random.pick(&["k", "n", "g", "l", "b"]);
                    let value = self.value_for(&before, field);
                    steps.push(match self.random.below(3) {
                        0 => json!({"spec": (entry(field, value))}),
                        _ => entry(&format!("$.spec.{field}"), value),
                    });
                }
                if self.random.chance(40) {
                    steps.push(json!({"$.metadata.name": (self.name(&before))}));
                }
                steps.into()
            }
            // A list that is computed.
            3 if self.random.chance(50) => {
                let list = self.path(&before, |depth| depth > 0);
                let name = self.name(&before);
                shape.keep(&["n", "g"]);
                json!({"@map": [{"metadata": {"name": name}, "spec": {"n": "$$", "g": "g"}}, list]})
            }
            _ => self.whole(&before, shape),
        };
        json!({"@project": spec})
    }

    fn whole(&mut self, before: &Shape, shape: &mut Shape) -> Value {
        let mut spec = Vec::new();
        let mut fields = vec!["k", "n", "g", "b", "l", "ll"];
        fields.retain(|field| *field == "n" || self.random.chance(65));
        for field in &fields {
            spec.push(((*field).into(), self.value_for(before, field)));
        }
        shape.keep(&fields);
        let spec: Value = document::Map::from_entries(spec).into();
        let name = self.name(before);
        let metadata = match self.random.below(8) {
            0 => json!({"name": name, "namespace": "z"}),
            1 => json!({"name": name, "namespace": (self.path(before, |depth| depth == 0))}),
            2 => Value::from(self.random.pick(&before.names).trim_end_matches(".name")),
            _ => json!({"name": name}),
        };
        json!({"metadata": metadata, "spec": spec})
    }

    fn name(&mut self, shape: &Shape) -> Value {
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

    /// A value for a field, of the right form if all goes well.
    fn value_for(&mut self, shape: &Shape, field: &str) -> Value {
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

    fn list(&mut self, shape: &Shape) -> Value {
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

    fn value(&mut self, shape: &Shape, depth: usize) -> Value {
        let number = self.number(shape);
        let list = self.path(shape, |depth| depth > 0);
        let numbers = self.numbers(shape);
        match self.random.below(if depth == 0 { 11 } else { 17 }) {
            0 if self.random.chance(30) => json!({"@int": (self.path(shape, |depth| depth == 0))}),
            0 => json!({"@int": number}),
            1 => json!({"@add": [number, 1]}),
            2 => json!({"@len": list}),
            3 => json!({"@sum": numbers}),
            4 => json!("@now"),
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

    /// A condition on one document.
    fn condition(&mut self, shape: &Shape, depth: usize) -> Value {
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
            7 => json!({"@lt": ["@now", "1970-01-01T00:00:02Z"]}),
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

    /// The argument of a `@join`.
    fn join(&mut self, inputs: &[String]) -> Value {
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

    /// `@and` is flattened, however it is nested.
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

    /// Two join keys, mostly of one type.
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
            (0, 0) => spec("g"),
            (0, 1) => json!({"@string": (spec("k"))}),
            (0, _) => format!("$.{input}.metadata.name").into(),
            (1, 0) => json!({"@int": (spec("k"))}),
            (1, 1) => json!({"@add": [(spec("n")), 1]}),
            (1, 2) => json!({"@sum": (spec("l"))}),
            (1, _) => spec("n"),
            (2, _) => format!("$.{input}.metadata.namespace").into(),
            (3, _) => json!([(spec("g")), (spec("n"))]),
            (4, _) => spec("g"),
            _ => spec("k"),
        }
    }

    /// A join key and a list of such.
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

    /// A condition on one input, which must not hang on time or chance.
    fn stable_condition(&mut self, input: &str) -> Value {
        let shape = Shape::object(&format!("$.{input}"));
        loop {
            let condition = self.condition(&shape, 1);
            let text = condition.to_string();
            if !text.contains("@now") && !text.contains("@rnd") {
                return condition;
            }
        }
    }
}
