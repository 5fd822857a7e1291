//! Makes an Operator that counts the outcomes of its conditions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use document::{Key, Location, Map, Value, View};
use expr::{Arity, Functions};
use operator::Operator;

/// The function that counts: `[number, condition]`. It yields the condition.
const COUNTED: &str = "@counted";

/// Operators whose arguments are no expressions.
const VERBATIM: [&str; 6] = ["@literal", "@noop", "@nil", "@cel", "@query", "@patch"];

/// How often each condition was false and true.
#[derive(Debug)]
pub(super) struct Counters(Vec<[AtomicU64; 2]>);

impl Counters {
    fn count(&self, number: usize, outcome: bool) {
        if let Some(counter) = self.0.get(number) {
            counter[usize::from(outcome)].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn get(&self, number: usize, outcome: bool) -> u64 {
        let counter = self.0.get(number);
        counter.map_or(0, |counter| {
            counter[usize::from(outcome)].load(Ordering::Relaxed)
        })
    }
}

/// A stage or operator that decides by conditions.
#[derive(Debug)]
pub(super) struct Condition {
    /// The number of the controller.
    pub(super) controller: usize,
    /// The location of its key.
    pub(super) at: Location,
    kind: ConditionKind,
    /// The number of its first condition.
    first: usize,
}

#[derive(Debug)]
enum ConditionKind {
    Select,
    Cond,
    /// With the number of cases, and whether the last one always holds.
    Switch {
        cases: usize,
        always: bool,
    },
}

impl Condition {
    /// What may happen, and how often it did.
    pub(super) fn outcomes(&self, counters: &Counters) -> Vec<(String, u64)> {
        let count = |number: usize, outcome: bool| counters.get(self.first + number, outcome);
        match self.kind {
            ConditionKind::Select => vec![
                ("true".to_owned(), count(0, true)),
                ("false".to_owned(), count(0, false)),
            ],
            ConditionKind::Cond => vec![
                ("then".to_owned(), count(0, true)),
                ("else".to_owned(), count(0, false)),
            ],
            ConditionKind::Switch { cases, always } => {
                let mut outcomes: Vec<_> = (0..cases)
                    .map(|case| (format!("case {}", case + 1), count(case, true)))
                    .collect();
                if let Some(last) = cases.checked_sub(1).filter(|_| !always) {
                    outcomes.push(("no case".to_owned(), count(last, false)));
                }
                outcomes
            }
        }
    }
}

/// An Operator that counts, its conditions and their counters.
pub(super) fn counting(manifest: &Value) -> Option<(Operator, Vec<Condition>, Arc<Counters>)> {
    let mut wrapping = Wrapping {
        controller: 0,
        conditions: Vec::new(),
        counters: 0,
    };
    let manifest = wrapping.operator(manifest)?;
    let counters = (0..wrapping.counters).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]);
    let counters = Arc::new(Counters(counters.collect()));
    let counted = counters.clone();
    let functions =
        Functions::builtin().with_function(COUNTED, Arity::Nary(2, Some(2)), move |args| {
            let number = args[0]
                .as_int()
                .and_then(|number| usize::try_from(number).ok());
            if let (Some(number), Some(outcome)) = (number, args[1].as_bool()) {
                counted.count(number, outcome);
            }
            Ok(args[1].clone())
        });
    let (operator, _) = operator::read(&manifest, &functions.ok()?);
    Some((operator?, wrapping.conditions, counters))
}

/// Wraps conditions.
struct Wrapping {
    /// The number of the current controller.
    controller: usize,
    conditions: Vec<Condition>,
    /// How many conditions were wrapped.
    counters: usize,
}

impl Wrapping {
    fn operator(&mut self, manifest: &Value) -> Option<Value> {
        let spec = manifest.get("spec").as_map()?;
        let at = Location::root().key("spec").key("controllers");
        let controllers = spec.get_str("controllers")?.as_list()?.iter().enumerate();
        let controllers: Option<Vec<Value>> = controllers
            .map(|(number, controller)| {
                self.controller = number;
                let pipeline = controller.get("pipeline");
                let at = at.index(number).key("pipeline");
                let pipeline = self.stages(pipeline, &at);
                Some(
                    controller
                        .as_map()?
                        .with(Key::new("pipeline"), pipeline)
                        .into(),
                )
            })
            .collect();
        let spec = spec.with(Key::new("controllers"), Value::list(controllers?));
        Some(
            manifest
                .as_map()?
                .with(Key::new("spec"), spec.into())
                .into(),
        )
    }

    /// A list of stages, or of branches.
    fn stages(&mut self, value: &Value, at: &Location) -> Value {
        let Some(list) = value.as_list() else {
            return self.stage(value, at);
        };
        let items = list.iter().enumerate();
        let items: Vec<Value> = items
            .map(|(index, item)| self.stages(item, &at.index(index)))
            .collect();
        Value::list(items)
    }

    fn stage(&mut self, stage: &Value, at: &Location) -> Value {
        let Some(map) = stage.as_map() else {
            return stage.clone();
        };
        let entries = map.iter().map(|(name, argument)| {
            let at = at.key(name.as_str());
            let argument = match name.as_str() {
                "@inputs" | "@output" | "@patch" => argument.clone(),
                "@aggregate" => self.stages(argument, &at),
                "@select" => {
                    let number = self.condition(&at, ConditionKind::Select);
                    counted(number, &self.expr(argument, &at))
                }
                _ => self.expr(argument, &at),
            };
            (name.clone(), argument)
        });
        Map::from_entries(entries.collect()).into()
    }

    fn expr(&mut self, value: &Value, at: &Location) -> Value {
        match value.view() {
            View::List(items) => {
                let items = items.iter().enumerate();
                let items: Vec<Value> = items
                    .map(|(index, item)| self.expr(item, &at.index(index)))
                    .collect();
                Value::list(items)
            }
            View::Map(map) => match map.entries() {
                [(name, _)] if VERBATIM.contains(&name.as_str()) => value.clone(),
                [(name, argument)] if name.as_str() == "@cond" => {
                    self.operator_call(name, argument, at, Self::cond)
                }
                [(name, argument)] if name.as_str() == "@switch" => {
                    self.operator_call(name, argument, at, Self::switch)
                }
                entries => {
                    let member = |(key, value): &(Key, Value)| {
                        (key.clone(), self.expr(value, &at.key(key.as_str())))
                    };
                    Map::from_entries(entries.iter().map(member).collect()).into()
                }
            },
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => value.clone(),
        }
    }

    fn operator_call(
        &mut self,
        name: &Key,
        argument: &Value,
        at: &Location,
        wrap: impl Fn(&mut Self, &[Value], &Location) -> Vec<Value>,
    ) -> Value {
        let at = at.key(name.as_str());
        let argument = match argument.as_list() {
            Some(items) => Value::list(wrap(self, &items.to_vec(), &at)),
            None => argument.clone(),
        };
        Map::from_entries(vec![(name.clone(), argument)]).into()
    }

    /// `[condition, then, else]`
    fn cond(&mut self, items: &[Value], at: &Location) -> Vec<Value> {
        let number = self.condition(at, ConditionKind::Cond);
        let items = items.iter().enumerate().map(|(index, item)| {
            let inner = self.expr(item, &at.index(index));
            if index == 0 {
                counted(number, &inner)
            } else {
                inner
            }
        });
        items.collect()
    }

    /// `[[condition, result], …]`
    fn switch(&mut self, items: &[Value], at: &Location) -> Vec<Value> {
        let always = items
            .last()
            .is_some_and(|pair| pair.at(0).as_bool() == Some(true));
        let cases = items.len();
        let first = self.condition(at, ConditionKind::Switch { cases, always });
        let pairs = items.iter().enumerate().map(|(case, pair)| {
            let at = at.index(case);
            let parts: Vec<Value> = pair.as_list().into_iter().flatten().cloned().collect();
            let [condition, result] = parts.as_slice() else {
                return pair.clone();
            };
            let condition = self.expr(condition, &at.index(0));
            let result = self.expr(result, &at.index(1));
            Value::list([counted(first + case, &condition), result])
        });
        pairs.collect()
    }

    /// Notes a stage or operator. Returns the number of its first condition.
    fn condition(&mut self, at: &Location, kind: ConditionKind) -> usize {
        let first = self.counters;
        let counters = match kind {
            ConditionKind::Select | ConditionKind::Cond => 1,
            ConditionKind::Switch { cases, .. } => cases,
        };
        self.conditions.push(Condition {
            controller: self.controller,
            at: at.clone(),
            kind,
            first,
        });
        self.counters += counters;
        first
    }
}

/// A condition that counts.
fn counted(number: usize, condition: &Value) -> Value {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let arguments = Value::list([number.into(), condition.clone()]);
    Map::from_entries(vec![(Key::new(COUNTED), arguments)]).into()
}
