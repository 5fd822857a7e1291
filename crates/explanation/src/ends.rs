//! What becomes of a source object: how many documents each stage yields for it, and why it ends.

use std::collections::BTreeSet;
use std::fmt::Write;

use dataflow::provenance::{BranchDescent, Loss};
use dataflow::{Failure, Origin};
use document::Value;

use crate::reason::{StagePlace, no_partner, reason};
use crate::story::{StoryObject, TargetObject};
use crate::telling::Teller;
use crate::wanted::Wanted;

/// What becomes of an object in a controller that reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The object.
    pub object: String,
    /// The name of the controller.
    pub controller: String,
    /// The branches that it reaches.
    pub branches: Vec<BranchEnd>,
}

/// What becomes of an object in one branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchEnd {
    /// How many documents of it enter the branch.
    pub entered: usize,
    /// The stages, up to the first that yields nothing for it.
    pub stages: Vec<StageEnd>,
    /// The objects that are derived from it.
    pub derived: Vec<String>,
    /// Why objects that are derived from it are not written, in words.
    pub waits: Vec<String>,
    /// The documents at the end of the branch that did not become objects.
    pub lost: Vec<Lost>,
}

/// What one stage does with the documents of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageEnd {
    /// The name of the stage.
    pub stage: String,
    /// Its location in the Operator.
    pub at: String,
    /// Its location in the controller.
    pub place: String,
    /// How many documents it yields.
    pub documents: usize,
    /// The documents for which it yields nothing.
    pub lost: Vec<Lost>,
    /// The documents that a soft join yields without a partner, the first few.
    pub alone: Vec<Lost>,
}

/// A document that is lost, or has no partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Its origin, in words.
    pub origin: String,
    /// Why, in words.
    pub reason: String,
}

/// How many lost documents of a stage are shown as text.
const SHOWN: usize = 5;

impl Teller<'_> {
    /// What becomes of these objects. Views that are derived from them are followed, each once.
    pub(crate) fn ends(&mut self, objects: &BTreeSet<StoryObject>) -> Vec<End> {
        let mut seen = objects.clone();
        let mut open: Vec<StoryObject> = objects.iter().rev().cloned().collect();
        let mut ends = Vec::new();
        while let Some(object) = open.pop() {
            if self.gives_up() {
                break;
            }
            let (story, number) = (self.story, object.controller);
            self.show(
                number,
                BTreeSet::from([(object.input, object.name.clone())]),
            );
            let mut end = End {
                object: story.source_name(&object),
                controller: story.controller(number).name.clone(),
                branches: Vec::new(),
            };
            self.charge(&[&end.object, &end.controller], &Value::NULL);
            let provenance = story.provenance(number);
            for branch in provenance.descent(object.input, &object.name) {
                end.branches.push(self.branch(number, &branch));
                let readers = branch.outputs.iter().flat_map(|(target, name)| {
                    let kind = story.target_kind(number, *target);
                    let view = kind.is_view().then(|| Wanted::exactly(&kind, name));
                    view.into_iter().flat_map(|view| story.sources(&view))
                });
                for reader in readers {
                    if seen.insert(reader.clone()) {
                        open.push(reader);
                    }
                }
            }
            ends.push(end);
        }
        ends
    }

    fn branch(&mut self, controller: usize, branch: &BranchDescent) -> BranchEnd {
        let story = self.story;
        let rules = &story.controller(controller).pipeline.branches[branch.branch].stages;
        let end = StagePlace::end(controller, branch);
        let mut stages = Vec::new();
        for stage in &branch.stages {
            let rule = &rules[stage.stage];
            let place = StagePlace {
                stage: stage.stage,
                ..end
            };
            stages.push(StageEnd {
                stage: rule.kind.name().to_owned(),
                at: rule.at.to_string(),
                place: story.place(controller, rule),
                documents: stage.after.len(),
                lost: self.lost(place, &stage.lost),
                alone: self.alone(place, &stage.after),
            });
        }
        let (mut derived, mut waits) = (Vec::new(), Vec::new());
        for (target, name) in &branch.outputs {
            let object = TargetObject {
                controller,
                target: *target,
                name: name.clone(),
            };
            self.show_target(&object);
            let waiting = story.waits(&object);
            let list = match waiting {
                Some(_) => &mut waits,
                None => &mut derived,
            };
            let text = waiting.unwrap_or_else(|| story.target_name(&object));
            self.charge(&[&text], &Value::NULL);
            list.push(text);
        }
        BranchEnd {
            entered: branch.inputs.iter().map(BTreeSet::len).sum(),
            stages,
            derived,
            waits,
            lost: self.lost(end, &branch.lost),
        }
    }

    /// The documents after a join that have no partner in a soft input.
    fn alone(&mut self, place: StagePlace, after: &BTreeSet<Origin>) -> Vec<Lost> {
        let (story, whole) = (self.story, (self.detail.whole)(place.controller));
        let provenance = story.provenance(place.controller);
        let mut all = Vec::new();
        for origin in after {
            if all.len() == SHOWN || self.gives_up() {
                break;
            }
            for absent in provenance.without_soft_partner(place.after(), origin) {
                self.show(place.controller, provenance.sources(place.after(), origin));
                let alone = Lost {
                    origin: story.origin(place.controller, origin),
                    reason: no_partner(story, place, &absent, whole),
                };
                self.charge(&[&alone.origin, &alone.reason], &Value::NULL);
                all.push(alone);
            }
        }
        all
    }

    fn lost(&mut self, place: StagePlace, lost: &[(Origin, Loss)]) -> Vec<Lost> {
        let mut all = Vec::new();
        for (origin, loss) in lost {
            if self.gives_up() {
                break;
            }
            self.show_before(place, origin);
            let story = self.story;
            let winner = match loss {
                Loss::Failed(Failure::Conflict { winner, .. }) => Some(winner),
                Loss::Other => story.merged(place, origin).map(|(_, first)| first),
                Loss::Failed(_)
                | Loss::False(_)
                | Loss::NothingToUnwind { .. }
                | Loss::NoKey
                | Loss::NoValue { .. }
                | Loss::NoPartner(_) => None,
            };
            if let Some(winner) = winner {
                let provenance = story.provenance(place.controller);
                self.show(place.controller, provenance.sources_of_output(winner));
            }
            let whole = (self.detail.whole)(place.controller);
            let lost = Lost {
                origin: self.story.origin(place.controller, origin),
                reason: reason(self.story, place, (origin, loss), whole),
            };
            self.charge(&[&lost.origin, &lost.reason], &Value::NULL);
            all.push(lost);
        }
        all
    }
}

impl End {
    /// The explanation as text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{} in controller {}\n", self.object, self.controller);
        for branch in &self.branches {
            branch.text(&mut text);
        }
        text
    }
}

impl BranchEnd {
    fn text(&self, text: &mut String) {
        let mut before = self.entered;
        for stage in &self.stages {
            let StageEnd {
                stage: name,
                place,
                documents: after,
                ..
            } = stage;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<9} {place:<22} {before} → {after}");
            for line in lines(&stage.lost).into_iter().chain(lines(&stage.alone)) {
                let _ = writeln!(text, "            {line}");
            }
            before = *after;
        }
        for line in lines(&self.lost) {
            let _ = writeln!(text, "  output    {line}");
        }
        for derived in &self.derived {
            let _ = writeln!(text, "  derived: {derived}");
        }
        for waits in &self.waits {
            let _ = writeln!(text, "  waits: {waits}");
        }
    }
}

fn lines(lost: &[Lost]) -> Vec<String> {
    let shown = lost.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|lost| format!("{}: {}", lost.origin, lost.reason))
        .collect();
    if lost.len() > SHOWN {
        lines.push(format!("… and {} more", lost.len() - SHOWN));
    }
    lines
}
