//! The forms of a pipeline: one stage, a list of stages, or branches.
//!
//! ```text
//! {"@project": …}                                             one stage
//! [{"@select": …}, {"@project": …}]                           a list of stages
//! [[{"@inputs": [A]}, {"@select": …}, {"@output": S}],        branches
//!  [{"@inputs": [B, S]}, {"@join": …}, {"@output": Target}]]
//! {"@join": …, "@aggregate": [{"@project": …}]}               the form of old Operators
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};

use document::{Key, ListRef, Location, Map, Value};
use expr::DocumentKind;

use super::stage::stage_name;
use super::{PipelineErrorKind, PipelineReader, Stage};
use crate::Topology;

/// A chain of stages from inputs to an output.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The inputs in order.
    pub inputs: Vec<Input>,
    /// The stages. If there are several inputs, the first is a join.
    pub stages: Vec<Stage>,
    /// The target or stream that gets the result.
    pub output: Output,
    /// The location in the spec.
    pub at: Location,
}

/// An input of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// A source, by position.
    Source(usize),
    /// A stream: the union of the outputs of all branches that write to it.
    Stream(usize),
}

/// The output of a branch: a target, a stream that other branches read, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The target, by position.
    pub target: Option<usize>,
    /// The stream, by number.
    pub stream: Option<usize>,
}

/// A branch before its names are resolved.
struct RawBranch {
    inputs: Vec<(String, Location)>,
    stages: Vec<(Value, Location)>,
    output: (String, Location),
    at: Location,
}

/// The names that branches use, with their positions.
struct Names<'a> {
    sources: HashMap<&'a str, usize>,
    targets: HashMap<&'a str, usize>,
    streams: HashMap<&'a str, usize>,
}

/// Among more names than these, no similar one is looked for.
const MAX_SUGGESTIONS: usize = 200;

/// The most stages of a pipeline, in all of its branches together. `@inputs` and `@output` count, too.
///
/// Much is planned, stored and shown for each stage, so their number is bounded.
pub const MAX_STAGES: usize = 1_000;

/// The number of stages of a pipeline as it is written.
pub(super) fn count(spec: &Value) -> usize {
    let listed = |spec: &Value| spec.as_list().map_or(1, |list| list.len().max(1));
    match branches_of(spec) {
        Some(branches) => branches.iter().map(listed).sum(),
        None if is_aggregate(spec) => listed(spec.get("@aggregate")) + 1,
        None => listed(spec),
    }
}

/// The branches of a pipeline; `None` if it has the form of one branch.
fn branches_of(spec: &Value) -> Option<ListRef<'_>> {
    let list = spec.as_list()?;
    list.get(0)?.as_list()?;
    Some(list)
}

impl Names<'_> {
    fn input(&self, name: &str) -> Option<Input> {
        let source = self.sources.get(name).map(|source| Input::Source(*source));
        source.or_else(|| Some(Input::Stream(*self.streams.get(name)?)))
    }

    /// The names of the streams, by number.
    fn streams(&self) -> Vec<String> {
        let mut streams: Vec<(usize, &str)> =
            self.streams.iter().map(|(name, at)| (*at, *name)).collect();
        streams.sort_unstable();
        streams
            .into_iter()
            .map(|(_, name)| name.to_owned())
            .collect()
    }

    /// The names of inputs; none if there are too many to suggest one.
    fn known(&self) -> BTreeSet<&str> {
        if self.sources.len() + self.streams.len() > MAX_SUGGESTIONS {
            return BTreeSet::new();
        }
        let names = self.sources.keys().chain(self.streams.keys());
        names.copied().collect()
    }
}

/// The position of each name; of several equal ones, the first.
fn numbers(names: &[String]) -> HashMap<&str, usize> {
    let numbered = names.iter().enumerate().rev();
    numbered.map(|(at, name)| (name.as_str(), at)).collect()
}

/// The stages of a pipeline without branches, with their locations.
pub fn stages_of(spec: &Value, at: &Location) -> Vec<(Value, Location)> {
    if !is_aggregate(spec) {
        return listed(spec, at);
    }
    let join = spec.as_map().and_then(|map| map.get_str("@join"));
    let join = join.map(|join| {
        let stage = Map::from_entries(vec![(Key::new("@join"), join.clone())]);
        (stage.into(), at.clone())
    });
    let stages = listed(spec.get("@aggregate"), &at.key("@aggregate"));
    join.into_iter().chain(stages).collect()
}

/// Whether a pipeline has the form of old Operators: a map with the stages under `@aggregate`, and
/// perhaps a `@join`.
fn is_aggregate(spec: &Value) -> bool {
    spec.as_map().is_some_and(|map| {
        let mut names = map.iter().map(|(name, _)| name.as_str());
        map.get_str("@aggregate").is_some()
            && names.all(|name| matches!(name, "@aggregate" | "@join"))
    })
}

/// One stage, or a list of stages.
fn listed(spec: &Value, at: &Location) -> Vec<(Value, Location)> {
    match spec.as_list() {
        Some(list) => {
            let stages = list.iter().enumerate();
            let stages = stages.map(|(i, stage)| (stage.clone(), at.index(i)));
            stages.collect()
        }
        None if spec.is_null() => Vec::new(),
        None => vec![(spec.clone(), at.clone())],
    }
}

impl PipelineReader<'_> {
    /// Reads the branches, and the names of their streams.
    pub(super) fn branches(&mut self, spec: &Value, at: &Location) -> (Vec<Branch>, Vec<String>) {
        let mut known = HashSet::new();
        for name in self.sources {
            if !known.insert(name) {
                let name = name.clone();
                self.error(at, PipelineErrorKind::DuplicateSource { name });
            }
        }
        if self.sources.is_empty() {
            self.error(at, PipelineErrorKind::NoSource);
        }
        let Some(list) = branches_of(spec) else {
            return (vec![self.only_branch(&stages_of(spec, at), at)], Vec::new());
        };
        let raw: Vec<_> = list
            .iter()
            .enumerate()
            .filter_map(|(i, branch)| self.raw_branch(branch, &at.index(i)))
            .collect();
        let complete = raw.len() == list.len();
        self.named_branches(&raw, complete, at)
    }

    fn only_branch(&mut self, stages: &[(Value, Location)], at: &Location) -> Branch {
        if self.targets.len() > 1 {
            self.error(
                at,
                PipelineErrorKind::BranchesMissing {
                    count: self.targets.len(),
                },
            );
        }
        let stages = self.without_inputs(stages);
        let inputs = self.sources.to_vec();
        Branch {
            inputs: (0..inputs.len()).map(Input::Source).collect(),
            stages: self.stages(stages, &inputs, DocumentKind::Source, at),
            output: Output {
                target: Some(0),
                stream: None,
            },
            at: at.clone(),
        }
    }

    /// Reports `@inputs` in front of a list of stages. Returns the stages without it, and without an
    /// `@output` at the end.
    fn without_inputs<'s>(&mut self, stages: &'s [(Value, Location)]) -> &'s [(Value, Location)] {
        let is = |stage: &(Value, Location), name: &str| stage_name(&stage.0) == Some(name);
        let [inputs, rest @ ..] = stages else {
            return stages;
        };
        if !is(inputs, "@inputs") {
            return stages;
        }
        self.error(&inputs.1, PipelineErrorKind::FlatBranch);
        match rest {
            [rest @ .., last] if is(last, "@output") => rest,
            _ => rest,
        }
    }

    fn raw_branch(&mut self, spec: &Value, at: &Location) -> Option<RawBranch> {
        let Some(list) = spec.as_list().filter(|list| list.len() >= 2) else {
            self.error(at, PipelineErrorKind::BranchForm);
            return None;
        };
        let (first, last) = (list.get(0)?, list.get(list.len() - 1)?);
        let ends = [(first, "@inputs", 0), (last, "@output", list.len() - 1)];
        let mut wrong = ends.iter();
        let wrong = wrong.find(|(stage, name, _)| stage_name(stage) != Some(name));
        if let Some((stage, name, i)) = wrong {
            let found = stage_name(stage).unwrap_or_default();
            match expr::nearest(found, [*name]) {
                Some(nearest) => {
                    let (found, nearest) = (found.to_owned(), Some(nearest.to_owned()));
                    self.error(&at.index(*i), PipelineErrorKind::NoStage { found, nearest });
                }
                None => self.error(at, PipelineErrorKind::BranchForm),
            }
            return None;
        }
        let inputs_at = at.index(0).key("@inputs");
        let mut inputs = Vec::new();
        match first.get("@inputs").as_list() {
            Some(names) if !names.is_empty() => {
                for (i, name) in names.iter().enumerate() {
                    inputs.push((
                        name.as_str().unwrap_or_default().to_owned(),
                        inputs_at.index(i),
                    ));
                }
            }
            _ => self.error(
                &inputs_at,
                PipelineErrorKind::Form {
                    stage: "@inputs",
                    expected: "a list of names",
                },
            ),
        }
        let output_at = at.index(list.len() - 1).key("@output");
        let Some(output) = last.get("@output").as_str().filter(|name| !name.is_empty()) else {
            self.error(
                &output_at,
                PipelineErrorKind::Form {
                    stage: "@output",
                    expected: "a name",
                },
            );
            return None;
        };
        Some(RawBranch {
            inputs,
            stages: (1..list.len() - 1)
                .filter_map(|i| Some((list.get(i)?.clone(), at.index(i))))
                .collect(),
            output: (output.to_owned(), output_at),
            at: at.clone(),
        })
    }

    /// A branch that could not be read may have the outputs that others lack.
    fn named_branches(
        &mut self,
        raw: &[RawBranch],
        complete: bool,
        at: &Location,
    ) -> (Vec<Branch>, Vec<String>) {
        let names = self.names(raw);
        let outputs: HashSet<&str> = raw.iter().map(|branch| branch.output.0.as_str()).collect();
        for name in self.targets {
            if complete && !outputs.contains(name.as_str()) {
                self.error(
                    at,
                    PipelineErrorKind::TargetWithoutBranch { name: name.clone() },
                );
            }
        }
        let branches = raw.iter().map(|branch| self.named_branch(branch, &names));
        let branches = branches.collect();
        (branches, names.streams())
    }

    /// Numbers the streams: the outputs that branches read.
    fn names<'a>(&mut self, raw: &'a [RawBranch]) -> Names<'a>
    where
        Self: 'a,
    {
        let mut names = Names {
            sources: numbers(self.sources),
            targets: numbers(self.targets),
            streams: HashMap::new(),
        };
        let inputs = raw.iter().flat_map(|branch| &branch.inputs);
        let inputs: HashSet<&str> = inputs.map(|(name, _)| name.as_str()).collect();
        for branch in raw {
            let (name, at) = &branch.output;
            let is_target = names.targets.contains_key(name.as_str());
            let is_source = names.sources.contains_key(name.as_str());
            if names.streams.contains_key(name.as_str()) || (is_target && is_source) {
                continue;
            }
            if is_source {
                let name = name.clone();
                self.error(at, PipelineErrorKind::SourceAsOutput { name });
            }
            if inputs.contains(name.as_str()) {
                let next = names.streams.len();
                names.streams.insert(name, next);
            } else if !is_target {
                let name = name.clone();
                self.error(at, PipelineErrorKind::UnusedStream { name });
            }
        }
        names
    }

    fn named_branch(&mut self, raw: &RawBranch, known: &Names<'_>) -> Branch {
        let mut inputs = Vec::new();
        let mut names = Vec::new();
        let mut seen = HashSet::new();
        for (name, at) in &raw.inputs {
            if !seen.insert(name) {
                let name = name.clone();
                self.error(at, PipelineErrorKind::DuplicateSource { name });
                continue;
            }
            // The stages are read with a name that is unknown, too: they probably use it.
            names.push(name.clone());
            let Some(input) = known.input(name) else {
                let known = known.known();
                let error = PipelineErrorKind::UnknownName {
                    what: "input",
                    name: name.clone(),
                    nearest: expr::nearest(name, known.iter().copied()).map(str::to_owned),
                    known: known.into_iter().map(str::to_owned).collect(),
                };
                self.error(at, error);
                continue;
            };
            inputs.push(input);
        }
        let sources_only = inputs.iter().all(|input| matches!(input, Input::Source(_)));
        let documents = if sources_only {
            DocumentKind::Source
        } else {
            DocumentKind::Derived
        };
        let output = Output {
            target: known.targets.get(raw.output.0.as_str()).copied(),
            stream: known.streams.get(raw.output.0.as_str()).copied(),
        };
        Branch {
            stages: self.stages(&raw.stages, &names, documents, &raw.at),
            inputs,
            output,
            at: raw.at.clone(),
        }
    }

    /// An order of the branches in which each comes after those that it reads.
    pub(super) fn order(&mut self, branches: &[Branch], at: &Location) -> Vec<usize> {
        let topology = Topology::new(branches.iter().map(|branch| {
            let streams = branch.inputs.iter().filter_map(|input| match input {
                Input::Stream(stream) => Some(*stream),
                Input::Source(_) => None,
            });
            (
                streams.collect(),
                branch.output.stream.into_iter().collect(),
            )
        }));
        let mut in_cycles: Vec<usize> = topology.cycles(|_| true).into_iter().flatten().collect();
        in_cycles.sort_unstable();
        let names: Vec<String> = (in_cycles.into_iter())
            .map(|number| branches[number].at.to_string())
            .collect();
        if !names.is_empty() {
            let names = names.join(", ");
            self.error(at, PipelineErrorKind::BranchCycle { names });
        }
        topology.order()
    }
}
