//! What is known of objects on the cluster, and of what our writes made of them.

use document::{Key, Map, Value, View};
use fieldset::{FieldPath, FieldSet, PathElement, concerns};
use object::metadata::KEYS;
use object::{ObjectKey, Unreadable};

use super::TargetKind;
use super::claim::Claim;
use super::desired::Wanted;
use super::written::Written;
use object::marks::is_manager_of;

/// What is known of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Live {
    /// Nothing: it must be read first.
    #[default]
    Unknown,
    /// The watch is complete and has not shown it. It may exist without our label.
    Unseen,
    /// It was read and not found, or was seen to go.
    Absent,
    /// It is there.
    Present(Observed),
}

/// An object that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The object, without managedFields.
    pub object: Value,
    /// Who else writes it.
    pub others: Vec<Manager>,
    /// Whether the server says who writes what.
    pub managed: bool,
    /// Why it cannot be read; then of `object` there is only the metadata.
    pub unreadable: Option<Box<Unreadable>>,
}

/// A field manager of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Manager {
    /// Its name.
    pub name: String,
    /// What it owns, without the status.
    pub fields: FieldSet,
}

impl Observed {
    /// An object as the server gives it.
    pub fn new(object: &Value, operator: &str) -> Self {
        let metadata = object.get("metadata");
        let managed = metadata.get("managedFields").as_list();
        let others = managed.into_iter().flatten();
        let others = others.filter_map(|entry| Manager::read(entry, operator));
        let others = others.collect();
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
        }
    }

    /// An object that cannot be read, of which `object` is the metadata.
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

    /// Whether this is what is known of an object that the server gives.
    pub fn is_version_of(&self, object: &Value) -> bool {
        let metadata = object.get("metadata");
        let same = |field: &str| self.object.get("metadata").get(field) == metadata.get(field);
        same("resourceVersion") && same("uid")
    }

    /// Whether it is being deleted.
    pub fn is_going(&self) -> bool {
        let metadata = self.object.get("metadata");
        !metadata.get("deletionTimestamp").is_null()
    }

    /// Whether this is an earlier version than another. Versions that are no numbers cannot
    /// be compared: then what arrives later is later.
    pub fn is_older_than(&self, other: &Self) -> bool {
        let number = |observed: &Self| observed.version().parse::<u128>().ok();
        matches!((number(self), number(other)), (Some(a), Some(b)) if a < b)
    }

    /// Whether the server says that nobody else has written anything at a place. Of the
    /// status that is not known: everybody writes it. Nor is it of positions in lists: the
    /// last to write such a list has all of it.
    pub(crate) fn is_only_ours(&self, place: &FieldPath) -> bool {
        let touched = |other: &Manager| other.fields.touches(place);
        let known = self.managed && place.top() != "status" && !place.is_by_position();
        known && !self.others.iter().any(touched)
    }

    /// Whether someone else owns a field outside metadata that is not wanted: it was
    /// added after our last write.
    pub(crate) fn has_foreign_fields(&self, wanted: &Value) -> bool {
        let metadata = PathElement::Field(KEYS.metadata.clone());
        let mut others = self.others.iter();
        others.any(|other| adds(&other.fields.without(&metadata), &self.object, wanted))
    }
}

impl Manager {
    fn read(entry: &Value, operator: &str) -> Option<Self> {
        let name = entry.get("manager").as_str()?;
        if is_manager_of(name, operator) || entry.get("subresource").as_str() == Some("status") {
            return None;
        }
        let status = PathElement::Field(KEYS.status.clone());
        // What cannot be read may be anything.
        let fields = FieldSet::from_fields_v1(entry.get("fieldsV1"));
        let fields = fields.unwrap_or_else(|_| FieldSet::everything());
        let fields = fields.with_whole_lists().without(&status);
        (!fields.is_empty()).then(|| Self {
            name: name.to_owned(),
            fields,
        })
    }
}

/// Whether one of these fields is in the live value and not in the wanted one. Elements of
/// sets are part of their list.
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

/// What our last writes of an object returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Vec<Answered>);

/// The last write of a field manager to the object or to its status, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    manager: Key,
    status: bool,
    /// What was wanted.
    pub goal: Value,
    /// The object that the server returned.
    pub answer: Value,
}

impl Record {
    /// The answer of the last write of a manager, if it wanted the same.
    pub fn of(&self, manager: &str, status: bool, goal: &Value) -> Option<&Value> {
        let answered = self.last(manager, status)?;
        (answered.goal == *goal).then_some(&answered.answer)
    }

    /// The last write of a manager.
    pub fn last(&self, manager: &str, status: bool) -> Option<&Answered> {
        let mut all = self.0.iter();
        all.find(|last| last.status == status && last.manager.as_str() == manager)
    }

    /// The last write of all managers.
    pub(crate) fn newest(&self) -> Option<&Answered> {
        self.0.last()
    }

    /// Notes the answer of a write.
    pub fn note(&mut self, manager: &str, status: bool, goal: Value, answer: Value) {
        let manager = Key::new(manager);
        self.0
            .retain(|last| last.manager != manager || last.status != status);
        // Most objects have one answer, and a vector grows to four.
        self.0.reserve_exact(1);
        self.0.push(Answered {
            manager,
            status,
            goal,
            answer,
        });
    }

    /// Forgets all: what was written is gone.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the answers are about another object of the same name.
    pub fn is_of_another(&self, uid: &str) -> bool {
        let uid_of = |answer: &Value| answer.get("metadata").get("uid").clone();
        self.0
            .iter()
            .any(|last| uid_of(&last.answer).as_str() != Some(uid))
    }

    /// A manager who wrote all of the object found it right: from now on the record and
    /// the object share their memory.
    pub fn share(&mut self, manager: &str, object: &Value) {
        let all = self.0.iter_mut();
        for last in all.filter(|last| last.manager.as_str() == manager) {
            last.answer = object.clone();
        }
    }
}

/// What a controller left on an object, and does not want any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Leftover {
    /// The object.
    pub key: ObjectKey,
    /// The controller that wrote it.
    pub controller: String,
    /// What it was derived from.
    pub origin: Value,
    /// Whether the object is deleted, or a patch on it undone. Otherwise only our marks are
    /// taken off.
    pub removes: bool,
}

/// What is left on an object of controllers that do not want it any more.
pub fn leftovers(
    key: &ObjectKey,
    kind: Option<&TargetKind>,
    observed: &Observed,
    wanted: &Wanted,
    operator: &str,
) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = Vec::new();
    // An Updater that wants the object takes all of it over.
    if observed.is_going() || wanted.has_updater() {
        return found;
    }
    let mut records = Written::of_operator(&observed.object, operator, key);
    records.retain(|written| !wanted.is_wanted_by(&written.controller));
    let leaves = |kind: &TargetKind| wanted.leaves(key, kind);
    let leaves = kind.filter(|_| !records.is_empty()).map(leaves);
    let leaves = leaves.unwrap_or_default();
    let claim = Claim::read(&observed.object, key)
        .filter(|claim| claim.operator == operator)
        .filter(|claim| !wanted.is_wanted_by(&claim.controller));
    if let Some(claim) = claim {
        let mut of_claim = records
            .iter()
            .filter(|written| written.controller == claim.controller);
        // An Applier under a new name takes over what its old name created.
        let taken_over = wanted.has_applier() && of_claim.clone().any(|written| written.applied);
        let undone = of_claim.any(|written| undoes(written, &leaves));
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

/// Whether a layer has set something that none of the leaves keeps.
fn undoes(written: &Written, leaves: &[(FieldPath, Value)]) -> bool {
    let kept = |place: &FieldPath| leaves.iter().any(|leaf| concerns(leaf, place));
    !is_whole(written) && written.places().any(|place| !kept(place))
}

/// Whether a record is that of an Updater, who wrote all of the object.
pub(crate) fn is_whole(written: &Written) -> bool {
    written.document.is_some() && !written.applied
}

/// Whether an object carries anything of an operator.
pub fn is_marked(object: &Value, key: &ObjectKey, operator: &str) -> bool {
    Claim::read(object, key).is_some_and(|claim| claim.operator == operator)
        || !Written::of_operator(object, operator, key).is_empty()
}

/// An object without what only says which object is meant, and without metadata.
pub(crate) fn fields_of(object: &Value) -> Map {
    let fields = object.as_map().into_iter().flatten();
    let fields =
        fields.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    fields.cloned().collect()
}

/// The identity of an object, as the start of a request's body.
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
