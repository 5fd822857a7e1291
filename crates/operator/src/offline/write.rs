//! Writing derived documents onto objects: Updater, Patcher, Applier.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, json};

use super::Report;
use super::cluster::{Cluster, ObjectKey};
use crate::layer::layer;
use crate::patch::{outgoing, patch_of};
use crate::spec::{Operator, Target, TargetType};

/// What each object should look like, by who says so: controllers rank by position.
#[derive(Debug, Default)]
pub(super) struct Desired {
    writers: BTreeMap<ObjectKey, BTreeMap<(usize, usize), Writer>>,
    /// The objects that exist because we created them.
    created: BTreeSet<ObjectKey>,
}

/// What one target of one controller wants of an object.
#[derive(Debug, Default)]
struct Writer {
    /// What is derived now.
    document: Option<Value>,
    /// What was last written.
    applied: Option<Value>,
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
        let mut withdrawn = None;
        for (at, writer) in updaters.by_ref() {
            let Some(document) = &writer.document else {
                withdrawn = writer.applied.take().or(withdrawn);
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
            live = Some(update(
                live.as_ref(),
                document,
                writer.applied.as_ref(),
                target,
            ));
            writer.applied = Some(document.clone());
            under = Some(document.clone());
        }
        if winner.is_none() && withdrawn.is_some() && self.created.remove(key) {
            live = None;
        }

        // The others layer on it; the first has the last word.
        for (at, writer) in writers.iter_mut().rev() {
            let target = target_of(at);
            if target.kind == TargetType::Updater {
                continue;
            }
            let wanted = writer
                .document
                .as_ref()
                .map(|document| patch_of(document, target));
            live = layer(
                live,
                writer.applied.as_ref(),
                wanted.as_ref(),
                under.as_ref(),
                target,
            );
            writer.applied = wanted.filter(|_| live.is_some());
        }
        writers.retain(|_, writer| writer.document.is_some() || writer.applied.is_some());
        if writers.is_empty() {
            self.writers.remove(key);
        }
        if live.as_ref() != cluster.get(key) {
            cluster.write(key, live);
        }
    }
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
fn update(
    live: Option<&Value>,
    document: &Value,
    applied: Option<&Value>,
    target: &Target,
) -> Value {
    let document = outgoing(document, target);
    let (Some(live), Some(fields)) = (live, document.as_map()) else {
        return document;
    };
    if target.resource.is_view() {
        return document;
    }
    let mut metadata = live.get("metadata").as_map().cloned().unwrap_or_else(empty);
    for field in ["annotations", "labels"] {
        let set_before = applied
            .map(|applied| applied.get("metadata").get(field))
            .and_then(Value::as_map);
        let wanted = document.get("metadata").get(field).as_map();
        let mut merged = metadata
            .get_str(field)
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_else(empty);
        for (key, value) in set_before.into_iter().flatten() {
            if wanted.is_none_or(|wanted| wanted.get(key).is_none())
                && merged.get(key) == Some(value)
            {
                merged = merged.without(key.as_str());
            }
        }
        for (key, value) in wanted.into_iter().flatten() {
            merged = merged.with(key.clone(), value.clone());
        }
        if merged.is_empty() {
            metadata = metadata.without(field);
        } else {
            metadata = metadata.with(Key::new(field), merged.into());
        }
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

fn empty() -> Map {
    Map::from_sorted(Vec::new())
}
