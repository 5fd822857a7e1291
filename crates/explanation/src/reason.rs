//! Why a document is lost, in words.

use dataflow::Origin;
use dataflow::pipeline::StageKind;
use dataflow::provenance::{BranchDescent, ConditionPart, Loss, NoSoftPartner, Point, Unjoined};
use document::{Kind, Value};
use operator::secrets::HIDDEN;

use crate::cel;
use crate::story::Story;

/// A stage. The one after the last is the output.
#[derive(Clone, Copy, Debug)]
pub struct StagePlace {
    /// The controller, by position.
    pub controller: usize,
    /// The branch of its pipeline, by position.
    pub branch: usize,
    /// The stage of the branch, by position.
    pub stage: usize,
}

impl StagePlace {
    /// The output of a branch.
    pub fn end(controller: usize, branch: &BranchDescent) -> Self {
        Self {
            controller,
            branch: branch.branch,
            stage: branch.stages.len(),
        }
    }

    pub(crate) fn before(self) -> Point {
        let Self { branch, stage, .. } = self;
        match stage.checked_sub(1) {
            Some(stage) => Point::Stage { branch, stage },
            None => Point::Input { branch, input: 0 },
        }
    }

    /// The documents that the stage yields.
    pub fn after(self) -> Point {
        let Self { branch, stage, .. } = self;
        Point::Stage { branch, stage }
    }
}

/// Why the document of an origin was lost, in words. If `whole`, other objects of the sources may be
/// mentioned, too.
pub fn reason(
    story: &Story<'_>,
    place: StagePlace,
    (origin, loss): (&Origin, &Loss),
    whole: bool,
) -> String {
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
            let parts = parts.iter();
            let parts = parts.map(|part| condition(story, place, origin, part));
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
                .map(|unjoined| partner(story, place, unjoined, whole));
            parts.collect::<Vec<_>>().join("; ")
        }
        Loss::Other => match story.merged(place, origin) {
            Some((object, first)) => {
                let object = story.target_name(&object);
                let first = story.origin(place.controller, first);
                format!("{object} is also yielded by {first}, which comes first: both are the same")
            }
            None => "nothing was yielded".to_owned(),
        },
    }
}

/// Why a document has no partner in a soft input of a join, in words.
pub fn no_partner(
    story: &Story<'_>,
    place: StagePlace,
    absent: &NoSoftPartner,
    whole: bool,
) -> String {
    if absent.unjoined.is_empty() {
        return format!("no partner in {}", input_name(story, place, absent.input));
    }
    let parts = absent.unjoined.iter();
    let parts = parts.map(|unjoined| partner(story, place, unjoined, whole));
    parts.collect::<Vec<_>>().join("; ")
}

/// The name of an input of a join.
fn input_name<'a>(story: &'a Story<'_>, place: StagePlace, input: usize) -> &'a str {
    let branches = &story.controller(place.controller).pipeline.branches;
    let name = match &branches[place.branch].stages[place.stage].kind {
        StageKind::Join(join) => join.inputs.get(input).map(String::as_str),
        StageKind::Select(_)
        | StageKind::Project(_)
        | StageKind::Unwind(_)
        | StageKind::Gather(_)
        | StageKind::GroupBy(_)
        | StageKind::Distinct
        | StageKind::Patch(_) => None,
    };
    name.unwrap_or("the other input")
}

fn condition(
    story: &Story<'_>,
    place: StagePlace,
    origin: &Origin,
    part: &ConditionPart,
) -> String {
    if let Some(text) = cel::condition(story, place, origin, &part.spec, part.result) {
        return text;
    }
    let value = |spec: &Value, value: &Option<Value>| match value {
        Some(value) => literal(&story.masked_value(place.controller, place.before(), spec, value)),
        None => "an error".to_owned(),
    };
    let operands = part.operands.iter();
    let operands: Vec<String> = operands
        // A condition that is a path is its only operand.
        .filter(|(spec, _)| *spec != part.spec)
        .map(|(spec, found)| format!("{} is {}", written(spec), value(spec, found)))
        .collect();
    let place = written(&part.spec);
    match operands.as_slice() {
        [] => format!("{place} is {}", part.result),
        operands => format!("{place} is {}: {}", part.result, operands.join(", ")),
    }
}

fn partner(story: &Story<'_>, place: StagePlace, unjoined: &Unjoined, whole: bool) -> String {
    let controller = place.controller;
    let value = |value: &Value| {
        literal(&story.masked_value(controller, place.after(), &unjoined.spec, value))
    };
    let spec = written(&unjoined.spec);
    let Some(input) = unjoined.input else {
        return format!("{spec} is false");
    };
    let other = input_name(story, place, input);
    let key = unjoined.key.as_ref().map(|key| {
        let key = value(key);
        format!(": the key is {key}, nobody has it")
    });
    if !whole {
        return format!("no partner in {other}{} in {spec}", key.unwrap_or_default());
    }
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

pub(crate) fn literal(value: &Value) -> String {
    object::bounded(&value.to_string(), 100)
}

/// How many of several things are named.
const NAMED: usize = 5;

/// The first few of several things, and how many there are besides.
pub(crate) fn first_few<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let named = all.iter().take(NAMED).map(name);
    let named = named.collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}, … and {more} more"),
    }
}
