//! Random pipelines, random objects, random histories; and what must hold for each.
//!
//! A [`Case`] follows from its seed alone. [`check()`] runs it through the incremental
//! engine and the from-scratch evaluator; [`shrink()`] makes a case that fails small.

mod check;
mod objects;
mod pipelines;
mod shrink;

use std::fmt;

use document::{Map, Value, json};
use expr::Limits;
use object::ObjectName;
use seeded::Random;

pub(crate) use check::{Coverage, check};
pub(crate) use shrink::shrink;

/// A pipeline with the batches that it gets.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Names of the sources.
    pub(crate) sources: Vec<String>,
    /// Kinds of the targets.
    pub(crate) targets: Vec<String>,
    /// The pipeline, as a user would write it.
    pub(crate) pipeline: Value,
    /// Batches of events.
    pub(crate) history: Vec<Vec<Event>>,
    /// What an evaluation may cost, and how large what it gives may be.
    pub(crate) limits: Limits,
    /// What else is random in the check.
    pub(crate) seed: u64,
}

/// What arrives for one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The source, by position.
    pub(crate) source: usize,
    /// The object.
    pub(crate) name: ObjectName,
    /// All of it, or `None` if it is gone.
    pub(crate) object: Option<Value>,
}

impl Case {
    /// The case of a seed.
    pub(crate) fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let sources: Vec<String> = ["A", "B", "C"][..=random.weighted(&[35, 35, 30])]
            .iter()
            .map(|&name| name.to_owned())
            .collect();
        let (targets, pipeline) = pipelines::pipeline(&mut random, &sources);
        let history = objects::history(&mut random, sources.len());
        let limits = limits(&mut random);
        Self {
            sources,
            targets,
            pipeline,
            history,
            limits,
            seed,
        }
    }

    /// Whether its documents may be larger than they may.
    pub(crate) fn is_bounded(&self) -> bool {
        self.limits != Limits::default()
    }
}

/// Mostly such that nothing reaches them, but in every third case.
fn limits(random: &mut Random) -> Limits {
    let mut limits = Limits::default();
    match random.below(9) {
        0 => limits.bounds.bytes = 60 + random.below(300) as u32,
        1 => limits.bounds.depth = 3 + random.below(4) as u32,
        2 => limits.steps = 4 + random.below(20) as u64,
        _ => {}
    }
    limits
}

/// JSON, to be read by people.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: &[String]| names.iter().map(Value::from).collect::<Value>();
        writeln!(f, "sources: {}", names(&self.sources))?;
        writeln!(f, "targets: {}", names(&self.targets))?;
        writeln!(f, "pipeline: {}", self.pipeline)?;
        writeln!(f, "limits: {:?}", self.limits)?;
        for (i, batch) in self.history.iter().enumerate() {
            writeln!(f, "batch {i}:")?;
            for event in batch {
                let event = json!({
                    "source": (self.sources[event.source].as_str()),
                    "namespace": (event.name.namespace.clone()),
                    "name": (event.name.name.clone()),
                    "object": (event.object.clone().unwrap_or_default()),
                });
                writeln!(f, "  {event}")?;
            }
        }
        Ok(())
    }
}

/// A map with one key, which [`json!`] cannot compute.
fn entry(key: &str, value: Value) -> Value {
    Map::from_entries(vec![(key.into(), value)]).into()
}
