//! The record of one path, as it is printed in the annotation.

use std::collections::BTreeMap;

use document::{Value, json};
use fieldset::FieldPath;
use fieldset::compare::without_nulls;
use object::marks::short_hash;

use crate::layer::Was;
use crate::relocated::Entry;

/// The record of one path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathRecord {
    /// A hash of the value that we sent.
    pub(super) sent: String,
    /// A hash of the value that the server stored, if it differs from the value that we sent.
    pub(super) stored: Option<String>,
    /// A hash of the value that we wrote before, if the path may still have it: the record of a
    /// status is written before the status itself.
    pub(super) over: Option<String>,
    /// Whether we certainly wrote it. Values of an Applier may belong to somebody else as well,
    /// and so may those in records of the first format, which contained everything that a
    /// Patcher yields. Both are printed as a string instead of a map.
    pub(super) certain: bool,
    /// The previous value.
    pub(super) was: Was,
    /// A hash of what others have in the list element without key fields that the path is in.
    pub(super) element: Option<String>,
}

impl PathRecord {
    /// The record of a path, as it was printed.
    pub(super) fn parse(place: &FieldPath, mark: &Value) -> Option<Self> {
        let word = |field: &str| mark.get(field).as_str().map(str::to_owned);
        let Some(text) = mark.as_str() else {
            return Some(Self {
                sent: word("sent")?,
                stored: word("stored"),
                over: word("over"),
                certain: true,
                was: match mark.get("was") {
                    was if !was.is_null() => {
                        let after = mark.get("after");
                        let after = after.as_map().map(|_| after.clone());
                        Was::new(place, was.clone(), after)
                    }
                    _ if mark.get("absent").as_bool() == Some(true) => Was::Absent,
                    _ => Was::NotKept,
                },
                element: word("in"),
            });
        };
        let (sent, stored) = match text.split_once(' ') {
            Some((sent, stored)) => (sent, Some(stored.to_owned())),
            None => (text, None),
        };
        Some(Self {
            sent: sent.to_owned(),
            stored,
            over: None,
            certain: false,
            was: Was::NotKept,
            element: None,
        })
    }

    /// Whether this is the value that we sent, or that the server stored, or that we wrote before.
    pub(super) fn holds(&self, live: &Value) -> bool {
        let live = value_hash(live);
        let others = [&self.stored, &self.over];
        self.sent == live || others.contains(&&Some(live))
    }

    pub(super) fn print(&self) -> Value {
        let (sent, stored) = (self.sent.as_str(), self.stored.as_deref());
        if self.certain {
            let was = self.was.value().cloned().unwrap_or_default();
            let (absent, after) = match &self.was {
                Was::Absent => (Value::from(true), Value::NULL),
                Was::Element { after, .. } => (Value::NULL, after.clone().unwrap_or_default()),
                Was::Value(_) | Was::NotKept => (Value::NULL, Value::NULL),
            };
            let hash = |hash: Option<&str>| hash.map(Value::from).unwrap_or_default();
            let (stored, over) = (hash(stored), hash(self.over.as_deref()));
            let element = hash(self.element.as_deref());
            return json!({
                "sent": sent, "stored": stored, "over": over, "was": was, "after": after,
                "absent": absent, "in": element,
            });
        }
        match stored {
            Some(stored) => Value::from(format!("{sent} {stored}")),
            None => Value::from(sent),
        }
    }
}

impl Entry for PathRecord {
    fn is_new(&self) -> bool {
        self.certain && self.was == Was::Absent
    }

    fn holds(&self, live: &Value) -> bool {
        live.as_map().is_some() || PathRecord::holds(self, live)
    }

    fn is_all(&self, _: &[(FieldPath, &Self)], live: &Value) -> bool {
        PathRecord::holds(self, live)
    }

    fn element(&self) -> Option<&str> {
        self.element.as_deref()
    }

    fn set_element(&mut self, hash: String) {
        self.element = Some(hash).filter(|_| self.certain);
    }
}

/// A hash of a value; null equals absent.
pub(crate) fn value_hash(value: &Value) -> String {
    short_hash(&without_nulls(value).canonical())
}

/// Records of the first format have no previous values. A map or element in them was created by
/// us, with all recorded paths inside it. Labels and annotations count as created by us, too:
/// the server has no defaults for them, so that removing them is safe. Nothing is known about
/// other paths, and these stay.
pub(super) fn guess_absent(paths: &mut BTreeMap<FieldPath, PathRecord>) {
    let doubtful = paths.iter_mut().filter(|(_, mark)| !mark.certain);
    let mut around: Option<(&FieldPath, &mut PathRecord)> = None;
    for (place, mark) in doubtful {
        if place.top() == "metadata" {
            mark.was = Was::Absent;
        }
        match &mut around {
            Some((map, made)) if place.within(map) => {
                made.was = Was::Absent;
                mark.was = Was::Absent;
            }
            _ => around = Some((place, mark)),
        }
    }
}
