//! Warnings about patches that name keys which their documents do not have.

use std::ops::Range;

use cel_interpreter::is_type_name;
use dataflow::pipeline::{Branch, Patch, Project, StageKind};
use document::Location;
use document::path::Segment;
use expr::Expr;

use super::super::SpecReader;
use crate::problem::Problem;

impl SpecReader<'_> {
    /// Warns about paths and variables of patches that are not a top-level key of the document,
    /// where all its keys are known: behind a join, and behind a projection to literal keys.
    pub(super) fn unknown_variables(&mut self, branch: &Branch) {
        let mut keys: Option<Vec<String>> = None;
        for stage in &branch.stages {
            match &stage.kind {
                StageKind::Join(join) => keys = Some(join.inputs.clone()),
                StageKind::Project(project) => keys = written_keys(project),
                StageKind::Patch(patch) => {
                    if let Some(keys) = &keys {
                        self.unknown_in_patch(patch, keys, &stage.at);
                    }
                    if patch.resource_path.is_root() {
                        keys = None;
                    }
                }
                StageKind::Select(_)
                | StageKind::Unwind(_)
                | StageKind::Gather(_)
                | StageKind::Distinct => {}
                StageKind::GroupBy(_) => {
                    keys = Some(["key", "values", "documents"].map(str::to_owned).into());
                }
            }
        }
    }

    fn unknown_in_patch(&mut self, patch: &Patch, keys: &[String], at: &Location) {
        if let Some(Segment::Name(name)) = patch.resource_path.segments().first() {
            self.unknown_key(name.as_str(), keys, &at.key("at"), None);
        }
        patch.edit.expressions(&mut |expression, var| {
            let program = &expression.program;
            let reads = program.reads();
            for name in program.variables() {
                let mut chains = reads.iter().filter(|chain| chain.first() == Some(name));
                let is_type = chains.all(|chain| is_type_name(chain.iter().map(String::as_str)));
                let given = [patch::RESOURCE, expr::NOW].contains(&name.as_str());
                if !given && Some(name.as_str()) != var && !is_type {
                    let place = program.place_of(name).unwrap_or_default();
                    let start = expression.start;
                    let part = start + place.start..start + place.end;
                    self.unknown_key(name, keys, &expression.at, Some(part));
                }
            }
        });
    }

    fn unknown_key(
        &mut self,
        name: &str,
        keys: &[String],
        at: &Location,
        part: Option<Range<usize>>,
    ) {
        if keys.iter().any(|key| key == name) {
            return;
        }
        let message = format!("the document has no top-level key {name}, so this always fails");
        let problem = Problem::warning("unknown-variable", at, message).with_part(part);
        let nearest = expr::nearest(name, keys.iter().map(String::as_str));
        self.problems.push(match nearest {
            Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
            None => problem.with_help(format!("the keys are {}", keys.join(", "))),
        });
    }
}

/// The keys of a projection that builds a map with literal keys.
fn written_keys(project: &Project) -> Option<Vec<String>> {
    let Project::Whole(Expr::Map(map)) = project else {
        return None;
    };
    let plain = map.copy.is_none() && map.setters.is_empty();
    let keys = map.entries.iter().map(|(key, _)| key.as_str().to_owned());
    plain.then(|| keys.collect())
}
