//! A running branch: the states of its stages, in order.

use document::Location;

use crate::apply::OutputKind;
use crate::failure::RunError;
use crate::origin::Origin;
use crate::pipeline::{Branch, SourceSet, StageKind};
use crate::running::distinct::DistinctState;
use crate::running::gather::GatherState;
use crate::running::group_by::GroupByState;
use crate::running::join::HardJoin;
use crate::running::output::{OutputChange, OutputCheck};
use crate::running::soft_join::{Joined, SoftJoin};
use crate::running::times::Clock;
use crate::running::transform::{Rule, TransformState};
use crate::running::unwind::UnwindState;
use crate::running::{Batches, Change, StepContext, TooLarge};

use super::pull::{Pull, StagesBefore};

/// The running stages of a branch.
#[derive(Debug, Default)]
pub(crate) struct BranchState {
    pub(crate) stages: Vec<StageState>,
    /// How many documents each stage yields at the moment.
    yields: Vec<usize>,
    output: Option<OutputCheck>,
}

/// A running stage.
#[derive(Debug)]
pub(crate) enum StageState {
    Join(Box<JoinState>),
    Transform(TransformState),
    Unwind(UnwindState),
    Gather(GatherState),
    GroupBy(GroupByState),
    Distinct(DistinctState),
}

/// A running `@join`: the hard inputs, then one soft input after the other.
#[derive(Debug)]
pub(crate) struct JoinState {
    pub(crate) hard: HardJoin,
    pub(crate) soft: Vec<SoftJoin>,
}

impl JoinState {
    fn new(rule: &crate::pipeline::Join, at: &Location) -> Self {
        let mut joined = rule.hard();
        let soft = rule
            .soft
            .iter()
            .map(|input| {
                let soft = SoftJoin::new(rule, at, input, joined);
                joined = joined.union(SourceSet::of(input));
                soft
            })
            .collect();
        Self {
            hard: HardJoin::new(rule, at),
            soft,
        }
    }

    fn step(&mut self, mut inputs: Batches, step: u32, cx: &mut StepContext<'_>) -> Vec<Change> {
        let hard = self
            .hard
            .inputs()
            .iter()
            .map(|input| std::mem::take(&mut inputs[*input]))
            .collect();
        let mut rows = self.hard.step(hard, cx);
        for number in 0..self.soft.len() {
            let (before, rest) = self.soft.split_at_mut(number);
            let Some(soft) = rest.first_mut() else { break };
            let hard = self.hard.inputs().iter().copied().zip(self.hard.tables());
            let mut tables: Vec<_> = hard
                .chain(before.iter().map(|soft| (soft.input, soft.table())))
                .collect();
            tables.sort_by_key(|(input, _)| *input);
            let joined = Joined { tables };
            let partners = std::mem::take(&mut inputs[soft.input]);
            rows = soft.step(rows, partners, &joined, step, cx);
        }
        rows
    }
}

impl BranchState {
    pub(crate) fn new(branch: &Branch, kinds: &[OutputKind]) -> Self {
        let stages = branch
            .stages
            .iter()
            .map(|stage| match &stage.kind {
                StageKind::Join(join) => {
                    StageState::Join(Box::new(JoinState::new(join, &stage.at)))
                }
                StageKind::Select(condition) => StageState::Transform(TransformState::new(
                    Rule::Select(condition.clone()),
                    stage.at.clone(),
                )),
                StageKind::Project(project) => StageState::Transform(TransformState::new(
                    Rule::Project(project.clone()),
                    stage.at.clone(),
                )),
                StageKind::Patch(patch) => StageState::Transform(TransformState::new(
                    Rule::Patch(patch.clone()),
                    stage.at.clone(),
                )),
                StageKind::Unwind(path) => {
                    StageState::Unwind(UnwindState::new(path.clone(), stage.at.clone()))
                }
                StageKind::Gather(gather) => {
                    StageState::Gather(GatherState::new(gather.clone(), stage.at.clone()))
                }
                StageKind::GroupBy(group) => {
                    StageState::GroupBy(GroupByState::new(group.clone(), stage.at.clone()))
                }
                StageKind::Distinct => StageState::Distinct(DistinctState::default()),
            })
            .collect();
        Self {
            yields: vec![0; branch.stages.len()],
            stages,
            output: branch
                .output
                .target
                .map(|target| OutputCheck::new(branch.at.clone(), kinds[target].placement.clone())),
        }
    }

    /// Runs the stages on the changes of each input.
    pub(crate) fn step(
        &mut self,
        mut inputs: Batches,
        pull: &Pull<'_>,
        step: u32,
        cx: &mut StepContext<'_>,
    ) -> Vec<Change> {
        let number = cx.branch;
        let joins = matches!(self.stages.first(), Some(StageState::Join(_)));
        let mut changes = if joins {
            Vec::new()
        } else {
            inputs.pop().unwrap_or_default()
        };
        let mut stage = 0;
        while stage < self.stages.len() {
            let (before, rest) = self.stages.split_at_mut(stage);
            let yields = &mut self.yields[stage..];
            cx.stage = stage;
            stage += 1;
            match rest {
                [StageState::Transform(_) | StageState::Unwind(_), ..] => {
                    let run = stateless(rest, cx.clock);
                    stage += run - 1;
                    if let Some(StageState::Transform(transform)) = rest.first() {
                        let upstream = StagesBefore {
                            pull,
                            branch: number,
                            stages: before,
                        };
                        transform.times.add_due(&mut changes, &upstream, cx);
                    }
                    stream(&mut rest[..run], yields, &mut changes, cx);
                    continue;
                }
                [StageState::Join(join), ..] => {
                    changes = join.step(std::mem::take(&mut inputs), step, cx);
                }
                [StageState::Gather(gather), ..] => {
                    let upstream = StagesBefore {
                        pull,
                        branch: number,
                        stages: before,
                    };
                    gather.step(&mut changes, &upstream, cx);
                }
                [StageState::GroupBy(group), ..] => {
                    let upstream = StagesBefore {
                        pull,
                        branch: number,
                        stages: before,
                    };
                    group.times.add_due(&mut changes, &upstream, cx);
                    group.step(&mut changes, cx);
                }
                [StageState::Distinct(distinct), ..] => distinct.step(&mut changes, cx),
                [] => {}
            }
            count(yields, &changes);
            cx.record(&changes);
        }
        changes
    }

    /// How many documents each stage yields at the moment.
    pub(crate) fn yields(&self) -> &[usize] {
        &self.yields
    }

    /// Checks the outputs for the target.
    pub(crate) fn output(
        &mut self,
        changes: Vec<Change>,
        cx: &mut StepContext<'_>,
    ) -> Vec<OutputChange> {
        match &mut self.output {
            Some(output) => output.step(changes, cx),
            None => Vec::new(),
        }
    }

    pub(crate) fn output_check_mut(&mut self) -> Option<&mut OutputCheck> {
        self.output.as_mut()
    }

    pub(crate) fn output_check(&self) -> Option<&OutputCheck> {
        self.output.as_ref()
    }

    /// How many errors there are. Only those of joins are counted one by one.
    pub(crate) fn count_errors(&self) -> usize {
        let stages = self.stages.iter().map(|stage| match stage {
            StageState::Join(join) => {
                let mut count = 0;
                let mut report = |_: &Origin, _: &crate::Failure| count += 1;
                join.hard.errors(&mut report);
                join.soft.iter().for_each(|soft| soft.errors(&mut report));
                count
            }
            StageState::Transform(transform) => transform.failing.len(),
            StageState::Unwind(unwind) => unwind.failing.len(),
            StageState::Gather(gather) => gather.failing.len() + gather.too_large.len(),
            StageState::GroupBy(group) => group.failing.len() + group.too_large.len(),
            StageState::Distinct(_) => 0,
        });
        let of_output = self.output.iter().map(|output| output.failing.len());
        stages.chain(of_output).sum()
    }

    /// All current errors of this branch.
    pub(crate) fn errors(&self, branch: usize, errors: &mut Vec<RunError>) {
        for (number, stage) in self.stages.iter().enumerate() {
            let mut report = |origin: &Origin, failure: &crate::Failure| {
                errors.push(RunError {
                    branch,
                    stage: number,
                    origin: origin.clone(),
                    failure: failure.clone(),
                });
            };
            match stage {
                StageState::Join(join) => {
                    join.hard.errors(&mut report);
                    join.soft.iter().for_each(|soft| soft.errors(&mut report));
                }
                StageState::Transform(transform) => all(&transform.failing, &mut report),
                StageState::Unwind(unwind) => all(&unwind.failing, &mut report),
                StageState::Gather(gather) => {
                    all(&gather.failing, &mut report);
                    all_groups(&gather.too_large, &mut report);
                }
                StageState::GroupBy(group) => {
                    all(&group.failing, &mut report);
                    all_groups(&group.too_large, &mut report);
                }
                StageState::Distinct(_) => {}
            }
        }
        if let Some(output) = &self.output {
            let stage = self.stages.len();
            all(&output.failing, &mut |origin, failure| {
                errors.push(RunError {
                    branch,
                    stage,
                    origin: origin.clone(),
                    failure: failure.clone(),
                });
            });
        }
    }

    /// Whether there are errors that may hide what is derived from other origins.
    pub(crate) fn hides(&self) -> bool {
        let fails = |stage: &StageState| match stage {
            StageState::Join(join) => join.hard.fails() || join.soft.iter().any(SoftJoin::fails),
            StageState::Transform(transform) => !transform.failing.is_empty(),
            StageState::Unwind(unwind) => !unwind.failing.is_empty(),
            StageState::Gather(gather) => {
                !gather.failing.is_empty() || !gather.too_large.is_empty()
            }
            StageState::GroupBy(group) => !group.failing.is_empty() || !group.too_large.is_empty(),
            StageState::Distinct(_) => false,
        };
        let output = self.output.as_ref();
        self.stages.iter().any(fails)
            || output.is_some_and(|output| output.failing.len() > output.misplaced())
    }

    /// The next deadline of its stages, as a Unix time.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        let deadlines = self.stages.iter().filter_map(|stage| match stage {
            StageState::Transform(transform) => transform.times.next_deadline(),
            StageState::GroupBy(group) => group.times.next_deadline(),
            StageState::Join(_)
            | StageState::Unwind(_)
            | StageState::Gather(_)
            | StageState::Distinct(_) => None,
        });
        deadlines.min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let empty = self.stages.iter().all(|stage| match stage {
            StageState::Join(join) => {
                join.hard.is_empty() && join.soft.iter().all(SoftJoin::is_empty)
            }
            StageState::Transform(transform) => transform.is_empty(),
            StageState::Unwind(unwind) => unwind.failing.is_empty(),
            StageState::Gather(gather) => gather.is_empty(),
            StageState::GroupBy(group) => group.is_empty(),
            StageState::Distinct(distinct) => distinct.is_empty(),
        });
        empty
            && self
                .output
                .as_ref()
                .is_none_or(|output| output.failing.is_empty())
    }
}

/// The number of stages, from the first, that look at one document at a time. A later stage that
/// evaluates documents again begins the next run: their input is known when the stages before it
/// have seen all changes.
fn stateless(stages: &[StageState], clock: Clock) -> usize {
    let one = |(number, stage): &(usize, &StageState)| match stage {
        StageState::Transform(transform) => *number == 0 || !transform.times.is_due(clock),
        StageState::Unwind(_) => true,
        StageState::Join(_)
        | StageState::Gather(_)
        | StageState::GroupBy(_)
        | StageState::Distinct(_) => false,
    };
    stages.iter().enumerate().take_while(one).count()
}

/// This many changes pass through consecutive stateless stages together. A first list is large:
/// in chunks, its intermediate documents are not all in memory at once.
const CHUNK: usize = 512;

/// Runs stages that look at one document at a time, chunk by chunk.
fn stream(
    stages: &mut [StageState],
    yields: &mut [usize],
    changes: &mut Vec<Change>,
    cx: &mut StepContext<'_>,
) {
    let first = cx.stage;
    let mut run = |part: &mut Vec<Change>| {
        for (offset, stage) in stages.iter_mut().enumerate() {
            cx.stage = first + offset;
            match stage {
                StageState::Transform(transform) => transform.step(part, cx),
                StageState::Unwind(unwind) => unwind.step(part, cx),
                StageState::Join(_)
                | StageState::Gather(_)
                | StageState::GroupBy(_)
                | StageState::Distinct(_) => {}
            }
            count(&mut yields[offset..], part);
            cx.record(part);
        }
    };
    if changes.len() <= CHUNK {
        run(changes);
        return;
    }
    let mut out = Vec::new();
    let mut rest = std::mem::take(changes).into_iter();
    loop {
        let mut part: Vec<Change> = rest.by_ref().take(CHUNK).collect();
        if part.is_empty() {
            break;
        }
        run(&mut part);
        out.append(&mut part);
    }
    *changes = out;
}

/// Adds the documents that appear in a stage, which is the first of `yields`, and subtracts those
/// that disappear.
fn count(yields: &mut [usize], changes: &[Change]) {
    if let Some(yields) = yields.first_mut() {
        for change in changes {
            *yields += usize::from(change.new.is_some());
            *yields = yields.saturating_sub(usize::from(change.old.is_some()));
        }
    }
}

/// Reports all groups that are too large, in any order.
fn all_groups(groups: &TooLarge, report: &mut dyn FnMut(&Origin, &crate::Failure)) {
    for (origin, failure) in groups {
        report(origin, failure);
    }
}

/// Reports all failing origins, in any order.
fn all<T>(
    failing: &crate::running::FailingMap<T>,
    report: &mut dyn FnMut(&Origin, &crate::Failure),
) {
    for (origin, failing) in failing {
        report(origin, &failing.failure);
    }
}
