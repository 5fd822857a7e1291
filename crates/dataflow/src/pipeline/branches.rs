//! The forms of a pipeline: one stage, a list of stages, or branches.
//!
//! ```text
//! {"@project": …}                                             one stage
//! [{"@select": …}, {"@project": …}]                           a list of stages
//! [[{"@inputs": [A]}, {"@select": …}, {"@output": S}],        branches
//!  [{"@inputs": [B, S]}, {"@join": …}, {"@output": Target}]]
//! ```

use document::{Location, Value};
use expr::DocumentKind;

use super::stage::stage_name;
use super::{PipelineErrorKind, PipelineReader, Stage};

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

impl PipelineReader<'_> {
    pub(super) fn branches(&mut self, spec: &Value, at: &Location) -> Vec<Branch> {
        for (i, name) in self.sources.iter().enumerate() {
            if self.sources[..i].contains(name) {
                let name = name.clone();
                self.error(at, PipelineErrorKind::DuplicateSource { name });
            }
        }
        if self.sources.is_empty() {
            self.error(at, PipelineErrorKind::NoSource);
        }
        match spec.as_list() {
            Some(list) if list.get(0).is_some_and(|first| first.as_list().is_some()) => {
                let raw: Vec<_> = list
                    .iter()
                    .enumerate()
                    .filter_map(|(i, branch)| self.raw_branch(branch, &at.index(i)))
                    .collect();
                self.named_branches(&raw, at)
            }
            Some(list) => {
                let stages: Vec<_> = list
                    .iter()
                    .enumerate()
                    .map(|(i, stage)| (stage.clone(), at.index(i)))
                    .collect();
                vec![self.only_branch(&stages, at)]
            }
            None if spec.is_null() => vec![self.only_branch(&[], at)],
            None => vec![self.only_branch(&[(spec.clone(), at.clone())], at)],
        }
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

    fn raw_branch(&mut self, spec: &Value, at: &Location) -> Option<RawBranch> {
        let Some(list) = spec.as_list().filter(|list| list.len() >= 2) else {
            self.error(at, PipelineErrorKind::BranchForm);
            return None;
        };
        let (first, last) = (list.get(0)?, list.get(list.len() - 1)?);
        if stage_name(first) != Some("@inputs") || stage_name(last) != Some("@output") {
            self.error(at, PipelineErrorKind::BranchForm);
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

    fn named_branches(&mut self, raw: &[RawBranch], at: &Location) -> Vec<Branch> {
        let mut streams: Vec<String> = Vec::new();
        for branch in raw {
            let (name, output_at) = &branch.output;
            let is_target = self.targets.contains(name);
            let is_source = self.sources.contains(name);
            if streams.contains(name) || (is_target && is_source) {
                continue;
            }
            if is_source {
                self.error(
                    output_at,
                    PipelineErrorKind::SourceAsOutput { name: name.clone() },
                );
            }
            if raw
                .iter()
                .any(|reader| reader.inputs.iter().any(|(input, _)| input == name))
            {
                streams.push(name.clone());
            } else if !is_target {
                self.error(
                    output_at,
                    PipelineErrorKind::UnusedStream { name: name.clone() },
                );
            }
        }
        for name in self.targets {
            if !raw.iter().any(|branch| branch.output.0 == *name) {
                self.error(
                    at,
                    PipelineErrorKind::TargetWithoutBranch { name: name.clone() },
                );
            }
        }
        raw.iter()
            .map(|branch| self.named_branch(branch, &streams))
            .collect()
    }

    fn named_branch(&mut self, raw: &RawBranch, streams: &[String]) -> Branch {
        let mut inputs = Vec::new();
        let mut names = Vec::new();
        for (name, at) in &raw.inputs {
            if names.contains(name) {
                self.error(
                    at,
                    PipelineErrorKind::DuplicateSource { name: name.clone() },
                );
                continue;
            }
            if let Some(source) = self.sources.iter().position(|source| source == name) {
                inputs.push(Input::Source(source));
            } else if let Some(stream) = streams.iter().position(|stream| stream == name) {
                inputs.push(Input::Stream(stream));
            } else {
                let known = self.sources.iter().chain(streams).map(String::as_str);
                let nearest = expr::nearest(name, known).map(str::to_owned);
                self.error(
                    at,
                    PipelineErrorKind::UnknownName {
                        what: "input",
                        name: name.clone(),
                        nearest,
                    },
                );
                continue;
            }
            names.push(name.clone());
        }
        let sources_only = inputs.iter().all(|input| matches!(input, Input::Source(_)));
        let documents = if sources_only {
            DocumentKind::Source
        } else {
            DocumentKind::Derived
        };
        let position = |names: &[String]| names.iter().position(|name| *name == raw.output.0);
        let output = Output {
            target: position(self.targets),
            stream: position(streams),
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
        let feeds = |from: &Branch, to: &Branch| {
            from.output
                .stream
                .is_some_and(|stream| to.inputs.contains(&Input::Stream(stream)))
        };
        let mut order: Vec<usize> = Vec::new();
        while order.len() < branches.len() {
            let ready = (0..branches.len()).find(|&i| {
                !order.contains(&i)
                    && (0..branches.len())
                        .all(|j| order.contains(&j) || !feeds(&branches[j], &branches[i]))
            });
            if let Some(branch) = ready {
                order.push(branch);
                continue;
            }
            let names: Vec<String> = (0..branches.len())
                .filter(|i| !order.contains(i))
                .map(|i| branches[i].at.to_string())
                .collect();
            self.error(
                at,
                PipelineErrorKind::BranchCycle {
                    names: names.join(", "),
                },
            );
            break;
        }
        order
    }
}
