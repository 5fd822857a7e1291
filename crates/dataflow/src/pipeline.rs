//! The AST of a pipeline: branches of stages.
//!
//! [`Pipeline::parse`] reads the JSON of a spec and returns a [`Pipeline`] or all errors with
//! their locations. [`crate::Circuit`] and [`crate::scratch`] run it.
//!
//! ```text
//! sources ─▶ branch: stage ─▶ stage ─▶ output ─▶ target
//!                                         └────▶ stream ─▶ other branches
//! ```

mod branches;
mod error;
mod facts;
mod join;
mod patch;
mod stage;

use document::{Location, Path, Value};
use expr::{Compiler, DocumentKind, Expr, Functions, Patterns};

use crate::fields::Versions;

pub use self::patch::Patch;
pub use branches::{Branch, Input, MAX_STAGES, Output, stages_of};
pub use error::{PipelineError, PipelineErrorKind};
pub use join::{Conjunct, Join, JoinKey, Side, SourceSet};
pub use stage::STAGE_NAMES;

/// A pipeline: one branch, or several that feed each other.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The names of the sources: `as`, or the Kind without it.
    pub sources: Vec<String>,
    /// The Kinds of the targets.
    pub targets: Vec<String>,
    /// The names of the streams: outputs of branches that other branches read.
    pub streams: Vec<String>,
    /// The branches; a branch reads only outputs of branches before it in [`Pipeline::order`].
    pub branches: Vec<Branch>,
    /// The positions of the branches in the order in which they run.
    pub order: Vec<usize>,
    /// The versions that the pipeline mentions. Sources do not keep the others.
    pub versions: Versions,
}

/// One stage of a branch.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The kind of stage with its arguments.
    pub kind: StageKind,
    /// The argument as it is written, for explanations.
    pub spec: Value,
    /// The location in the spec.
    pub at: Location,
}

/// The kinds of stages.
#[derive(Clone, Debug)]
pub enum StageKind {
    /// `@join`
    Join(Join),
    /// `@select`
    Select(Expr),
    /// `@project`
    Project(Project),
    /// `@unwind`
    Unwind(Path),
    /// `@gather`
    Gather(Gather),
    /// `@groupBy`
    GroupBy(GroupBy),
    /// `@distinct`
    Distinct,
    /// `@patch`
    Patch(Box<Patch>),
}

/// `@project` in its two modes.
#[derive(Clone, Debug)]
pub enum Project {
    /// One expression builds the result. If it gives a list, the elements are merged in order.
    Whole(Expr),
    /// Each expression modifies the result so far.
    Steps(Vec<Expr>),
}

/// `@gather: [key, path]`
#[derive(Clone, Debug)]
pub struct Gather {
    /// The key of the group.
    pub key: Expr,
    /// The path of a member's value, and of the list in the document of the group.
    pub path: Path,
}

/// `@groupBy: [key, value, {distinct}]`
#[derive(Clone, Debug)]
pub struct GroupBy {
    /// The key of the group.
    pub key: Expr,
    /// The value to collect; `None` for the whole document.
    pub value: Option<Expr>,
    /// Whether equal values are listed once.
    pub distinct: bool,
}

impl Pipeline {
    /// Parses a pipeline. `sources` are the names of the sources, `targets` the Kinds of the
    /// targets, and `at` is the location of the pipeline in the spec.
    pub fn parse(
        spec: &Value,
        at: &Location,
        sources: &[String],
        targets: &[String],
        functions: &Functions,
    ) -> Result<Self, Vec<PipelineError>> {
        Self::parse_with(
            spec,
            at,
            sources,
            targets,
            functions,
            &mut Patterns::default(),
        )
    }

    /// As [`Pipeline::parse`], for pipelines that share a limit on regular expressions.
    pub fn parse_with(
        spec: &Value,
        at: &Location,
        sources: &[String],
        targets: &[String],
        functions: &Functions,
        patterns: &mut Patterns,
    ) -> Result<Self, Vec<PipelineError>> {
        let (pipeline, errors) = Self::draft(spec, at, sources, targets, functions, patterns);
        match pipeline {
            Some(pipeline) if errors.is_empty() => Ok(pipeline),
            Some(_) | None => Err(errors),
        }
    }

    /// As [`Pipeline::parse_with`], for code that checks a pipeline with mistakes. There is a
    /// pipeline if only expressions are wrong. These are null in it.
    pub fn draft(
        spec: &Value,
        at: &Location,
        sources: &[String],
        targets: &[String],
        functions: &Functions,
        patterns: &mut Patterns,
    ) -> (Option<Self>, Vec<PipelineError>) {
        let count = branches::count(spec);
        if count > MAX_STAGES {
            let kind = PipelineErrorKind::TooManyStages {
                count,
                limit: MAX_STAGES,
            };
            let at = at.clone();
            return (None, vec![PipelineError { at, kind }]);
        }
        let mut reader = PipelineReader::new(spec, sources, targets, functions);
        reader.patterns = *patterns;
        let pipeline = reader.pipeline(spec, at);
        *patterns = reader.patterns;
        let is_expression =
            |error: &PipelineError| matches!(error.kind, PipelineErrorKind::Expression(_));
        let complete = !reader.stage_missing && reader.errors.iter().all(is_expression);
        (complete.then_some(pipeline), reader.errors)
    }
}

/// Parses a pipeline and collects its errors.
struct PipelineReader<'a> {
    sources: &'a [String],
    targets: &'a [String],
    functions: &'a Functions,
    /// The versions that the spec mentions. Sources drop the others. Without any, nothing has to be
    /// hidden.
    versions: Versions,
    patterns: Patterns,
    errors: Vec<PipelineError>,
    /// Whether a stage could not be read.
    stage_missing: bool,
}

impl<'a> PipelineReader<'a> {
    fn new(
        spec: &Value,
        sources: &'a [String],
        targets: &'a [String],
        functions: &'a Functions,
    ) -> Self {
        Self {
            sources,
            targets,
            functions,
            versions: mentioned_versions(spec),
            patterns: Patterns::default(),
            errors: Vec::new(),
            stage_missing: false,
        }
    }

    fn pipeline(&mut self, spec: &Value, at: &Location) -> Pipeline {
        let (branches, streams) = self.branches(spec, at);
        let order = self.order(&branches, at);
        Pipeline {
            sources: self.sources.to_vec(),
            targets: self.targets.to_vec(),
            streams,
            branches,
            order,
            versions: self.versions,
        }
    }

    fn error(&mut self, at: &Location, kind: PipelineErrorKind) {
        self.errors.push(PipelineError {
            at: at.clone(),
            kind,
        });
    }

    /// Runs the expression compiler, and collects its errors.
    fn compile<T>(
        &mut self,
        documents: DocumentKind,
        run: impl FnOnce(&mut Compiler<'_>) -> T,
    ) -> T {
        let mut compiler = Compiler::new(self.functions);
        if self.versions.any() {
            compiler.documents = documents;
        }
        compiler.patterns = self.patterns;
        let result = run(&mut compiler);
        self.patterns = compiler.patterns;
        self.errors
            .extend(compiler.errors.into_iter().map(PipelineError::from));
        result
    }
}

/// The versions that a string or a key of the spec mentions.
fn mentioned_versions(spec: &Value) -> Versions {
    let named = |text: &str| Versions {
        resource_version: text.contains("resourceVersion"),
        generation: text.contains("generation"),
    };
    match spec.view() {
        document::View::Str(text) => named(text),
        document::View::List(items) => items
            .iter()
            .map(mentioned_versions)
            .fold(Versions::default(), Versions::or),
        document::View::Map(map) => map
            .iter()
            .map(|(key, value)| named(key.as_str()).or(mentioned_versions(value)))
            .fold(Versions::default(), Versions::or),
        document::View::Null
        | document::View::Bool(_)
        | document::View::Int(_)
        | document::View::Float(_)
        | document::View::Bytes(_) => Versions::default(),
    }
}
