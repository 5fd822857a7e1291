//! Writing derived documents onto objects: the offline driver of the target model.

use std::collections::{BTreeMap, BTreeSet};

use document::{Value, json};

use object::ObjectKey;
use smallvec::SmallVec;

use super::cluster::{Cluster, SharedKey};
use fieldset::{FieldPath, MergeKeys, is_relative};
use operator::Report;
use operator::spec::Operator;
use target::batch::{BatchObject, BatchWriter, Clash, Memory, settle};
use target::in_place::{Own, recorded};
use target::problem::Cause;

/// The derived documents of all objects.
#[derive(Debug, Default)]
pub(super) struct DesiredObjects {
    objects: BTreeMap<SharedKey, Derived>,
    /// The objects whose memory changed since the last [`DesiredObjects::take_remembered`].
    remembered: BTreeSet<SharedKey>,
}

/// The position of a controller, and that of one of its targets.
type WriterAt = (u32, u32);

/// The derived documents of one object.
#[derive(Debug, Default)]
struct Derived {
    /// By controller and target, sorted; most objects have one. `None` means that the target no
    /// longer derives the object; the entry is dropped when the object is written.
    documents: SmallVec<[(WriterAt, Option<Value>); 1]>,
    memory: Remembered,
}

/// The memory of an object, in a small form.
#[derive(Debug, Default)]
enum Remembered {
    #[default]
    Nothing,
    /// [`Memory::of_new_object`]
    NewObject,
    Other(Box<Memory>),
}

impl Remembered {
    fn new(memory: Memory) -> Self {
        if memory == Memory::default() {
            Self::Nothing
        } else if memory == Memory::of_new_object() {
            Self::NewObject
        } else {
            Self::Other(Box::new(memory))
        }
    }

    fn memory(&self) -> Memory {
        match self {
            Self::Nothing => Memory::default(),
            Self::NewObject => Memory::of_new_object(),
            Self::Other(memory) => (**memory).clone(),
        }
    }
}

impl DesiredObjects {
    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.objects.contains_key(key)
    }

    /// The objects that are derived.
    pub(super) fn keys(&self) -> impl Iterator<Item = &SharedKey> {
        self.objects
            .iter()
            .filter(|(_, derived)| derived.documents.iter().any(|(_, of)| of.is_some()))
            .map(|(key, _)| key)
    }

    /// The key that is stored, or this one.
    pub(super) fn shared(&self, key: ObjectKey) -> SharedKey {
        let known = self.objects.get_key_value(&key);
        known.map_or_else(|| SharedKey::new(key), |(known, _)| known.clone())
    }

    /// Sets the document that a target derives for an object; `None` if it derives none any more.
    /// Returns whether that is news: another origin may derive the same.
    pub(super) fn set(
        &mut self,
        key: &SharedKey,
        controller: usize,
        target: usize,
        document: Option<Value>,
    ) -> bool {
        let derived = self.objects.entry(key.clone()).or_default();
        let at = (controller as u32, target as u32);
        let documents = &mut derived.documents;
        // The same positions may mean other elements now.
        let same = |known: &Option<Value>| {
            *known == document && document.as_ref().is_some_and(|new| !is_relative(new))
        };
        match documents.binary_search_by_key(&at, |(writer, _)| *writer) {
            Ok(found) if same(&documents[found].1) => return false,
            Ok(found) => documents[found].1 = document,
            Err(place) => documents.insert(place, (at, document)),
        }
        true
    }

    /// The object is gone, or another one has its name: nothing on it is ours.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        if let Some(derived) = self.objects.get_mut(key) {
            derived.memory = Remembered::Nothing;
        }
    }

    /// The objects on which other values are recorded than at the last call. They enter the
    /// pipelines that change them in place again, even if the objects have not changed.
    pub(super) fn take_remembered(&mut self) -> BTreeSet<SharedKey> {
        std::mem::take(&mut self.remembered)
    }

    /// Takes over the records of an Operator's Patchers on an object that arrives. Returns the
    /// object without them. If no controller writes the kind any more, the object is returned
    /// without the patches, too.
    pub(super) fn take_over(
        &mut self,
        key: &ObjectKey,
        operator: &Operator,
        object: &Value,
    ) -> Value {
        let (mut bare, records) = recorded(object, &operator.name, key);
        let mut targets = operator.controllers.iter().flat_map(|of| &of.targets);
        let is_written = targets.any(|target| target.resource.is(&key.kind));
        for (name, set) in records {
            if !is_written {
                bare = set.take_back(&bare, |_| true);
                continue;
            }
            let mut controllers = operator.controllers.iter();
            let of = controllers.find(|controller| controller.name == name);
            let target = of.and_then(|controller| {
                let mut targets = controller.targets.iter();
                targets.position(|target| target.resource.is(&key.kind))
            });
            let writer = writer_name(&name, target.unwrap_or(0));
            let shared = self.shared(key.clone());
            let derived = self.objects.entry(shared).or_default();
            let mut memory = derived.memory.memory();
            memory.take_over(writer, set);
            derived.memory = Remembered::new(memory);
        }
        bare
    }

    /// Withdraws the patches that objects have, by their records, and that are not derived. Returns
    /// the objects, which are to be written. The controllers that are `in_error` withdraw nothing.
    pub(super) fn withdraw_unwanted(
        &mut self,
        operator: &Operator,
        in_error: &[bool],
    ) -> Vec<SharedKey> {
        let mut withdrawn = Vec::new();
        for (key, derived) in &mut self.objects {
            let Remembered::Other(memory) = &derived.memory else {
                continue;
            };
            let set = memory
                .layers()
                .filter_map(|name| current(operator, key, name));
            let wanted = &derived.documents;
            let unwanted = set
                .filter(|at| !in_error[at.0 as usize])
                .filter(|at| !wanted.iter().any(|(writer, _)| writer == at));
            let unwanted: Vec<WriterAt> = unwanted.collect();
            if !unwanted.is_empty() {
                let none = unwanted.into_iter().map(|at| (at, None));
                derived.documents.extend(none);
                derived.documents.sort_by_key(|(writer, _)| *writer);
                withdrawn.push(key.clone());
            }
        }
        withdrawn
    }

    /// An object as it enters the pipeline of a controller: without what the `own` controllers
    /// have set on it.
    pub(super) fn entered(&self, key: &ObjectKey, own: &Own, object: &Value) -> Value {
        let own = |writer: &str| {
            let name = writer.rsplit_once('/').map_or(writer, |(name, _)| name);
            own.has(name)
        };
        match self.objects.get(key) {
            Some(derived) => derived.memory.memory().without(object, own),
            None => object.clone(),
        }
    }

    /// Brings an object to what is derived for it.
    pub(super) fn write(
        &mut self,
        key: &SharedKey,
        operator: &Operator,
        cluster: &mut Cluster,
        errors: &mut Vec<Report>,
    ) {
        let Some(derived) = self.objects.get_mut(key) else {
            return;
        };
        let live = cluster.get(key).cloned();
        let writers = derived
            .documents
            .iter()
            .map(|((controller, target), document)| {
                let of = &operator.controllers[*controller as usize];
                let target = *target as usize;
                let name = writer_name(&of.name, target);
                BatchWriter::new(name, &of.targets[target], document.as_ref())
            });
        let before = derived.memory.memory();
        let former = before
            .layers()
            .filter(|name| current(operator, key, name).is_none())
            .map(|name| BatchWriter::former_patcher(name.clone()));
        let writers: Vec<BatchWriter> = writers.chain(former).collect();
        let keys = MergeKeys::of_group(key.kind.group.as_str());
        let mut memory = before.clone();
        let object = BatchObject {
            key,
            operator: &operator.name,
            keys: &keys,
        };
        let settled = settle(live.as_ref(), &writers, &mut memory, object);
        if !memory.has_same_layers(&before) {
            self.remembered.insert(key.clone());
        }
        let ranks: Vec<usize> = derived
            .documents
            .iter()
            .map(|(at, _)| at.0 as usize)
            .collect();
        for (loser, clash) in settled.conflicts {
            let names = Names {
                key,
                operator,
                ranks: &ranks,
            };
            errors.push(names.report(loser, &clash));
        }
        derived.documents.retain(|(_, document)| document.is_some());
        if derived.documents.is_empty() && memory.is_empty() {
            self.objects.remove(key);
        } else {
            derived.memory = Remembered::new(memory);
        }
        let new = settled
            .object
            .map(|object| as_served(object, live.as_ref()));
        if new != live {
            cluster.write(key, new);
        }
    }
}

/// The name of a target in [`Memory`].
fn writer_name(controller: &str, target: usize) -> String {
    format!("{controller}/{target}")
}

/// The writer with this name, if it still writes objects of the kind.
fn current(operator: &Operator, key: &ObjectKey, name: &str) -> Option<WriterAt> {
    let controllers = operator.controllers.iter().enumerate();
    let mut writers = controllers.flat_map(|(number, controller)| {
        let targets = controller.targets.iter().enumerate();
        let targets = targets.filter(|(_, target)| target.resource.is(&key.kind));
        targets.map(move |(target, _)| (number, target, &controller.name))
    });
    let found = writers.find(|(_, target, controller)| writer_name(controller, *target) == name);
    found.map(|(number, target, _)| (number as u32, target as u32))
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
            Clash::Others { field } => {
                format!("{field} of {name} is set by others; an Applier with target.force takes it")
            }
            Clash::Existing => format!("{name} exists and was not derived: it is left alone"),
            Clash::Record { field, theirs } => {
                format!("{field} of {name} is set by Operator {theirs}, and is left to it")
            }
            Clash::NotKept { field } => {
                let field = field.to_string();
                format!("{name}: {}", Cause::NotKept { field })
            }
            Clash::RecordTooLarge { size } => {
                let cause = Cause::RecordTooLarge { size: *size };
                format!("{name}: {cause}")
            }
        };
        Report {
            controller: self.controller(loser).to_owned(),
            stage: "output".to_owned(),
            origin: json!([{"key": (name.to_string())}]),
            code: clash.code(),
            message,
        }
    }
}
