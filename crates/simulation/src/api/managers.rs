//! Field managers: who owns which field of an object, and server-side apply.
//!
//! Leaves are owned: fields that are not maps, and empty maps. Whoever creates a map with an update
//! also owns the map itself, which `managedFields` shows as `.`; what others add to it is theirs. The
//! elements of a list of maps with names are merged by name where the kind says so; any other list
//! is one leaf, and so is the list that a kind names ([`Kind::atomic`]).

use std::collections::{BTreeMap, BTreeSet};

use document::{Value, json};
use fieldset::FieldSet;

use super::elements::{self, get, is_element, path, put, remove};
use super::kind::Kind;
use crate::fields::{at, set, unset};

/// The steps to a leaf: names of fields, and of elements in the form `[name]`.
pub(super) type Leaf = Vec<String>;

/// A manager, and whether it applies or else updates.
type Manager = (String, bool);

/// The owners of the leaves and maps of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Managers {
    owners: BTreeMap<Leaf, BTreeSet<Manager>>,
    /// Whether elements of lists are merged by name.
    named_elements: bool,
    /// The list of maps with names that is one leaf nevertheless.
    atomic: &'static [&'static str],
    /// Whether the status is a subresource.
    status: bool,
}

/// An apply request.
pub struct Apply<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The applied configuration.
    pub body: &'a Value,
    /// Whether to take fields from others.
    pub force: bool,
    /// The part of the object that the request writes.
    pub part: ManagedPart,
}

/// The part of an object that a request writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedPart {
    /// Everything.
    Whole,
    /// Everything except the status, which is a subresource.
    Main,
    /// The status.
    Status,
}

impl ManagedPart {
    fn has(self, leaf: &[String]) -> bool {
        let status = leaf.first().is_some_and(|field| field == "status");
        match self {
            Self::Whole => true,
            Self::Main => !status,
            Self::Status => status,
        }
    }
}

impl Managers {
    /// The owners of a new object of this kind.
    pub fn new(kind: &Kind) -> Self {
        Self {
            owners: BTreeMap::new(),
            named_elements: !kind.is_custom(),
            atomic: kind.atomic,
            status: kind.status,
        }
    }

    /// Removes ownership of fields that the server has dropped.
    pub fn prune(&mut self, object: &Value) {
        let there = self.fields(object);
        self.owners.retain(|field, _| there.contains_key(field));
    }

    /// Records an update: the manager owns what it has changed.
    pub fn updated(&mut self, old: &Value, new: &Value, manager: &str) {
        let (old, new) = (self.fields(old), self.fields(new));
        self.owners.retain(|field, _| new.contains_key(field));
        for (field, value) in &new {
            if old.get(field) != Some(value) {
                let owner = (manager.to_owned(), false);
                self.owners.insert(field.clone(), [owner].into());
            }
        }
    }

    /// Applies a configuration. Returns the new object, or the conflicting fields with their
    /// managers.
    pub fn apply(
        &mut self,
        live: &Value,
        apply: &Apply<'_>,
    ) -> Result<Value, Vec<(String, String)>> {
        let own = (apply.manager.to_owned(), true);
        let wanted = self.leaves(apply.body).into_iter();
        let wanted: BTreeMap<Leaf, Value> = wanted.filter(|(l, _)| apply.part.has(l)).collect();
        let before = self.leaves(live);
        let conflicts = self.conflicts(&wanted, &before, &own);
        if !apply.force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        let mut object = self.release(live, &wanted, &own, apply.part);
        for (leaf, value) in wanted {
            let owners = self.owners.entry(leaf.clone()).or_default();
            // An empty map does not replace fields of others in it.
            let joins = value.as_map().is_some() && get(&object, &leaf).as_map().is_some();
            if before.get(&leaf) != Some(&value) && !joins {
                owners.clear();
            }
            owners.insert(own.clone());
            if !joins {
                object = put(&object, &leaf, value);
            }
        }
        Ok(object)
    }

    /// The leaves that the apply would change, with each of the others that own them.
    fn conflicts(
        &self,
        wanted: &BTreeMap<Leaf, Value>,
        before: &BTreeMap<Leaf, Value>,
        own: &Manager,
    ) -> Vec<(String, String)> {
        let changed = wanted.iter().filter(|(leaf, value)| {
            let old = before.get(*leaf);
            old.is_some_and(|old| old != *value)
        });
        let conflicts = changed.flat_map(|(leaf, _)| {
            let owners = self.owners.get(leaf).into_iter().flatten();
            let others = owners.filter(|owner| *owner != own);
            others.map(|other| (elements::shown(leaf), other.0.clone()))
        });
        conflicts.collect()
    }

    /// The object without the fields that this manager applied before and no longer applies,
    /// unless somebody else owns them, too.
    fn release(
        &mut self,
        live: &Value,
        wanted: &BTreeMap<Leaf, Value>,
        own: &Manager,
        part: ManagedPart,
    ) -> Value {
        let mut object = live.clone();
        let mut dropped = Vec::new();
        for (leaf, owners) in &mut self.owners {
            if part.has(leaf) && !wanted.contains_key(leaf) && owners.remove(own) {
                dropped.extend(owners.is_empty().then(|| leaf.clone()));
            }
        }
        // In reverse order: the name of an element is removed with the element, and a map only if
        // others have no fields in it.
        for leaf in dropped.into_iter().rev() {
            self.owners.remove(&leaf);
            let is_used = get(&object, &leaf)
                .as_map()
                .is_some_and(|map| !map.is_empty());
            if !is_used {
                object = self.removed(&object, &leaf);
            }
        }
        object
    }

    /// The object without a leaf, and without the maps around it that this leaves empty and that
    /// nobody owns. In place of one that somebody owns, a custom resource has a null; a kind with
    /// Go types has nothing.
    fn removed(&self, object: &Value, leaf: &[String]) -> Value {
        let without = remove(object, leaf);
        let maps = (1..leaf.len()).map(|steps| &leaf[..steps]);
        let gone =
            |map: &&[String]| get(object, map).as_map().is_some() && get(&without, map).is_null();
        let mut owned = maps
            .filter(gone)
            .filter(|map| map[0] != "metadata" && self.owners.contains_key(*map));
        match owned.next_back() {
            Some(map) if !self.named_elements => put(&without, map, Value::NULL),
            Some(_) | None => without,
        }
    }

    /// `metadata.managedFields`
    pub fn managed_fields(&self) -> Value {
        let mut managers: BTreeMap<(&Manager, bool), FieldSet> = BTreeMap::new();
        for (field, owners) in &self.owners {
            let status = self.status && ManagedPart::Status.has(field);
            for owner in owners {
                let fields = managers.entry((owner, status)).or_default();
                fields.insert(&path(field));
                // Whoever adds an element owns its name.
                if let [element @ .., name] = field.as_slice()
                    && name == "name"
                    && element.last().is_some_and(|step| is_element(step))
                {
                    fields.insert(&path(element));
                }
            }
        }
        let entries = managers.into_iter().map(|((manager, status), fields)| {
            let (name, applies) = manager;
            let operation = if *applies { "Apply" } else { "Update" };
            let entry = json!({
                "manager": (name.as_str()), "operation": operation,
                "fieldsType": "FieldsV1", "fieldsV1": (fields.to_fields_v1()),
            });
            if status {
                return set(&entry, &["subresource"], "status".into());
            }
            entry
        });
        entries.collect()
    }

    /// The leaves, maps and lists of elements that can be owned; the last two as an empty map.
    fn fields(&self, object: &Value) -> BTreeMap<Leaf, Value> {
        let mut fields = self.leaves(object);
        let leaves: Vec<Leaf> = fields.keys().cloned().collect();
        for leaf in leaves {
            let maps = (1..leaf.len()).map(|steps| &leaf[..steps]);
            for map in maps.filter(|map| self.has_owner(map)) {
                fields.insert(map.to_vec(), json!({}));
            }
        }
        fields
    }

    /// Whether the map at this path has an owner. The metadata exists in every object, and so do
    /// the spec and the status in Kubernetes' own kinds. An element is owned with its name.
    fn has_owner(&self, map: &[String]) -> bool {
        match map {
            [top] => {
                let given = self.named_elements && matches!(top.as_str(), "spec" | "status");
                top != "metadata" && !given
            }
            [.., last] => !is_element(last),
            [] => false,
        }
    }

    /// The leaves of an object that can be owned.
    fn leaves(&self, object: &Value) -> BTreeMap<Leaf, Value> {
        let mut leaves = BTreeMap::new();
        let owned = unset(&unset(object, &["apiVersion"]), &["kind"]);
        let mut metadata = json!({});
        for field in ["annotations", "finalizers", "labels", "ownerReferences"] {
            let value = at(object, &["metadata", field]);
            if !value.is_null() {
                metadata = set(&metadata, &[field], value.clone());
            }
        }
        let owned = if metadata == json!({}) {
            unset(&owned, &["metadata"])
        } else {
            set(&owned, &["metadata"], metadata)
        };
        self.collect(&owned, &mut Vec::new(), &mut leaves);
        leaves
    }

    fn collect(&self, value: &Value, path: &mut Leaf, leaves: &mut BTreeMap<Leaf, Value>) {
        let is_merged = self.named_elements && path != self.atomic;
        let named = elements::named(value).filter(|_| is_merged);
        if let Some(named) = named {
            for (name, element) in named {
                path.push(format!("[{name}]"));
                self.collect(element, path, leaves);
                path.pop();
            }
            return;
        }
        match value.as_map() {
            Some(map) if !map.is_empty() || path.is_empty() => {
                for (key, value) in map {
                    path.push(key.as_str().to_owned());
                    self.collect(value, path, leaves);
                    path.pop();
                }
            }
            _ => drop(leaves.insert(path.clone(), value.clone())),
        }
    }
}
