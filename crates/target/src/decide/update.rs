//! `Updater`: creates an object, or replaces all of it except for metadata of others.
//!
//! An object is up to date if it equals the answer to the last write of this document. Without
//! that answer (after a restart), it is up to date if it has all wanted values and nobody else has
//! added fields since.

use document::{Key, Map, Path, Value};
use fieldset::{FieldPath, LeafIndex};

use super::assigned::assigned;
use super::{Action, Case, Verb, Wait, Write, foreign, is_ours, layered, records, undone, write};
use crate::claim::Claim;
use crate::desired::{Desired, Layer, Ranking};
use crate::live::{Live, Observed, fields_of, identity, is_whole};
use crate::outgoing::{with_ignored, without_ignored};
use crate::problem::{Cause, Conflict, Problem};
use crate::updater::{self, merge_metadata, metadata_leaves};
use crate::written::{Written, value_hash};
use fieldset::compare::{as_live, covers, diff, differences, equal, equal_maps, fill};
use object::marks::{MANAGED_BY, MANAGER, OPERATOR, OWNER, operator_label};

/// The state that an Updater wants for an object.
struct Goal<'a> {
    case: &'a Case<'a>,
    layer: &'a Layer<'a>,
    /// The document with all layers on it.
    document: Value,
    /// The part that is compared and recorded: labels, annotations with our marks,
    /// ownerReferences, and all fields except for a status that has its own endpoint.
    target: Value,
    /// Whether we created the object, or are about to.
    created: bool,
    /// Whether we have written the object before.
    claimed: bool,
    /// The metadata that layers set or remove.
    layered: LeafIndex,
}

pub(super) fn decide(
    case: &Case<'_>,
    ranking: &mut Ranking<'_>,
    problems: &mut Vec<Problem>,
) -> Action {
    let live = match case.live {
        Live::Present(observed) => Some(observed),
        Live::Unknown | Live::Unseen | Live::Absent => None,
    };
    let records = layered::records(case, ranking, live, problems);
    let (Some(layer), Some(document)) = (&ranking.updater, ranking.folded(case.kind)) else {
        return Action::Nothing;
    };
    let observed = match case.live {
        Live::Unknown => return Action::Read,
        Live::Unseen | Live::Absent => {
            return Goal::new(case, layer, document, true, &records).create();
        }
        Live::Present(observed) => observed,
    };
    if observed.is_being_deleted() {
        return case.wait(Wait::Gone);
    }
    let claim = case.claim(observed);
    if let Some(theirs) = foreign(case, claim.as_ref()) {
        problems.push(theirs(layer.desired));
        return case.wait(Wait::Conflict);
    }
    if let Some(why) = &observed.unreadable {
        let cause = Cause::Unreadable(why.as_ref().clone());
        problems.push(layer.desired.problem(cause));
        return case.wait(Wait::Unreadable);
    }
    let claim = claim.or_else(|| remembered(case, layer, observed));
    if claim.is_none() && layer.desired.author.target.refuse_existing {
        let conflict = Cause::Conflict(Conflict::Existing);
        problems.push(layer.desired.problem(conflict));
        return case.wait(Wait::Conflict);
    }
    let created = claim.as_ref().is_some_and(|claim| claim.created);
    if case.learned.recreate && created {
        return super::release::delete(case, observed);
    }
    if let Some(undo) = layered::undo_status(case, ranking, observed) {
        return undo;
    }
    let mut goal = Goal::new(case, layer, document, created, &records);
    goal.claimed = claim.is_some();
    let leaves = ranking.layers.iter();
    goal.layered = leaves
        .flat_map(|layer| fieldset::leaves(&layer.document, &case.kind.keys))
        .filter(|(place, _)| place.top() == "metadata")
        .collect();
    if let Some(mut write) = goal.main(observed) {
        write.adopts = claim.is_none();
        return Action::Write(Box::new(write));
    }
    goal.status(observed, &ranking.layered_status(&case.kind.keys))
}

/// The claim that our last write put on this object, in case somebody has removed it.
fn remembered(case: &Case<'_>, layer: &Layer<'_>, observed: &Observed) -> Option<Claim> {
    let manager = &layer.desired.author.manager;
    let answer = &case.record.last(manager, false)?.answer;
    let same = answer.get("metadata").get("uid").as_str() == Some(observed.uid());
    Claim::read(answer, case.key).filter(|_| same)
}

impl<'a> Goal<'a> {
    fn new(
        case: &'a Case<'a>,
        layer: &'a Layer<'a>,
        document: Value,
        created: bool,
        records: &[Written],
    ) -> Self {
        let mut fields = fields_of(&document);
        if case.kind.status {
            fields = fields.without("status");
        }
        let metadata = marked_metadata(case, layer, &document, created);
        let metadata = records
            .iter()
            .fold(Value::from(metadata), |metadata, written| {
                let place = FieldPath::of(&["annotations", &written.annotation()]);
                let text = match case.live {
                    Live::Present(observed) => written.print_over(&observed.object),
                    Live::Unknown | Live::Unseen | Live::Absent => written.print(),
                };
                place.set(&metadata, &Value::from(text))
            });
        let target = fields.with(Key::new("metadata"), metadata).into();
        Self {
            case,
            layer,
            document,
            target,
            created,
            claimed: false,
            layered: LeafIndex::default(),
        }
    }

    fn create(&self) -> Action {
        let identity = identity(self.case.key, self.case.kind);
        let mut metadata = identity.get_str("metadata").cloned().unwrap_or_default();
        for field in ["annotations", "labels", "ownerReferences"] {
            let given = self.target.get("metadata").get(field);
            if !given.is_null() {
                metadata = FieldPath::of(&[field]).set(&metadata, given);
            }
        }
        metadata = self.with_manager(metadata);
        let mut body = identity.with(Key::new("metadata"), metadata);
        for (field, value) in &fields_of(&self.target) {
            body = body.with(field.clone(), value.clone());
        }
        let goal = self.target.clone();
        let create = write(self.layer, Verb::Create, false, body.into(), goal);
        Action::Write(Box::new(create))
    }

    /// The replacement, if the object is not up to date.
    fn main(&self, observed: &Observed) -> Option<Write> {
        let manager = &self.layer.desired.author.manager;
        let metadata = self.metadata(observed);
        let answer = self.case.record.of(manager, false, &self.target);
        let live = observed.object.get("metadata");
        let compared = match diff(live, &metadata) {
            None => metadata.clone(),
            Some(_) => self.with_live_claim(&metadata, observed),
        };
        let same_metadata = diff(live, &compared);
        let same_fields = match answer {
            Some(answer) => self.same_fields(answer, &observed.object),
            None => {
                let keys = &self.case.kind.keys;
                let wanted = without_ignored(&self.target, self.ignore());
                let wanted = Value::from(fields_of(&wanted));
                covers(&observed.object, &wanted, keys, false) && !self.has_additions(observed)
            }
        };
        if same_metadata.is_none() && same_fields {
            return None;
        }
        let body = self.replacement(observed, metadata.clone());
        let mut write = write(self.layer, Verb::Replace, false, body, self.target.clone());
        if let Some(answer) = answer {
            let own = self.target.get("status").is_null();
            let fields = |object: &Value| {
                let fields = fields_of(&self.comparable(object));
                Value::from(if own {
                    fields.without("status")
                } else {
                    fields
                })
            };
            let mut places = differences(&fields(answer), &fields(&observed.object));
            let meta = |metadata: &Value| FieldPath::of(&["metadata"]).set(&Value::NULL, metadata);
            let live = meta(observed.object.get("metadata"));
            places.extend(differences(&meta(&compared), &live));
            write.drift = places;
        }
        Some(write)
    }

    /// Whether the live object has the content of the answer.
    fn same_fields(&self, answer: &Value, live: &Value) -> bool {
        if answer.same(live) {
            return true;
        }
        let own = self.target.get("status").is_null();
        let ignored = |field: &str| {
            matches!(field, "apiVersion" | "kind" | "metadata") || (own && field == "status")
        };
        let (answer, live) = (self.comparable(answer), self.comparable(live));
        match (answer.as_map(), live.as_map()) {
            (Some(answer), Some(live)) => equal_maps(answer, live, ignored),
            _ => false,
        }
    }

    /// An object without the fields that belong to others.
    fn comparable(&self, object: &Value) -> Value {
        let object = without_ignored(object, self.ignore());
        let assigned = assigned(self.case.key).filter(|place| place.get(&self.target).is_null());
        assigned.fold(object, |object, place| place.remove(&object))
    }

    fn ignore(&self) -> &[Path] {
        &self.layer.desired.author.target.ignore
    }

    /// Whether others have added fields to the object.
    fn has_additions(&self, observed: &Observed) -> bool {
        if observed.others.is_empty() {
            return false;
        }
        let mut live = observed.clone();
        live.object = self.comparable(&observed.object);
        live.has_foreign_fields(&self.target)
    }

    /// The wanted metadata: that of the object, with ours.
    fn metadata(&self, observed: &Observed) -> Value {
        let mut metadata = observed.object.get("metadata").clone();
        let ours = records(self.case, observed, &self.layer.desired.author);
        let wanted = self.target.get("metadata");
        let object = FieldPath::of(&["metadata"]).set(&Value::NULL, &metadata);
        let goal = FieldPath::of(&["metadata"]).set(&Value::NULL, wanted);
        let mut kept = object;
        for written in &ours {
            for place in written.places() {
                let lost = place.top() == "metadata" && place.get(&goal).is_null();
                if !lost || self.layered.concerns(place) || !is_ours(written, observed, place) {
                    continue;
                }
                // A Patcher on our own object has replaced our value, and not that of others.
                kept = if self.claimed && !place.get(&kept).is_null() {
                    place.remove(&kept)
                } else if self.claimed {
                    kept
                } else {
                    undone(written, &kept, &[place])
                };
            }
            kept = FieldPath::of(&["metadata", "annotations", &written.annotation()]).remove(&kept);
        }
        if !kept.get("metadata").is_null() {
            metadata = kept.get("metadata").clone();
        }
        self.with_manager(merge_metadata(&metadata, wanted))
    }

    /// The wanted metadata, with the claim on the object if that lacks only a uid.
    fn with_live_claim(&self, metadata: &Value, observed: &Observed) -> Value {
        let claim = claim(self.layer.desired, self.created);
        let claim = claim.print_over(&observed.object, self.case.key);
        FieldPath::of(&["annotations", OWNER]).set(metadata, &claim.into())
    }

    /// Adds the label for the manager to an object that we create, or that wants it. An existing
    /// value stays.
    fn with_manager(&self, metadata: Value) -> Value {
        let wanted = self.document.get("metadata").get("labels").get(MANAGED_BY);
        let given = metadata.get("labels").get(MANAGED_BY);
        if !given.is_null() || (wanted.is_null() && !self.created) {
            return metadata;
        }
        let value = wanted.as_str().unwrap_or(MANAGER);
        FieldPath::of(&["labels", MANAGED_BY]).set(&metadata, &Value::from(value))
    }

    /// The body of the replacement.
    fn replacement(&self, observed: &Observed, metadata: Value) -> Value {
        let live = &observed.object;
        let mut fields = fields_of(&self.target);
        if !self.case.kind.status
            && fields.get_str("status").is_none()
            && !live.get("status").is_null()
        {
            fields = fields.with(Key::new("status"), live.get("status").clone());
        }
        let mut body = Value::from(fields);
        if self.is_forgotten(observed) {
            body = as_live(live, &body, &self.case.kind.keys);
        }
        body = with_ignored(&body, live, self.ignore());
        for place in assigned(self.case.key) {
            if place.get(&body).is_null() && !place.get(live).is_null() {
                body = place.set(&body, place.get(live));
            }
        }
        body = self.with_kept(body, live);
        let head = identity(self.case.key, self.case.kind);
        let mut body = body.as_map().cloned().unwrap_or_else(|| head.clone());
        for (field, value) in &head {
            body = body.with(field.clone(), value.clone());
        }
        body.with(Key::new("metadata"), metadata).into()
    }

    /// Whether this document was written before and nobody has added fields, but the server's
    /// answer is no longer known. Then the live values, with the defaults of the server, are sent
    /// where they match the document: for some kinds the server takes anything else for a change.
    fn is_forgotten(&self, observed: &Observed) -> bool {
        let manager = &self.layer.desired.author.manager;
        self.case.record.last(manager, false).is_none()
            && observed.managed
            && self.is_last_written(&observed.object)
            && !self.has_additions(observed)
    }

    /// The body with the fields that the server does not let us remove, except for those that we
    /// wanted earlier: these are removed on purpose.
    fn with_kept(&self, body: Value, live: &Value) -> Value {
        let manager = &self.layer.desired.author.manager;
        let earlier = match self.case.record.last(manager, false) {
            Some(answered) => answered.goal.clone(),
            // The annotation shows that we wrote this document.
            None if self.is_last_written(live) => self.target.clone(),
            None => return body,
        };
        self.case.learned.kept.iter().fold(body, |body, field| {
            let names = field.split('[').next().unwrap_or_default();
            let place = FieldPath::of(&names.split('.').collect::<Vec<_>>());
            let (wanted, live) = (place.get(&body), place.get(live));
            let filled = fill(wanted, live, place.get(&earlier));
            if filled.is_null() || equal(&filled, wanted) {
                return body;
            }
            place.set(&body, &filled)
        })
    }

    fn is_last_written(&self, live: &Value) -> bool {
        let hash = Some(value_hash(&self.document));
        let ours = Written::of_operator(live, self.case.operator, self.case.key);
        ours.iter()
            .any(|written| is_whole(written) && written.document == hash)
    }

    /// The write of the status, if it is not up to date.
    fn status(&self, observed: &Observed, layered: &Value) -> Action {
        let own = self.document.get("status");
        if !self.case.kind.status || (own.is_null() && layered.is_null()) {
            return Action::Nothing;
        }
        let live = observed.object.get("status");
        let keys = &self.case.kind.keys;
        let merged = |base: &Value| {
            if layered.is_null() {
                return base.clone();
            }
            fieldset::merge(base, layered, keys)
        };
        // If the Updater does not yield a status, only the layers change it.
        let (wanted, goal) = if own.is_null() {
            (merged(live), layered.clone())
        } else {
            (merged(own), merged(own))
        };
        let manager = &self.layer.desired.author.manager;
        let answer = self.case.record.of(manager, true, &goal);
        let right = match answer {
            Some(answer) => equal(answer.get("status"), live),
            None => covers(live, &wanted, keys, false),
        };
        let change = diff(live, &wanted).filter(|_| !right);
        let Some(change) = change else {
            return Action::Nothing;
        };
        let patch = FieldPath::of(&["status"]).set(&Value::empty_map(), &change);
        let version = Value::from(observed.version());
        let body = FieldPath::of(&["metadata", "resourceVersion"]).set(&patch, &version);
        let mut write = write(self.layer, Verb::Merge, true, body, goal);
        if let Some(answer) = answer {
            let status = |object: &Value| {
                let status = object.get("status");
                FieldPath::of(&["status"]).set(&Value::empty_map(), status)
            };
            let places = differences(&status(answer), &status(&observed.object));
            write.drift = places;
        }
        Action::Write(Box::new(write))
    }
}

/// The claim that a writer puts on an object.
pub(super) fn claim(desired: &Desired, created: bool) -> Claim {
    let author = &desired.author;
    Claim::new(
        &author.operator,
        &author.controller,
        &desired.origin,
        created,
    )
}

/// The labels, annotations and ownerReferences of a document, with our marks.
fn marked_metadata(case: &Case<'_>, layer: &Layer<'_>, document: &Value, created: bool) -> Map {
    let desired = layer.desired;
    let author = &desired.author;
    let mut written = Written::new(&author.operator, &author.controller, case.key);
    written.document = Some(value_hash(document));
    // The label for the manager is set once, and never changed.
    let managed_by = FieldPath::of(&["metadata", "labels", MANAGED_BY]);
    let document = managed_by.remove(document);
    // Values that the object already has are not ours, and not recorded.
    let sets = setter(case, layer);
    for (place, value) in metadata_leaves(&document) {
        if sets(&place, &value) {
            written.record_new(&place, &value);
        }
    }
    let used = document.get("metadata").as_map().cloned();
    let mut used: Value = used.map_or_else(Value::empty_map, Value::from);
    let claim = claim(desired, created);
    let live = match case.live {
        Live::Present(observed) => &observed.object,
        Live::Unknown | Live::Unseen | Live::Absent => &Value::NULL,
    };
    let marks = [
        (["annotations", OWNER], claim.print(case.key)),
        (
            ["annotations", author.set.as_str()],
            written.print_over(live),
        ),
        (["labels", OPERATOR], operator_label(&author.operator.name)),
    ];
    for (place, text) in marks {
        used = FieldPath::of(&place).set(&used, &Value::from(text));
    }
    used.as_map().cloned().expect("marks are set in it")
}

/// Returns whether a path does not have a value yet, or has it because we have set it.
fn setter(case: &Case<'_>, layer: &Layer<'_>) -> impl Fn(&FieldPath, &Value) -> bool {
    let observed = match case.live {
        Live::Present(observed) => Some(observed),
        Live::Unknown | Live::Unseen | Live::Absent => None,
    };
    let author = &layer.desired.author;
    let records = observed.map_or_else(Vec::new, |observed| records(case, observed, author));
    move |place, value| {
        let live = observed.map(|observed| &observed.object);
        let ours = |observed: &Observed| {
            let mut records = records.iter();
            records.any(|written| is_ours(written, observed, place))
        };
        updater::sets(live, place, value, || observed.is_some_and(ours))
    }
}
