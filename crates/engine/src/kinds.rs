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
//!
//! A process with `--namespace` sees only a part of the cluster. It does not forget a kind, but
//! remembers that no object is left in its namespace, and does not look there again. A process
//! without a boundary looks everywhere.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, ListRef, Map, Value};
use object::{GroupKind, KindRef};
use operator::names::is_api_group;
use operator::spec::{Target, TargetType};
use operator::{Controller, Operator};

use super::Task;

/// The kinds that may hold objects of an Operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(BTreeMap<GroupKind, KindPlace>);

/// Where the objects of a kind are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KindPlace {
    found: Found,
    /// The namespaces in which a sweep has found none left.
    swept: BTreeSet<String>,
}

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
            let place = KindPlace::anywhere(Found::by(target));
            kinds.add(target.resource.group_kind(), &place);
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
            if !is_api_group(group) {
                continue;
            }
            let found = match element.get("patched").as_bool() {
                Some(true) => Found::AmongAll,
                Some(false) | None => Found::ByLabel,
            };
            let swept = element.get("sweptNamespaces").as_list().into_iter();
            let swept = swept.flat_map(ListRef::iter).filter_map(Value::as_str);
            let swept = swept.map(str::to_owned).collect();
            kinds.add(GroupKind::new(group, kind), &KindPlace { found, swept });
        }
        kinds
    }

    /// The kinds as a list, in order:
    /// `[{group: apps, kind: Deployment, patched: true, sweptNamespaces: [a]}]`.
    pub fn print(&self) -> Value {
        let kinds = self.0.iter().map(|(kind, place)| {
            let mut fields = vec![
                (Key::new("group"), kind.group.as_str().into()),
                (Key::new("kind"), kind.kind.as_str().into()),
            ];
            if place.found == Found::AmongAll {
                fields.push((Key::new("patched"), true.into()));
            }
            if !place.swept.is_empty() {
                let swept = place.swept.iter().map(|name| Value::from(name.as_str()));
                fields.push((Key::new("sweptNamespaces"), swept.collect()));
            }
            Value::from(fields.into_iter().collect::<Map>())
        });
        kinds.collect()
    }

    /// These kinds and those of another set.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (kind, place) in &other.0 {
            self.add(kind.clone(), place);
        }
        self
    }

    /// Whether all kinds of another set are in this one, with all places where their objects may
    /// be.
    pub fn contains_all(&self, other: &Self) -> bool {
        let known = |(kind, place): (&GroupKind, &KindPlace)| {
            let known = self.0.get(kind);
            known.is_some_and(|known| known.contains(place))
        };
        other.0.iter().all(known)
    }

    /// Divides them into those that may have objects within a boundary, and the others.
    pub(super) fn divide(self, boundary: Option<&str>) -> (Self, Self) {
        let is_here = |place: &KindPlace| boundary.is_none_or(|name| !place.swept.contains(name));
        let (here, elsewhere) = self.0.into_iter().partition(|(_, place)| is_here(place));
        (Self(here), Self(elsewhere))
    }

    /// Whether there is no kind.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds.
    pub fn iter(&self) -> impl Iterator<Item = &GroupKind> {
        self.0.keys()
    }

    /// Whether this kind is one of them.
    pub(super) fn contains(&self, kind: &GroupKind) -> bool {
        self.0.contains_key(kind)
    }

    /// Whether objects of a kind are found only among all objects.
    pub(super) fn among_all(&self, kind: &GroupKind) -> bool {
        self.found(kind) == Some(Found::AmongAll)
    }

    fn found(&self, kind: &GroupKind) -> Option<Found> {
        self.0.get(kind).map(|place| place.found)
    }

    fn add(&mut self, kind: GroupKind, place: &KindPlace) {
        let known = self.0.entry(kind).or_insert_with(|| place.clone());
        known.found = known.found.max(place.found);
        known
            .swept
            .retain(|namespace| place.swept.contains(namespace));
    }
}

impl KindPlace {
    fn anywhere(found: Found) -> Self {
        Self {
            found,
            swept: BTreeSet::new(),
        }
    }

    fn contains(&self, other: &Self) -> bool {
        self.found >= other.found && self.swept.is_subset(&other.swept)
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
    /// cluster does not serve at present is remembered: it may come back with its objects. So is
    /// one that may have objects outside of our boundary.
    pub(super) fn forget_kinds(&mut self) {
        let current = Kinds::of(&self.operator);
        if self.kinds == current {
            return;
        }
        let former = self.kinds.0.iter();
        let former = former.filter(|(kind, place)| current.found(kind) != Some(place.found));
        let former: Vec<GroupKind> = former.map(|(kind, _)| kind.clone()).collect();
        for kind in former {
            let writer = &self.writes.writer;
            match current.found(&kind) {
                _ if !self.sweep.has_swept(&kind) => {}
                None if !writer.holds(&kind) => self.forget(&kind),
                // It is still written, but no longer patched.
                Some(found) if self.context.namespace.is_none() && !writer.has_leftovers(&kind) => {
                    self.kinds.0.insert(kind, KindPlace::anywhere(found));
                }
                _ => {}
            }
        }
    }

    /// Forgets a kind or, with a boundary, no longer looks for its objects.
    fn forget(&mut self, kind: &GroupKind) {
        if let Some(mut place) = self.kinds.0.remove(kind)
            && let Some(namespace) = &self.context.namespace
        {
            place.swept.insert(namespace.clone());
            self.kinds_elsewhere.0.insert(kind.clone(), place);
        }
        self.subscriptions.leave(kind);
        self.problem_log
            .target_watch(kind.group.as_str(), kind.kind.as_str(), None);
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

/// Whether a controller writes objects of a kind.
pub(crate) fn writes(controller: &Controller, kind: &GroupKind) -> bool {
    let mut targets = controller.targets.iter();
    targets.any(|target| target.resource.is(kind))
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn kinds(list: &Value) -> Kinds {
        Kinds::read(list)
    }

    #[test]
    fn a_printed_list_is_read_to_the_same() {
        let list = json!([
            {"group": "", "kind": "ConfigMap"},
            {"group": "apps", "kind": "Deployment", "patched": true},
            {"group": "apps", "kind": "Job", "sweptNamespaces": ["a", "b"]},
        ]);
        assert_eq!(kinds(&list).print(), list);
        let broken = json!([
            {"group": ""}, "x", {"group": "a/b?c", "kind": "Job"},
            {"group": "apps", "kind": "Job"},
        ]);
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

    #[test]
    fn a_kind_that_is_written_again_may_be_everywhere() {
        let in_namespaces = |swept: Value| {
            let pods = json!({"group": "", "kind": "Pod", "sweptNamespaces": (swept)});
            kinds(&json!([pods]))
        };
        let (two, one, none) = (
            in_namespaces(json!(["a", "b"])),
            in_namespaces(json!(["b", "c"])),
            in_namespaces(json!([])),
        );
        assert_eq!(two.clone().with(&one), in_namespaces(json!(["b"])));
        assert_eq!(two.clone().with(&none), none);
        assert!(none.contains_all(&two) && !two.contains_all(&none));
        let nothing = Kinds::default();
        assert_eq!(
            two.clone().divide(Some("a")),
            (nothing.clone(), two.clone())
        );
        assert_eq!(
            two.clone().divide(Some("c")),
            (two.clone(), nothing.clone())
        );
        assert_eq!(two.clone().divide(None), (two, nothing));
    }
}
