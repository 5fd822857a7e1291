//! All codes of errors and warnings: what each means, an example, and what to do.
//!
//! Codes are stable: scripts match on them, and a code never changes its meaning.

mod cel;
mod clusters;
mod commands;
mod expressions;
mod files;
mod operators;
mod patches;
mod pipelines;
mod run_time;
mod setters;
mod stages;
mod typed;

use super::codes::CodeDoc;

/// The codes, in the order of the page: by where they come from.
pub(crate) const FAMILIES: &[(&str, &[CodeDoc])] = &[
    ("Files", files::CODES),
    ("Operators", operators::CODES),
    ("Typed checks", typed::CODES),
    ("Pipelines", pipelines::CODES),
    ("Expressions", expressions::CODES),
    ("Expressions at run time", run_time::CODES),
    ("Setters", setters::CODES),
    ("CEL", cel::CODES),
    ("Stages and objects at run time", stages::CODES),
    ("Patches", patches::CODES),
    ("Commands", commands::CODES),
    ("Clusters", clusters::CODES),
];
