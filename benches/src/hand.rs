//! The same controllers written by hand: typed structs and hash maps. This is the limit.
//!
//! Each takes whole typed objects, as a Kubernetes client gives them, keeps the fields that
//! it needs, finds what depends on them through indexes, builds the target objects anew,
//! compares them with the last ones and gives those that differ as (old, new).

mod typed;
mod w1;
mod w2;
mod w3;

pub use w1::W1;
pub use w2::W2;
pub use w3::W3;

use std::sync::Arc;

use document::Value;

use crate::peer::Outcome;

/// A hash map with the hash function that the engine uses too.
type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    namespace: String,
    name: String,
}

impl Key {
    /// The key of another object in the same namespace.
    fn sibling(&self, name: &str) -> Self {
        Self {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        }
    }
}

/// A change of one target object: what it was, what it is.
#[derive(Clone, Debug)]
pub struct Change<T> {
    old: Option<Arc<T>>,
    new: Option<Arc<T>>,
}

/// A target object that can be shown as a document, to compare it with other peers'.
trait Target {
    fn key(&self) -> &Key;
    fn document(&self) -> Value;
}

#[expect(private_bounds, reason = "how a change is shown is not for others")]
impl<T: Target> Change<T> {
    fn outcome(&self) -> Outcome {
        let document = |side: &Option<Arc<T>>| side.as_ref().map(|target| target.document());
        Outcome {
            key: self.key(),
            old: document(&self.old),
            new: document(&self.new),
        }
    }

    fn key(&self) -> (String, String) {
        let target = self.new.as_ref().or(self.old.as_ref());
        let key = target
            .map(|target| target.key().clone())
            .unwrap_or_default();
        (key.namespace, key.name)
    }
}

/// The last target objects, by key.
#[derive(Debug)]
struct Outputs<T>(HashMap<Key, Arc<T>>);

impl<T> Default for Outputs<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T: PartialEq> Outputs<T> {
    /// Stores what a target object should be now, and reports it if it changed.
    fn set(&mut self, key: Key, new: Option<T>, changes: &mut Vec<Change<T>>) {
        use hashbrown::hash_map::Entry;
        let new = new.map(Arc::new);
        let old = match (self.0.entry(key), &new) {
            (Entry::Occupied(entry), Some(new)) if entry.get() == new => return,
            (Entry::Occupied(mut entry), Some(new)) => Some(entry.insert(new.clone())),
            (Entry::Occupied(entry), None) => Some(entry.remove()),
            (Entry::Vacant(entry), Some(new)) => {
                entry.insert(new.clone());
                None
            }
            (Entry::Vacant(_), None) => return,
        };
        changes.push(Change { old, new });
    }
}
