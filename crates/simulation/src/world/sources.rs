//! Source objects: users create, change and delete them.

use document::{Value, json};
use object::ObjectKey;

use super::World;
use crate::fields::{at, set, unset};
use seeded::Random;

/// The namespaces of Items and Links.
pub(crate) const PLACES: [&str; 3] = ["ns", "ns", "default"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
pub(crate) const GROUPS: [&str; 3] = ["red", "green", "blue"];

impl World {
    /// Creates or changes an Item.
    pub fn put_item(&mut self, random: &mut Random) {
        let key = item(random);
        let object = random_item(random);
        self.put(&key, &object);
    }

    /// Deletes an Item, and possibly creates it again at once.
    pub fn delete_item(&mut self, random: &mut Random) {
        let key = item(random);
        let old = self.user_objects.get(&key).cloned();
        self.delete(&key);
        if let Some(old) = old.filter(|_| random.chance(40)) {
            self.put(&key, &old);
        }
    }

    /// Creates or changes a Link.
    pub fn put_link(&mut self, random: &mut Random) {
        let key = link(random);
        let object = random_link(random);
        self.put(&key, &object);
    }

    /// Deletes a Link.
    pub fn delete_link(&mut self, random: &mut Random) {
        let key = link(random);
        self.delete(&key);
    }

    /// Deletes all Items and Links.
    pub fn empty(&mut self) {
        let keys = self.user_objects.keys();
        let sources = keys.filter(|key| ["Item", "Link"].contains(&key.kind.kind.as_str()));
        for key in sources.cloned().collect::<Vec<_>>() {
            self.delete(&key);
        }
    }

    /// Creates or changes an object that an Operator may patch, or a Secret that it may copy.
    /// Sets only fields that no Operator writes.
    pub fn put_user_object(&mut self, random: &mut Random) {
        let number = random.below(4);
        let place = *random.pick(&PLACES);
        match random.below(3) {
            0 => {
                let name = *random.pick(&["web", "db"]);
                let key = ObjectKey::new("apps", "Deployment", place, name);
                let containers = json!([{"name": "app", "image": (format!("v{number}"))}]);
                let volumes = json!([{"name": "old"}, {"name": "tmp"}]);
                let spec = json!({"containers": containers, "volumes": volumes});
                let fresh = json!({"spec": {"template": {"spec": spec}}});
                self.put_or(&key, &fresh, |object| {
                    set(object, &["spec", "replicas"], number.into())
                });
            }
            1 => {
                let key = ObjectKey::new("example.com", "Widget", place, "theirs");
                let fresh = json!({"spec": {"own": number}});
                self.put_or(&key, &fresh, |object| {
                    set(object, &["spec", "own"], number.into())
                });
            }
            _ => {
                let name = *random.pick(&["s0", "s1"]);
                let key = ObjectKey::new("", "Secret", place, name);
                let source = *random.pick(&GROUPS);
                let password = *random.pick(&["aHVudGVyMg==", "//79", "c2VjcmV0"]);
                let secret = json!({
                    "metadata": {"labels": {"source": source}}, "data": {"password": password}
                });
                self.put(&key, &secret);
            }
        }
    }

    /// Deletes one of these objects.
    pub fn delete_user_object(&mut self, random: &mut Random) {
        let keys = self.user_objects.keys();
        let kinds = ["Deployment", "Widget", "Secret"];
        let keys: Vec<ObjectKey> = keys
            .filter(|key| kinds.contains(&key.kind.kind.as_str()))
            .cloned()
            .collect();
        if !keys.is_empty() {
            let key = random.pick(&keys).clone();
            self.delete(&key);
        }
    }

    /// Corrects all invalid Items.
    pub fn heal(&mut self) {
        let items = self.user_objects.iter();
        let items = items.filter(|(key, _)| key.kind.kind.as_str() == "Item");
        let healed: Vec<(ObjectKey, Value)> = items
            .filter(|(_, item)| is_bad(item) || is_rejected(item))
            .map(|(key, item)| (key.clone(), healed(item)))
            .collect();
        for (key, item) in healed {
            self.put(&key, &item);
        }
    }
}

/// Whether the Operator `errors` fails on an Item.
pub fn is_bad(item: &Value) -> bool {
    at(item, &["spec", "size"]).as_int().is_none()
}

/// Whether the server refuses the object that the Operator `refused` derives from an Item.
pub fn is_rejected(item: &Value) -> bool {
    at(item, &["spec", "reject"]).as_bool() == Some(true)
}

/// A valid Item instead of an invalid one.
pub(crate) fn healed(item: &Value) -> Value {
    let item = unset(item, &["spec", "reject"]);
    set(&item, &["spec", "size"], 1.into())
}

/// A random Item.
pub(crate) fn random_item(random: &mut Random) -> Value {
    let list: Value = (0..random.below(3))
        .map(|_| json!({"size": (random.below(3))}))
        .collect();
    let mut spec = json!({
        "group": (*random.pick(&GROUPS)), "n": (random.below(4)), "list": list,
        "size": (random.below(3)),
    });
    if random.chance(60) {
        let to = *random.pick(&["web", "db"]);
        spec = set(&spec, &["to"], to.into());
    }
    if random.chance(15) {
        spec = set(&spec, &["reject"], true.into());
    }
    if random.chance(25) {
        spec = set(&spec, &["size"], "large".into());
    }
    let team = *random.pick(&["blue", "blue", "red"]);
    json!({"metadata": {"labels": {"team": team}}, "spec": spec})
}

/// A random Link.
pub(crate) fn random_link(random: &mut Random) -> Value {
    let spec = json!({
        "item": (*random.pick(&["a", "b", "c", "d", "theirs"])),
        "weight": (random.below(4)), "group": (*random.pick(&GROUPS)),
    });
    json!({"spec": spec})
}

/// The key of a random Item.
pub(crate) fn item(random: &mut Random) -> ObjectKey {
    let (namespace, name) = (*random.pick(&PLACES), *random.pick(&NAMES));
    ObjectKey::new("example.com", "Item", namespace, name)
}

/// The key of a random Link.
pub(crate) fn link(random: &mut Random) -> ObjectKey {
    let (namespace, name) = (*random.pick(&PLACES), *random.pick(&["x", "y", "z"]));
    ObjectKey::new("example.com", "Link", namespace, name)
}
