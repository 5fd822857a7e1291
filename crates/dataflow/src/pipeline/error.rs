//! What can be wrong with a pipeline when it is created.

use document::Location;

/// A pipeline that cannot be created: one error of possibly many.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct PipelineError {
    /// Where it stands in the spec.
    pub at: Location,
    /// What is wrong.
    pub kind: PipelineErrorKind,
}

/// The reasons why a pipeline is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PipelineErrorKind {
    /// An expression is wrong.
    #[error(transparent)]
    Expression(expr::CompileError),
    /// A patch is wrong.
    #[error(transparent)]
    Patch(patch::CompileError),
    /// A stage that is no map with one `@` key, or an unknown one.
    #[error("{found} is no pipeline stage")]
    NoStage {
        /// What stands there.
        found: String,
        /// The nearest name that exists.
        nearest: Option<String>,
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
    /// More sources than an engine can join.
    #[error("more than {limit} sources")]
    TooManySources {
        /// How many are allowed.
        limit: usize,
    },
    /// A pipeline without a source.
    #[error("a pipeline needs a source")]
    NoSource,
    /// `soft` or `@inputs` names something that does not exist.
    #[error("unknown {what} {name}")]
    UnknownName {
        /// A source, an input, an option.
        what: &'static str,
        /// As written.
        name: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// All sources of a join are soft.
    #[error("at least one source of a @join must not be soft")]
    AllSoft,
    /// A join condition or a group key hangs on the time or on chance.
    #[error("{what} cannot use @now or @rnd")]
    Volatile {
        /// A join condition or a group key.
        what: &'static str,
    },
    /// An argument of a form that the stage does not take.
    #[error("{stage} takes {expected}")]
    Form {
        /// The stage.
        stage: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// A path that may match several places.
    #[error(
        "{stage} needs a path that matches one place at most: no wildcard, filter, slice or `..`"
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
    /// A stream that no branch reads and no target takes.
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
    /// Branches that feed themselves.
    #[error("the branches feed each other in a circle: {names}")]
    BranchCycle {
        /// The outputs in the circle.
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
    /// Whether the key at the place is meant, not its value.
    pub fn at_key(&self) -> bool {
        matches!(&self.kind, PipelineErrorKind::Patch(error) if error.at_key())
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            PipelineErrorKind::Expression(error) => error.code(),
            PipelineErrorKind::Patch(error) => error.code(),
            PipelineErrorKind::NoStage { .. } => "unknown-stage",
            PipelineErrorKind::JoinNotFirst => "join-not-first",
            PipelineErrorKind::JoinMissing { .. } => "join-missing",
            PipelineErrorKind::DuplicateSource { .. } => "duplicate-source",
            PipelineErrorKind::TooManySources { .. } => "too-many-sources",
            PipelineErrorKind::NoSource => "no-source",
            PipelineErrorKind::UnknownName { .. } => "unknown-name",
            PipelineErrorKind::AllSoft => "all-soft",
            PipelineErrorKind::Volatile { .. } => "volatile-key",
            PipelineErrorKind::Form { .. } => "bad-argument",
            PipelineErrorKind::PluralPath { .. } => "plural-path",
            PipelineErrorKind::EmptyProject => "empty-project",
            PipelineErrorKind::BranchForm => "bad-branch",
            PipelineErrorKind::UnusedStream { .. } => "unused-stream",
            PipelineErrorKind::TargetWithoutBranch { .. } => "target-without-branch",
            PipelineErrorKind::BranchesMissing { .. } => "branches-missing",
            PipelineErrorKind::SourceAsOutput { .. } => "source-as-output",
            PipelineErrorKind::BranchCycle { .. } => "branch-cycle",
        }
    }

    /// What to do about it, where there is something to suggest.
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
            PipelineErrorKind::NoStage { .. } => Some(
                "the stages are @join, @select, @project, @patch, @unwind, @gather, @groupBy and @distinct"
                    .to_owned(),
            ),
            PipelineErrorKind::JoinNotFirst
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
