//! Which stages and which outcomes of conditions the tests reach.
//!
//! Nothing is recorded by the engine. The conditions of `@select`, `@cond` and `@switch` are
//! wrapped into a function that counts their outcomes, and the Operator made of that runs each
//! test once more:
//!
//! ```text
//! "@select": {"@gt": [$.n, 1]}   ─▶   "@select": {"@counted": [0, {"@gt": [$.n, 1]}]}
//! ```
//!
//! So a test passes or fails without the wrapping. The only difference that it makes is to `@rnd`
//! inside a condition, whose numbers depend on the place in the spec.

mod annotate;
mod instrument;

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Location;
use manifest::Manifest;
use offline::Offline;
use operator::Operator;

pub use annotate::annotated;
use instrument::{Condition, Counters};

use crate::file::{Test, TestedOperator};
use crate::run::run;

/// The coverage of an Operator.
#[derive(Debug)]
pub struct Coverage {
    /// The Operator that counts.
    counting: Operator,
    conditions: Vec<Condition>,
    counters: Arc<Counters>,
    /// For each stage of each controller, the documents that it yielded.
    stages: BTreeMap<(usize, String), usize>,
}

/// A place in an Operator, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredPlace {
    /// The name of the controller.
    pub controller: String,
    /// The location in the controller.
    pub place: String,
    /// The location in the manifest.
    pub at: Location,
    /// What may happen there, and how often it did: `("true", 3)`.
    pub outcomes: Vec<(String, u64)>,
    /// Whether it is a stage, or the condition of one.
    pub is_stage: bool,
}

impl CoveredPlace {
    /// Whether everything has happened.
    pub fn is_complete(&self) -> bool {
        self.outcomes.iter().all(|(_, count)| *count > 0)
    }
}

impl Coverage {
    /// Nothing is covered yet. `None` if the Operator cannot count.
    pub fn new(tested: &TestedOperator) -> Option<Self> {
        let (counting, conditions, counters) = instrument::counting(&tested.manifest.value)?;
        Some(Self {
            counting,
            conditions,
            counters,
            stages: BTreeMap::new(),
        })
    }

    /// Adds what a test reaches.
    pub fn add(&mut self, test: &Test) {
        let mut most: BTreeMap<(usize, String), usize> = BTreeMap::new();
        run(test, self.counting.clone(), |offline: &Offline| {
            for (number, flow) in offline.flows().into_iter().enumerate() {
                for (place, documents) in flow.branches.into_iter().flat_map(|branch| branch.stages)
                {
                    let seen = most.entry((number, place)).or_default();
                    *seen = documents.max(*seen);
                }
            }
        });
        for (stage, documents) in most {
            *self.stages.entry(stage).or_default() += documents;
        }
    }

    /// All places, in the order of the manifest.
    pub fn places(&self, manifest: &Manifest) -> Vec<CoveredPlace> {
        let mut places = Vec::new();
        for (number, controller) in self.counting.controllers.iter().enumerate() {
            let prefix = format!("{}.", controller.at);
            let branches = controller.pipeline.branches.iter();
            for stage in branches.flat_map(|branch| &branch.stages) {
                let at = stage.at.to_string();
                let place = at.strip_prefix(&prefix).unwrap_or(&at).to_owned();
                let documents = self.stages.get(&(number, place.clone()));
                places.push(CoveredPlace {
                    controller: controller.name.clone(),
                    place,
                    at: stage.at.clone(),
                    outcomes: vec![(
                        "documents".to_owned(),
                        documents.map_or(0, |count| *count as u64),
                    )],
                    is_stage: true,
                });
            }
            let of_controller = self.conditions.iter();
            for condition in of_controller.filter(|condition| condition.controller == number) {
                let at = condition.at.to_string();
                places.push(CoveredPlace {
                    controller: controller.name.clone(),
                    place: at.strip_prefix(&prefix).unwrap_or(&at).to_owned(),
                    at: condition.at.clone(),
                    outcomes: condition.outcomes(&self.counters),
                    is_stage: false,
                });
            }
        }
        places.sort_by_key(|place| {
            let key = manifest.key_span(&place.at).start;
            (key, !place.is_stage)
        });
        places
    }
}
