//! Writing derived documents onto objects: Updater, Patcher, Applier.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, View, json};

use super::Report;
use super::cluster::{Cluster, ObjectKey};
use crate::patch::{MergeKeys, identity_free, merge, outgoing, patch_of};
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
            live = patch(live, writer.applied.as_ref(), wanted.as_ref(), target);
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

/// `Patcher` (and `Applier`, which also creates): takes back what it no longer wants if
/// it still is as written, and merges what it wants.
fn patch(
    live: Option<Value>,
    applied: Option<&Value>,
    wanted: Option<&Value>,
    target: &Target,
) -> Option<Value> {
    let Some(mut live) = live else {
        return wanted
            .filter(|_| target.kind == TargetType::Applier)
            .cloned();
    };
    if let Some(applied) = applied {
        let kept = wanted.cloned().unwrap_or_else(Value::empty_map);
        live = take_back(&live, applied, &kept).unwrap_or(live);
    }
    if let Some(wanted) = wanted {
        let keys = MergeKeys::of_group(&target.resource.group);
        live = merge(&live, &identity_free(wanted), &keys);
    }
    Some(live)
}

/// Removes the leaves of `applied` that are not in `kept`, where they still hold what
/// was applied; maps that this empties go too. `None` if nothing is left.
fn take_back(live: &Value, applied: &Value, kept: &Value) -> Option<Value> {
    let applied = identity_free(applied);
    remove(live, &applied, kept)
}

fn remove(live: &Value, applied: &Value, kept: &Value) -> Option<Value> {
    match (live.view(), applied.view()) {
        (View::Map(live_map), View::Map(applied)) => {
            let mut entries = Vec::new();
            let mut removed = false;
            for (key, value) in live_map {
                match applied.get(key) {
                    None => entries.push((key.clone(), value.clone())),
                    Some(applied) => {
                        let kept = kept.get_key(key);
                        let left = remove(value, applied, kept);
                        removed |= left.is_none();
                        entries.extend(left.map(|left| (key.clone(), left)));
                    }
                }
            }
            (!(entries.is_empty() && removed)).then(|| Map::from_sorted(entries).into())
        }
        _ if !kept.is_null() => Some(live.clone()),
        (View::List(live_items), View::List(applied_items)) if live != applied => {
            // Elements of ours inside a list that has others: take ours out again.
            let ours = |item: &Value| applied_items.iter().any(|applied| applied == item);
            let rest: Vec<Value> = live_items
                .iter()
                .filter(|item| !ours(item))
                .cloned()
                .collect();
            (!rest.is_empty()).then(|| rest.into())
        }
        _ => (live != applied).then(|| live.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_longer_wanted_is_taken_back_if_it_is_as_written() {
        let live =
            json!({"metadata": {"annotations": {"ours": "1", "theirs": "2", "changed": "4"}}});
        let applied = json!({"metadata": {"annotations": {"ours": "1", "changed": "3"}}});
        let left = take_back(&live, &applied, &json!({}));
        assert_eq!(
            left,
            Some(json!({"metadata": {"annotations": {"theirs": "2", "changed": "4"}}}))
        );
        let alone = json!({"metadata": {"name": "x", "annotations": {"ours": "1"}}});
        let left = take_back(
            &alone,
            &json!({"metadata": {"annotations": {"ours": "1"}}}),
            &json!({}),
        );
        assert_eq!(left, Some(json!({"metadata": {"name": "x"}})));
    }
}
