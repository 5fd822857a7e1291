//! Random pipelines, objects and histories, with their check.
//!
//! A [`Case`] is a function of its seed. [`check()`] runs it on the incremental engine and on the
//! from-scratch evaluator. [`shrink()`] reduces a case that fails.

mod check;
mod coverage;
mod objects;
mod pipelines;
mod shrink;

use std::fmt;

use document::{Map, Value, json};
use expr::Limits;
use object::ObjectName;
use seeded::Random;

pub(crate) use check::check;
pub(crate) use coverage::Coverage;
pub(crate) use shrink::shrink;

/// A pipeline and its batches.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Names of the sources.
    pub(crate) sources: Vec<String>,
    /// Kinds of the targets.
    pub(crate) targets: Vec<String>,
    /// The pipeline, as a user would write it.
    pub(crate) pipeline: Value,
    /// Batches of events.
    pub(crate) history: Vec<Batch>,
    /// The limits of an evaluation.
    pub(crate) limits: Limits,
    /// The seed of the random choices of the check.
    pub(crate) seed: u64,
}

/// Events that arrive together.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The seconds since the batch before.
    pub(crate) after: u8,
    /// Whether a Periodic source ticks.
    pub(crate) tick: bool,
    pub(crate) events: Vec<Event>,
}

/// The new state of one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The source, by position.
    pub(crate) source: usize,
    /// The object.
    pub(crate) name: ObjectName,
    /// The whole object; `None` if it was deleted.
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

    /// Whether its documents may exceed the bounds.
    pub(crate) fn is_bounded(&self) -> bool {
        self.limits != Limits::default()
    }
}

/// Random limits. In two of three cases nothing reaches them.
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

/// Indented JSON.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: &[String]| names.iter().map(Value::from).collect::<Value>();
        writeln!(f, "sources: {}", names(&self.sources))?;
        writeln!(f, "targets: {}", names(&self.targets))?;
        writeln!(f, "pipeline: {}", self.pipeline)?;
        writeln!(f, "limits: {:?}", self.limits)?;
        for (i, batch) in self.history.iter().enumerate() {
            let tick = if batch.tick { ", tick" } else { "" };
            writeln!(f, "batch {i}, after {} s{tick}:", batch.after)?;
            for event in &batch.events {
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

/// A map with one computed key, which [`json!`] does not support.
fn entry(key: &str, value: Value) -> Value {
    Map::from_entries(vec![(key.into(), value)]).into()
}
