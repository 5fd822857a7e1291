//! `managedFields`: which manager has set which fields.
//!
//! Maps are shared by field, lists belong to one manager as a whole, as in custom resources
//! without a schema. In metadata, finalizers are a set and ownerReferences a map by uid.

mod fields;

use std::cmp::Ordering;

use document::{Key, Map, Value, json};
use fieldset::{FieldPath, FieldSet, PathElement};
use object::metadata::KEYS;

pub(crate) use fields::{Changes, changes, fields_of, merge, without};

/// How many managers that update are remembered; older ones are merged into one. Managers that
/// apply do not count.
const MAX_UPDATE_MANAGERS: usize = 10;
/// The manager that older ones are merged into, as in kube-apiserver.
const ANCIENT: &str = "ancient-changes";

/// How a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// The manager of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    /// `status`, or empty.
    pub(crate) subresource: String,
}

impl Manager {
    /// Whether both are the same manager, in any version of the API.
    fn is(&self, other: &Self) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
    }
}

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Managed {
    pub(crate) manager: Manager,
    pub(crate) time: String,
    pub(crate) fields: FieldSet,
}

/// The managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Managers(pub(crate) Vec<Managed>);

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldConflict {
    pub(crate) manager: Manager,
    pub(crate) fields: Vec<FieldPath>,
}

impl Managers {
    /// The managers of an object. Entries that cannot be read are dropped.
    pub(crate) fn of(object: &Value) -> Self {
        let list = object.get_key(&KEYS.metadata).get_key(&KEYS.managed_fields);
        let entries = list.as_list().into_iter().flatten();
        Self(entries.filter_map(read).collect())
    }

    /// The managers before an update: those that the client sends, or else those of the live
    /// object. A list with one empty entry resets them.
    pub(crate) fn sent(live: &Value, object: &Value) -> Self {
        let list = object.get_key(&KEYS.metadata).get_key(&KEYS.managed_fields);
        let entries: Vec<&Value> = list.as_list().into_iter().flatten().collect();
        if matches!(entries.as_slice(), [one] if one.as_map().is_some_and(Map::is_empty)) {
            return Self::default();
        }
        let read: Option<Vec<Managed>> = entries.iter().map(|entry| read(entry)).collect();
        match read {
            Some(managers) if !managers.is_empty() => Self(managers),
            Some(_) | None => Self::of(live),
        }
    }

    /// The object with these managers.
    pub(crate) fn put(&self, object: &Value) -> Value {
        let entries: Value = self.0.iter().map(print).collect();
        let metadata = object.get_key(&KEYS.metadata);
        let metadata = match (metadata.as_map(), self.0.is_empty()) {
            (Some(map), true) => map.without(KEYS.managed_fields.as_str()),
            (Some(map), false) => map.with(KEYS.managed_fields.clone(), entries),
            (None, _) => return object.clone(),
        };
        object.as_map().map_or(Value::NULL, |map| {
            map.with(KEYS.metadata.clone(), metadata.into()).into()
        })
    }

    /// The managers after an update: its manager gets what it has changed, and the others lose
    /// it.
    pub(crate) fn after_update(mut self, manager: &Manager, changes: &Changes, time: &str) -> Self {
        if changes.set.is_empty() && changes.removed.is_empty() {
            return self;
        }
        let touched = changes.set.union(&changes.removed);
        let mut own = FieldSet::default();
        self.0.retain_mut(|managed| {
            if managed.manager.is(manager) {
                own = std::mem::take(&mut managed.fields);
                return false;
            }
            managed.fields = managed.fields.difference(&touched);
            !managed.fields.is_empty()
        });
        let fields = own.union(&changes.set).difference(&changes.removed);
        if !fields.is_empty() {
            self.0.push(Managed {
                manager: manager.clone(),
                time: time.to_owned(),
                fields,
            });
        }
        self.forget_old();
        self
    }

    /// The fields that these changes would take from other managers.
    pub(crate) fn conflicts(&self, manager: &Manager, changes: &Changes) -> Vec<FieldConflict> {
        let others = self.0.iter().filter(|managed| !managed.manager.is(manager));
        let conflicts = others.map(|managed| {
            let mut fields = managed.fields.intersection(&changes.set).paths();
            fields.sort_by(order);
            FieldConflict {
                manager: managed.manager.clone(),
                fields,
            }
        });
        let mut conflicts: Vec<FieldConflict> = conflicts
            .filter(|conflict| !conflict.fields.is_empty())
            .collect();
        conflicts.sort_by(|a, b| a.manager.name.cmp(&b.manager.name));
        conflicts
    }

    /// The fields that this manager owns.
    pub(crate) fn fields(&self, manager: &Manager) -> FieldSet {
        let mut own = self.0.iter().filter(|managed| managed.manager.is(manager));
        own.next()
            .map(|managed| managed.fields.clone())
            .unwrap_or_default()
    }

    /// The fields that others than this manager own.
    pub(crate) fn others(&self, manager: &Manager) -> FieldSet {
        let others = self.0.iter().filter(|managed| !managed.manager.is(manager));
        others.fold(FieldSet::default(), |all, managed| {
            all.union(&managed.fields)
        })
    }

    /// The managers after an apply of these fields.
    pub(crate) fn after_apply(
        mut self,
        manager: &Manager,
        fields: FieldSet,
        changes: &Changes,
        time: &str,
    ) -> Self {
        let before = self
            .0
            .iter()
            .find(|managed| managed.manager.is(manager))
            .filter(|managed| managed.fields == fields || time.is_empty())
            .map(|managed| managed.time.clone());
        self.0.retain_mut(|managed| {
            if managed.manager.is(manager) {
                return false;
            }
            let taken = changes.set.union(&changes.removed);
            managed.fields = managed.fields.difference(&taken);
            !managed.fields.is_empty()
        });
        if !fields.is_empty() {
            // An apply that changes nothing is not a change of the object.
            self.0.push(Managed {
                manager: manager.clone(),
                time: before.unwrap_or_else(|| time.to_owned()),
                fields,
            });
        }
        self.sort();
        self
    }

    /// Applies come first, then updates by their time.
    fn sort(&mut self) {
        self.0.sort_by(|a, b| {
            let rank = |managed: &Managed| managed.manager.operation == Operation::Update;
            (rank(a), &a.time, &a.manager.name).cmp(&(rank(b), &b.time, &b.manager.name))
        });
    }

    fn forget_old(&mut self) {
        self.sort();
        let is_update = |managed: &Managed| managed.manager.operation == Operation::Update;
        while self.0.iter().filter(|managed| is_update(managed)).count() > MAX_UPDATE_MANAGERS {
            let mut updates = (0..self.0.len()).filter(|at| is_update(&self.0[*at]));
            let (Some(first), Some(second)) = (updates.next(), updates.next()) else {
                return;
            };
            let second = self.0.remove(second);
            let first = &mut self.0[first];
            ANCIENT.clone_into(&mut first.manager.name);
            first.fields = first.fields.union(&second.fields);
            first.time = second.time;
        }
    }
}

fn read(entry: &Value) -> Option<Managed> {
    let text = |key: &str| entry.get(key).as_str().unwrap_or_default().to_owned();
    let operation = match entry.get("operation").as_str()? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    Some(Managed {
        manager: Manager {
            name: text("manager"),
            operation,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
        },
        time: text("time"),
        fields: FieldSet::from_fields_v1(entry.get("fieldsV1")).ok()?,
    })
}

fn print(managed: &Managed) -> Value {
    let manager = &managed.manager;
    let operation = match manager.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let entry = json!({
        "manager": (manager.name.as_str()),
        "operation": operation,
        "apiVersion": (manager.api_version.as_str()),
        "time": (managed.time.as_str()),
        "fieldsType": "FieldsV1",
        "fieldsV1": (managed.fields.to_fields_v1())
    });
    let Some(mut entry) = entry.as_map().cloned() else {
        return entry;
    };
    if !manager.subresource.is_empty() {
        entry = entry.with(Key::new("subresource"), manager.subresource.as_str().into());
    }
    if managed.time.is_empty() {
        entry = entry.without("time");
    }
    entry.into()
}

/// The order of fields in conflicts: those of a map come before those of the maps in it.
fn order(a: &FieldPath, b: &FieldPath) -> Ordering {
    let same = a.0.iter().zip(&b.0).take_while(|(a, b)| a == b).count();
    let rest = |path: &FieldPath| path.0.len() > same + 1;
    let next = |path: &FieldPath| path.0.get(same).map(|element| format!("{element:?}"));
    (rest(a), next(a)).cmp(&(rest(b), next(b)))
}

/// A path as it is printed in conflicts: `.spec.a`, `.metadata.finalizers`.
pub(crate) fn shown(path: &FieldPath) -> String {
    let steps = path.0.iter().map(|step| match step {
        PathElement::Field(field) => format!(".{field}"),
        PathElement::Element(keys) => {
            let keys = keys.as_map().into_iter().flat_map(Map::iter);
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        PathElement::Value(value) => format!("[={value}]"),
        PathElement::Index(at) => format!("[{at}]"),
    });
    steps.collect()
}
