//! Patches as layers on an object: what a `Patcher` sets, and how it takes that back.
//!
//! In come an object, what was set on it before and what is wanted now; out comes the
//! object as it should be. Views on a cluster and everything offline share this.

use document::{Map, Value, View};

use crate::patch::{MergeKeys, identity_free, merge};
use crate::spec::{Target, TargetType};

/// `Patcher` (and `Applier`, which also creates): takes back what it no longer wants if
/// it still is as written, and merges what it wants. What `under` yields, the document of
/// an Updater that the patch lies on, stays.
pub fn layer(
    live: Option<Value>,
    applied: Option<&Value>,
    wanted: Option<&Value>,
    under: Option<&Value>,
    target: &Target,
) -> Option<Value> {
    let Some(mut live) = live else {
        return wanted
            .filter(|_| target.kind == TargetType::Applier)
            .cloned();
    };
    let keys = MergeKeys::of_group(&target.resource.group);
    if let Some(applied) = applied {
        let empty = Value::empty_map();
        let kept = merge(under.unwrap_or(&empty), wanted.unwrap_or(&empty), &keys);
        live = take_back(&live, applied, &kept).unwrap_or(live);
    }
    if let Some(wanted) = wanted {
        live = merge(&live, &identity_free(wanted), &keys);
    }
    Some(live)
}

/// Removes the leaves of `applied` that are not in `kept`, where they still hold what
/// was applied; maps that this empties go too. `None` if nothing is left.
pub fn take_back(live: &Value, applied: &Value, kept: &Value) -> Option<Value> {
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
    use document::json;

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

    #[test]
    fn what_an_updater_yields_too_stays() {
        let target = crate::read(
            &json!({
                "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
                "metadata": {"name": "o"},
                "spec": {"controllers": [{
                    "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
                    "pipeline": [{"@select": true}], "target": {"kind": "V", "type": "Patcher"}
                }]}
            }),
            &expr::Table::builtin(),
        );
        let target = &target.0.unwrap().controllers[0].targets[0];
        let document = json!({"spec": {"a": 1, "list": [{"k": 2}]}});
        let applied = json!({"spec": {"list": [{"k": 2}], "b": 3}});
        let live = json!({"spec": {"a": 1, "b": 3, "list": [{"k": 2}]}});
        let left = layer(Some(live), Some(&applied), None, Some(&document), target);
        assert_eq!(left, Some(document));
    }
}
