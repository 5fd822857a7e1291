//! Writing derived documents onto objects: the offline driver of the target model.

use std::collections::BTreeMap;

use document::{Value, json};

use object::ObjectKey;

use super::cluster::Cluster;
use fieldset::{FieldPath, MergeKeys};
use operator::Report;
use operator::spec::Operator;
use target::batch::{Clash, Memory, Writer, settle};

/// The derived documents of all objects.
#[derive(Debug, Default)]
pub(super) struct Desired(BTreeMap<ObjectKey, Derived>);

/// The derived documents of one object.
#[derive(Debug, Default)]
struct Derived {
    /// By controller and target. `None` means that the target no longer derives the object; the
    /// entry is dropped when the object is written.
    documents: BTreeMap<(usize, usize), Option<Value>>,
    memory: Memory,
}

impl Desired {
    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.0.contains_key(key)
    }

    /// The objects that are derived.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.0
            .iter()
            .filter(|(_, derived)| derived.documents.values().any(Option::is_some))
            .map(|(key, _)| key)
    }

    pub(super) fn set(
        &mut self,
        key: &ObjectKey,
        controller: usize,
        target: usize,
        document: Option<Value>,
    ) {
        let derived = self.0.entry(key.clone()).or_default();
        derived.documents.insert((controller, target), document);
    }

    /// The object is gone, or another one has its name: nothing on it is ours.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        if let Some(derived) = self.0.get_mut(key) {
            derived.memory = Memory::default();
        }
    }

    /// Brings an object to what is derived for it.
    pub(super) fn write(
        &mut self,
        key: &ObjectKey,
        operator: &Operator,
        cluster: &mut Cluster,
        errors: &mut Vec<Report>,
    ) {
        let Some(derived) = self.0.get_mut(key) else {
            return;
        };
        let live = cluster.get(key).cloned();
        let writers = derived
            .documents
            .iter()
            .map(|((controller, target), document)| {
                let of = &operator.controllers[*controller];
                let name = format!("{}/{target}", of.name);
                Writer::new(name, &of.targets[*target], document.as_ref())
            });
        let writers: Vec<Writer> = writers.collect();
        let keys = MergeKeys::of_group(key.kind.group.as_str());
        let settled = settle(live.as_ref(), &writers, &mut derived.memory, &keys);
        let ranks: Vec<usize> = derived.documents.keys().map(|at| at.0).collect();
        for (loser, clash) in settled.conflicts {
            let names = Names {
                key,
                operator,
                ranks: &ranks,
            };
            errors.push(names.report(loser, &clash));
        }
        derived.documents.retain(|_, document| document.is_some());
        if derived.documents.is_empty() && derived.memory.is_empty() {
            self.0.remove(key);
        }
        let new = settled
            .object
            .map(|object| as_served(object, live.as_ref()));
        if new != live {
            cluster.write(key, new);
        }
    }
}

/// The object with the `apiVersion` of the live one: the version of the target is only assumed.
fn as_served(object: Value, live: Option<&Value>) -> Value {
    let version = live.map(|live| live.get("apiVersion"));
    match version.filter(|version| !version.is_null()) {
        Some(version) => FieldPath::of(&["apiVersion"]).set(&object, version),
        None => object,
    }
}

/// The writers of an object, for messages.
struct Names<'a> {
    key: &'a ObjectKey,
    operator: &'a Operator,
    /// The positions of the writers' controllers.
    ranks: &'a [usize],
}

impl Names<'_> {
    fn controller(&self, writer: usize) -> &str {
        &self.operator.controllers[self.ranks[writer]].name
    }

    fn report(&self, loser: usize, clash: &Clash) -> Report {
        let name = &self.key.name;
        let message = match clash {
            Clash::Object { winner } => format!(
                "{name} is also written by controller {}, which comes first",
                self.controller(*winner)
            ),
            Clash::Field { field, winner } => format!(
                "{field} of {name} is also set by controller {}, which comes first",
                self.controller(*winner)
            ),
            Clash::Existing => format!("{name} exists and was not derived: it is left alone"),
        };
        Report {
            controller: self.controller(loser).to_owned(),
            stage: "output".to_owned(),
            origin: json!([{"key": (name.to_string())}]),
            code: "conflict",
            message,
        }
    }
}
