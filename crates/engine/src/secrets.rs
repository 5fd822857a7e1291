//! Which Operators values of Secrets can reach, through their sources or through views.
//!
//! ```text
//! Secret ──▶ Operator a ──▶ view of a ──▶ Operator b ──▶ view of b ──▶ Operator c
//! ```
//!
//! A server that refuses an object quotes values of it in its message. If a value may come from
//! a Secret, the message is not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use operator::Operator;
use operator::spec::Source;

use super::views::view_of;
use crate::view_source::operator_of;

/// For all Operators of a process: what they read.
#[derive(Debug, Default)]
pub(crate) struct SecretFlows(Mutex<BTreeMap<String, Reads>>);

#[derive(Debug)]
struct Reads {
    secrets: bool,
    /// The other Operators whose views it reads.
    operators: BTreeSet<String>,
}

impl SecretFlows {
    /// Records the sources of an Operator that starts.
    pub(super) fn set(&self, operator: &Operator) {
        let controllers = operator.controllers.iter();
        let sources: Vec<&Source> = controllers.flat_map(|c| &c.sources).collect();
        let views = sources.iter().filter_map(|source| view_of(source));
        let operators = views.map(|view| operator_of(&view).to_owned());
        let reads = Reads {
            secrets: sources.iter().any(|source| source.resource.is_secret()),
            operators: operators.filter(|name| *name != operator.name).collect(),
        };
        self.reads().insert(operator.name.clone(), reads);
    }

    /// Forgets an Operator that no longer exists.
    pub(super) fn remove(&self, operator: &str) {
        self.reads().remove(operator);
    }

    /// Whether values of Secrets may reach an Operator. The worst is assumed for a view whose
    /// Operator is unknown.
    pub(super) fn reach(&self, operator: &str) -> bool {
        let all = self.reads();
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

    fn reads(&self) -> MutexGuard<'_, BTreeMap<String, Reads>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use document::{Value, json};

    use super::*;

    fn operator(name: &str, sources: &[Value]) -> Operator {
        let sources: Value = sources.iter().cloned().collect();
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
            "spec": {"controllers": [{
                "name": "c", "sources": sources, "pipeline": [{"@join": true}, {"@project": {"metadata": {"name": "x"}}}],
                "target": {"kind": "V"}
            }]}
        });
        let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
        operator.unwrap_or_else(|| panic!("{problems:?}"))
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
}
