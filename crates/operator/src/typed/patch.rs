//! `@patch`: the fields that it writes, and those that its expressions read.

mod literals;

use ::patch::{Expression, RESOURCE, ValueShape, Written, WrittenPath, WrittenStep};
use dataflow::pipeline::Patch;
use document::path::Segment;
use document::{Key, Location};
use schema::{Fields, Origin, Shape, Strings, Type};

use super::cel::{ProgramPlace, Variable};
use super::inference::{Inference, Scope};
use super::path::{FAILS, peek};
use crate::problem::Problem;

/// What a filter does without the field.
const MATCHES_NOTHING: &str = "so this filter matches nothing";

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
    /// Where the path is written.
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
            WrittenStep::KeyOrPosition(_) | WrittenStep::Element(_) => text.push_str("[]"),
        }
    }
    text
}

/// A stage with the type of its documents.
struct PatchStage<'a> {
    patch: &'a Patch,
    at: &'a Location,
    document: &'a Type,
}

/// What the expressions of a patch read.
struct Readable<'a> {
    patch: &'a Patch,
    /// The document with the resource in its current form.
    document: Type,
    resource: Type,
    /// The loop variable.
    item: Type,
}

impl Inference {
    pub(super) fn patch(&mut self, patch: &Patch, at: &Location, document: &Type) -> Type {
        let stage = PatchStage {
            patch,
            at,
            document,
        };
        let scope = Scope::of(document.clone());
        let before = self.read(&patch.resource_path, &at.key("at"), &scope);
        let start = self.readable(&stage, &before, &Type::any());
        let edit = &patch.edit;
        let item = self.under_condition(edit.condition().is_some(), |inference| {
            inference.loop_item(&start)
        });
        // In a loop an expression may see what any operation has left.
        let seen = self.quietly(|inference| inference.seen(&before, patch));
        let readable = self.readable(&stage, &seen, &item);
        self.condition(&readable);
        let after = self.operations(&stage, &before, &readable);
        let patched = if edit.is_conditional() {
            self.union(&before, &after)
        } else {
            after
        };
        if patch.resource_path.is_root() {
            // It is still the source object, with fields set.
            let origin = before.origin.as_ref().map(Origin::changed);
            return Type { origin, ..patched };
        }
        self.set(document, patch.resource_path.segments(), patched, at)
    }

    fn readable<'a>(
        &mut self,
        stage: &PatchStage<'a>,
        resource: &Type,
        item: &Type,
    ) -> Readable<'a> {
        let path = stage.patch.resource_path.segments();
        let document = self
            .quietly(|inference| inference.set(stage.document, path, resource.clone(), stage.at));
        Readable {
            patch: stage.patch,
            document,
            resource: resource.clone(),
            item: item.clone(),
        }
    }

    /// The resource before the operations; in a loop, as any of them may leave it.
    fn seen(&mut self, before: &Type, patch: &Patch) -> Type {
        let (mut here, mut all) = (before.clone(), before.clone());
        if patch.edit.items().is_some() {
            for written in patch.edit.written() {
                here = self.written(&here, &written, None);
                all = self.union(&all, &here);
            }
        }
        all
    }

    /// The resource after the operations. Each expression sees the effect of those before it.
    fn operations(
        &mut self,
        stage: &PatchStage<'_>,
        before: &Type,
        in_loop: &Readable<'_>,
    ) -> Type {
        let edit = &stage.patch.edit;
        let mut after = before.clone();
        for written in edit.written() {
            let here;
            let readable = if edit.items().is_some() {
                in_loop
            } else {
                here = self.readable(stage, &after, &Type::any());
                &here
            };
            after = self.under_condition(edit.is_conditional(), |inference| {
                for expression in &written.expressions {
                    inference.expression(expression, readable);
                }
                inference.written(&after, &written, Some(readable))
            });
        }
        after
    }

    /// Checks what is evaluated only under a condition, if there is one.
    fn under_condition<T>(&mut self, is_one: bool, check: impl FnOnce(&mut Self) -> T) -> T {
        if is_one {
            self.alternatives(check)
        } else {
            check(self)
        }
    }

    /// Checks `where`. In a loop it may not be evaluated.
    fn condition(&mut self, readable: &Readable<'_>) {
        let edit = &readable.patch.edit;
        let Some(condition) = edit.condition() else {
            return;
        };
        self.under_condition(edit.items().is_some(), |inference| {
            let found = inference.expression(condition, readable);
            inference.expect(&found, &Type::boolean(), "where", &condition.at);
        });
    }

    /// Checks `forEach`. Returns the type of the loop variable.
    fn loop_item(&mut self, readable: &Readable<'_>) -> Type {
        let Some((items, at)) = readable.patch.edit.items() else {
            return Type::any();
        };
        let items = self.shape(&items.shape(), at, Some(readable));
        // Null has no items.
        if !items.null {
            let mut wanted = Type::map_of(Type::any());
            wanted.list = Some(Type::any().into());
            self.expect(&items, &wanted, "forEach", at);
        }
        let mut item = Type::default();
        if let Some(element) = items.list.as_ref().filter(|_| !items.any) {
            item = self.union(&item, element);
        }
        if items.map.is_some() {
            let map = Type {
                list: None,
                ..items.clone()
            };
            let entry = [("key", Type::string()), ("value", self.children(&map))];
            let entry = entry.map(|(name, field)| (Key::new(name), field));
            item = self.union(&item, &Type::map(Fields::closed(entry)));
        }
        if items.any || item.is_never() {
            return Type::any();
        }
        item
    }

    /// Checks an expression. Returns the type of its value.
    fn expression(&mut self, expression: &Expression, readable: &Readable<'_>) -> Type {
        let var = readable.patch.edit.variable();
        let variable = |name: &str| match name {
            RESOURCE => Variable::Known(readable.resource.clone()),
            "now" => Variable::Unknown,
            name if Some(name) == var => Variable::Known(readable.item.clone()),
            _ => Variable::Key,
        };
        let place = ProgramPlace {
            at: &expression.at,
            start: expression.start,
        };
        self.program(&expression.program, place, &readable.document, &variable)
    }

    /// The type of the resource after an operation.
    fn written(
        &mut self,
        resource: &Type,
        written: &Written<'_>,
        readable: Option<&Readable<'_>>,
    ) -> Type {
        let mut resource = resource.clone();
        if let Some(from) = &written.from {
            let at = written.at.key("from");
            self.filters(&resource, from, &at);
            self.must_exist(&resource, from, &at);
            if written.name == "move" {
                let change = Change::Set(Type::any().written_at(&at));
                resource = self.changed(&resource, from, &change, &at);
            }
        }
        let at = written.at.key("path");
        self.filters(&resource, &written.path, &at);
        if matches!(written.name, "remove" | "replace" | "test") {
            self.must_exist(&resource, &written.path, &at);
        }
        let value = match &written.value {
            Some(value) => self.shape(value, &written.at.key("value"), readable),
            None => Type::any().written_at(&at),
        };
        let change = match written.name {
            "test" => return resource,
            "remove" => Change::Remove,
            "merge" => Change::Merge(value),
            _ => Change::Set(value),
        };
        self.changed(&resource, &written.path, &change, &at)
    }

    /// Reports a path to a field that the resource does not have. What other operations write is
    /// compared with the fields of the target.
    fn must_exist(&mut self, resource: &Type, path: &WrittenPath, at: &Location) {
        let mut here = resource.clone();
        let mut segments = Vec::new();
        for step in &path.steps {
            let segment = segment(step, &here);
            here = peek(&here, std::slice::from_ref(&segment));
            segments.push(segment);
        }
        self.follow(resource, &segments, (RESOURCE, FAILS), at);
    }

    /// Reports filters that compare a field which the elements do not have.
    fn filters(&mut self, resource: &Type, path: &WrittenPath, at: &Location) {
        let mut here = resource.clone();
        for (i, step) in path.steps.iter().enumerate() {
            here = peek(&here, &[segment(step, &here)]);
            if let WrittenStep::Element(fields) = step {
                let element = here.clone().without_null();
                let names = fields.iter().cloned().map(Segment::Name);
                let names: Vec<Segment> = names.collect();
                let text = place(&path.steps[..=i]);
                self.follow(&element, &names, (&text, MATCHES_NOTHING), at);
            }
        }
    }

    /// The type of a value with expressions, which are unknown without what they read.
    fn shape(
        &mut self,
        shape: &ValueShape<'_>,
        at: &Location,
        readable: Option<&Readable<'_>>,
    ) -> Type {
        match shape {
            ValueShape::Literal(value) if self.meant_as_expression(value, at) => {
                Type::any().written_at(at)
            }
            ValueShape::Literal(value) => {
                self.written_fractions(value, at);
                self.literal(value, at)
            }
            ValueShape::Expression(expression) => {
                let found = readable.map(|readable| self.expression(expression, readable));
                found.unwrap_or_else(Type::any).written_at(at)
            }
            ValueShape::Text => Type::string().written_at(at),
            ValueShape::List(items) => {
                let mut element = Type::default();
                for (i, item) in items.iter().enumerate() {
                    let item = self.shape(item, &at.index(i), readable);
                    element = self.union(&element, &item);
                }
                Type::list(element).written_at(at)
            }
            ValueShape::Map(entries) => {
                let fields: Vec<(Key, Type)> = entries
                    .iter()
                    .map(|(key, value)| {
                        let at = at.key(key.as_str());
                        ((*key).clone(), self.shape(value, &at, readable))
                    })
                    .collect();
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
        let unknown = Change::Set(Type::any().written_at(at));
        let change = if path.whole { change } else { &unknown };
        if let Some((before, after)) = split_key(resource, &path.steps) {
            let message = format!("{before} is a string, so the patch cannot set {after} in it");
            let problem = Problem::warning("wrong-type", at, message);
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
            WrittenStep::KeyOrPosition(_) | WrittenStep::Element(_) => {
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
        let goes_on = matches!(rest.first(), Some(WrittenStep::Key(_)));
        let is_another = goes_on && !member.any && member.map.is_none();
        let is_new = is_another || (member.is_null() && !rest.is_empty());
        member.null |= here.null;
        let mut member = self.at_steps(&member, rest, writing);
        if is_new {
            member.at = Some(writing.at.clone());
        }
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
        // Elements that pipelines have built may differ from each other.
        let is_built = here.at.is_some()
            || element.at.is_some()
            || (self.reads_views && !matches!(element.map, Some(Shape::Defined(_))));
        if let Change::Set(value) = writing.change
            && !is_built
        {
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
            WrittenStep::KeyOrPosition(_) | WrittenStep::Element(_) => None,
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

/// A step as a segment of a path. `here` is the value that it leads from.
fn segment(step: &WrittenStep, here: &Type) -> Segment {
    match step {
        WrittenStep::KeyOrPosition(_) if here.list.is_some() => Segment::Index(0),
        WrittenStep::Key(key) | WrittenStep::KeyOrPosition(key) => Segment::Name(Key::new(key)),
        WrittenStep::Element(_) => Segment::Index(0),
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
                    WrittenStep::Element(_) => None,
                })
                .collect();
            let rest = rest.filter(|rest| !rest.is_empty())?;
            return key.contains('.').then(|| (text, rest.join("~1")));
        }
    }
    None
}
