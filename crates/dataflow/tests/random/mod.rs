//! Random pipelines, random objects, random histories; and what must hold for each.
//!
//! A [`Case`] follows from its seed alone. [`check()`] runs it through the incremental
//! engine and the from-scratch evaluator; [`shrink()`] makes a case that fails small.

mod check;
mod objects;
mod pipelines;
mod shrink;

use std::fmt;

use dataflow::SourceEvent;
use document::{Map, Value, json};
use expr::Limits;

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
    pub(crate) history: Vec<Vec<SourceEvent>>,
    /// What an evaluation may cost, and how large what it gives may be.
    pub(crate) limits: Limits,
    /// What else is random in the check.
    pub(crate) seed: u64,
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

/// `SplitMix64`: small, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Whether something of this many percent happens.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A position in a list of weights.
    pub(crate) fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        for (i, weight) in weights.iter().enumerate() {
            if at < *weight {
                return i;
            }
            at -= weight;
        }
        0
    }

    /// The items in another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// A map with one key, which [`json!`] cannot compute.
fn entry(key: &str, value: Value) -> Value {
    Map::from_entries(vec![(key.into(), value)]).into()
}
