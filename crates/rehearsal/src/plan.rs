//! The plan: how a rehearsal has changed the copy.

use std::collections::BTreeSet;

use document::{Map, Value};
use object::ObjectKey;
use object::metadata::{KEYS, with_metadata};
use target::claim::Claim;

/// What running an Operator would do to the cluster.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The changes: deletions first, then by kind and name.
    pub changes: Vec<PlannedChange>,
    /// The errors that the Operators report. On a cluster they are those in the status, which has
    /// only the last ones of each controller.
    pub errors: Vec<Value>,
    /// How many errors there are.
    pub error_count: usize,
    /// The Operators that are not ready at the end, and why.
    pub unsettled: Vec<Unsettled>,
    /// The Operators that take part because they share views.
    pub others: BTreeSet<String>,
    /// The Secrets that took part. Their values must not be shown.
    pub secrets: Vec<Value>,
    /// The Operators of the cluster that took part, as they were before. What they have computed from
    /// Secrets must not be shown.
    pub running: Vec<Value>,
}

impl Plan {
    /// Brings the changes into the order of a plan.
    pub fn sort(&mut self) {
        self.changes
            .sort_by(|a, b| (a.action, &a.key).cmp(&(b.action, &b.key)));
    }
}

/// An Operator that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// Its name.
    pub operator: String,
    /// Why.
    pub message: String,
    /// Whether the plan is incomplete, because the Operator does not run or cannot read all of its
    /// sources. Otherwise it waits for something that the plan does not create.
    pub incomplete: bool,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// The object.
    pub key: ObjectKey,
    /// What happens to it.
    pub action: Action,
    /// The object as it is, without what only the server sets.
    pub before: Option<Value>,
    /// The object as it would be.
    pub after: Option<Value>,
    /// The Operator that writes it, if that can be seen.
    pub operator: Option<String>,
    /// Whether `maxDeletions` holds this change, or a part of it, until it is allowed.
    pub held: bool,
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// It is deleted.
    Delete,
    /// It is deleted and created anew.
    Replace,
    /// It exists, is not ours, and becomes ours.
    Overwrite,
    /// It is changed.
    Change,
    /// It is created.
    Create,
}

impl Action {
    /// All actions, in the order of a plan.
    pub const ALL: [Self; 5] = [
        Self::Delete,
        Self::Replace,
        Self::Overwrite,
        Self::Change,
        Self::Create,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Overwrite => "overwrite",
            Self::Change => "change",
            Self::Create => "create",
        }
    }
}

impl PlannedChange {
    /// The change from one state of an object to another; `None` if nothing changes but what the
    /// server sets.
    pub fn new(key: &ObjectKey, before: Option<&Value>, after: Option<&Value>) -> Option<Self> {
        let uid = |object: &Value| object::metadata::uid(object).to_owned();
        let claim = |object: Option<&Value>| Claim::read(object?, key);
        let owner = |claim: Option<Claim>| claim.map(|claim| (claim.operator, claim.uid));
        let (old, new) = (claim(before), claim(after));
        let operator = new.clone().or(old.clone()).map(|claim| claim.operator);
        let action = match (before, after) {
            (None, None) => return None,
            (None, Some(_)) => Action::Create,
            (Some(_), None) => Action::Delete,
            (Some(one), Some(other)) if uid(one) != uid(other) => Action::Replace,
            (Some(_), Some(_)) if new.is_some() && owner(old) != owner(new.clone()) => {
                Action::Overwrite
            }
            (Some(_), Some(_)) => Action::Change,
        };
        let (before, after) = (before.map(content), after.map(content));
        if before == after && action != Action::Replace {
            return None;
        }
        Some(Self {
            key: key.clone(),
            action,
            before,
            after,
            operator,
            held: false,
        })
    }
}

/// The fields of metadata that only the server sets.
fn is_of_server(name: &str) -> bool {
    let keys = &*KEYS;
    [
        &keys.uid,
        &keys.resource_version,
        &keys.generation,
        &keys.creation_timestamp,
        &keys.managed_fields,
    ]
    .iter()
    .any(|key| key.as_str() == name)
}

/// An object without what only the server sets.
fn content(object: &Value) -> Value {
    let metadata = object.get_key(&KEYS.metadata).as_map();
    let kept = metadata.into_iter().flat_map(Map::iter);
    let kept = kept.filter(|(key, _)| !is_of_server(key.as_str())).cloned();
    with_metadata(object, kept.collect())
}

#[cfg(test)]
mod tests {
    use document::json;
    use object::OperatorId;

    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("", "ConfigMap", "default", "a")
    }

    fn object(uid: &str, owner: Option<&str>, data: &str) -> Value {
        let mut annotations = json!({});
        if let Some(owner) = owner {
            let operator = OperatorId::new(owner, &format!("uid-{owner}"));
            let claim = Claim::new(&operator, "c", &Value::NULL, true);
            let text = claim.print(&key());
            annotations = json!({"dcontroller.io/owner": text});
        }
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "default", "uid": uid, "resourceVersion": data,
                "annotations": annotations
            },
            "data": {"k": data}
        })
    }

    fn check(before: Option<&Value>, after: Option<&Value>, expect: Option<Action>) {
        let change = PlannedChange::new(&key(), before, after);
        assert_eq!(
            change.map(|change| change.action),
            expect,
            "{before:?} {after:?}"
        );
    }

    #[test]
    fn changes_are_classified() {
        let [x, y] = ["x", "y"].map(|data| object("1", Some("ours"), data));
        let new = object("2", Some("ours"), "x");
        let [users, changed] = ["x", "y"].map(|data| object("1", None, data));
        let theirs = object("1", Some("theirs"), "x");
        check(None, Some(&x), Some(Action::Create));
        check(Some(&x), None, Some(Action::Delete));
        check(Some(&x), Some(&y), Some(Action::Change));
        check(Some(&x), Some(&x), None);
        check(Some(&x), Some(&new), Some(Action::Replace));
        check(Some(&users), Some(&x), Some(Action::Overwrite));
        check(Some(&theirs), Some(&y), Some(Action::Overwrite));
        // A Patcher does not take the object over.
        check(Some(&users), Some(&changed), Some(Action::Change));
        check(None, None, None);
    }
}
