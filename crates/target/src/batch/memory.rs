//! What writers have set on an object.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use fieldset::FieldPath;

use crate::layer::Patched;

/// The values that writers have set on an object, kept from one batch to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Whether the object exists because a writer created it.
    pub created: bool,
    /// Whether an Updater has written the object.
    pub(super) updated: bool,
    /// The metadata that the Updater set.
    pub(super) updater: Patched,
    /// The values that Patchers and Appliers set, by the name of the [`BatchWriter`].
    pub(super) layers: BTreeMap<String, Patched>,
    /// The fields that Appliers own, also if they already had the applied value.
    pub(super) applied: BTreeMap<String, BTreeSet<FieldPath>>,
}

impl Memory {
    /// What is known of an object that an Updater has created without metadata of its own. Most
    /// objects have this state, so drivers store it in a compact form.
    pub fn of_new_object() -> Self {
        Self {
            created: true,
            updated: true,
            ..Self::default()
        }
    }

    /// The Patchers and Appliers that set something.
    pub fn layers(&self) -> impl Iterator<Item = &String> {
        self.layers.keys()
    }

    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.updater.is_empty() && self.layers.is_empty() && self.applied.is_empty()
    }

    /// Whether Patchers and Appliers have set the same.
    pub fn has_same_layers(&self, other: &Self) -> bool {
        self.layers == other.layers
    }

    /// Takes over what a Patcher has set, from a record on the object.
    pub fn take_over(&mut self, name: String, set: Patched) {
        self.layers.insert(name, set);
    }

    /// The object without the values of the Patchers and Appliers that `own` selects by name.
    pub fn without(&self, object: &Value, own: impl Fn(&str) -> bool) -> Value {
        let mut layers = self.layers.clone();
        Patched::relocate(layers.values_mut(), object);
        layers.retain(|name, _| own(name));
        let mut object = object.clone();
        while let Some((_, set)) = layers.pop_first() {
            object = set.entered(&object);
            let gone = set.appended();
            for other in layers.values_mut() {
                other.after_removal(&gone);
            }
        }
        object
    }
}
