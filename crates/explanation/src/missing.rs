//! What may be missing in a group.

use std::collections::BTreeSet;

use dataflow::pipeline::Input;
use dataflow::{Failure, RunError};

use crate::reason::{StagePlace, first_few};
use crate::story::Story;

impl Story<'_> {
    /// The documents that are in error before a group and may be missing in it, in words; `None` if there
    /// are none.
    pub(crate) fn missing_members(&self, group: StagePlace) -> Option<String> {
        let branches = &self.controller(group.controller).pipeline.branches;
        let before = self.branches_before(group);
        let is_before = |error: &&RunError| {
            let of_group = matches!(error.failure, Failure::GroupBounds { .. });
            if error.branch == group.branch {
                error.stage < group.stage || error.stage == group.stage && !of_group
            } else {
                let stages = &branches[error.branch].stages;
                before.contains(&error.branch) && error.stage < stages.len()
            }
        };
        let errors = self.recordings[group.controller].errors.iter();
        let errors: Vec<&RunError> = errors.filter(is_before).collect();
        let are = match errors.len() {
            0 => return None,
            1 => "1 document is".to_owned(),
            count => format!("{count} documents are"),
        };
        let named = first_few(&errors, |error| {
            let stage = &branches[error.branch].stages[error.stage];
            let (name, place) = (stage.kind.name(), self.place(group.controller, stage));
            let origin = self.origin(group.controller, &error.origin);
            format!("{origin} ({name} {place}, {})", error.failure.code())
        });
        Some(format!(
            "{are} in error before this group and may be missing: {named}"
        ))
    }

    /// The other branches whose documents get into the branch of a stage.
    fn branches_before(&self, place: StagePlace) -> BTreeSet<usize> {
        let branches = &self.controller(place.controller).pipeline.branches;
        let mut before = BTreeSet::new();
        let mut open = vec![place.branch];
        while let Some(branch) = open.pop() {
            for input in &branches[branch].inputs {
                let Input::Stream(stream) = input else {
                    continue;
                };
                let writers = (0..branches.len())
                    .filter(|writer| branches[*writer].output.stream == Some(*stream));
                open.extend(writers.filter(|writer| before.insert(*writer)));
            }
        }
        before
    }
}
