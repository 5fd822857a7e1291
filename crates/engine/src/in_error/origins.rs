//! Sets of source objects and origins, in which those of claims are looked up.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use document::Value;
use object::{GroupKind, ObjectName};
use operator::Controller;
use target::claim::{hidden_origin, is_opaque, short_origin};

use super::kind_of;

/// A part of an origin, without the name of its source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Object(ObjectName),
    /// A position, a key, or no object.
    Other(Value),
}

/// The kinds of the objects of an origin; `None` for an unknown one, and for other parts.
type Kinds = Vec<Option<GroupKind>>;

/// An origin as a claim or a record describes it.
#[derive(Clone, Debug)]
pub(crate) struct Claimed<'a> {
    origin: &'a Value,
    parts: Vec<Part>,
    kinds: Kinds,
}

impl<'a> Claimed<'a> {
    /// The origin of a document of this controller. A source that it no longer has may have any kind.
    pub(crate) fn new(origin: &'a Value, controller: Option<&Controller>) -> Self {
        let mut claimed = Self {
            origin,
            parts: Vec::new(),
            kinds: Kinds::new(),
        };
        for part in origin.as_list().into_iter().flatten() {
            let Some(name) = part.get("name").as_str() else {
                claimed.parts.push(Part::Other(part.clone()));
                claimed.kinds.push(None);
                continue;
            };
            let namespace = part.get("namespace").as_str().unwrap_or_default();
            let name = ObjectName::new(namespace, name);
            let source = part.get("source").as_str();
            let is_source = |name: &String| Some(name.as_str()) == source;
            let kind = controller.and_then(|controller| {
                let mut sources = controller.pipeline.sources.iter();
                kind_of(controller, sources.position(is_source)?)
            });
            claimed.parts.push(Part::Object(name));
            claimed.kinds.push(kind);
        }
        claimed
    }

    /// Whether it does not show at all what it contains.
    pub(super) fn is_hidden(&self) -> bool {
        *self.origin == hidden_origin()
    }

    /// Whether it may contain objects that it does not name: it is opaque, or the key of a group.
    pub(super) fn is_unnamed(&self) -> bool {
        let is_key = |part: &Part| matches!(part, Part::Other(part) if !part.get("key").is_null());
        is_opaque(self.origin) || self.parts.iter().any(is_key)
    }

    /// Whether both are the same origin.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same = self.origin == other.origin || *self.origin == short_origin(other.origin);
        let alike = !self.parts.is_empty() && self.parts == other.parts;
        same || (alike && fit(&self.kinds, &other.kinds))
    }
}

/// Whether the kinds may be the same.
fn fit(one: &[Option<GroupKind>], other: &[Option<GroupKind>]) -> bool {
    let mut both = one.iter().zip(other);
    both.all(|(one, other)| one.is_none() || other.is_none() || one == other)
}

/// Source objects, by their names and kinds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Objects(HashMap<ObjectName, BTreeSet<Option<GroupKind>>>);

impl Objects {
    pub(crate) fn insert(&mut self, kind: Option<GroupKind>, name: &ObjectName) {
        match self.0.entry(name.clone()) {
            Entry::Occupied(mut kinds) => {
                kinds.get_mut().insert(kind);
            }
            Entry::Vacant(none) => {
                none.insert([kind].into());
            }
        }
    }

    pub(super) fn insert_all(&mut self, origin: &Claimed<'_>) {
        for (part, kind) in origin.parts.iter().zip(&origin.kinds) {
            if let Part::Object(name) = part {
                self.insert(kind.clone(), name);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an origin names one of them.
    pub(crate) fn has_one_of(&self, origin: &Claimed<'_>) -> bool {
        let mut parts = origin.parts.iter().zip(&origin.kinds);
        parts.any(|(part, kind)| {
            let Part::Object(name) = part else {
                return false;
            };
            let Some(kinds) = self.0.get(name) else {
                return false;
            };
            kind.is_none() || kinds.contains(kind) || kinds.contains(&None)
        })
    }

    /// Whether an origin may contain one of them.
    pub(crate) fn may_be_in(&self, origin: &Claimed<'_>) -> bool {
        !self.is_empty() && (is_opaque(origin.origin) || self.has_one_of(origin))
    }
}

/// Origins, and the beginnings of these.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins {
    /// For each list of parts the kinds with which it occurs, and whether as a whole origin.
    parts: HashMap<Vec<Part>, BTreeMap<Kinds, bool>>,
    /// The numbers of parts of whole origins.
    lengths: BTreeSet<usize>,
    /// What claims contain in place of origins that are too long.
    shortened: BTreeSet<Value>,
}

impl Origins {
    pub(super) fn insert(&mut self, origin: &Claimed<'_>) {
        let short = short_origin(origin.origin);
        if is_opaque(&short) {
            self.shortened.insert(short);
        }
        self.lengths.insert(origin.parts.len());
        for len in 1..=origin.parts.len() {
            let (parts, kinds) = (&origin.parts[..len], &origin.kinds[..len]);
            let all = self.parts.entry(parts.to_vec()).or_default();
            *all.entry(kinds.to_vec()).or_default() |= len == origin.parts.len();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Whether an origin is one of these, or one of them is part of the other: the elements of a list
    /// that was unwound, and the document that contains it.
    pub(super) fn covers(&self, origin: &Claimed<'_>) -> bool {
        if is_opaque(origin.origin) {
            return self.shortened.contains(origin.origin);
        }
        let len = origin.parts.len();
        let mut shorter = self.lengths.range(..len);
        shorter.any(|shorter| self.has(origin, *shorter, true)) || self.has(origin, len, false)
    }

    /// Whether one of these begins with that many parts of an origin, and has no more, if it is to be
    /// `whole`.
    fn has(&self, origin: &Claimed<'_>, len: usize, whole: bool) -> bool {
        let known = self.parts.get(&origin.parts[..len]);
        let mut known = known.into_iter().flatten();
        known.any(|(kinds, is_whole)| (*is_whole || !whole) && fit(kinds, &origin.kinds[..len]))
    }
}
