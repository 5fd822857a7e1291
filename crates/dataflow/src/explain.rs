//! The plan of a circuit for `deltic explain`: which index serves which change, where each
//! condition is checked, and what a change costs.

use crate::circuit::Circuit;
use crate::circuit::branch::{JoinState, StageState};
use crate::pipeline::{self, StageKind};

/// The plan of one branch.
#[derive(Clone, Debug)]
pub struct BranchPlan {
    /// Its stages in order.
    pub stages: Vec<StagePlan>,
}

/// The plan of one stage.
#[derive(Clone, Debug)]
pub struct StagePlan {
    /// The name of the stage.
    pub name: &'static str,
    /// What a change costs, in words.
    pub cost: &'static str,
    /// The plan of a join.
    pub join: Option<JoinPlan>,
}

/// The plan of a join.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// The conditions on a single input, which are checked before the join: input and condition.
    pub filters: Vec<(String, String)>,
    /// How a change of each hard input finds its partners.
    pub changes: Vec<ChangePlan>,
    /// The soft inputs, in the order in which they are joined.
    pub soft: Vec<Lookup>,
}

/// How a change of one input finds its partners.
#[derive(Clone, Debug)]
pub struct ChangePlan {
    /// The input that changes.
    pub input: String,
    /// The lookups in the other inputs, in order.
    pub lookups: Vec<Lookup>,
}

/// A lookup in one input.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The input.
    pub input: String,
    /// The conditions that a hash index covers. Without any, all objects are visited.
    pub keys: Vec<String>,
    /// The conditions that are checked on each candidate.
    pub checks: Vec<String>,
}

impl Circuit {
    /// The plan of each branch.
    pub fn explain(&self) -> Vec<BranchPlan> {
        let rules = &self.pipeline().branches;
        rules
            .iter()
            .zip(self.branches())
            .map(|(rule, state)| BranchPlan {
                stages: rule
                    .stages
                    .iter()
                    .zip(&state.stages)
                    .map(|(stage, state)| stage_plan(&stage.kind, state))
                    .collect(),
            })
            .collect()
    }
}

fn stage_plan(kind: &StageKind, state: &StageState) -> StagePlan {
    let mut join = None;
    if let (StageKind::Join(rule), StageState::Join(join_state)) = (kind, state) {
        join = Some(join_plan(rule, join_state));
    }
    let scans = join.as_ref().is_some_and(|join| {
        let hard = join.changes.iter().flat_map(|change| &change.lookups);
        hard.chain(&join.soft).any(|lookup| lookup.keys.is_empty())
    });
    StagePlan {
        name: kind.name(),
        cost: match kind {
            StageKind::Join(_) if scans => "all objects of an input without a key",
            StageKind::Join(_) => "the partners of the changed object",
            StageKind::Select(_)
            | StageKind::Project(_)
            | StageKind::Distinct
            | StageKind::Patch(_) => "the changed document",
            StageKind::Unwind(_) => "the elements that changed",
            StageKind::Gather(_) => "the changed members, and one chunk of the list for each",
            StageKind::GroupBy(group) if group.distinct => "the group of the changed document",
            StageKind::GroupBy(_) => "the changed members, and one chunk of the lists for each",
        },
        join,
    }
}

fn join_plan(rule: &pipeline::Join, state: &JoinState) -> JoinPlan {
    let text = |number: &usize| rule.conjuncts[*number].spec.to_string();
    let name = |input: usize| rule.inputs[input].clone();
    let inputs = state.hard.inputs();
    let plan = state.hard.plan();
    let changes = plan
        .probes
        .iter()
        .enumerate()
        .map(|(start, probes)| ChangePlan {
            input: name(inputs[start]),
            lookups: probes
                .iter()
                .map(|probe| {
                    let indexed = probe
                        .index
                        .as_ref()
                        .map_or(&[][..], |index| &index.conjuncts);
                    let rest = probe
                        .keys
                        .iter()
                        .filter(|key| !indexed.contains(key) && !probe.filters.contains(key));
                    Lookup {
                        input: name(inputs[probe.table]),
                        keys: indexed.iter().map(text).collect(),
                        checks: rest.chain(&probe.filters).map(text).collect(),
                    }
                })
                .collect(),
        });
    let soft = state.soft.iter().map(|soft| Lookup {
        input: name(soft.input),
        keys: soft.indexed().iter().map(text).collect(),
        checks: soft.checked().iter().map(text).collect(),
    });
    JoinPlan {
        filters: rule
            .conjuncts
            .iter()
            .filter_map(|conjunct| Some((name(conjunct.reads.only()?), conjunct.spec.to_string())))
            .collect(),
        changes: changes.collect(),
        soft: soft.collect(),
    }
}
