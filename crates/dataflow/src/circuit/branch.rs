//! A running branch: its stages in order.

use document::Location;

use crate::failure::RunError;
use crate::operator::distinct::Distinct;
use crate::operator::gather::Gather;
use crate::operator::group_by::GroupBy;
use crate::operator::join::Join;
use crate::operator::output::{Output, OutputChange};
use crate::operator::soft::{Joined, SoftJoin};
use crate::operator::transform::{Rule, Transform};
use crate::operator::unwind::Unwind;
use crate::operator::{Batches, Change, Cx, TooLarge};
use crate::origin::Origin;
use crate::pipeline::{Branch, SourceSet, StageKind};

use super::pull::{Before, Pull};

/// The running stages of a branch.
#[derive(Debug, Default)]
pub(crate) struct BranchState {
    pub(crate) operators: Vec<Operator>,
    output: Option<Output>,
}

/// A running stage.
#[derive(Debug)]
pub(crate) enum Operator {
    Join(Box<JoinState>),
    Transform(Transform),
    Unwind(Unwind),
    Gather(Gather),
    GroupBy(GroupBy),
    Distinct(Distinct),
}

/// A running `@join`: the hard inputs, then one soft input after the other.
#[derive(Debug)]
pub(crate) struct JoinState {
    pub(crate) hard: Join,
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
            hard: Join::new(rule, at),
            soft,
        }
    }

    fn step(&mut self, mut inputs: Batches, step: u32, cx: &mut Cx<'_>) -> Vec<Change> {
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
    pub(crate) fn new(branch: &Branch) -> Self {
        let operators = branch
            .stages
            .iter()
            .map(|stage| match &stage.kind {
                StageKind::Join(join) => Operator::Join(Box::new(JoinState::new(join, &stage.at))),
                StageKind::Select(condition) => Operator::Transform(Transform::new(
                    Rule::Select(condition.clone()),
                    stage.at.clone(),
                )),
                StageKind::Project(project) => Operator::Transform(Transform::new(
                    Rule::Project(project.clone()),
                    stage.at.clone(),
                )),
                StageKind::Patch(patch) => Operator::Transform(Transform::new(
                    Rule::Patch(patch.clone()),
                    stage.at.clone(),
                )),
                StageKind::Unwind(path) => {
                    Operator::Unwind(Unwind::new(path.clone(), stage.at.clone()))
                }
                StageKind::Gather(gather) => {
                    Operator::Gather(Gather::new(gather.clone(), stage.at.clone()))
                }
                StageKind::GroupBy(group) => {
                    Operator::GroupBy(GroupBy::new(group.clone(), stage.at.clone()))
                }
                StageKind::Distinct => Operator::Distinct(Distinct::default()),
            })
            .collect();
        Self {
            operators,
            output: branch.output.target.map(|_| Output::new(branch.at.clone())),
        }
    }

    /// Runs the stages on the changes of each input.
    pub(crate) fn step(
        &mut self,
        mut inputs: Batches,
        pull: &Pull<'_>,
        step: u32,
        cx: &mut Cx<'_>,
    ) -> Vec<Change> {
        let number = cx.branch;
        let joins = matches!(self.operators.first(), Some(Operator::Join(_)));
        let mut changes = if joins {
            Vec::new()
        } else {
            inputs.pop().unwrap_or_default()
        };
        let mut stage = 0;
        while stage < self.operators.len() {
            let (before, rest) = self.operators.split_at_mut(stage);
            cx.stage = stage;
            stage += 1;
            match rest {
                [Operator::Transform(_) | Operator::Unwind(_), ..] => {
                    let run = stateless(rest);
                    stage += run - 1;
                    stream(&mut rest[..run], &mut changes, cx);
                }
                [Operator::Join(join), ..] => {
                    changes = join.step(std::mem::take(&mut inputs), step, cx);
                }
                [Operator::Gather(gather), ..] => {
                    let upstream = Before {
                        pull,
                        branch: number,
                        operators: before,
                    };
                    gather.step(&mut changes, &upstream, cx);
                }
                [Operator::GroupBy(group), ..] => group.step(&mut changes, cx),
                [Operator::Distinct(distinct), ..] => distinct.step(&mut changes, cx),
                [] => {}
            }
        }
        changes
    }

    /// Checks what goes to the target.
    pub(crate) fn output(&mut self, changes: Vec<Change>, cx: &mut Cx<'_>) -> Vec<OutputChange> {
        match &mut self.output {
            Some(output) => output.step(changes, cx),
            None => Vec::new(),
        }
    }

    pub(crate) fn output_check(&self) -> Option<&Output> {
        self.output.as_ref()
    }

    /// All standing errors of this branch.
    pub(crate) fn errors(&self, branch: usize, errors: &mut Vec<RunError>) {
        for (stage, operator) in self.operators.iter().enumerate() {
            let mut report = |origin: &Origin, failure: &crate::Failure| {
                errors.push(RunError {
                    branch,
                    stage,
                    origin: origin.clone(),
                    failure: failure.clone(),
                });
            };
            match operator {
                Operator::Join(join) => {
                    join.hard.errors(&mut report);
                    join.soft.iter().for_each(|soft| soft.errors(&mut report));
                }
                Operator::Transform(transform) => all(&transform.failing, &mut report),
                Operator::Unwind(unwind) => all(&unwind.failing, &mut report),
                Operator::Gather(gather) => {
                    all(&gather.failing, &mut report);
                    all_groups(&gather.too_large, &mut report);
                }
                Operator::GroupBy(group) => {
                    all(&group.failing, &mut report);
                    all_groups(&group.too_large, &mut report);
                }
                Operator::Distinct(_) => {}
            }
        }
        if let Some(output) = &self.output {
            let stage = self.operators.len();
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

    pub(crate) fn is_empty(&self) -> bool {
        let empty = self.operators.iter().all(|operator| match operator {
            Operator::Join(join) => {
                join.hard.is_empty() && join.soft.iter().all(SoftJoin::is_empty)
            }
            Operator::Transform(transform) => transform.is_empty(),
            Operator::Unwind(unwind) => unwind.failing.is_empty(),
            Operator::Gather(gather) => gather.is_empty(),
            Operator::GroupBy(group) => group.is_empty(),
            Operator::Distinct(distinct) => distinct.is_empty(),
        });
        empty
            && self
                .output
                .as_ref()
                .is_none_or(|output| output.failing.is_empty())
    }
}

/// How many stages from here on look at one document at a time.
fn stateless(operators: &[Operator]) -> usize {
    let one =
        |operator: &&Operator| matches!(operator, Operator::Transform(_) | Operator::Unwind(_));
    operators.iter().take_while(one).count()
}

/// So many changes go through a run of stateless stages together: a load does not hold
/// all documents that are made on the way at once.
const PART: usize = 512;

/// Runs stages that look at one document at a time, part by part.
fn stream(operators: &mut [Operator], changes: &mut Vec<Change>, cx: &mut Cx<'_>) {
    let first = cx.stage;
    let mut run = |part: &mut Vec<Change>| {
        for (offset, operator) in operators.iter_mut().enumerate() {
            cx.stage = first + offset;
            match operator {
                Operator::Transform(transform) => transform.step(part, cx),
                Operator::Unwind(unwind) => unwind.step(part, cx),
                Operator::Join(_)
                | Operator::Gather(_)
                | Operator::GroupBy(_)
                | Operator::Distinct(_) => {}
            }
        }
    };
    if changes.len() <= PART {
        run(changes);
        return;
    }
    let mut out = Vec::new();
    let mut rest = std::mem::take(changes).into_iter();
    loop {
        let mut part: Vec<Change> = rest.by_ref().take(PART).collect();
        if part.is_empty() {
            break;
        }
        run(&mut part);
        out.append(&mut part);
    }
    *changes = out;
}

/// Reports all groups that are too large; the caller sorts.
fn all_groups(groups: &TooLarge, report: &mut dyn FnMut(&Origin, &crate::Failure)) {
    for (origin, failure) in groups {
        report(origin, failure);
    }
}

/// Reports all failing origins; the caller sorts.
fn all<T>(
    failing: &crate::operator::FailingMap<T>,
    report: &mut dyn FnMut(&Origin, &crate::Failure),
) {
    for (origin, failing) in failing {
        report(origin, &failing.failure);
    }
}
