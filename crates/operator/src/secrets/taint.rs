//! Parts of documents.

use std::collections::BTreeMap;

use document::path::{Segment, Selector};
use document::{Key, Map, Value, View};

/// The text that is shown instead of a value.
pub const HIDDEN: &str = "***";

/// The parts of a document that may contain values of Secrets, or what is derived from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taint {
    /// Whether all of it may.
    all: bool,
    named: BTreeMap<Key, Taint>,
    /// The elements of a list, and the members of a map that are not named.
    others: Option<Box<Taint>>,
}

/// No part, for references.
pub(super) static NONE: Taint = Taint::NONE;

/// A document with more parts than these counts as tainted as a whole.
const MAX_PARTS: usize = 2_000;

impl Taint {
    /// No part.
    pub const NONE: Self = Self {
        all: false,
        named: BTreeMap::new(),
        others: None,
    };

    /// The whole document.
    pub const ALL: Self = Self {
        all: true,
        named: BTreeMap::new(),
        others: None,
    };

    /// All of it, or nothing.
    pub(super) fn whole(all: bool) -> Self {
        Self { all, ..Self::NONE }
    }

    /// These members.
    pub(super) fn members(named: impl IntoIterator<Item = (Key, Self)>) -> Self {
        let named = named.into_iter().filter(|(_, taint)| !taint.is_none());
        Self {
            named: named.collect(),
            ..Self::NONE
        }
    }

    /// The elements of a list, or all members of a map.
    pub(super) fn each(element: Self) -> Self {
        Self {
            others: (!element.is_none()).then(|| Box::new(element)),
            ..Self::NONE
        }
    }

    /// Whether it is no part.
    pub fn is_none(&self) -> bool {
        !self.all
            && self.others.as_ref().is_none_or(|others| others.is_none())
            && self.named.values().all(Self::is_none)
    }

    /// The part that is a member.
    pub(super) fn member(&self, name: &Key) -> Self {
        match self.named.get(name) {
            _ if self.all => Self::ALL,
            Some(member) => member.clone(),
            None => self.element(),
        }
    }

    /// The part that is an element of a list, or a member that is not named.
    pub(super) fn element(&self) -> Self {
        match &self.others {
            _ if self.all => Self::ALL,
            Some(others) => (**others).clone(),
            None => Self::NONE,
        }
    }

    /// The part that is any element or member.
    fn child(&self) -> Self {
        let mut all = self.element();
        for member in self.named.values() {
            all.add(member);
        }
        all
    }

    /// The part at a path.
    pub(super) fn at(&self, segments: &[Segment]) -> Self {
        let mut here = self.clone();
        for segment in segments {
            here = match segment {
                Segment::Name(name) => here.member(name),
                Segment::Index(_) => here.element(),
                // Which element a filter finds may depend on a tainted part of it.
                Segment::Several(selectors) if selectors.iter().any(is_filter) => here.spread(),
                Segment::Several(_) => here.child(),
                Segment::Descendants(_) => here.spread(),
            };
        }
        here
    }

    /// All of it, if any part is tainted.
    pub(super) fn spread(&self) -> Self {
        Self::whole(!self.is_none())
    }

    /// Adds the parts of another one.
    pub(super) fn add(&mut self, other: &Self) {
        if other.all {
            *self = Self::ALL;
        }
        if self.all {
            return;
        }
        for (name, member) in &other.named {
            let mut all = self.member(name);
            all.add(member);
            self.named.insert(name.clone(), all);
        }
        if let Some(others) = &other.others {
            for (name, member) in &mut self.named {
                if !other.named.contains_key(name) {
                    member.add(others);
                }
            }
            self.others.get_or_insert_default().add(others);
        }
    }

    /// The parts of both.
    #[must_use]
    pub(super) fn or(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Replaces the part at a path.
    pub(super) fn set(&mut self, segments: &[Segment], value: &Self) {
        if self.all {
            return;
        }
        match segments.split_first() {
            None => *self = value.clone(),
            Some((Segment::Name(name), rest)) => {
                let mut member = self.member(name);
                member.set(rest, value);
                self.named.insert(name.clone(), member);
            }
            Some((Segment::Index(_), rest)) => {
                let mut element = self.element();
                element.set(rest, value);
                self.others.get_or_insert_default().add(&element);
            }
            Some((Segment::Several(_) | Segment::Descendants(_), _)) => {
                self.add(&value.spread());
            }
        }
    }

    /// Itself, or all if it has too many parts.
    pub(super) fn bounded(self) -> Self {
        if self.size() > MAX_PARTS {
            return Self::ALL;
        }
        self
    }

    fn size(&self) -> usize {
        let named = self.named.values().map(Self::size);
        1 + named.sum::<usize>() + self.others.as_ref().map_or(0, |others| others.size())
    }

    /// A document in which the tainted parts are masked.
    pub fn masked(&self, value: &Value) -> Value {
        if self.all {
            return if value.is_null() {
                Value::NULL
            } else {
                HIDDEN.into()
            };
        }
        match value.view() {
            View::List(items) if self.others.is_some() => {
                let element = self.element();
                items.iter().map(|item| element.masked(item)).collect()
            }
            View::Map(map) if !self.is_none() => map
                .iter()
                .map(|(key, member)| (key.clone(), self.member(key).masked(member)))
                .collect::<Map>()
                .into(),
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_)
            | View::List(_)
            | View::Map(_) => value.clone(),
        }
    }
}

fn is_filter(selector: &Selector) -> bool {
    matches!(selector, Selector::Filter(_))
}

#[cfg(test)]
mod tests {
    use document::Path;
    use document::json;

    use super::*;

    fn tainted(paths: &[&str]) -> Taint {
        let mut taint = Taint::NONE;
        for path in paths {
            taint.set(Path::parse(path).unwrap().segments(), &Taint::ALL);
        }
        taint
    }

    #[test]
    fn only_tainted_parts_are_masked() {
        let document =
            json!({"a": {"b": "x", "c": {"d": 1}}, "l": [{"e": true, "f": 2}], "n": null});
        let taint = tainted(&["$.a.c", "$.l[0].e", "$.n"]);
        let expect = json!({"a": {"b": "x", "c": "***"}, "l": [{"e": "***", "f": 2}], "n": null});
        assert_eq!(taint.masked(&document), expect);
        assert_eq!(Taint::NONE.masked(&document), document);
    }

    #[test]
    fn a_union_covers_both() {
        let each = Taint::each(tainted(&["$.x"]));
        let both = tainted(&["$.a.y"]).or(&each);
        let document = json!({"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 4, "y": 5}});
        let expect = json!({"a": {"x": "***", "y": "***", "z": 3}, "b": {"x": "***", "y": 5}});
        assert_eq!(both.masked(&document), expect);
        assert_eq!(each.or(&tainted(&["$.a.y"])).masked(&document), expect);
    }

    #[test]
    fn paths_find_tainted_parts() {
        let taint = tainted(&["$.a.b", "$.l[0].c"]);
        let found = |path: &str| !taint.at(Path::parse(path).unwrap().segments()).is_none();
        for path in [
            "$.a",
            "$.a.b.x",
            "$..b",
            "$.l[2].c",
            "$.l[*].c",
            "$.l[?(@.d == 1)].d",
            "$",
        ] {
            assert!(found(path), "{path}");
        }
        for path in ["$.a.c", "$.l[0].d", "$.m", "$.l[*].d"] {
            assert!(!found(path), "{path}");
        }
    }
}
