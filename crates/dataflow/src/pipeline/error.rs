//! The errors of parsing a pipeline.

use document::Location;

/// An error in the spec of a pipeline, with its location.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct PipelineError {
    /// The location in the spec.
    pub at: Location,
    /// The reason.
    pub kind: PipelineErrorKind,
}

/// The reasons why a pipeline does not parse.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PipelineErrorKind {
    /// An expression is wrong.
    #[error(transparent)]
    Expression(expr::CompileError),
    /// A patch is wrong.
    #[error(transparent)]
    Patch(patch::CompileError),
    /// A stage that is not a map with one `@` key, or that is unknown.
    #[error("{found} is not a pipeline stage")]
    NoStage {
        /// The value in the spec.
        found: String,
        /// The most similar name that exists.
        nearest: Option<String>,
    },
    /// Several stages in one map.
    #[error("a stage is a map with one key, found {names}")]
    StagesInMap {
        /// The keys of the map.
        names: String,
    },
    /// What a stage takes has the same indentation as its name.
    #[error("a stage is a map with one key, found {}, {stage}", .argument.join(", "))]
    StageNotIndented {
        /// The stage.
        stage: String,
        /// The other keys of the map.
        argument: Vec<String>,
    },
    /// More stages than a pipeline can have.
    #[error("the pipeline has {count} stages, and the limit is {limit}")]
    TooManyStages {
        /// How many there are in all branches.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// `@join` is not the first stage.
    #[error("@join must be the first stage of a pipeline, and there is one at most")]
    JoinNotFirst,
    /// Several sources and no `@join`.
    #[error("{count} sources need a @join as the first stage")]
    JoinMissing {
        /// How many sources there are.
        count: usize,
    },
    /// Two sources with one name.
    #[error("two sources are called {name}; give one of them another name with `as`")]
    DuplicateSource {
        /// The name.
        name: String,
    },
    /// More sources than a join can have.
    #[error("more than {limit} sources")]
    TooManySources {
        /// The limit.
        limit: usize,
    },
    /// A pipeline without a source.
    #[error("a pipeline needs a source")]
    NoSource,
    /// `soft` or `@inputs` names something that does not exist.
    #[error("unknown {what} {name}")]
    UnknownName {
        /// The kind of name: a source, an input, an option.
        what: &'static str,
        /// As written.
        name: String,
        /// The most similar name that exists.
        nearest: Option<String>,
        /// The names that exist; none if there are too many.
        known: Vec<String>,
    },
    /// All sources of a join are soft.
    #[error("at least one source of a @join must not be soft")]
    AllSoft,
    /// A join condition or a group key depends on the time or on random numbers.
    #[error("{what} cannot use @now or @rnd")]
    Volatile {
        /// A join condition or a group key.
        what: &'static str,
    },
    /// An argument that the stage does not take.
    #[error("{stage} takes {expected}")]
    Form {
        /// The stage.
        stage: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// An argument that `@join` does not take.
    #[error("@join takes a condition, {{on, soft}}, or [condition, {{soft, index}}]")]
    JoinForm {
        /// What is probably meant.
        hint: Option<&'static str>,
    },
    /// A path that may match several fields.
    #[error(
        "{stage} needs a path that matches at most one field: no wildcard, filter, slice or `..`"
    )]
    PluralPath {
        /// The stage.
        stage: &'static str,
    },
    /// `@project: []`
    #[error("@project needs at least one item in its list")]
    EmptyProject,
    /// A branch without `@inputs` or `@output`.
    #[error("a branch must start with @inputs and end with @output")]
    BranchForm,
    /// `@inputs` in front of a list of stages.
    #[error("@inputs starts a branch, and a branch is a list of its own")]
    FlatBranch,
    /// An output that is neither a target nor read by a branch.
    #[error("nothing reads the output {name}")]
    UnusedStream {
        /// Its name.
        name: String,
    },
    /// A target that no branch feeds.
    #[error("no branch has the output {name}, which is a target")]
    TargetWithoutBranch {
        /// The Kind of the target.
        name: String,
    },
    /// Several targets and one unnamed branch.
    #[error("{count} targets need branches with @inputs and @output")]
    BranchesMissing {
        /// How many targets there are.
        count: usize,
    },
    /// A name that is both a source and an output.
    #[error("{name} is a source and cannot be an output as well, unless it is a target")]
    SourceAsOutput {
        /// The name.
        name: String,
    },
    /// Branches that read each other.
    #[error("the branches read each other in a cycle: {names}")]
    BranchCycle {
        /// The locations of the branches in the cycle.
        names: String,
    },
}

impl From<expr::CompileError> for PipelineError {
    fn from(error: expr::CompileError) -> Self {
        Self {
            at: error.at.clone(),
            kind: PipelineErrorKind::Expression(error),
        }
    }
}

impl From<patch::CompileError> for PipelineError {
    fn from(error: patch::CompileError) -> Self {
        Self {
            at: error.at.clone(),
            kind: PipelineErrorKind::Patch(error),
        }
    }
}

impl PipelineError {
    /// Whether the error is about the key at the location, not about its value.
    pub fn at_key(&self) -> bool {
        matches!(&self.kind, PipelineErrorKind::Patch(error) if error.at_key())
    }

    /// Whether it follows from the number or the names of the sources. So a source that cannot be
    /// read may cause it.
    pub fn is_about_inputs(&self) -> bool {
        matches!(
            self.kind,
            PipelineErrorKind::NoSource
                | PipelineErrorKind::AllSoft
                | PipelineErrorKind::UnknownName {
                    what: "source" | "input",
                    ..
                }
        )
    }

    /// The offset of the mistake, in bytes, inside the string at the location.
    pub fn inside(&self) -> Option<usize> {
        if let PipelineErrorKind::Expression(error) = &self.kind {
            return error.inside();
        }
        if let PipelineErrorKind::Patch(error) = &self.kind {
            return error.inside();
        }
        None
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            PipelineErrorKind::Expression(error) => error.code(),
            PipelineErrorKind::Patch(error) => error.code(),
            PipelineErrorKind::NoStage { .. }
            | PipelineErrorKind::StagesInMap { .. }
            | PipelineErrorKind::StageNotIndented { .. } => "unknown-stage",
            PipelineErrorKind::TooManyStages { .. } => "too-many-stages",
            PipelineErrorKind::JoinNotFirst => "join-not-first",
            PipelineErrorKind::JoinMissing { .. } => "join-missing",
            PipelineErrorKind::DuplicateSource { .. } => "duplicate-source",
            PipelineErrorKind::TooManySources { .. } => "too-many-sources",
            PipelineErrorKind::NoSource => "no-source",
            PipelineErrorKind::UnknownName { .. } => "unknown-name",
            PipelineErrorKind::AllSoft => "all-soft",
            PipelineErrorKind::Volatile { .. } => "volatile-key",
            PipelineErrorKind::Form { .. } | PipelineErrorKind::JoinForm { .. } => "bad-argument",
            PipelineErrorKind::PluralPath { .. } => "plural-path",
            PipelineErrorKind::EmptyProject => "empty-project",
            PipelineErrorKind::BranchForm | PipelineErrorKind::FlatBranch => "bad-branch",
            PipelineErrorKind::UnusedStream { .. } => "unused-stream",
            PipelineErrorKind::TargetWithoutBranch { .. } => "target-without-branch",
            PipelineErrorKind::BranchesMissing { .. } => "branches-missing",
            PipelineErrorKind::SourceAsOutput { .. } => "source-as-output",
            PipelineErrorKind::BranchCycle { .. } => "branch-cycle",
        }
    }

    /// A suggestion how to fix it, if there is one.
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            PipelineErrorKind::Expression(error) => error.help(),
            PipelineErrorKind::Patch(error) => error.help(),
            PipelineErrorKind::NoStage {
                nearest: Some(nearest),
                ..
            }
            | PipelineErrorKind::UnknownName {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean {nearest}?")),
            PipelineErrorKind::UnknownName { known, .. } if !known.is_empty() => {
                Some(format!("the names here are {}", known.join(", ")))
            }
            PipelineErrorKind::FlatBranch => Some(
                "make the pipeline a list of branches: `- ` once more before @inputs, and @output as the last stage"
                    .to_owned(),
            ),
            PipelineErrorKind::NoStage { found: names, .. }
            | PipelineErrorKind::StagesInMap { names }
                if names.starts_with("@aggregate") =>
            {
                Some(
                    "a pipeline with @aggregate is a map, not a list; in a list, write the stages of @aggregate as its elements"
                        .to_owned(),
                )
            }
            PipelineErrorKind::NoStage { .. } => Some(
                "the stages are @join, @select, @project, @patch, @unwind, @gather, @groupBy and @distinct"
                    .to_owned(),
            ),
            PipelineErrorKind::Form {
                stage: "@patch", ..
            } => Some(
                "a list of operations goes into the map: {operations: [{op: …, path: …}]}".to_owned(),
            ),
            PipelineErrorKind::JoinForm { hint } => hint.map(str::to_owned),
            PipelineErrorKind::StagesInMap { .. } => {
                Some("make it a list, with one `- ` before each stage".to_owned())
            }
            PipelineErrorKind::StageNotIndented { stage, argument } => {
                Some(format!("indent {} below {stage}", argument.join(" and ")))
            }
            PipelineErrorKind::TooManyStages { .. }
            | PipelineErrorKind::JoinNotFirst
            | PipelineErrorKind::JoinMissing { .. }
            | PipelineErrorKind::DuplicateSource { .. }
            | PipelineErrorKind::TooManySources { .. }
            | PipelineErrorKind::NoSource
            | PipelineErrorKind::UnknownName { .. }
            | PipelineErrorKind::AllSoft
            | PipelineErrorKind::Volatile { .. }
            | PipelineErrorKind::Form { .. }
            | PipelineErrorKind::PluralPath { .. }
            | PipelineErrorKind::EmptyProject
            | PipelineErrorKind::BranchForm
            | PipelineErrorKind::UnusedStream { .. }
            | PipelineErrorKind::TargetWithoutBranch { .. }
            | PipelineErrorKind::BranchesMissing { .. }
            | PipelineErrorKind::SourceAsOutput { .. }
            | PipelineErrorKind::BranchCycle { .. } => None,
        }
    }
}
