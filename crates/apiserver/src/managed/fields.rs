//! The fields of objects, and what a write changes.
//!
//! A list belongs to one manager as a whole, unless its kind has [`MergeKeys`] for it: then it is
//! shared by elements, as in the kinds of Kubernetes itself. Views have none.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, View};
use fieldset::{FieldPath, FieldSet, Identity, MergeKeys, PathElement};
use object::metadata::KEYS;

use super::Operation;

/// The fields that a write changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// The fields that are new or have another value.
    pub(crate) set: FieldSet,
    /// The fields that are gone.
    pub(crate) removed: FieldSet,
}

/// Fields of metadata that no manager owns.
const UNOWNED: [&str; 11] = [
    "name",
    "namespace",
    "generateName",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// How the value of a field is shared among managers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// The object itself and its metadata: only the fields inside are owned.
    Struct,
    /// Labels and annotations: the entries are owned; the map itself by updates, or if it is
    /// empty.
    Entries,
    /// A map of any depth, which is owned together with its entries.
    Map,
    /// A list of unique values, which is owned as labels are.
    Set,
    /// A list of maps with unique uids, likewise.
    ByUid,
    /// A list of maps that have merge keys. The fields of its elements are owned.
    ByKeys,
    /// Owned as a whole.
    Whole,
}

fn sharing(path: &[PathElement], value: &Value, keys: &MergeKeys) -> Sharing {
    let field = |at: usize| match path.get(at) {
        Some(PathElement::Field(field)) => field.as_str(),
        _ => "",
    };
    let is_map = value.as_map().is_some();
    match (path.len(), field(0), field(1)) {
        (0, ..) | (1, "metadata", _) if is_map => Sharing::Struct,
        (2, "metadata", "labels" | "annotations") if is_map => Sharing::Entries,
        (2, "metadata", "finalizers") if value.as_list().is_some() => Sharing::Set,
        (2, "metadata", "ownerReferences") if value.as_list().is_some() => Sharing::ByUid,
        (_, "metadata", _) => Sharing::Whole,
        _ if is_map => Sharing::Map,
        _ if identity(path, value, keys).is_some() => Sharing::ByKeys,
        _ => Sharing::Whole,
    }
}

/// The merge keys of a list, if it has any.
fn identity(path: &[PathElement], value: &Value, keys: &MergeKeys) -> Option<Identity> {
    let list = value.as_list()?;
    let names = path.iter().filter_map(|step| match step {
        PathElement::Field(field) => Some(field.clone()),
        PathElement::Element(_) | PathElement::Value(_) | PathElement::Index(_) => None,
    });
    let names: Vec<Key> = names.collect();
    keys.of(&names, &[list])
}

/// Whether no manager owns this field.
fn unowned(path: &[PathElement]) -> bool {
    let field = |at: usize| match path.get(at) {
        Some(PathElement::Field(field)) => field.as_str(),
        _ => "",
    };
    match path.len() {
        1 => matches!(field(0), "apiVersion" | "kind"),
        2 => field(0) == "metadata" && UNOWNED.contains(&field(1)),
        _ => false,
    }
}

/// The fields of an object that belong to whoever writes it.
pub(crate) fn fields_of(object: &Value, operation: Operation, keys: &MergeKeys) -> FieldSet {
    let mut set = FieldSet::default();
    let mut path = FieldPath::default();
    collect(object, &mut path, (operation, keys), &mut set);
    set
}

/// Who writes, and the merge keys of the kind.
type Rules<'a> = (Operation, &'a MergeKeys);

fn collect(value: &Value, path: &mut FieldPath, rules: Rules<'_>, set: &mut FieldSet) {
    if unowned(&path.0) {
        return;
    }
    let (operation, keys) = rules;
    let sharing = sharing(&path.0, value, keys);
    let members = members(sharing, value, &path.0, keys);
    let itself = match sharing {
        Sharing::Struct => false,
        Sharing::Entries | Sharing::Set | Sharing::ByUid => {
            operation == Operation::Update || members.is_empty()
        }
        Sharing::ByKeys => members.is_empty(),
        Sharing::Map | Sharing::Whole => true,
    };
    if itself {
        set.insert(path);
    }
    for (element, inside) in members {
        path.0.push(element);
        match sharing {
            Sharing::Set | Sharing::ByUid => set.insert(path),
            _ => collect(inside, path, rules, set),
        }
        path.0.pop();
    }
}

/// The parts of a value that are owned by themselves.
fn members<'a>(
    sharing: Sharing,
    value: &'a Value,
    path: &[PathElement],
    keys: &MergeKeys,
) -> Vec<(PathElement, &'a Value)> {
    match (sharing, value.view()) {
        (Sharing::Struct | Sharing::Entries | Sharing::Map, View::Map(map)) => map
            .iter()
            .map(|(key, value)| (PathElement::Field(key.clone()), value))
            .collect(),
        (Sharing::Set, View::List(list)) => list
            .iter()
            .map(|item| (PathElement::Value(item.clone()), item))
            .collect(),
        (Sharing::ByUid, View::List(list)) => {
            list.iter().map(|item| (by_uid(item), item)).collect()
        }
        (Sharing::ByKeys, View::List(list)) => {
            let Some(identity) = identity(path, value, keys) else {
                return Vec::new();
            };
            list.iter()
                .map(|item| (PathElement::Element(identity.of(item).into()), item))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn by_uid(reference: &Value) -> PathElement {
    let uid = reference.get_key(&KEYS.uid).clone();
    PathElement::Element(Map::from_entries(vec![(KEYS.uid.clone(), uid)]).into())
}

/// What turns one object into the other.
pub(crate) fn changes(old: &Value, new: &Value, operation: Operation, keys: &MergeKeys) -> Changes {
    let mut changes = Changes::default();
    let mut path = FieldPath::default();
    compare(old, new, &mut path, (operation, keys), &mut changes);
    changes
}

fn compare(
    old: &Value,
    new: &Value,
    path: &mut FieldPath,
    rules: Rules<'_>,
    changes: &mut Changes,
) {
    if old == new || unowned(&path.0) {
        return;
    }
    let keys = rules.1;
    let (before, after) = (sharing(&path.0, old, keys), sharing(&path.0, new, keys));
    if before != after || after == Sharing::Whole {
        let mut gone = FieldSet::default();
        collect(old, path, rules, &mut gone);
        let mut set = FieldSet::default();
        collect(new, path, rules, &mut set);
        changes.removed.add(&gone.difference(&set));
        changes.set.add(&set);
        return;
    }
    // Clients choose how many members there are: each is found without visiting the others.
    let opaque = matches!(after, Sharing::Set | Sharing::ByUid);
    let before = members(before, old, &path.0, keys);
    let after = members(after, new, &path.0, keys);
    let by_element = |all: &[(PathElement, &Value)]| -> BTreeMap<PathElement, Value> {
        // Of several equal elements the first one counts.
        let all = all.iter().rev();
        all.map(|(element, value)| (element.clone(), (*value).clone()))
            .collect()
    };
    let (old, new) = (by_element(&before), by_element(&after));
    for (element, value) in &after {
        path.0.push(element.clone());
        match old.get(element) {
            None => collect(value, path, rules, &mut changes.set),
            Some(old) if opaque => {
                if old != *value {
                    changes.set.insert(path);
                }
            }
            Some(old) => compare(old, value, path, rules, changes),
        }
        path.0.pop();
    }
    for (element, value) in &before {
        if !new.contains_key(element) {
            path.0.push(element.clone());
            collect(value, path, rules, &mut changes.removed);
            path.0.pop();
        }
    }
}

/// An object with an applied configuration merged into it.
pub(crate) fn merge(live: &Value, config: &Value, keys: &MergeKeys) -> Value {
    merged(live, config, &mut Vec::new(), keys)
}

fn merged(live: &Value, config: &Value, path: &mut Vec<PathElement>, keys: &MergeKeys) -> Value {
    let shared = sharing(path, config, keys);
    match (shared, live.view(), config.view()) {
        (Sharing::Struct | Sharing::Entries | Sharing::Map, View::Map(old), View::Map(new)) => {
            let mut entries = old.entries().to_vec();
            for (key, value) in new {
                path.push(PathElement::Field(key.clone()));
                let value = match old.get(key) {
                    Some(old) => merged(old, value, path, keys),
                    None => value.clone(),
                };
                path.pop();
                // The last entry of a key counts.
                entries.push((key.clone(), value));
            }
            Map::from_entries(entries).into()
        }
        (Sharing::Set | Sharing::ByUid, View::List(old), View::List(_)) => {
            let wanted = members(shared, config, path, keys);
            let known: BTreeSet<&PathElement> = wanted.iter().map(|(element, _)| element).collect();
            let kept = old.iter().filter(|item| {
                let element = match shared {
                    Sharing::Set => PathElement::Value((*item).clone()),
                    _ => by_uid(item),
                };
                !known.contains(&element)
            });
            let new = wanted.iter().map(|(_, item)| (*item).clone());
            kept.cloned().chain(new).collect()
        }
        (Sharing::ByKeys, View::List(_), View::List(_))
            if sharing(path, live, keys) == Sharing::ByKeys =>
        {
            let old = members(shared, live, path, keys);
            let wanted = members(shared, config, path, keys);
            let of = |all: &[(PathElement, &Value)]| -> BTreeMap<PathElement, Value> {
                let all = all.iter().cloned();
                all.map(|(element, value)| (element, value.clone()))
                    .collect()
            };
            let (there, given) = (of(&old), of(&wanted));
            let mut items = Vec::new();
            for (element, item) in old {
                match given.get(&element) {
                    Some(new) => {
                        path.push(element);
                        items.push(merged(item, new, path, keys));
                        path.pop();
                    }
                    None => items.push(item.clone()),
                }
            }
            let new = wanted
                .into_iter()
                .filter(|(element, _)| !there.contains_key(element));
            items.extend(new.map(|(_, item)| item.clone()));
            Value::list(items)
        }
        _ => config.clone(),
    }
}

/// The object without these fields. A map that others still use stays.
pub(crate) fn without(object: &Value, fields: &FieldSet, keys: &MergeKeys) -> Value {
    stripped(object, fields, &mut Vec::new(), keys)
}

fn stripped(
    object: &Value,
    fields: &FieldSet,
    path: &mut Vec<PathElement>,
    keys: &MergeKeys,
) -> Value {
    match object.view() {
        View::Map(map) => {
            // An element keeps its key fields as long as it is there.
            let named = match path.last() {
                Some(PathElement::Element(named)) => named.clone(),
                _ => Value::NULL,
            };
            let mut kept = Vec::new();
            for (key, value) in map {
                let element = PathElement::Field(key.clone());
                let given_up = fields.below(&element);
                let Some(fields) = given_up.filter(|_| named.get_key(key).is_null()) else {
                    kept.push((key.clone(), value.clone()));
                    continue;
                };
                path.push(element);
                let value = stripped(value, fields, path, keys);
                path.pop();
                let in_use = value.as_map().is_some_and(|map| !map.is_empty());
                if in_use || !fields.has_itself() {
                    kept.push((key.clone(), value));
                }
            }
            Map::from_sorted(kept).into()
        }
        View::List(list) if fields.elements().next().is_some() => {
            let identity = identity(path, object, keys);
            let mut kept = Vec::new();
            for item in list {
                let by_keys = |identity: &Identity| {
                    let element = PathElement::Element(identity.of(item).into());
                    let fields = fields.below(&element)?;
                    Some((element, fields))
                };
                let Some((element, fields)) = identity.as_ref().and_then(by_keys) else {
                    if !is_given_up(item, fields) {
                        kept.push(item.clone());
                    }
                    continue;
                };
                path.push(element);
                let rest = stripped(item, fields, path, keys);
                path.pop();
                let named = identity.as_ref().map(|identity| identity.of(item));
                let count = |map: Option<&Map>| map.map_or(0, |map| map.iter().count());
                let only_keys = count(rest.as_map()) <= count(named.as_ref());
                // An owner is owned as a whole: nothing of it is named.
                let whole = fields.elements().next().is_none();
                if !(fields.has_itself() && (whole || only_keys)) {
                    kept.push(rest);
                }
            }
            Value::list(kept)
        }
        _ => object.clone(),
    }
}

/// Whether an element that is owned as a whole is given up.
fn is_given_up(item: &Value, fields: &FieldSet) -> bool {
    let elements = [PathElement::Value(item.clone()), by_uid(item)];
    let mut owned = elements.iter().filter_map(|element| fields.below(element));
    owned.any(FieldSet::has_itself)
}

#[cfg(test)]
mod tests;
