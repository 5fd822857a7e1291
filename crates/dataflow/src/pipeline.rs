//! The pipeline as the user wrote it, understood: branches of stages.
//!
//! In goes JSON with its place in the spec, out comes a [`Pipeline`] or all errors.
//! Nothing here runs: see [`crate::Circuit`] for the incremental engine and
//! [`crate::scratch`] for the from-scratch evaluator.

mod branches;
mod error;
mod facts;
mod join;
mod patch;
mod stage;

use document::{Location, Path, Value};
use expr::{Compiler, Expr, Functions, Patterns, Raw};

pub use self::patch::Patch;
pub use branches::{Branch, Input, Output};
pub use error::{PipelineError, PipelineErrorKind};
pub use join::{Conjunct, Join, JoinKey, Side, SourceSet};

/// A pipeline: one branch, or several that feed each other.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The names of the sources: Kinds, or what `as` says.
    pub sources: Vec<String>,
    /// The Kinds of the targets.
    pub targets: Vec<String>,
    /// The branches; a branch reads only outputs of branches before it in [`Pipeline::order`].
    pub branches: Vec<Branch>,
    /// The branches by position, in the order in which they must run.
    pub order: Vec<usize>,
    /// Whether a path names `metadata.resourceVersion` or `metadata.generation` of a
    /// source object; otherwise sources do not keep them.
    pub reads_versions: bool,
}

/// One operation of a branch.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What it does.
    pub kind: StageKind,
    /// Where it stands in the spec.
    pub at: Location,
}

/// The operations.
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
    /// A new object. An expression that gives a list works as [`Project::Steps`] do.
    Whole(Expr),
    /// Each item modifies the result so far.
    Steps(Vec<Expr>),
}

/// `@gather: [key, path]`
#[derive(Clone, Debug)]
pub struct Gather {
    /// What members are grouped by.
    pub key: Expr,
    /// Where the values come from, and where their list goes.
    pub path: Path,
}

/// `@groupBy: [key, value, {distinct}]`
#[derive(Clone, Debug)]
pub struct GroupBy {
    /// What members are grouped by.
    pub key: Expr,
    /// What is collected; `None` for the whole document.
    pub value: Option<Expr>,
    /// Whether equal values are collected once.
    pub distinct: bool,
}

impl Pipeline {
    /// Reads a pipeline. `sources` are the names of the sources, `targets` the Kinds of
    /// the targets; `at` is where the pipeline stands in the spec.
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

    /// As [`Pipeline::parse`], of one pipeline of several that may have so many regular
    /// expressions together.
    pub fn parse_with(
        spec: &Value,
        at: &Location,
        sources: &[String],
        targets: &[String],
        functions: &Functions,
        patterns: &mut Patterns,
    ) -> Result<Self, Vec<PipelineError>> {
        let mut reader = PipelineReader::new(spec, sources, targets, functions);
        reader.patterns = *patterns;
        let pipeline = reader.pipeline(spec, at);
        *patterns = reader.patterns;
        if reader.errors.is_empty() {
            Ok(pipeline)
        } else {
            Err(reader.errors)
        }
    }
}

/// Reads stages and collects what is wrong with them.
struct PipelineReader<'a> {
    sources: &'a [String],
    targets: &'a [String],
    functions: &'a Functions,
    /// Whether the spec mentions a version at all: if not, nothing has to be hidden.
    mentions_versions: bool,
    patterns: Patterns,
    errors: Vec<PipelineError>,
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
            mentions_versions: mentions_versions(spec),
            patterns: Patterns::default(),
            errors: Vec::new(),
        }
    }

    fn pipeline(&mut self, spec: &Value, at: &Location) -> Pipeline {
        let branches = self.branches(spec, at);
        let order = self.order(&branches, at);
        Pipeline {
            sources: self.sources.to_vec(),
            targets: self.targets.to_vec(),
            branches,
            order,
            reads_versions: self.mentions_versions,
        }
    }

    fn error(&mut self, at: &Location, kind: PipelineErrorKind) {
        self.errors.push(PipelineError {
            at: at.clone(),
            kind,
        });
    }

    /// Runs the expression compiler on documents of this kind and takes over its errors.
    fn compile<T>(&mut self, raw: Raw, run: impl FnOnce(&mut Compiler<'_>) -> T) -> T {
        let mut compiler = Compiler::new(self.functions);
        if self.mentions_versions {
            compiler.raw = raw;
        }
        compiler.patterns = self.patterns;
        let result = run(&mut compiler);
        self.patterns = compiler.patterns;
        self.errors
            .extend(compiler.errors.into_iter().map(PipelineError::from));
        result
    }
}

/// Whether a string of the spec, or a key, names one of the two hidden fields.
fn mentions_versions(spec: &Value) -> bool {
    let named = |text: &str| text.contains("resourceVersion") || text.contains("generation");
    match spec.view() {
        document::View::Str(text) => named(text),
        document::View::List(items) => items.iter().any(mentions_versions),
        document::View::Map(map) => map
            .iter()
            .any(|(key, value)| named(key.as_str()) || mentions_versions(value)),
        document::View::Null
        | document::View::Bool(_)
        | document::View::Int(_)
        | document::View::Float(_)
        | document::View::Bytes(_) => false,
    }
}
