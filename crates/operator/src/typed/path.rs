//! Paths: what they read, and the type of a document after a field is set.

use std::ops::Range;

use document::path::{Path, Root, Segment, Selector};
use document::{Key, Location};
use schema::{Fields, Origin, Shape, Type};

use super::inference::{Inference, Scope};
use crate::problem::Problem;

/// A place on the way of a path.
struct PathPosition<'a> {
    /// The path up to here, for messages.
    text: String,
    /// The segments from here on, without the next.
    rest: &'a [Segment],
    /// The map with any keys that the path has just entered, with the key.
    opened: Option<(String, String)>,
    /// What happens without the field.
    outcome: &'static str,
    at: &'a Location,
    /// The part of the string at the location, if the path is only a part of it.
    inside: Option<Range<usize>>,
}

/// What a path does without the field, and CEL, and `has` in CEL.
const IS_NULL: &str = "so this is always null";
pub(super) const FAILS: &str = "so this always fails";
pub(super) const IS_ABSENT: &str = "so it is never there";

impl<'a> PathPosition<'a> {
    fn new(text: &str, rest: &'a [Segment], outcome: &'static str, at: &'a Location) -> Self {
        Self {
            text: text.to_owned(),
            rest,
            opened: None,
            outcome,
            at,
            inside: None,
        }
    }

    fn warning(&self, message: String) -> Problem {
        let problem = Problem::warning("no-such-field", self.at, message);
        problem.with_part(self.inside.clone())
    }
}

impl Inference {
    /// The type of the first match of a path.
    pub(super) fn read(&mut self, path: &Path, at: &Location, scope: &Scope) -> Type {
        let (start, text) = match path.root() {
            Root::Document => (&scope.document, "$"),
            Root::Item => (&scope.item, "$$"),
        };
        let place = PathPosition::new(text, path.segments(), IS_NULL, at);
        let found = self.walk(start.clone(), place, scope);
        // What an earlier stage computes may be right there, and wrong where it is used.
        match found.at {
            Some(_) => found.written_at(at),
            None => found,
        }
    }

    /// Follows a path from a value. `text` is the value, for messages, and `outcome` what happens
    /// without a field.
    pub(super) fn follow(
        &mut self,
        start: &Type,
        segments: &[Segment],
        (text, outcome): (&str, &'static str),
        at: &Location,
    ) {
        let place = PathPosition::new(text, segments, outcome, at);
        self.walk(start.clone(), place, &Scope::of(Type::any()));
    }

    fn walk(&mut self, start: Type, mut place: PathPosition<'_>, scope: &Scope) -> Type {
        let mut here = start;
        while let Some((segment, rest)) = place.rest.split_first() {
            if !self.budget.take() {
                return Type::any();
            }
            place.rest = rest;
            here = match segment {
                Segment::Name(name) => self.member(&here, name, &mut place),
                Segment::Index(index) => {
                    let element = self.element(&here, &place);
                    place.text = format!("{}[{index}]", place.text);
                    element
                }
                Segment::Several(selectors) => self.several(&here, selectors, &mut place, scope),
                Segment::Descendants(_) => return Type::any(),
            };
        }
        here
    }

    /// Follows a chain of names, as CEL does. `text` is the start of the chain, for messages, and
    /// `outcome` what happens without a field.
    pub(super) fn chain(
        &mut self,
        start: &Type,
        names: &[&str],
        (text, outcome): (&str, &'static str),
        (at, inside): (&Location, Range<usize>),
    ) -> Type {
        let segments: Vec<Segment> = names
            .iter()
            .map(|name| Segment::Name(Key::new(name)))
            .collect();
        let scope = Scope::of(Type::any());
        let place = PathPosition {
            inside: Some(inside),
            ..PathPosition::new(text, &segments, outcome, at)
        };
        self.walk(start.clone(), place, &scope)
    }

    fn member(&mut self, here: &Type, name: &Key, place: &mut PathPosition<'_>) -> Type {
        let text = format!("{}.{name}", place.text);
        let before = std::mem::replace(&mut place.text, text);
        let opened = place.opened.take();
        if here.any {
            let origin = here.origin.as_ref().and_then(|origin| origin.field(name));
            return Type {
                origin,
                ..Type::any()
            };
        }
        if here.is_null() || here.is_never() {
            return here.clone();
        }
        let Some(shape) = &here.map else {
            self.no_fields(here, name, &before, opened, place);
            return Type::any();
        };
        if shape.field(name).is_none() {
            self.no_field(shape, name, &before, place);
            return Type::any();
        }
        if shape.rest().is_some() {
            place.opened = Some((before, name.as_str().to_owned()));
        }
        let field = here.field(name).unwrap_or_else(Type::any);
        if has_more_than_map(here) {
            return field.or_null();
        }
        field
    }

    /// Reports a field that maps of this shape do not have.
    fn no_field(&mut self, shape: &Shape, name: &Key, before: &str, place: &PathPosition<'_>) {
        let message = format!("{before} has no field {name}, {}", place.outcome);
        let names = shape.names();
        let nearest = expr::nearest(name.as_str(), names.iter().map(String::as_str));
        let appended = appended(shape, name).filter(|_| place.rest.is_empty());
        let help = match (appended, nearest) {
            (Some((field, text)), _) => format!(
                "a text behind the value is {{\"@concat\": [\"{before}.{field}\", {text:?}]}}"
            ),
            (None, Some(nearest)) => format!("did you mean {nearest}?"),
            (None, None) if names.is_empty() => "it has no fields".to_owned(),
            (None, None) => format!("its fields are {}", listed(&names)),
        };
        self.report(place.warning(message).with_help(help));
    }

    /// Reports a field of something that is not a map.
    fn no_fields(
        &mut self,
        here: &Type,
        name: &Key,
        before: &str,
        opened: Option<(String, String)>,
        place: &PathPosition<'_>,
    ) {
        let found = here.clone().without_null();
        let outcome = place.outcome;
        let message = format!("{before} is {found}, which has no field {name}, {outcome}");
        let mut problem = place.warning(message);
        if let Some((map, key)) = opened {
            let names = place.rest.iter().map(|segment| match segment {
                Segment::Name(name) => Some(name.as_str()),
                Segment::Index(_) | Segment::Several(_) | Segment::Descendants(_) => None,
            });
            let names: Option<Vec<&str>> = names.collect();
            if let Some(names) = names {
                let all = [vec![key.as_str(), name.as_str()], names]
                    .concat()
                    .join(".");
                problem = problem.with_help(format!(
                    "a key with dots needs brackets, and the path quotes: '{map}[\"{all}\"]'"
                ));
            }
        } else if here.list.is_some() {
            problem = problem.with_help(format!(
                "{before}[0].{name} is that of the first element; for all use @map or @query"
            ));
        }
        self.report(problem);
    }

    fn element(&mut self, here: &Type, place: &PathPosition<'_>) -> Type {
        if here.any {
            return Type::any();
        }
        if here.is_null() || here.is_never() {
            return here.clone();
        }
        match &here.list {
            Some(element) => (**element).clone().or_null(),
            None => {
                let found = here.clone().without_null();
                let message = format!(
                    "{} is {found}, not a list, so this is always null",
                    place.text
                );
                let problem = place.warning(message);
                self.report(if here.map.is_some() {
                    problem.with_help("leave out the index; after @unwind the field is the element")
                } else {
                    problem
                });
                Type::any()
            }
        }
    }

    fn several(
        &mut self,
        here: &Type,
        selectors: &[Selector],
        place: &mut PathPosition<'_>,
        scope: &Scope,
    ) -> Type {
        let mut found = Type::null();
        let children = self.children(here);
        for selector in selectors {
            let child = match selector {
                Selector::Name(name) => {
                    let mut inner = PathPosition {
                        text: place.text.clone(),
                        opened: None,
                        inside: place.inside.clone(),
                        ..*place
                    };
                    self.member(here, name, &mut inner)
                }
                Selector::Index(_) => self.element(here, place),
                Selector::Wildcard | Selector::Slice(_) => children.clone(),
                Selector::Filter(filter) => {
                    let text = format!("an element of {}", place.text);
                    for segments in filter.element_reads() {
                        let inner = PathPosition::new(&text, segments, IS_NULL, place.at);
                        self.walk(children.clone(), inner, scope);
                    }
                    for path in filter.document_reads() {
                        self.read(path, place.at, scope);
                    }
                    for comparison in filter.comparisons() {
                        self.filtered(&comparison, &children, place.at);
                    }
                    children.clone()
                }
            };
            found = self.union(&found, &child);
        }
        place.text = format!("{}[…]", place.text);
        found.or_null()
    }

    /// The elements of lists and the values of maps.
    pub(super) fn children(&mut self, here: &Type) -> Type {
        if here.any {
            return Type::any();
        }
        let mut all = Type::default();
        if let Some(element) = &here.list {
            all = self.union(&all, element);
        }
        if let Some(shape) = &here.map {
            let fields = shape.fields();
            for field in fields.named.values().chain(&fields.rest) {
                all = self.union(&all, field);
            }
        }
        all
    }

    /// The type of a document with a field set.
    pub(super) fn set(
        &mut self,
        here: &Type,
        segments: &[Segment],
        value: Type,
        at: &Location,
    ) -> Type {
        let Some((segment, rest)) = segments.split_first() else {
            return value;
        };
        if !self.budget.take() {
            return Type::any();
        }
        match segment {
            Segment::Name(name) => {
                self.expect_settable(here, &Type::map_of(Type::any()), at);
                let child = if here.any {
                    Type::any()
                } else {
                    here.field(name).unwrap_or_else(Type::null)
                };
                let child = self.set(&child, rest, value.clone(), at);
                let set = self.overwritten(here, vec![(name.clone(), child)]);
                if !here.null || here.map.is_none() {
                    return set;
                }
                // A map that is missing is created, with this field only.
                let child = self.set(&Type::null(), rest, value, at);
                let created = Type::map(Fields::closed([(name.clone(), child)]));
                Type {
                    origin: set.origin.clone(),
                    ..self.union(&set, &created)
                }
            }
            Segment::Index(_) => {
                self.expect_settable(here, &Type::list(Type::any()), at);
                if here.any {
                    return Type::list(Type::any());
                }
                let element = here
                    .list
                    .as_ref()
                    .map_or_else(Type::null, |e| (**e).clone());
                // The list may be too short.
                let set = self.set(&element.clone().or_null(), rest, value, at);
                Type::list(self.union(&element, &set).or_null())
            }
            Segment::Several(_) => match &here.list {
                Some(element) if !here.any && here.map.is_none() => {
                    let set = self.set(element, rest, value, at);
                    Type::list(self.union(element, &set))
                }
                Some(_) | None => Type::any(),
            },
            Segment::Descendants(_) => Type::any(),
        }
    }

    /// Reports a field that is set in something that can never have fields.
    fn expect_settable(&mut self, here: &Type, wanted: &Type, at: &Location) {
        if here.is_null() || here.is_never() || here.null || here.overlaps(wanted) {
            return;
        }
        let message = format!("a field can only be set in {wanted}, but this is always {here}");
        let problem = self.fails("wrong-type", at, message);
        self.report(problem);
    }
}

/// The type at a path of names and indexes, without findings.
pub(super) fn peek(here: &Type, segments: &[Segment]) -> Type {
    let mut here = here.clone();
    for segment in segments {
        if here.any {
            return here;
        }
        here = match segment {
            Segment::Name(name) => here.field(name).unwrap_or_else(Type::null),
            Segment::Index(_) => match &here.list {
                Some(element) => (**element).clone().or_null(),
                None => Type::null(),
            },
            Segment::Several(_) | Segment::Descendants(_) => Type::any(),
        };
    }
    here
}

/// A field of this shape and the text that is written behind its name: `name-pdb`.
fn appended<'a>(shape: &Shape, name: &'a Key) -> Option<(&'a str, &'a str)> {
    let dash = name.as_str().find('-')?;
    let (field, text) = name.as_str().split_at(dash);
    let exists = shape.field(&Key::new(field)).is_some();
    exists.then_some((field, text))
}

fn has_more_than_map(found: &Type) -> bool {
    let mut rest = found.clone();
    rest.map = None;
    !rest.is_never()
}

/// The first names of a list.
pub(super) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        shown.push_str(", …");
    }
    shown
}

/// The type of a source object whose kind is not known: it has metadata, like every object.
pub(super) fn unknown_object() -> Type {
    let named = [
        (Key::new("apiVersion"), Type::string()),
        (Key::new("kind"), Type::string()),
        (Key::new("metadata"), Type::defined("ObjectMeta")),
    ];
    Type::map(Fields::new(named.into_iter().collect(), Some(Type::any())))
}

/// The type of a source, whose parts are known to come from it.
pub(super) fn from_source(object: Type, source: usize) -> Type {
    Type {
        origin: Some(Origin::of_source(source)),
        ..object
    }
}
