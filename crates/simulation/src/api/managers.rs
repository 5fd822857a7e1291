//! Field managers: who owns which field of an object, and server-side apply.
//!
//! What is owned are leaves: fields that are no maps, and empty maps. A list is one leaf,
//! whatever the schema says about its elements.

use std::collections::{BTreeMap, BTreeSet};

use document::{Map, Value, json};

use crate::fields::{at, set, unset};

type Leaf = Vec<String>;

/// A manager, and whether it applies (or else updates).
type Manager = (String, bool);

/// The owners of the leaves of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Managers(BTreeMap<Leaf, BTreeSet<Manager>>);

/// An apply: who applies what, and which leaves it is about.
pub struct Apply<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// What it applies.
    pub body: &'a Value,
    /// Whether it takes fields from others.
    pub force: bool,
    /// The request is for all fields but the status, or for the status only.
    pub part: ManagedPart,
}

/// The fields that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedPart {
    /// All.
    Whole,
    /// All but the status, which has an endpoint of its own.
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
    /// Nobody owns what the server has dropped from an object.
    pub fn prune(&mut self, object: &Value) {
        let there = leaves(object);
        self.0.retain(|leaf, _| there.contains_key(leaf));
    }

    /// An update by a manager: it owns what it changed.
    pub fn updated(&mut self, old: &Value, new: &Value, manager: &str) {
        let (old, new) = (leaves(old), leaves(new));
        self.0.retain(|leaf, _| new.contains_key(leaf));
        for (leaf, value) in &new {
            if old.get(leaf) != Some(value) {
                let owner = (manager.to_owned(), false);
                self.0.insert(leaf.clone(), [owner].into());
            }
        }
    }

    /// Applies: gives the object as it is then, or the fields that others own, with them.
    pub fn apply(
        &mut self,
        live: &Value,
        apply: &Apply<'_>,
    ) -> Result<Value, Vec<(String, String)>> {
        let own = (apply.manager.to_owned(), true);
        let wanted = leaves(apply.body).into_iter();
        let wanted: BTreeMap<Leaf, Value> = wanted.filter(|(l, _)| apply.part.has(l)).collect();
        let before = leaves(live);
        let conflicts = self.conflicts(&wanted, &before, &own);
        if !apply.force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        let mut object = self.release(live, &wanted, &own, apply.part);
        for (leaf, value) in wanted {
            let owners = self.0.entry(leaf.clone()).or_default();
            if before.get(&leaf) != Some(&value) {
                owners.clear();
            }
            owners.insert(own.clone());
            // An empty map takes in what others have.
            let path = texts(&leaf);
            if value.as_map().is_none() || at(&object, &path).as_map().is_none() {
                object = set(&object, &path, value);
            }
        }
        Ok(object)
    }

    /// The leaves that would get another value, and have other owners.
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
        let conflicts = changed.filter_map(|(leaf, _)| {
            let mut owners = self.0.get(leaf)?.iter();
            let other = owners.find(|owner| *owner != own)?;
            Some((format!(".{}", leaf.join(".")), other.0.clone()))
        });
        conflicts.collect()
    }

    /// The object without what this manager applied before and does not want any more,
    /// unless somebody else owns it, too.
    fn release(
        &mut self,
        live: &Value,
        wanted: &BTreeMap<Leaf, Value>,
        own: &Manager,
        part: ManagedPart,
    ) -> Value {
        let mut object = live.clone();
        let mut dropped = Vec::new();
        for (leaf, owners) in &mut self.0 {
            if part.has(leaf) && !wanted.contains_key(leaf) && owners.remove(own) {
                dropped.extend(owners.is_empty().then(|| leaf.clone()));
            }
        }
        for leaf in dropped {
            self.0.remove(&leaf);
            object = without(&object, &texts(&leaf));
        }
        object
    }

    /// `metadata.managedFields`
    pub fn managed_fields(&self) -> Value {
        let mut managers: BTreeMap<&Manager, Value> = BTreeMap::new();
        for (leaf, owners) in &self.0 {
            let path: Vec<String> = leaf.iter().map(|field| format!("f:{field}")).collect();
            for owner in owners {
                let fields = managers.entry(owner).or_insert_with(Value::empty_map);
                *fields = set(fields, &texts(&path), json!({}));
            }
        }
        let entries = managers.into_iter().map(|((manager, applies), fields)| {
            let operation = if *applies { "Apply" } else { "Update" };
            json!({
                "manager": (manager.as_str()), "operation": operation,
                "fieldsType": "FieldsV1", "fieldsV1": fields,
            })
        });
        entries.collect()
    }
}

/// The leaves of an object that can be owned.
fn leaves(object: &Value) -> BTreeMap<Leaf, Value> {
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
    collect(&owned, &mut Vec::new(), &mut leaves);
    leaves
}

fn collect(value: &Value, path: &mut Leaf, leaves: &mut BTreeMap<Leaf, Value>) {
    match value.as_map() {
        Some(map) if !map.is_empty() || path.is_empty() => {
            for (key, value) in map {
                path.push(key.as_str().to_owned());
                collect(value, path, leaves);
                path.pop();
            }
        }
        _ => drop(leaves.insert(path.clone(), value.clone())),
    }
}

/// The object without a field, and without the maps that this empties; `spec` itself stays.
fn without(object: &Value, path: &[&str]) -> Value {
    let mut object = unset(object, path);
    for end in (1..path.len()).rev() {
        let path = &path[..end];
        let empty = at(&object, path).as_map().is_some_and(Map::is_empty);
        if empty && (end > 1 || path[0] == "status") {
            object = unset(&object, path);
        }
    }
    object
}

fn texts(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}
