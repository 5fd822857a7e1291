//! What becomes of a source object: how many documents each stage yields for it, and why it ends.

use std::collections::BTreeSet;
use std::fmt::Write;

use dataflow::Origin;
use dataflow::provenance::{BranchDescent, ConditionPart, Loss, Point, Unjoined};
use document::{Kind, Value, json};
use operator::secrets::HIDDEN;

use crate::story::{SourceObject, Story, TargetObject, Wanted};

/// Views that are derived from the object are followed, each once.
struct Following<'a> {
    story: &'a Story<'a>,
    seen: BTreeSet<SourceObject>,
    open: Vec<SourceObject>,
}

impl<'a> Following<'a> {
    fn new(story: &'a Story<'a>, objects: &BTreeSet<SourceObject>) -> Self {
        Self {
            story,
            seen: objects.clone(),
            open: objects.iter().rev().cloned().collect(),
        }
    }

    /// The objects that a branch derives, in words. Views among them are followed later.
    fn derived(&mut self, controller: usize, branch: &BranchDescent) -> Vec<String> {
        let mut derived = Vec::new();
        for (target, name) in &branch.outputs {
            let kind = self.story.target_kind(controller, *target);
            derived.push(self.story.target_name(&TargetObject {
                controller,
                target: *target,
                name: name.clone(),
            }));
            if !kind.is_view() {
                continue;
            }
            for reader in self.story.sources(&Wanted::exactly(&kind, name)) {
                if self.seen.insert(reader.clone()) {
                    self.open.push(reader);
                }
            }
        }
        derived
    }
}

/// The explanation as text.
pub(super) fn text(story: &Story<'_>, objects: &BTreeSet<SourceObject>) -> String {
    let mut text = String::new();
    let mut following = Following::new(story, objects);
    while let Some(object) = following.open.pop() {
        let controller = &story.controller(object.controller).name;
        let name = story.source_name(&object);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} in controller {controller}");
        let provenance = story.provenance(object.controller);
        for branch in provenance.descent(object.input, &object.name) {
            branch_text(story, object.controller, &branch, &mut text);
            for derived in following.derived(object.controller, &branch) {
                let _ = writeln!(text, "  derived: {derived}");
            }
        }
    }
    text
}

fn branch_text(story: &Story<'_>, controller: usize, branch: &BranchDescent, text: &mut String) {
    let rules = &story.controller(controller).pipeline.branches[branch.branch].stages;
    let mut before: usize = branch.inputs.iter().map(BTreeSet::len).sum();
    for stage in &branch.stages {
        let rule = &rules[stage.stage];
        let after = stage.after.len();
        let place = story.place(controller, rule);
        let _ = writeln!(
            text,
            "  {:<9} {place:<22} {before} → {after}",
            rule.kind.name()
        );
        let place = StagePlace {
            stage: stage.stage,
            ..StagePlace::end(controller, branch)
        };
        for line in losses(story, place, &stage.lost) {
            let _ = writeln!(text, "            {line}");
        }
        before = after;
    }
    for line in losses(story, StagePlace::end(controller, branch), &branch.lost) {
        let _ = writeln!(text, "  output    {line}");
    }
}

/// How many lost documents are named for each stage.
const SHOWN: usize = 5;

fn losses(story: &Story<'_>, place: StagePlace, lost: &[(Origin, Loss)]) -> Vec<String> {
    let shown = lost.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|(origin, loss)| {
            let origin = story.origin(place.controller, origin);
            format!("{origin}: {}", reason(story, place, loss))
        })
        .collect();
    if lost.len() > SHOWN {
        lines.push(format!("… and {} more", lost.len() - SHOWN));
    }
    lines
}

/// A stage. The one after the last is the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagePlace {
    pub(crate) controller: usize,
    pub(crate) branch: usize,
    pub(crate) stage: usize,
}

impl StagePlace {
    /// The output of a branch.
    pub(crate) fn end(controller: usize, branch: &BranchDescent) -> Self {
        Self {
            controller,
            branch: branch.branch,
            stage: branch.stages.len(),
        }
    }

    fn before(self) -> Point {
        let Self { branch, stage, .. } = self;
        match stage.checked_sub(1) {
            Some(stage) => Point::Stage { branch, stage },
            None => Point::Input { branch, input: 0 },
        }
    }

    fn after(self) -> Point {
        let Self { branch, stage, .. } = self;
        Point::Stage { branch, stage }
    }
}

/// Why a document was lost, in words.
pub(crate) fn reason(story: &Story<'_>, place: StagePlace, loss: &Loss) -> String {
    match loss {
        Loss::Failed(dataflow::Failure::Conflict { key, winner, .. }) => {
            let winner = story.origin(place.controller, winner);
            let key = if story.hides_target_of(place) {
                HIDDEN
            } else {
                key
            };
            format!("{key} is also derived from {winner}, which comes first and is written")
        }
        Loss::Failed(failure) => format!("error[{}]: {failure}", failure.code()),
        Loss::False(parts) if parts.is_empty() => "the condition is false".to_owned(),
        Loss::False(parts) => {
            let parts = parts.iter().map(|part| condition(story, place, part));
            parts.collect::<Vec<_>>().join("; ")
        }
        Loss::NothingToUnwind { path, found } if *found == Kind::Null => {
            format!("there is no list at {path}")
        }
        Loss::NothingToUnwind { path, .. } => format!("the list at {path} is empty"),
        Loss::NoKey => "the key of the group is null".to_owned(),
        Loss::NoValue { path } => format!("there is no value at {path}"),
        Loss::NoPartner(unjoined) if unjoined.is_empty() => {
            "no partner: each condition is met by some object, but no object meets all".to_owned()
        }
        Loss::NoPartner(unjoined) => {
            let parts = unjoined
                .iter()
                .map(|unjoined| partner(story, place, unjoined));
            parts.collect::<Vec<_>>().join("; ")
        }
        Loss::Other => "nothing was yielded".to_owned(),
    }
}

fn condition(story: &Story<'_>, place: StagePlace, part: &ConditionPart) -> String {
    let value = |spec: &Value, value: &Option<Value>| match value {
        Some(value) => literal(&story.masked_value(place.controller, place.before(), spec, value)),
        None => "an error".to_owned(),
    };
    let operands: Vec<String> = part
        .operands
        .iter()
        .map(|(spec, found)| format!("{} is {}", written(spec), value(spec, found)))
        .collect();
    let place = written(&part.spec);
    match operands.as_slice() {
        [] => format!("{place} is {}", part.result),
        operands => format!("{place} is {}: {}", part.result, operands.join(", ")),
    }
}

fn partner(story: &Story<'_>, place: StagePlace, unjoined: &Unjoined) -> String {
    let controller = place.controller;
    let value = |value: &Value| {
        literal(&story.masked_value(controller, place.after(), &unjoined.spec, value))
    };
    let spec = written(&unjoined.spec);
    let Some(input) = unjoined.input else {
        return format!("{spec} is false");
    };
    let sources = &story.controller(controller).pipeline.sources;
    let other = sources.get(input).map_or("the other input", String::as_str);
    let key = unjoined.key.as_ref().map(|key| {
        let key = value(key);
        format!(": the key is {key}, nobody has it")
    });
    let nearest = unjoined.nearest.as_ref().map(|nearest| {
        let nearest = value(nearest);
        format!(" (nearest: {nearest})")
    });
    format!(
        "no partner among {} {other}{}{} in {spec}",
        unjoined.tried,
        key.unwrap_or_default(),
        nearest.unwrap_or_default(),
    )
}

/// A part of the spec, as the user wrote it.
fn written(spec: &Value) -> String {
    match spec.as_str() {
        Some(text) => text.to_owned(),
        None => object::bounded(&spec.to_string(), 200),
    }
}

fn literal(value: &Value) -> String {
    object::bounded(&value.to_string(), 100)
}

/// The explanation as JSON.
pub(super) fn json(story: &Story<'_>, objects: &BTreeSet<SourceObject>) -> Value {
    let mut following = Following::new(story, objects);
    let mut all = Vec::new();
    while let Some(object) = following.open.pop() {
        let controller = story.controller(object.controller);
        let provenance = story.provenance(object.controller);
        let mut branches = Vec::new();
        for branch in provenance.descent(object.input, &object.name) {
            let derived = following.derived(object.controller, &branch);
            let rules = &controller.pipeline.branches[branch.branch].stages;
            let stages = branch.stages.iter().map(|stage| {
                let rule = &rules[stage.stage];
                let place = StagePlace {
                    stage: stage.stage,
                    ..StagePlace::end(object.controller, &branch)
                };
                json!({
                    "stage": (rule.kind.name()),
                    "at": (rule.at.to_string()),
                    "documents": (stage.after.len()),
                    "lost": (lost_json(story, place, &stage.lost)),
                })
            });
            branches.push(json!({
                "stages": (stages.collect::<Value>()),
                "derived": (derived.iter().map(|name| Value::from(name.as_str())).collect::<Value>()),
                "lost": (lost_json(story, StagePlace::end(object.controller, &branch), &branch.lost)),
            }));
        }
        all.push(json!({
            "object": (story.source_name(&object)),
            "controller": (controller.name.as_str()),
            "branches": (branches.into_iter().collect::<Value>()),
        }));
    }
    all.into_iter().collect()
}

fn lost_json(story: &Story<'_>, place: StagePlace, lost: &[(Origin, Loss)]) -> Value {
    let lost = lost.iter().map(|(origin, loss)| {
        json!({
            "origin": (story.origin(place.controller, origin)),
            "reason": (reason(story, place, loss)),
        })
    });
    lost.collect()
}
