//! What others do to derived objects.

use document::{Value, json};
use object::ObjectKey;

use super::World;
use crate::fields::{at, text, unset};
use seeded::Random;

/// A finalizer that users put on objects now and then.
const HOLD: &str = "example.com/hold";
/// The label that users put on derived objects.
pub const LABEL: &str = "vandal";

impl World {
    fn pick_derived(&self, random: &mut Random) -> Option<(ObjectKey, Value)> {
        let derived = self.derived();
        (!derived.is_empty()).then(|| random.pick(&derived).clone())
    }

    /// Changes a derived object: a field, a label, or a finalizer.
    pub fn vandalise(&mut self, random: &mut Random) {
        let Some((key, object)) = self.pick_derived(random) else {
            return;
        };
        let top = if at(&object, &["spec"]).is_null() {
            "data"
        } else {
            "spec"
        };
        match random.below(4) {
            0 | 1 if self.shape.repairs => {
                let field = *random.pick(&["n", "size", "foreign"]);
                self.server
                    .set(&key, "vandal", &[top, field], "junk".into());
            }
            2 => {
                let path = ["metadata", "labels", LABEL];
                self.server.set(&key, "vandal", &path, "was-here".into());
                let uid = text(&object, &["metadata", "uid"]).to_owned();
                self.labelled.insert(key, uid);
            }
            _ => {
                let finalizers = json!([HOLD]);
                let path = ["metadata", "finalizers"];
                self.server.set(&key, "vandal", &path, finalizers);
            }
        }
    }

    /// Removes the finalizers of users.
    pub fn release(&mut self) {
        for (key, _) in self.derived() {
            self.server.change(&key, "vandal", |object| {
                unset(object, &["metadata", "finalizers"])
            });
        }
    }

    /// Deletes a derived object. Possibly a user creates another one with its name.
    pub fn delete_derived(&mut self, random: &mut Random) {
        let Some((key, _)) = self.pick_derived(random) else {
            return;
        };
        self.server.delete(&key);
        // While its Item is in error, its derived state is not known.
        let (namespace, name) = (key.namespace(), key.object_name());
        self.held
            .remove(&ObjectKey::new("example.com", "Item", namespace, name));
        let free = self.server.get(&key).is_none();
        if free && self.shape.adopts && random.chance(30) {
            let own = json!({"metadata": {"labels": {"own": "yes"}}});
            self.put(&key, &own);
            self.squatters.insert(key);
        }
    }
}
