//! The origins that are in error when a sweep runs.
//!
//! Most errors may hide what is derived from other origins: a document that is missing in a group
//! changes the output of the group. An output that cannot be where it is derived hides nothing: it is
//! an error of the very last stage. So it keeps only what its own origin has left behind.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::GroupKind;
use operator::Controller;
use target::Leftover;
use target::claim::{hidden_origin, short_origin};

use crate::controller_task::ControllerTask;

/// The origins of a controller that are in error, as claims name them.
#[derive(Debug, Default)]
pub(crate) struct FailingOrigins {
    /// Those whose errors may hide outputs of others.
    pub(crate) hiding: Vec<Value>,
    /// Those whose outputs cannot be where they are derived, by the kind of these.
    misplaced: BTreeMap<GroupKind, BTreeSet<Value>>,
}

impl FailingOrigins {
    pub(crate) fn of(controller: &Controller, task: &ControllerTask) -> Self {
        let mut all = Self::default();
        for error in task.failures() {
            let origin = error.origin.describe(&controller.pipeline.sources);
            if !error.failure.is_misplaced() {
                all.hiding.push(origin);
                continue;
            }
            let target = controller.pipeline.branches[error.branch].output.target;
            if let Some(target) = target {
                let kind = controller.targets[target].resource.group_kind();
                let of_kind = all.misplaced.entry(kind).or_default();
                of_kind.insert(short_origin(&origin));
                of_kind.insert(origin);
            }
        }
        all
    }

    /// Whether the origin of a leftover yields an object that cannot be there.
    pub(super) fn misplace(&self, leftover: &Leftover) -> bool {
        let Some(origins) = self.misplaced.get(&leftover.key.kind) else {
            return false;
        };
        let origin = &leftover.origin;
        // An origin that claims do not show may be any.
        *origin == hidden_origin() || covers(origins, origin)
    }
}

/// Whether an origin is one of these, or one of them is part of the other.
pub(crate) fn covers(origins: &BTreeSet<Value>, origin: &Value) -> bool {
    if origins.contains(origin) {
        return true;
    }
    let Some(parts) = origin.as_list() else {
        return false;
    };
    // The elements of a list that was unwound, and the document that contains it.
    let prefixes = (1..parts.len()).map(|len| parts.iter().take(len).cloned().collect());
    let mut prefixes = prefixes.filter(|prefix: &Value| origins.contains(prefix));
    let mut longer = origins.range(origin..).take(1);
    prefixes.next().is_some() || longer.any(|other| starts_with(other, origin))
}

fn starts_with(origin: &Value, prefix: &Value) -> bool {
    let (Some(origin), Some(prefix)) = (origin.as_list(), prefix.as_list()) else {
        return false;
    };
    origin.len() >= prefix.len() && origin.iter().zip(prefix.iter()).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use document::json;
    use object::ObjectKey;

    use super::*;

    #[test]
    fn a_misplaced_output_keeps_what_its_own_origin_has_left() {
        let pod = |name: &str| json!({"source": "Pod", "name": name});
        let element = |name: &str, index: i64| json!([(pod(name)), {"index": index}]);
        let unwound = element("b", 2);
        let origins = [json!([(pod("a"))]), unwound.clone(), json!({"hash": "x"})];
        let kind = GroupKind::new("", "ConfigMap");
        let failing = FailingOrigins {
            hiding: Vec::new(),
            misplaced: BTreeMap::from([(kind, BTreeSet::from(origins))]),
        };
        let keeps = |kind: &str, origin: Value| {
            failing.misplace(&Leftover {
                key: ObjectKey::new("", kind, "ns", "x"),
                controller: "c".to_owned(),
                origin,
                removes: true,
            })
        };
        assert!(keeps("ConfigMap", json!([(pod("a"))])));
        assert!(keeps("ConfigMap", element("a", 0)));
        assert!(keeps("ConfigMap", unwound.clone()));
        assert!(keeps("ConfigMap", json!([(pod("b"))])));
        assert!(keeps("ConfigMap", json!({"hash": "x"})));
        assert!(keeps("ConfigMap", hidden_origin()));
        // Others are not affected.
        assert!(!keeps("ConfigMap", element("b", 1)));
        assert!(!keeps("ConfigMap", json!([(pod("c"))])));
        assert!(!keeps("ConfigMap", json!([{"key": "a"}])));
        assert!(!keeps("ConfigMap", json!({"hash": "y"})));
        assert!(!keeps("Secret", hidden_origin()));
        assert!(!keeps("Secret", unwound));
    }
}
