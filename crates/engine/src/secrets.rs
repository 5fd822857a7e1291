//! Which Operators values of Secrets can reach, through their sources or through views.
//!
//! ```text
//! Secret ──▶ Operator a ──▶ view of a ──▶ Operator b ──▶ view of b ──▶ Operator c
//! ```
//!
//! A server that refuses an object quotes values of it in its message. If a value may come from
//! a Secret, the message is not shown. An explanation masks the parts of views that may contain such
//! values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::GroupKind;
use operator::Operator;
use operator::secrets::{Taint, mark_with, of_views};
use operator::spec::Source;

use super::views::view_of;
use crate::view_source::operator_of;

/// For all Operators of a process: what they read.
#[derive(Debug, Default)]
pub(crate) struct SecretFlows(Mutex<Flows>);

#[derive(Debug, Default)]
struct Flows {
    /// Grows with every change.
    version: u64,
    operators: BTreeMap<String, Reads>,
}

#[derive(Debug)]
struct Reads {
    secrets: bool,
    /// The other Operators whose views it reads.
    operators: BTreeSet<String>,
    operator: Arc<Operator>,
}

impl SecretFlows {
    /// Records the sources of an Operator that starts.
    pub(super) fn set(&self, operator: &Arc<Operator>) {
        let controllers = operator.controllers.iter();
        let sources: Vec<&Source> = controllers.flat_map(|c| &c.sources).collect();
        let views = sources.iter().filter_map(|source| view_of(source));
        let operators = views.map(|view| operator_of(&view).to_owned());
        let reads = Reads {
            secrets: sources.iter().any(|source| source.resource.is_secret()),
            operators: operators.filter(|name| *name != operator.name).collect(),
            operator: operator.clone(),
        };
        let mut flows = self.flows();
        flows.version += 1;
        flows.operators.insert(operator.name.clone(), reads);
    }

    /// Forgets an Operator that no longer exists.
    pub(super) fn remove(&self, operator: &str) {
        let mut flows = self.flows();
        flows.version += 1;
        flows.operators.remove(operator);
    }

    /// Grows when the answers of the other functions may have changed.
    pub(super) fn version(&self) -> u64 {
        self.flows().version
    }

    /// Whether values of Secrets may reach an Operator. The worst is assumed for a view whose
    /// Operator is unknown.
    pub(super) fn reach(&self, operator: &str) -> bool {
        let all = &self.flows().operators;
        let mut seen = BTreeSet::new();
        let mut next = vec![operator];
        while let Some(name) = next.pop() {
            if !seen.insert(name) {
                continue;
            }
            match all.get(name) {
                Some(reads) if !reads.secrets => {
                    next.extend(reads.operators.iter().map(String::as_str));
                }
                _ => return true,
            }
        }
        false
    }

    /// The Operator with the parts of its documents that values of Secrets may reach, also through
    /// views of other Operators. The worst is assumed for views whose Operator is unknown.
    pub(super) fn marked(&self, operator: &Arc<Operator>) -> Arc<Operator> {
        if !self.reach(&operator.name) {
            return operator.clone();
        }
        let views = self.upstream_views(operator, |_| Taint::ALL);
        with_views(operator, &views)
    }

    /// What may contain values of Secrets in the views that reach an Operator; `unknown` returns it
    /// for the views of an Operator that is unknown.
    pub(super) fn upstream_views(
        &self,
        operator: &Arc<Operator>,
        unknown: impl Fn(&GroupKind) -> Taint,
    ) -> BTreeMap<GroupKind, Taint> {
        let (upstream, missing) = self.upstream(operator);
        let assumed = missing.into_iter().map(|view| {
            let taint = unknown(&view);
            (view, taint)
        });
        let mut views: BTreeMap<GroupKind, Taint> = assumed.collect();
        // Each round follows the views of one more Operator.
        for _ in 0..upstream.len() {
            for other in upstream.values() {
                let found = of_views(&with_views(other, &views));
                views.extend(found);
            }
        }
        views
    }

    /// The Operators from which views reach an Operator, and the views whose Operator is unknown.
    fn upstream(
        &self,
        operator: &Arc<Operator>,
    ) -> (BTreeMap<String, Arc<Operator>>, BTreeSet<GroupKind>) {
        let all = &self.flows().operators;
        let (mut known, mut unknown) = (BTreeMap::new(), BTreeSet::new());
        let mut next = vec![operator.clone()];
        while let Some(reader) = next.pop() {
            let sources = reader.controllers.iter().flat_map(|c| &c.sources);
            for view in sources.filter_map(view_of) {
                let name = operator_of(&view).to_owned();
                if name == operator.name || known.contains_key(&name) {
                    continue;
                }
                match all.get(&name) {
                    Some(reads) => {
                        known.insert(name, reads.operator.clone());
                        next.push(reads.operator.clone());
                    }
                    None => {
                        unknown.insert(view);
                    }
                }
            }
        }
        (known, unknown)
    }

    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An Operator that reads these views of others.
pub(super) fn with_views(
    operator: &Arc<Operator>,
    views: &BTreeMap<GroupKind, Taint>,
) -> Arc<Operator> {
    if views.values().all(Taint::is_none) {
        return operator.clone();
    }
    let mut marked = Operator::clone(operator);
    mark_with(&mut marked, views);
    Arc::new(marked)
}

#[cfg(test)]
mod tests {
    use document::{Value, json};

    use super::*;

    fn operator(name: &str, sources: &[Value]) -> Arc<Operator> {
        let sources: Value = sources.iter().cloned().collect();
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
            "spec": {"controllers": [{
                "name": "c", "sources": sources, "pipeline": [{"@join": true}, {"@project": {"metadata": {"name": "x"}}}],
                "target": {"kind": "V"}
            }]}
        });
        let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
        Arc::new(operator.unwrap_or_else(|| panic!("{problems:?}")))
    }

    fn core(kind: &str) -> Value {
        json!({"apiGroup": "", "kind": kind})
    }

    fn view(operator: &str) -> Value {
        json!({"apiGroup": (format!("{operator}.view.dcontroller.io")), "kind": "V"})
    }

    #[test]
    fn secrets_reach_their_readers_directly_and_through_views() {
        let flows = SecretFlows::default();
        flows.set(&operator("pods", &[core("Pod")]));
        flows.set(&operator("reader", &[core("Pod"), view("pods")]));
        assert!(!flows.reach("pods") && !flows.reach("reader"));
        flows.set(&operator("pods", &[core("Pod"), core("Secret")]));
        assert!(flows.reach("pods") && flows.reach("reader"));
    }

    #[test]
    fn a_cycle_of_operators_is_followed_once() {
        let flows = SecretFlows::default();
        flows.set(&operator("a", &[core("Pod"), view("b")]));
        flows.set(&operator("b", &[core("Pod"), view("a")]));
        assert!(!flows.reach("a") && !flows.reach("b"));
    }

    #[test]
    fn the_worst_is_assumed_for_an_operator_that_does_not_run() {
        let flows = SecretFlows::default();
        flows.set(&operator("a", &[core("Pod"), view("b")]));
        assert!(flows.reach("a"));
        flows.set(&operator("b", &[core("Pod")]));
        assert!(!flows.reach("a"));
        flows.remove("b");
        assert!(flows.reach("a"));
    }

    /// An Operator with one source, which copies a field into its view.
    fn copies(name: &str, source: &Value, field: &str) -> Arc<Operator> {
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
            "spec": {"controllers": [{
                "name": "c", "sources": [(source.clone())],
                "pipeline": [{"@project": {
                    "metadata": {"name": "$.metadata.name"}, "copy": (format!("$.{field}"))
                }}],
                "target": {"kind": "V"}
            }]}
        });
        let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
        Arc::new(operator.unwrap_or_else(|| panic!("{problems:?}")))
    }

    /// What is shown of the view of an Operator.
    fn shown(flows: &SecretFlows, operator: &Arc<Operator>) -> Value {
        let parts = of_views(&flows.marked(operator));
        let view = json!({"metadata": {"name": "a"}, "copy": "x"});
        let masked = parts.values().map(|taint| taint.masked(&view)).next();
        masked.unwrap_or(view)
    }

    #[test]
    fn parts_of_views_are_followed_through_operators() {
        let flows = SecretFlows::default();
        let a = copies("a", &core("Secret"), "data.token");
        let [b, c] = [
            copies("b", &view("a"), "copy"),
            copies("c", &view("b"), "copy"),
        ];
        let other = copies("other", &view("a"), "metadata.name");
        for operator in [&a, &b, &c, &other] {
            flows.set(operator);
        }
        let masked = json!({"metadata": {"name": "a"}, "copy": "***"});
        assert_eq!(shown(&flows, &b), masked);
        assert_eq!(shown(&flows, &c), masked);
        let whole = json!({"metadata": {"name": "a"}, "copy": "x"});
        assert_eq!(shown(&flows, &other), whole);
        // Nothing is known of this one.
        flows.remove("a");
        let hidden = json!({"metadata": {"name": "***"}, "copy": "***"});
        assert_eq!(shown(&flows, &other), hidden);
    }
}
