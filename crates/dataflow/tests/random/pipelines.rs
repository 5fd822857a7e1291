//! Random pipelines that always parse: joins, stages and branches.

mod expressions;
mod joins;
mod patches;
mod shape;

use document::{Value, json};

use super::{Random, entry};
use shape::Shape;

/// Kinds of targets, and a pipeline that writes them.
pub(crate) fn pipeline(random: &mut Random, sources: &[String]) -> (Vec<String>, Value) {
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

struct Writer<'a> {
    random: &'a mut Random,
}

impl Writer<'_> {
    /// Several branches in any order. They form a graph without cycles.
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
            // A branch must not read its own output, or that of a later branch.
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

    /// Drops inputs that this branch or a later one writes, and turns streams that no branch reads
    /// into targets.
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
                Some(number) => outputs[number].clone_from(self.random.pick(targets)),
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
        match self.random.weighted(&[16, 22, unwind, 18, 14, 8, 18]) {
            0 => stages.push(json!({"@select": (self.condition(shape, 1))})),
            1 => stages.push(self.project(shape)),
            2 => {
                // Often twice, because lists may be nested.
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
            6 => stages.push(self.patch(shape)),
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
            // A computed list.
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
}
