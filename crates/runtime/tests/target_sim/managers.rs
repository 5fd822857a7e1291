//! Field managers: who owns which leaf of an object. Lists are leaves.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, json};

type Leaf = Vec<String>;

/// A manager, and whether it applies.
type Manager = (String, bool);

/// The owners of the leaves of an object.
#[derive(Clone, Debug, Default)]
pub struct Owners(BTreeMap<Leaf, BTreeSet<Manager>>);

/// The leaves of an object that can be owned.
pub fn leaves(object: &Value) -> BTreeMap<Leaf, Value> {
    fn walk(value: &Value, path: &mut Leaf, out: &mut BTreeMap<Leaf, Value>) {
        match value.as_map() {
            Some(map) if !map.is_empty() => {
                for (key, value) in map {
                    path.push(key.as_str().to_owned());
                    walk(value, path, out);
                    path.pop();
                }
            }
            _ => {
                out.insert(path.clone(), value.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    let fields = object.as_map().into_iter().flatten();
    for (key, value) in fields {
        let key = key.as_str();
        if matches!(key, "apiVersion" | "kind") {
            continue;
        }
        let value = match (key, value.as_map()) {
            ("metadata", Some(metadata)) => {
                let owned = ["labels", "annotations", "ownerReferences", "finalizers"];
                let owned = metadata
                    .iter()
                    .filter(|(key, _)| owned.contains(&key.as_str()));
                Value::from(owned.cloned().collect::<Map>())
            }
            _ => value.clone(),
        };
        if key == "metadata" && value == json!({}) {
            continue;
        }
        walk(&value, &mut vec![key.to_owned()], &mut out);
    }
    out
}

impl Owners {
    /// An update by a manager: it owns what it changed.
    pub fn updated(&mut self, old: &Value, new: &Value, manager: &str) {
        let (old, new) = (leaves(old), leaves(new));
        self.0.retain(|leaf, _| new.contains_key(leaf));
        for (leaf, value) in &new {
            if old.get(leaf) != Some(value) || !self.0.contains_key(leaf) {
                let owner = (manager.to_owned(), false);
                self.0.insert(leaf.clone(), [owner].into());
            }
        }
    }

    /// Applies a body. Gives the object, or the leaves that others own.
    pub fn apply(
        &mut self,
        live: &Value,
        body: &Value,
        manager: &str,
        force: bool,
        part: impl Fn(&Leaf) -> bool,
    ) -> Result<Value, Vec<(Leaf, String)>> {
        let own = (manager.to_owned(), true);
        let wanted: BTreeMap<Leaf, Value> = leaves(body)
            .into_iter()
            .filter(|(leaf, _)| part(leaf))
            .collect();
        let before = leaves(live);
        let mut conflicts = Vec::new();
        for (leaf, value) in &wanted {
            let mut owners = self.0.get(leaf).into_iter().flatten();
            let other = owners.find(|owner| **owner != own);
            if let (Some(other), Some(old)) = (other, before.get(leaf))
                && old != value
            {
                conflicts.push((leaf.clone(), other.0.clone()));
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        let mut object = live.clone();
        let dropped: Vec<Leaf> = self
            .0
            .iter()
            .filter(|(leaf, owners)| {
                part(leaf) && owners.contains(&own) && !wanted.contains_key(*leaf)
            })
            .map(|(leaf, _)| leaf.clone())
            .collect();
        for leaf in dropped {
            let owners = self.0.get_mut(&leaf).unwrap();
            owners.remove(&own);
            if owners.is_empty() {
                self.0.remove(&leaf);
                let path: Vec<&str> = leaf.iter().map(String::as_str).collect();
                // Maps that this empties go too.
                for end in (1..=path.len()).rev() {
                    let path = &path[..end];
                    let value = path.iter().fold(&object, |value, field| value.get(field));
                    let empty = value.as_map().is_some_and(Map::is_empty);
                    if end == leaf.len() || (empty && (end > 1 || leaf[0] == "status")) {
                        object = super::unset(&object, path);
                    }
                }
            }
        }
        for (leaf, value) in wanted {
            let owners = self.0.entry(leaf.clone()).or_default();
            if before.get(&leaf) != Some(&value) {
                owners.clear();
            }
            owners.insert(own.clone());
            let path: Vec<&str> = leaf.iter().map(String::as_str).collect();
            object = super::set(&object, &path, value);
        }
        Ok(object)
    }

    /// `metadata.managedFields`
    pub fn managed_fields(&self) -> Value {
        let mut managers: BTreeMap<Manager, Value> = BTreeMap::new();
        for (leaf, owners) in &self.0 {
            for owner in owners {
                let path: Vec<String> = leaf.iter().map(|field| format!("f:{field}")).collect();
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                let fields = managers.remove(owner).unwrap_or_else(Value::empty_map);
                let fields = super::set(&fields, &path, json!({}));
                managers.insert(owner.clone(), fields);
            }
        }
        managers
            .into_iter()
            .map(|((manager, applies), fields)| {
                let operation = if applies { "Apply" } else { "Update" };
                json!({"manager": manager, "operation": operation, "fieldsV1": fields})
            })
            .collect()
    }
}

/// A leaf as Kubernetes writes it.
pub fn field(leaf: &Leaf) -> String {
    format!(".{}", leaf.join("."))
}

/// A JSON merge patch, applied.
pub fn merge_patch(target: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_map() else {
        return patch.clone();
    };
    let mut result = target
        .as_map()
        .cloned()
        .unwrap_or_else(|| Map::from_sorted(Vec::new()));
    for (key, value) in patch {
        if value.is_null() {
            result = result.without(key.as_str());
            continue;
        }
        let old = result.get(key).cloned().unwrap_or_default();
        result = result.with(Key::new(key.as_str()), merge_patch(&old, value));
    }
    result.into()
}
