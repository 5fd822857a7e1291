//! `@patch`: the fields that it writes, and those that its expressions read.

use ::patch::{RESOURCE, ValueShape, Written, WrittenPath, WrittenStep};
use dataflow::pipeline::Patch;
use document::path::Segment;
use document::{Key, Location};
use schema::{Fields, Origin, Strings, Type};

use super::cel::Variable;
use super::inference::{Inference, Scope};
use super::path::peek;
use crate::problem::Problem;

/// What an operation does with the value at its path.
enum Change {
    Set(Type),
    Merge(Type),
    Remove,
}

/// An operation.
struct Writing<'a> {
    change: &'a Change,
    /// Its path for messages: `spec.containers[].image`.
    place: String,
    at: &'a Location,
}

fn place(steps: &[WrittenStep]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            WrittenStep::Key(key) if text.is_empty() => text.push_str(key),
            WrittenStep::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            WrittenStep::KeyOrPosition(_) | WrittenStep::Element => text.push_str("[]"),
        }
    }
    text
}

impl Inference {
    pub(super) fn patch(&mut self, patch: &Patch, at: &Location, document: &Type) -> Type {
        let path = patch.resource_path.segments();
        let scope = Scope::of(document.clone());
        let before = self.read(&patch.resource_path, &at.key("at"), &scope);
        let mut after = before.clone();
        for written in patch.edit.written() {
            after = self.written(&after, &written);
        }
        // Expressions see the resource as earlier operations left it.
        let resource = self.union(&before, &after);
        let patched = if patch.edit.is_conditional() {
            resource.clone()
        } else {
            after
        };
        let result = if path.is_empty() {
            // It is still the source object, with fields set.
            let origin = before.origin.as_ref().map(Origin::changed);
            Type { origin, ..patched }
        } else {
            self.set(document, path, patched, at)
        };
        let known = self.union(document, &result);
        patch.edit.programs(&mut |program, at, var| {
            let variable = |name: &str| match name {
                RESOURCE => Variable::Known(resource.clone()),
                "now" => Variable::Unknown,
                name if Some(name) == var => Variable::Unknown,
                _ => Variable::Key,
            };
            // An operation may be applied to no element.
            self.alternatives(|inference| inference.program(program, at, &known, &variable));
        });
        result
    }

    /// The type of the resource after an operation.
    fn written(&mut self, resource: &Type, written: &Written<'_>) -> Type {
        let mut resource = resource.clone();
        if let Some(from) = written.from.as_ref().filter(|_| written.name == "move") {
            resource = self.changed(&resource, from, &Change::Set(Type::any()), written.at);
        }
        let value = match &written.value {
            Some(value) => self.shape(value, &written.at.key("value")),
            None => Type::any(),
        };
        let change = match written.name {
            "test" => return resource,
            "remove" => Change::Remove,
            "merge" => Change::Merge(value),
            _ => Change::Set(value),
        };
        self.changed(&resource, &written.path, &change, written.at)
    }

    /// The type of a value that an operation writes.
    fn shape(&self, shape: &ValueShape<'_>, at: &Location) -> Type {
        match shape {
            ValueShape::Literal(value) => self.literal(value, at),
            ValueShape::Expression => Type::any(),
            ValueShape::Text => Type::string().written_at(at),
            ValueShape::List(items) => {
                let items = items.iter().enumerate();
                let element = items.fold(Type::default(), |all, (i, item)| {
                    self.union(&all, &self.shape(item, &at.index(i)))
                });
                Type::list(element).written_at(at)
            }
            ValueShape::Map(entries) => {
                let entries = entries.iter();
                let fields = entries.map(|(key, value)| {
                    let at = at.key(key.as_str());
                    ((*key).clone(), self.shape(value, &at))
                });
                Type::map(Fields::closed(fields)).written_at(at)
            }
        }
    }

    fn changed(
        &mut self,
        resource: &Type,
        path: &WrittenPath,
        change: &Change,
        at: &Location,
    ) -> Type {
        let unknown = Change::Set(Type::any());
        let change = if path.whole { change } else { &unknown };
        if let Some((before, after)) = split_key(resource, &path.steps) {
            let message = format!("{before} is a string, so the patch cannot set {after} in it");
            let problem = Problem::warning("wrong-type", &at.key("path"), message);
            self.report(problem.with_help(format!(
                "a `/` inside a key is written `~1`: {before}~1{after}"
            )));
            return Type::any();
        }
        let writing = Writing {
            change,
            place: place(&path.steps),
            at,
        };
        self.at_steps(resource, &path.steps, &writing)
    }

    /// The type of a value after a change at a path inside it.
    fn at_steps(&mut self, here: &Type, steps: &[WrittenStep], writing: &Writing<'_>) -> Type {
        let Some((step, rest)) = steps.split_first() else {
            return match writing.change {
                Change::Set(value) => value.clone(),
                Change::Merge(value) => here.merged(value, &self.budget),
                Change::Remove => Type::null(),
            };
        };
        if !self.budget.take() {
            return Type::any();
        }
        match step {
            WrittenStep::Key(key) => self.at_key(here, key, rest, writing),
            WrittenStep::KeyOrPosition(key) if here.list.is_none() && here.map.is_some() => {
                self.at_key(here, key, rest, writing)
            }
            WrittenStep::KeyOrPosition(_) | WrittenStep::Element => {
                self.at_element(here, rest, writing)
            }
        }
    }

    fn at_key(
        &mut self,
        here: &Type,
        key: &str,
        rest: &[WrittenStep],
        writing: &Writing<'_>,
    ) -> Type {
        let segment = [Segment::Name(Key::new(key))];
        let mut member = peek(here, &segment);
        member.null |= here.null;
        let member = self.at_steps(&member, rest, writing);
        self.set(here, &segment, member, writing.at)
    }

    /// The type of a list after a change of one of its elements, or inside of it.
    fn at_element(&mut self, here: &Type, rest: &[WrittenStep], writing: &Writing<'_>) -> Type {
        let Some(element) = here.list.as_ref().filter(|_| !here.any) else {
            return Type::any();
        };
        if rest.is_empty() && matches!(writing.change, Change::Remove) {
            return Type {
                map: None,
                ..here.clone()
            };
        }
        if let Change::Set(value) = writing.change {
            self.fits_element(value, element, rest, writing);
        }
        let changed = self.at_steps(element, rest, writing);
        let elements = self.union(element, &changed);
        Type {
            at: here.at.clone(),
            ..Type::list(elements)
        }
    }
}

impl Inference {
    /// Compares a value that is set in an element of a list with what the elements have there. After
    /// this the element is one of several, so that the target's schema no longer shows it.
    fn fits_element(
        &mut self,
        value: &Type,
        element: &Type,
        rest: &[WrittenStep],
        writing: &Writing<'_>,
    ) {
        let segments = rest.iter().map(|step| match step {
            WrittenStep::Key(key) => Some(Segment::Name(Key::new(key))),
            // The innermost list has its own comparison.
            WrittenStep::KeyOrPosition(_) | WrittenStep::Element => None,
        });
        let Some(segments) = segments.collect::<Option<Vec<Segment>>>() else {
            return;
        };
        let wanted = peek(element, &segments);
        if !wanted.is_null() {
            self.alternatives(|inference| {
                inference.fits(value, &wanted, &writing.place, writing.at);
            });
        }
    }
}

/// A path that goes into a string because a `/` of a key is not escaped, as in
/// `/metadata/annotations/example.com/team`: the path up to the string, and the rest of the key.
fn split_key(resource: &Type, steps: &[WrittenStep]) -> Option<(String, String)> {
    let mut here = resource.clone();
    let mut text = String::new();
    let mut steps = steps.iter();
    for step in steps.by_ref() {
        let (WrittenStep::Key(key) | WrittenStep::KeyOrPosition(key)) = step else {
            return None;
        };
        here = peek(&here, &[Segment::Name(Key::new(key))]);
        text = format!("{text}/{key}");
        let mut other = here.clone().without_null();
        other.string = Strings::None;
        if here.string != Strings::None && other.is_never() {
            // Only keys of maps with any keys have dots.
            let rest: Option<Vec<&str>> = steps
                .map(|step| match step {
                    WrittenStep::Key(key) | WrittenStep::KeyOrPosition(key) => Some(key.as_str()),
                    WrittenStep::Element => None,
                })
                .collect();
            let rest = rest.filter(|rest| !rest.is_empty())?;
            return key.contains('.').then(|| (text, rest.join("~1")));
        }
    }
    None
}
