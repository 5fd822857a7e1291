//! The kinds that may hold objects of an Operator.
//!
//! An edit may change the kind of a target, and the objects of the former kind have to be found
//! then, and after restarts. So the kinds are remembered (in the status of the Operator) before
//! the first write, until a sweep has found no object left:
//!
//! ```text
//! spec: ConfigMap    remembered: ConfigMap             ConfigMaps are written
//! spec: Secret       remembered: ConfigMap, Secret     Secrets are written, ConfigMaps swept
//!                    remembered: Secret                no ConfigMap is left
//! ```

use std::collections::BTreeMap;

use document::{Key, ListRef, Value, json};
use object::{GroupKind, KindRef};
use operator::Operator;
use operator::spec::{Target, TargetType};

use super::Task;

/// The kinds that may hold objects of an Operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(BTreeMap<GroupKind, Found>);

/// How the objects of a kind are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// By the label of the Operator.
    ByLabel,
    /// Among all objects: it patches objects of others, which do not have the label.
    AmongAll,
}

impl Kinds {
    /// The kinds that an Operator writes, without views.
    pub fn of(operator: &Operator) -> Self {
        let targets = operator.controllers.iter().flat_map(|c| &c.targets);
        let mut kinds = Self::default();
        for target in targets.filter(|target| !target.resource.is_view()) {
            kinds.add(target.resource.group_kind(), Found::by(target));
        }
        kinds
    }

    /// The kinds in a list as [`Kinds::print`] returns it. Other elements are ignored.
    pub fn read(list: &Value) -> Self {
        let mut kinds = Self::default();
        for element in list.as_list().into_iter().flat_map(ListRef::iter) {
            let word = |field: &str| element.get(field).as_str();
            let (Some(group), Some(kind)) = (word("group"), word("kind")) else {
                continue;
            };
            let found = match element.get("patched").as_bool() {
                Some(true) => Found::AmongAll,
                Some(false) | None => Found::ByLabel,
            };
            kinds.add(GroupKind::new(group, kind), found);
        }
        kinds
    }

    /// The kinds as a list, in order: `[{group: apps, kind: Deployment, patched: true}]`.
    pub fn print(&self) -> Value {
        let kinds = self.0.iter().map(|(kind, found)| {
            let plain = json!({"group": (kind.group.as_str()), "kind": (kind.kind.as_str())});
            match (found, plain.as_map()) {
                (Found::AmongAll, Some(map)) => {
                    map.with(Key::new("patched"), Value::from(true)).into()
                }
                _ => plain,
            }
        });
        kinds.collect()
    }

    /// These kinds and those of another set.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (kind, found) in &other.0 {
            self.add(kind.clone(), *found);
        }
        self
    }

    /// Whether all kinds of another set are in this one.
    pub fn contains_all(&self, other: &Self) -> bool {
        let known = |(kind, found): (&GroupKind, &Found)| {
            let known = self.0.get(kind);
            known.is_some_and(|known| known >= found)
        };
        other.0.iter().all(known)
    }

    /// Whether there is no kind.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds.
    pub fn iter(&self) -> impl Iterator<Item = &GroupKind> {
        self.0.keys()
    }

    /// Whether objects of a kind are found only among all objects.
    pub(super) fn among_all(&self, kind: &GroupKind) -> bool {
        self.0.get(kind) == Some(&Found::AmongAll)
    }

    fn add(&mut self, kind: GroupKind, found: Found) {
        let known = self.0.entry(kind).or_insert(found);
        *known = found.max(*known);
    }
}

impl Found {
    fn by(target: &Target) -> Self {
        match target.kind {
            TargetType::Patcher => Self::AmongAll,
            TargetType::Updater | TargetType::Applier => Self::ByLabel,
        }
    }
}

/// A kind in the version that the server prefers.
pub(super) fn any_version(kind: &GroupKind) -> KindRef {
    KindRef {
        group: kind.group.as_str().to_owned(),
        version: None,
        kind: kind.kind.as_str().to_owned(),
    }
}

impl Task {
    /// Forgets the kinds that are no longer targets and of which no object is left. One that the
    /// cluster does not serve at present is remembered: it may come back with its objects.
    pub(super) fn forget_kinds(&mut self) {
        let current = Kinds::of(&self.operator);
        if self.kinds == current {
            return;
        }
        let former: Vec<(GroupKind, Found)> = self
            .kinds
            .0
            .iter()
            .filter(|(kind, found)| current.0.get(kind) != Some(found))
            .map(|(kind, found)| (kind.clone(), *found))
            .collect();
        for (kind, _) in former {
            let writer = &self.writes.writer;
            match current.0.get(&kind) {
                _ if !self.sweep.has_swept(&kind) => {}
                None if !writer.holds(&kind) => {
                    self.kinds.0.remove(&kind);
                    self.subscriptions.leave(&kind);
                    self.problem_log
                        .target_watch(kind.group.as_str(), kind.kind.as_str(), None);
                }
                // It is still written, but no longer patched.
                Some(found) if !writer.has_leftovers(&kind) => {
                    self.kinds.0.insert(kind, *found);
                }
                _ => {}
            }
        }
    }

    /// Why objects of some kinds cannot be listed.
    pub(super) fn unlisted(&self) -> Vec<String> {
        self.problem_log.unlisted(self.kinds.iter())
    }

    /// The former target kinds that cannot be listed, as a reason why the Operator is not ready.
    pub(super) fn unlisted_former(&self) -> Option<String> {
        let current = Kinds::of(&self.operator);
        let former = self.kinds.iter();
        let former = former.filter(|kind| !current.0.contains_key(*kind));
        let why = self.problem_log.unlisted(former).into_iter().next()?;
        Some(format!("objects of a former target may be left: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(list: &Value) -> Kinds {
        Kinds::read(list)
    }

    #[test]
    fn a_printed_list_is_read_to_the_same() {
        let list = json!([
            {"group": "", "kind": "ConfigMap"},
            {"group": "apps", "kind": "Deployment", "patched": true},
        ]);
        assert_eq!(kinds(&list).print(), list);
        let broken = json!([{"group": ""}, "x", {"group": "apps", "kind": "Job"}]);
        assert_eq!(
            kinds(&broken),
            kinds(&json!([{"group": "apps", "kind": "Job"}]))
        );
        assert!(kinds(&Value::NULL).is_empty());
    }

    #[test]
    fn a_patched_kind_contains_the_plain_one() {
        let plain = kinds(&json!([{"group": "", "kind": "Pod"}]));
        let patched = kinds(&json!([{"group": "", "kind": "Pod", "patched": true}]));
        assert!(patched.contains_all(&plain) && !plain.contains_all(&patched));
        assert_eq!(plain.clone().with(&patched), patched);
        assert_eq!(patched.clone().with(&plain), patched);
    }
}
