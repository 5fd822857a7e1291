//! The documentation of pipelines, as data: the page `docs/reference/pipeline.md` and `deltic doc`
//! are made of it, and the examples run as tests.

mod page;
mod table;

pub use page::pipeline_page;
pub use table::STAGES;

/// A stage, or another part of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct StageDoc {
    /// The name, such as `@select`.
    pub name: &'static str,
    /// Other names of the same stage.
    pub aliases: &'static [&'static str],
    /// How it is written, as YAML.
    pub signature: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// The rules.
    pub rules: &'static [&'static str],
    /// Pipelines with it.
    pub examples: &'static [StageExample],
    /// The codes of its errors, when the pipeline is created or while it runs.
    pub errors: &'static [&'static str],
}

/// A pipeline with its input and output, all as YAML.
#[derive(Clone, Copy, Debug)]
pub struct StageExample {
    /// What it shows.
    pub title: &'static str,
    /// The names of the sources.
    pub sources: &'static [&'static str],
    /// The names of the targets.
    pub targets: &'static [&'static str],
    /// The pipeline.
    pub pipeline: &'static str,
    /// The objects, whose kind is the name of a source.
    pub input: &'static str,
    /// The documents that reach the target, with their kind where there are several.
    pub output: &'static str,
}
