//! Writing derived documents onto objects: Updater, Patcher, Applier.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, json};

use object::ObjectKey;

use super::cluster::Cluster;
use fieldset::{FieldPath, MergeKeys};
use operator::Report;
use operator::spec::{Operator, Target, TargetType};
use target::layer::{Layer, Patched, Was, Wish, lay};
use target::outgoing::{outgoing, patch_of};

/// What each object should look like, by who says so: controllers rank by position.
#[derive(Debug, Default)]
pub(super) struct Desired {
    writers: BTreeMap<ObjectKey, BTreeMap<(usize, usize), ObjectWriter>>,
    /// The objects that exist because we created them.
    created: BTreeSet<ObjectKey>,
}

/// What one target of one controller wants of an object.
#[derive(Debug, Default)]
struct ObjectWriter {
    /// What is derived now.
    document: Option<Value>,
    /// Whether it was written.
    written: bool,
    /// What it has set: all of it of a Patcher or Applier, of an Updater the labels and
    /// annotations.
    set: Patched,
}

impl Desired {
    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.writers.contains_key(key)
    }

    /// The objects that are derived.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.writers
            .iter()
            .filter(|(_, writers)| writers.values().any(|writer| writer.document.is_some()))
            .map(|(key, _)| key)
    }

    pub(super) fn set(
        &mut self,
        key: &ObjectKey,
        controller: usize,
        target: usize,
        document: Option<Value>,
    ) {
        let writers = self.writers.entry(key.clone()).or_default();
        writers.entry((controller, target)).or_default().document = document;
    }

    /// Brings an object to what is derived for it.
    pub(super) fn write(
        &mut self,
        key: &ObjectKey,
        operator: &Operator,
        cluster: &mut Cluster,
        errors: &mut Vec<Report>,
    ) {
        let Some(writers) = self.writers.get_mut(key) else {
            return;
        };
        let target_of = |at: &(usize, usize)| &operator.controllers[at.0].targets[at.1];
        let mut live = cluster.get(key).cloned();
        let created = self.created.contains(key);

        // One Updater is written, the first; others wait.
        let mut updaters = writers
            .iter_mut()
            .filter(|(at, _)| target_of(at).kind == TargetType::Updater);
        let mut winner: Option<(usize, usize)> = None;
        let mut under = None;
        let mut withdrawn = false;
        for (at, writer) in updaters.by_ref() {
            let Some(document) = &writer.document else {
                withdrawn |= std::mem::take(&mut writer.written);
                writer.set = Patched::default();
                continue;
            };
            if let Some(first) = winner {
                errors.push(conflict(key, operator, at.0, first.0));
                continue;
            }
            winner = Some(*at);
            let target = target_of(at);
            if target.resource.is_view() && live.is_some() && !created {
                errors.push(held_by_user(key, operator, at.0));
                winner = None;
                continue;
            }
            if live.is_none() {
                self.created.insert(key.clone());
            }
            let object = update(live.as_ref(), document, &mut writer.set, target);
            live = Some(object);
            writer.written = true;
            under = Some(document.clone());
        }
        if winner.is_none() && withdrawn && self.created.remove(key) {
            live = None;
        }

        // The others layer on it; the first has the last word.
        let layers = writers
            .iter_mut()
            .map(|(at, writer)| (target_of(at), writer))
            .filter(|(target, _)| target.kind != TargetType::Updater);
        live = layered(
            live,
            under.as_ref(),
            key.kind.group.as_str(),
            layers.collect(),
        );
        writers.retain(|_, writer| writer.document.is_some() || writer.written);
        if writers.is_empty() {
            self.writers.remove(key);
        }
        if live.as_ref() != cluster.get(key) {
            cluster.write(key, live);
        }
    }
}

/// The object with the patches of these writers on it. An Applier also creates it.
fn layered(
    live: Option<Value>,
    under: Option<&Value>,
    group: &str,
    mut writers: Vec<(&Target, &mut ObjectWriter)>,
) -> Option<Value> {
    let applied = |(target, writer): &(&Target, &mut ObjectWriter)| {
        let document = writer.document.as_ref().map(identity);
        document.filter(|_| target.kind == TargetType::Applier)
    };
    let live = live.or_else(|| writers.iter().find_map(applied));
    let mut layers: Vec<Layer> = writers
        .iter()
        .map(|(target, writer)| Layer {
            wish: match &writer.document {
                Some(document) => Wish::Patch(patch_of(document, target)),
                None => Wish::Nothing,
            },
            set: writer.set.clone(),
        })
        .collect();
    let laid = live.map(|live| lay(&live, under, &mut layers, &MergeKeys::of_group(group)));
    for ((_, writer), layer) in writers.iter_mut().zip(layers) {
        writer.written = laid.is_some() && writer.document.is_some();
        writer.set = if laid.is_some() {
            layer.set
        } else {
            Patched::default()
        };
    }
    laid
}

/// Which object a document speaks of.
fn identity(document: &Value) -> Value {
    let places = [
        FieldPath::of(&["apiVersion"]),
        FieldPath::of(&["kind"]),
        FieldPath::of(&["metadata", "name"]),
        FieldPath::of(&["metadata", "namespace"]),
    ];
    let given = places.iter().filter(|place| !place.get(document).is_null());
    given.fold(Value::empty_map(), |object, place| {
        place.set(&object, place.get(document))
    })
}

fn conflict(key: &ObjectKey, operator: &Operator, loser: usize, winner: usize) -> Report {
    report(
        key,
        operator,
        loser,
        format!(
            "{} is also written by controller {}, which comes first",
            key.name, operator.controllers[winner].name
        ),
    )
}

fn held_by_user(key: &ObjectKey, operator: &Operator, controller: usize) -> Report {
    report(
        key,
        operator,
        controller,
        format!("{} exists and was not derived: it is left alone", key.name),
    )
}

fn report(key: &ObjectKey, operator: &Operator, controller: usize, message: String) -> Report {
    Report {
        controller: operator.controllers[controller].name.clone(),
        stage: "output".to_owned(),
        origin: json!([{"key": (key.name.to_string())}]),
        code: "conflict",
        message,
    }
}

/// `Updater`: replaces all top-level fields but metadata; labels and annotations are
/// merged, and those that are no longer derived are removed if we set them.
fn update(live: Option<&Value>, document: &Value, set: &mut Patched, target: &Target) -> Value {
    let document = outgoing(document, target);
    let none = Value::empty_map();
    let now = metadata_set(live.unwrap_or(&none), &document, set);
    let before = std::mem::replace(set, now);
    let (Some(live), Some(fields)) = (live, document.as_map()) else {
        return document;
    };
    if target.resource.is_view() {
        return document;
    }
    let dropped = before
        .places()
        .filter(|place| place.get(&document).is_null() && before.holds(place, live));
    let kept = dropped.fold(live.clone(), |object, place| place.remove(&object));
    let mut metadata = kept.get("metadata").as_map().cloned().unwrap_or_else(empty);
    for field in ["annotations", "labels"] {
        let given = document.get("metadata").get(field);
        let Some(given) = given.as_map().filter(|given| !given.is_empty()) else {
            continue;
        };
        let merged = metadata.get_str(field).and_then(Value::as_map).cloned();
        let merged = given
            .iter()
            .fold(merged.unwrap_or_else(empty), |merged, (key, value)| {
                merged.with(key.clone(), value.clone())
            });
        metadata = metadata.with(Key::new(field), merged.into());
    }
    let mut result = fields.with(Key::new("metadata"), metadata.into());
    if fields.get_str("status").is_none()
        && let Some(status) = live.as_map().and_then(|live| live.get_str("status"))
    {
        result = result.with(Key::new("status"), status.clone());
    }
    // The version of the live object stays, whatever was assumed for the target.
    let version = live.get("apiVersion");
    if !version.is_null() {
        result = result.with(Key::new("apiVersion"), version.clone());
    }
    result.into()
}

/// The labels and annotations that a document sets: not those that the object has anyway.
fn metadata_set(live: &Value, document: &Value, before: &Patched) -> Patched {
    let mut set = Patched::default();
    for field in ["annotations", "labels"] {
        let given = document.get("metadata").get(field).as_map();
        for (name, value) in given.into_iter().flatten() {
            let place = FieldPath::of(&["metadata", field, name.as_str()]);
            if place.get(live) != value || before.holds(&place, live) {
                set.note(&place, value, Was::Absent);
            }
        }
    }
    set
}

fn empty() -> Map {
    Map::from_sorted(Vec::new())
}
