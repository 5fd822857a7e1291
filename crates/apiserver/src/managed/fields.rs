//! The fields of objects, and what a write changes.

use document::{Key, Map, Value, View};
use fieldset::{FieldPath, FieldSet, PathElement};
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
    /// Owned as a whole.
    Whole,
}

fn sharing(path: &[PathElement], value: &Value) -> Sharing {
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
        _ => Sharing::Whole,
    }
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
pub(crate) fn fields_of(object: &Value, operation: Operation) -> FieldSet {
    let mut set = FieldSet::default();
    collect(object, &mut FieldPath::default(), operation, &mut set);
    set
}

fn collect(value: &Value, path: &mut FieldPath, operation: Operation, set: &mut FieldSet) {
    if unowned(&path.0) {
        return;
    }
    let sharing = sharing(&path.0, value);
    let itself = match sharing {
        Sharing::Struct => false,
        Sharing::Entries | Sharing::Set | Sharing::ByUid => {
            let empty = members(sharing, value).is_empty();
            operation == Operation::Update || empty
        }
        Sharing::Map | Sharing::Whole => true,
    };
    if itself {
        set.insert(path);
    }
    for (element, inside) in members(sharing, value) {
        path.0.push(element);
        match sharing {
            Sharing::Set | Sharing::ByUid => set.insert(path),
            _ => collect(inside, path, operation, set),
        }
        path.0.pop();
    }
}

/// The parts of a value that are owned by themselves.
fn members(sharing: Sharing, value: &Value) -> Vec<(PathElement, &Value)> {
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
        _ => Vec::new(),
    }
}

fn by_uid(reference: &Value) -> PathElement {
    let uid = reference.get_key(&KEYS.uid).clone();
    PathElement::Element(Map::from_entries(vec![(KEYS.uid.clone(), uid)]).into())
}

/// What turns one object into the other.
pub(crate) fn changes(old: &Value, new: &Value, operation: Operation) -> Changes {
    let mut changes = Changes::default();
    let mut path = FieldPath::default();
    compare(old, new, &mut path, operation, &mut changes);
    changes
}

fn compare(
    old: &Value,
    new: &Value,
    path: &mut FieldPath,
    operation: Operation,
    changes: &mut Changes,
) {
    if old == new || unowned(&path.0) {
        return;
    }
    let (before, after) = (sharing(&path.0, old), sharing(&path.0, new));
    if before != after || after == Sharing::Whole {
        let mut gone = FieldSet::default();
        collect(old, path, operation, &mut gone);
        let mut set = FieldSet::default();
        collect(new, path, operation, &mut set);
        changes.removed = changes.removed.union(&gone.difference(&set));
        changes.set = changes.set.union(&set);
        return;
    }
    let (before, after) = (members(before, old), members(after, new));
    let find = |all: &[(PathElement, &Value)], wanted: &PathElement| {
        let mut found = all.iter().filter(|(element, _)| element == wanted);
        found.next().map(|(_, value)| (*value).clone())
    };
    for (element, value) in &after {
        path.0.push(element.clone());
        match find(&before, element) {
            None => collect(value, path, operation, &mut changes.set),
            Some(old) if is_element(element) => {
                if old != **value {
                    changes.set.insert(path);
                }
            }
            Some(old) => compare(&old, value, path, operation, changes),
        }
        path.0.pop();
    }
    for (element, value) in &before {
        if find(&after, element).is_none() {
            path.0.push(element.clone());
            collect(value, path, operation, &mut changes.removed);
            path.0.pop();
        }
    }
}

fn is_element(element: &PathElement) -> bool {
    match element {
        PathElement::Field(_) => false,
        PathElement::Element(_) | PathElement::Value(_) | PathElement::Index(_) => true,
    }
}

/// An object with an applied configuration merged into it.
pub(crate) fn merge(live: &Value, config: &Value) -> Value {
    merged(live, config, &mut Vec::new())
}

fn merged(live: &Value, config: &Value, path: &mut Vec<PathElement>) -> Value {
    let sharing = sharing(path, config);
    match (sharing, live.view(), config.view()) {
        (Sharing::Struct | Sharing::Entries | Sharing::Map, View::Map(old), View::Map(new)) => {
            let mut result = old.clone();
            for (key, value) in new {
                path.push(PathElement::Field(key.clone()));
                let value = match old.get(key) {
                    Some(old) => merged(old, value, path),
                    None => value.clone(),
                };
                path.pop();
                result = result.with(key.clone(), value);
            }
            result.into()
        }
        (Sharing::Set | Sharing::ByUid, View::List(old), View::List(_)) => {
            let wanted = members(sharing, config);
            let kept = old.iter().filter(|item| {
                let element = match sharing {
                    Sharing::Set => PathElement::Value((*item).clone()),
                    _ => by_uid(item),
                };
                !wanted.iter().any(|(wanted, _)| *wanted == element)
            });
            let new = wanted.iter().map(|(_, item)| (*item).clone());
            kept.cloned().chain(new).collect()
        }
        _ => config.clone(),
    }
}

/// The object without these fields. A map that others still use stays.
pub(crate) fn without(object: &Value, fields: &FieldSet) -> Value {
    let mut paths = fields.paths();
    // The fields inside a map come before the map.
    paths.sort_by_key(|path| std::cmp::Reverse(path.0.len()));
    paths.iter().fold(object.clone(), |object, path| {
        let value = path.get(&object);
        let in_use = value.as_map().is_some_and(|map| !map.is_empty());
        if in_use {
            return object;
        }
        remove(&object, &path.0)
    })
}

fn remove(value: &Value, path: &[PathElement]) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value.clone();
    };
    match (first, value.view()) {
        (PathElement::Field(key), View::Map(map)) => remove_field(map, key, rest),
        (element, View::List(list)) => {
            let kept = list.iter().filter(|item| match element {
                PathElement::Value(wanted) => *item != wanted,
                _ => by_uid(item) != *element,
            });
            kept.cloned().collect()
        }
        _ => value.clone(),
    }
}

fn remove_field(map: &Map, key: &Key, rest: &[PathElement]) -> Value {
    match map.get(key) {
        Some(_) if rest.is_empty() => map.without(key.as_str()).into(),
        Some(inside) => map.with(key.clone(), remove(inside, rest)).into(),
        None => map.clone().into(),
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn an_apply_owns_its_leaves_and_maps() {
        let object = json!({
            "apiVersion": "g/v1", "kind": "K",
            "metadata": {"name": "a", "labels": {"app": "web"}, "finalizers": ["x"]},
            "spec": {"a": 1, "list": [1], "empty": {}}
        });
        let expect = json!({
            "f:metadata": {
                "f:labels": {"f:app": {}},
                "f:finalizers": {"v:\"x\"": {}}
            },
            "f:spec": {".": {}, "f:a": {}, "f:list": {}, "f:empty": {}}
        });
        assert_eq!(fields_of(&object, Operation::Apply).to_fields_v1(), expect);
    }

    #[test]
    fn changes_name_what_is_new_and_what_is_gone() {
        let old =
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"a": 1, "b": {"c": 1}}});
        let new = json!({"metadata": {"labels": {"a": "1", "c": "3"}}, "spec": {"a": 2, "d": [1]}});
        let changes = changes(&old, &new, Operation::Update);
        assert_eq!(
            changes.set.to_fields_v1(),
            json!({"f:metadata": {"f:labels": {"f:c": {}}}, "f:spec": {"f:a": {}, "f:d": {}}})
        );
        assert_eq!(
            changes.removed.to_fields_v1(),
            json!({"f:metadata": {"f:labels": {"f:b": {}}}, "f:spec": {"f:b": {".": {}, "f:c": {}}}})
        );
    }

    #[test]
    fn maps_merge_and_lists_are_replaced() {
        let live = json!({
            "metadata": {"finalizers": ["a", "b"]}, "spec": {"m": {"x": 1, "y": 2}, "l": [1, 2]}
        });
        let config = json!({"metadata": {"finalizers": ["c"]}, "spec": {"m": {"y": 3}, "l": [9]}});
        let expect = json!({
            "metadata": {"finalizers": ["a", "b", "c"]},
            "spec": {"m": {"x": 1, "y": 3}, "l": [9]}
        });
        assert_eq!(merge(&live, &config), expect);
    }

    #[test]
    fn a_map_that_others_use_stays() {
        let object = json!({"spec": {"m": {"x": 1, "y": 2}, "n": {"z": 1}}});
        let gone = fields_of(
            &json!({"spec": {"m": {"x": 1}, "n": {"z": 1}}}),
            Operation::Apply,
        );
        assert_eq!(without(&object, &gone), json!({"spec": {"m": {"y": 2}}}));
    }
}
