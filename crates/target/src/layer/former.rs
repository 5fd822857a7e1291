//! The values that were there before.

use std::collections::BTreeMap;

use document::Value;
use fieldset::{FieldPath, RemovedElement, element_before, put_back};
use object::GroupKind;

/// The value at a path before we wrote to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Was {
    /// There was none.
    Absent,
    /// This value.
    Value(Value),
    /// This list element with key fields, which we removed.
    Element {
        /// The element.
        element: Value,
        /// The key fields of the one before it, see [`element_before`]. `None` in a record that was
        /// written before records had it.
        after: Option<Value>,
    },
    /// It was not stored: the value that we wrote stays when the patch is withdrawn.
    NotKept,
}

/// The longest former value that is stored, in bytes of JSON.
const MAX_OLD: usize = 1024;
/// The total size of the former values that are stored for one Patcher and object.
const MAX_OLD_ALL: usize = 16 * 1024;

/// Decides which former values are stored. Those of Secrets are not, because a copy in a record
/// would outlive them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeper {
    left: usize,
}

impl Keeper {
    /// A keeper for an object of this kind, for which these former values are stored already.
    pub(crate) fn new<'a>(kind: &GroupKind, kept: impl Iterator<Item = &'a Was>) -> Self {
        let used: usize = kept.map(Was::size).sum();
        let left = if kind.is_secret() {
            0
        } else {
            MAX_OLD_ALL.saturating_sub(used)
        };
        Self { left }
    }

    /// The record of the value at a path of an object, which is about to be replaced.
    pub(crate) fn keep(&mut self, place: &FieldPath, object: &Value) -> Was {
        let live = place.get(object);
        if live.is_null() {
            return Was::Absent;
        }
        let was = Was::new(place, live.clone(), element_before(place, object));
        let size = was.size();
        if size > MAX_OLD || size > self.left {
            return Was::NotKept;
        }
        self.left -= size;
        was
    }
}

impl Was {
    /// The record of a former value at a path; `after` is for a list element.
    pub(crate) fn new(place: &FieldPath, value: Value, after: Option<Value>) -> Self {
        match place.key_fields() {
            Some(_) => Self::Element {
                element: value,
                after,
            },
            None => Self::Value(value),
        }
    }

    /// The former value, if there was one and it is known.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) | Self::Element { element: value, .. } => Some(value),
            Self::Absent | Self::NotKept => None,
        }
    }

    fn size(&self) -> usize {
        let after = match self {
            Self::Element { after, .. } => after.as_ref(),
            Self::Absent | Self::Value(_) | Self::NotKept => None,
        };
        let values = self.value().into_iter().chain(after);
        values.map(|value| value.to_string().len()).sum()
    }

    /// The object with this value restored at a path. Elements that were removed come back before,
    /// see [`with_elements`].
    pub(crate) fn put_back(&self, object: &Value, place: &FieldPath) -> Value {
        match self {
            Self::Absent => place.take(object),
            Self::Value(value) => place.set(object, value),
            Self::Element { .. } | Self::NotKept => object.clone(),
        }
    }
}

/// The object with the list elements that were removed from these paths. `was` has all records of
/// the same controller: where an element was may be known from another one that stays away.
pub(crate) fn with_elements<'a>(
    object: &Value,
    places: impl Iterator<Item = &'a FieldPath>,
    was: impl Fn(&FieldPath) -> Option<&'a Was>,
) -> Value {
    let mut lists: BTreeMap<FieldPath, BTreeMap<&Value, RemovedElement<'a>>> = BTreeMap::new();
    for place in places {
        if let (Some(keys), Some(Was::Element { element, after })) =
            (place.key_fields(), was(place))
        {
            let removed = RemovedElement {
                keys,
                element: Some(element),
                after: after.as_ref(),
            };
            lists
                .entry(place.outer())
                .or_default()
                .insert(keys, removed);
        }
    }
    lists
        .into_iter()
        .fold(object.clone(), |object, (list, mut removed)| {
            let mut open: Vec<&Value> = removed.values().filter_map(|one| one.after).collect();
            while let Some(keys) = open.pop() {
                if removed.contains_key(keys) {
                    continue;
                }
                if let Some(Was::Element { after, .. }) = was(&list.element(keys)) {
                    let after = after.as_ref();
                    let element = None;
                    removed.insert(
                        keys,
                        RemovedElement {
                            keys,
                            element,
                            after,
                        },
                    );
                    open.extend(after);
                }
            }
            let removed: Vec<RemovedElement<'_>> = removed.into_values().collect();
            put_back(&list, &object, &removed)
        })
}
