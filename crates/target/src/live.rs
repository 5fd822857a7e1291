//! The known state of objects on the cluster, and the answers to our writes.

mod managed;

use document::{Key, Map, Value, View};
use fieldset::{FieldPath, FieldSet, PathElement, concerns};
use object::marks::is_manager_of;
use object::metadata::KEYS;
use object::{ObjectKey, OperatorId, Ownership, Unreadable};

use super::TargetKind;
use super::claim::Claim;
use super::desired::Wanted;
use super::written::Written;
pub use managed::Manager;
use managed::{AppliedStatus, WrittenFields, applied_status, leave_maps, written};

/// The known state of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Live {
    /// Not known: it has to be read first.
    #[default]
    Unknown,
    /// Not in the complete list of our watch. It may exist without our label.
    Unseen,
    /// It was read and not found, or its deletion was delivered.
    Absent,
    /// It exists.
    Present(Observed),
}

/// An existing object.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The object, without managedFields.
    pub object: Value,
    /// The field managers of others.
    pub others: Vec<Manager>,
    /// Whether the server reports field managers.
    pub managed: bool,
    /// Why it cannot be read; `object` then has only the metadata.
    pub unreadable: Option<Box<Unreadable>>,
    /// What controllers of the Operator have applied to the status.
    applied_status: Option<Box<AppliedStatus>>,
    /// The fields that controllers of the Operator have written without applying them, if they have
    /// applied something, too.
    written: Option<Box<WrittenFields>>,
}

impl Observed {
    /// An object as the server returns it.
    pub fn new(object: &Value, operator: &str) -> Self {
        let metadata = object.get("metadata");
        let managed = metadata.get("managedFields").as_list();
        let others = managed.into_iter().flatten();
        let others = others.filter_map(|entry| Manager::read(entry, operator));
        let mut others: Vec<Manager> = others.collect();
        leave_maps(&mut others, metadata.get("managedFields"));
        let applied = applied_status(metadata.get("managedFields"), operator);
        let written = written(metadata.get("managedFields"), operator);
        let object = match (object.as_map(), metadata.as_map()) {
            (Some(fields), Some(metadata)) if managed.is_some() => {
                let metadata = metadata.without("managedFields");
                fields.with(Key::new("metadata"), metadata.into()).into()
            }
            _ => object.clone(),
        };
        Self {
            object,
            others,
            managed: managed.is_some_and(|managed| !managed.is_empty()),
            unreadable: None,
            applied_status: applied.map(Box::new),
            written: written.map(Box::new),
        }
    }

    /// An object that cannot be read; `object` is its metadata.
    pub fn unreadable(object: &Value, operator: &str, why: &Unreadable) -> Self {
        Self {
            unreadable: Some(Box::new(why.clone())),
            ..Self::new(object, operator)
        }
    }

    /// `metadata.resourceVersion`
    pub fn version(&self) -> &str {
        self.text("resourceVersion")
    }

    /// `metadata.uid`
    pub fn uid(&self) -> &str {
        self.text("uid")
    }

    fn text(&self, field: &str) -> &str {
        let value = self.object.get("metadata").get(field);
        value.as_str().unwrap_or_default()
    }

    /// Whether this is the same version of the same object.
    pub fn is_version_of(&self, object: &Value) -> bool {
        let metadata = object.get("metadata");
        let same = |field: &str| self.object.get("metadata").get(field) == metadata.get(field);
        same("resourceVersion") && same("uid")
    }

    /// Whether it is being deleted.
    pub fn is_being_deleted(&self) -> bool {
        let metadata = self.object.get("metadata");
        !metadata.get("deletionTimestamp").is_null()
    }

    /// `metadata.finalizers`
    pub fn finalizers(&self) -> Vec<String> {
        let finalizers = self.object.get("metadata").get("finalizers").as_list();
        let finalizers = finalizers.into_iter().flatten();
        let names = finalizers.filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    /// Whether this version is older than another one. Versions that are not numbers cannot be
    /// compared; then the one that arrives later counts as newer.
    pub fn is_older_than(&self, other: &Self) -> bool {
        let number = |observed: &Self| observed.version().parse::<u128>().ok();
        matches!((number(self), number(other)), (Some(a), Some(b)) if a < b)
    }

    /// Whether the server reports that nobody else has written at a path. This is unknown for
    /// the status, which everybody writes, and for positions in lists, because the last writer
    /// of such a list owns all of it.
    pub(crate) fn is_only_ours(&self, place: &FieldPath) -> bool {
        self.is_only_of(&[], place)
    }

    /// As [`Observed::is_only_ours`], but other Operators with these names may have written there.
    pub(crate) fn is_only_of(&self, operators: &[&str], place: &FieldPath) -> bool {
        let is_theirs = |other: &Manager| {
            let mut operators = operators.iter();
            operators.any(|operator| is_manager_of(&other.name, operator))
        };
        let touched = |other: &Manager| !is_theirs(other) && other.fields.touches(place);
        let known = self.managed && place.top() != "status" && !place.is_by_position();
        known && !self.others.iter().any(touched)
    }

    /// Whether a field manager of the Operator has applied a field of the status, and nobody has
    /// taken it since. `None` if the server does not report field managers.
    pub(crate) fn has_applied_status(&self, manager: &str, place: &FieldPath) -> Option<bool> {
        let mut fields = self.applied_status(manager);
        self.managed
            .then(|| fields.any(|fields| fields.touches(place)))
    }

    /// Whether a field manager of the Operator has applied something to the status.
    pub(crate) fn is_status_applied(&self, manager: &str) -> bool {
        self.applied_status(manager).next().is_some()
    }

    /// Whether somebody else owns a field of the status that we have applied.
    pub(crate) fn shares_status(&self, place: &FieldPath) -> bool {
        let applied = self.applied_status.iter();
        let mut others = applied.flat_map(|applied| &applied.others);
        others.any(|fields| fields.touches(place))
    }

    /// Whether the value of a field that a field manager of the Operator has applied exists only
    /// because of that. It does not if others have written it as well, or if another controller of
    /// the Operator has: then it is a value of others that was restored, or left to them.
    pub(crate) fn is_only_applied(&self, manager: &str, place: &FieldPath) -> bool {
        let ours = match place.top() {
            "status" => {
                self.has_applied_status(manager, place) == Some(true) && !self.shares_status(place)
            }
            _ => self.is_only_ours(place),
        };
        ours && !self.is_rewritten(place)
    }

    /// Whether a field that controllers of the Operator have applied was also written by one of them
    /// in another way.
    pub(crate) fn is_rewritten(&self, place: &FieldPath) -> bool {
        let written = self.written.as_ref();
        written.is_some_and(|fields| fields.applied.touches(place))
    }

    /// The fields at or inside a place that controllers of the Operator have written without
    /// applying them. Known only if they have applied something, too.
    pub(crate) fn written_inside(&self, place: &FieldPath) -> Vec<FieldPath> {
        let written = self.written.iter().flat_map(|fields| fields.all.paths());
        written.filter(|field| field.within(place)).collect()
    }

    fn applied_status(&self, manager: &str) -> impl Iterator<Item = &FieldSet> {
        let applied = self.applied_status.iter().flat_map(|applied| &applied.own);
        let own = applied.filter(move |(name, _)| name == manager);
        own.map(|(_, fields)| fields)
    }

    /// The field managers that changed these fields last: those that own one of them or, if
    /// nobody does because the fields were removed, the one that changed the object last.
    pub fn last_managers(&self, places: &[FieldPath]) -> Vec<String> {
        let owns = |other: &&Manager| places.iter().any(|place| other.fields.touches(place));
        let mut managers: Vec<&Manager> = self.others.iter().filter(owns).collect();
        if managers.is_empty() {
            managers = self.others.iter().filter(|o| !o.time.is_empty()).collect();
        }
        // Times have the format of RFC 3339 in UTC, so they are ordered as texts.
        let last = managers.iter().map(|manager| manager.time.as_str()).max();
        managers.retain(|manager| Some(manager.time.as_str()) == last);
        let mut names: Vec<String> = managers
            .iter()
            .map(|manager| manager.name.clone())
            .collect();
        names.dedup();
        names
    }

    /// Whether somebody else owns a field outside of the metadata that is not wanted, and so
    /// was added after our last write.
    pub(crate) fn has_foreign_fields(&self, wanted: &Value) -> bool {
        let metadata = PathElement::Field(KEYS.metadata.clone());
        let mut others = self.others.iter();
        others.any(|other| adds(&other.fields.without(&metadata), &self.object, wanted))
    }
}

/// Whether one of these fields is in the live value but not in the wanted one. Elements of sets
/// count as part of their list.
fn adds(fields: &FieldSet, live: &Value, wanted: &Value) -> bool {
    fields.elements().any(|(step, inside)| {
        let (live, wanted) = match step {
            PathElement::Field(field) => (live.get_key(field), wanted.get_key(field)),
            PathElement::Element(keys) => (element(live, keys), element(wanted, keys)),
            PathElement::Index(_) | PathElement::Value(_) => return false,
        };
        !live.is_null() && (wanted.is_null() || adds(inside, live, wanted))
    })
}

fn element<'a>(list: &'a Value, keys: &Value) -> &'a Value {
    let (View::List(items), Some(keys)) = (list.view(), keys.as_map()) else {
        return list.at(usize::MAX);
    };
    let has = |item: &&Value| {
        keys.iter()
            .all(|(key, value)| item.get_key(key) == value || item.get_key(key).is_null())
    };
    items
        .iter()
        .find(has)
        .unwrap_or_else(|| list.at(usize::MAX))
}

/// The answers to our last writes of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Vec<Answered>);

/// The last write of a field manager to the object or to its status, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    manager: Key,
    status: bool,
    /// What was wanted.
    pub goal: Value,
    /// The object in the answer.
    pub answer: Value,
}

impl Record {
    /// The answer to the last write of a manager, if that had the same goal.
    pub fn of(&self, manager: &str, status: bool, goal: &Value) -> Option<&Value> {
        let answered = self.last(manager, status)?;
        (answered.goal == *goal).then_some(&answered.answer)
    }

    /// The last write of a manager.
    pub fn last(&self, manager: &str, status: bool) -> Option<&Answered> {
        let mut all = self.0.iter();
        all.find(|last| last.status == status && last.manager.as_str() == manager)
    }

    /// The last write of any manager.
    pub(crate) fn newest(&self) -> Option<&Answered> {
        self.0.last()
    }

    /// Stores the answer to a write.
    pub fn note(&mut self, manager: &str, status: bool, goal: Value, answer: Value) {
        let manager = Key::new(manager);
        self.0
            .retain(|last| last.manager != manager || last.status != status);
        // Most objects have one answer, and a vector would grow to four.
        self.0.reserve_exact(1);
        self.0.push(Answered {
            manager,
            status,
            goal,
            answer,
        });
    }

    /// Whether there is no answer.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Discards all answers, because the object that they show no longer exists.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the answers show another object with the same name.
    pub fn is_of_another(&self, uid: &str) -> bool {
        let uid_of = |answer: &Value| answer.get("metadata").get("uid").clone();
        self.0
            .iter()
            .any(|last| uid_of(&last.answer).as_str() != Some(uid))
    }

    /// Lets the record share memory with the object, after a manager that writes the whole
    /// object has found it as wanted. If the status has changed, the manager no longer wants one,
    /// and its answer says nothing about a status that it wants later.
    pub fn share(&mut self, manager: &str, object: &Value) {
        let own = |last: &Answered| last.manager.as_str() == manager;
        let status = object.get("status");
        self.0
            .retain(|last| !(own(last) && last.status && last.answer.get("status") != status));
        for last in self.0.iter_mut().filter(|last| own(last)) {
            last.answer = object.clone();
        }
    }
}

/// Something that a controller left on an object that it no longer wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Leftover {
    /// The object.
    pub key: ObjectKey,
    /// The controller that wrote it.
    pub controller: String,
    /// The origin of its document.
    pub origin: Value,
    /// Whether its removal deletes the object or undoes a patch. Otherwise only our marks are
    /// removed.
    pub removes: bool,
}

/// What controllers have left on an object that they no longer want.
pub fn leftovers(
    key: &ObjectKey,
    kind: Option<&TargetKind>,
    observed: &Observed,
    wanted: &Wanted,
    operator: &OperatorId,
) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = Vec::new();
    // An Updater that wants the object takes everything over.
    if observed.is_being_deleted() || wanted.has_updater() {
        return found;
    }
    let mut records = records_of(&observed.object, key, operator);
    records.retain(|written| !wanted.is_wanted_by(&written.controller));
    let leaves = |kind: &TargetKind| wanted.leaves(key, kind, &observed.object);
    let leaves = kind.filter(|_| !records.is_empty()).map(leaves);
    let leaves = leaves.unwrap_or_default();
    let claim = Claim::read(&observed.object, key)
        .filter(|claim| claim.is_of(operator))
        // The controller may still patch the object, if its target has another type now.
        .filter(|claim| !wanted.is_yielded_by(&claim.controller));
    if let Some(claim) = claim {
        let mut of_claim = records
            .iter()
            .filter(|written| written.controller == claim.controller);
        // A renamed Applier takes over the object.
        let taken_over = wanted.has_applier() && of_claim.clone().any(|written| written.applied);
        // What is applied to an object that stays, stays as well.
        let stays = !claim.created && !taken_over;
        let undone = of_claim.any(|written| {
            if stays && written.applied {
                return undoes(&written.patched_part(), &leaves);
            }
            undoes(written, &leaves)
        });
        records.retain(|written| written.controller != claim.controller);
        found.push(Leftover {
            key: key.clone(),
            controller: claim.controller,
            origin: claim.origin,
            removes: (claim.created && !taken_over) || undone,
        });
    }
    found.extend(records.into_iter().map(|written| Leftover {
        key: key.clone(),
        removes: undoes(&written, &leaves),
        controller: written.controller,
        origin: written.origin,
    }));
    found
}

/// Whether a layer has set a value that none of the leaves keeps.
fn undoes(written: &Written, leaves: &[(FieldPath, Value)]) -> bool {
    let kept = |place: &FieldPath| leaves.iter().any(|leaf| concerns(leaf, place));
    !is_whole(written) && written.places().any(|place| !kept(place))
}

/// Whether it is the record of an Updater, which writes the whole object.
pub(crate) fn is_whole(written: &Written) -> bool {
    written.document.is_some() && !written.applied
}

/// The records of an Operator's controllers on an object, except for those that belong to the claim
/// of another Operator. Those of an Operator of the same name that existed before it count once the
/// object itself has been taken over: nobody else can take them back.
pub(crate) fn records_of(object: &Value, key: &ObjectKey, operator: &OperatorId) -> Vec<Written> {
    let mut records = Written::of_operator(object, operator, key);
    let taken_over = is_claimed(object, key, operator);
    records.retain(|written| match written.owner(operator) {
        Ownership::Own => true,
        Ownership::Former => taken_over,
        Ownership::Other => false,
    });
    if records.is_empty() {
        return records;
    }
    let theirs = Claim::read(object, key).filter(|claim| !claim.is_of(operator));
    if let Some(claim) = theirs {
        records.retain(|written| !is_whole(written) && written.controller != claim.controller);
    }
    records
}

/// Whether an object has a mark with the name of an Operator.
pub fn is_marked(object: &Value, key: &ObjectKey, operator: &OperatorId) -> bool {
    Claim::read(object, key).is_some_and(|claim| claim.operator == operator.name)
        || !Written::of_operator(object, operator, key).is_empty()
}

/// Whether an object has a mark of this Operator that would have to be removed.
pub fn is_held(object: &Value, key: &ObjectKey, operator: &OperatorId) -> bool {
    is_claimed(object, key, operator) || !records_of(object, key, operator).is_empty()
}

/// Whether an object was derived or patched by an Operator of the same name that existed before
/// this one.
pub fn is_orphan(object: &Value, key: &ObjectKey, operator: &OperatorId) -> bool {
    let former = |owner: Ownership| owner == Ownership::Former;
    let mut records = Written::of_operator(object, operator, key).into_iter();
    if is_claimed(object, key, operator) {
        return false;
    }
    Claim::read(object, key).is_some_and(|claim| former(claim.owner(operator)))
        || records.any(|written| former(written.owner(operator)))
}

/// Whether an object has the claim of this Operator.
fn is_claimed(object: &Value, key: &ObjectKey, operator: &OperatorId) -> bool {
    Claim::read(object, key).is_some_and(|claim| claim.is_of(operator))
}

/// The fields of an object without its metadata, `apiVersion` and `kind`.
pub(crate) fn fields_of(object: &Value) -> Map {
    let fields = object.as_map().into_iter().flatten();
    let fields =
        fields.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    fields.cloned().collect()
}

/// The fields that identify an object, as the start of a request body.
pub(crate) fn identity(key: &ObjectKey, kind: &TargetKind) -> Map {
    let mut metadata = vec![(Key::new("name"), key.name.name.clone())];
    if !key.namespace().is_empty() {
        metadata.push((Key::new("namespace"), key.name.namespace.clone()));
    }
    let version = Value::from(kind.api_version());
    Map::from_entries(vec![
        (Key::new("apiVersion"), version),
        (Key::new("kind"), Value::from(kind.kind.kind.as_str())),
        (Key::new("metadata"), Map::from_entries(metadata).into()),
    ])
}
