//! What a plan must not show: values of Secrets, and what is computed from them.

use std::collections::{BTreeMap, BTreeSet};

use document::{Map, Value};
use explanation::SecretTexts;
use expr::Functions;
use object::{GroupKind, ObjectKey};
use operator::Operator;
use operator::secrets::{HIDDEN, Taint, mark_with, of_views};
use rehearsal::{Plan, PlannedChange};

use crate::diff;

/// What must not be shown: values of Secrets, and what is computed from them.
pub(super) struct Masks {
    /// The parts of derived objects that are computed from Secrets, by kind.
    parts: Vec<(GroupKind, Taint)>,
    /// The kinds with names that are computed from Secrets.
    names: BTreeSet<GroupKind>,
    /// The values of Secrets, wherever they are.
    texts: SecretTexts,
}

impl Masks {
    pub(super) fn new(operators: &[Operator], plan: &Plan) -> Self {
        let mut parts = Vec::new();
        let mut names = BTreeSet::new();
        let before = plan.running.iter();
        let before = before.filter_map(|one| operator::read(one, &Functions::builtin()).0);
        let before: Vec<Operator> = before.collect();
        let is_edited = |one: &&Operator| operators.iter().any(|edit| edit.name == one.name);
        let others = before.iter().filter(|one| !is_edited(one)).cloned();
        let after: Vec<Operator> = operators.iter().cloned().chain(others).collect();
        let all = marked(before).into_iter().chain(marked(after));
        for controller in all.flat_map(|one| one.controllers) {
            for (number, target) in controller.targets.iter().enumerate() {
                let kind = target.resource.group_kind();
                let secrets = &controller.secret_parts;
                if secrets.names_target(&controller.pipeline, number) {
                    names.insert(kind.clone());
                }
                let of = secrets.of_target(&controller.pipeline, number);
                parts.extend(of.into_iter().map(|part| (kind.clone(), part)));
            }
        }
        let mut texts = SecretTexts::default();
        plan.secrets.iter().for_each(|secret| texts.add(secret));
        Self {
            parts,
            names,
            texts,
        }
    }

    /// An object to be shown. The values of a Secret are masked by the diff, which shows which of
    /// them change.
    fn object(&self, key: &ObjectKey, object: Option<&Value>) -> Option<Value> {
        let object = object?;
        let parts = self.parts.iter().filter(|(kind, _)| *kind == key.kind);
        let masked = parts.fold(object.clone(), |object, (_, part)| part.masked(&object));
        let mut masked = self.text(&masked);
        if self.names.contains(&key.kind) {
            // The claims in the annotations contain the name.
            let hidden = |_: &Value| HIDDEN.into();
            masked = changed(&masked, "metadata", |metadata| {
                changed(metadata, "annotations", hidden)
            });
        }
        let map = object.as_map().filter(|_| key.is_secret());
        let Some(map) = map else {
            return Some(masked);
        };
        let members = map.iter().map(|(name, member)| {
            let kept = ["apiVersion", "kind", "data", "stringData"].contains(&name.as_str());
            let shown = if kept { member } else { masked.get_key(name) };
            (name.clone(), shown.clone())
        });
        Some(members.collect::<Map>().into())
    }

    /// The name of an object to be shown.
    pub(super) fn name<'a>(&self, key: &'a ObjectKey) -> &'a str {
        if self.names.contains(&key.kind) {
            return HIDDEN;
        }
        key.object_name()
    }

    pub(super) fn text(&self, value: &Value) -> Value {
        self.texts.masked(value, false)
    }

    /// Both states of an object.
    pub(super) fn change(&self, change: &PlannedChange) -> (Option<Value>, Option<Value>) {
        let before = self.object(&change.key, change.before.as_ref());
        let after = self.object(&change.key, change.after.as_ref());
        diff::masked(before.as_ref(), after.as_ref())
    }
}

/// Operators that know which parts of each other's views are computed from Secrets.
fn marked(mut operators: Vec<Operator>) -> Vec<Operator> {
    let mut views = BTreeMap::new();
    // Each round follows the views of one more Operator.
    for _ in 0..=operators.len() {
        let known = views.clone();
        for operator in &mut operators {
            mark_with(operator, &views);
            views.extend(of_views(operator));
        }
        if views == known {
            break;
        }
    }
    operators
}

/// A map with another value for one of its members.
fn changed(map: &Value, name: &str, change: impl Fn(&Value) -> Value) -> Value {
    let Some(members) = map.as_map() else {
        return map.clone();
    };
    let members = members.iter().map(|(key, member)| {
        let is_it = key.as_str() == name;
        let member = if is_it {
            change(member)
        } else {
            member.clone()
        };
        (key.clone(), member)
    });
    members.collect::<Map>().into()
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn operator(name: &str, source: &Value, value: &Value, target: &Value) -> Value {
        json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": name},
            "spec": {"controllers": [{
                "name": "c", "sources": [(source.clone())], "target": (target.clone()),
                "pipeline": [{"@project": {"metadata": "$.metadata", "data": {"p": (value.clone())}}}]
            }]}
        })
    }

    #[test]
    fn what_running_operators_have_computed_is_masked() {
        let loud = json!({"@upper": "$.data.password"});
        let secret = json!({"apiGroup": "", "kind": "Secret"});
        let map = json!({"apiGroup": "", "kind": "ConfigMap"});
        let view = json!({"apiGroup": "a.view.dcontroller.io", "kind": "V"});
        let edit = operator("a", &secret, &"constant".into(), &map);
        let (edit, problems) = operator::read(&edit, &Functions::builtin());
        let edit = edit.unwrap_or_else(|| panic!("{problems:?}"));
        let key = ObjectKey::new("", "ConfigMap", "shop", "a");
        let object = json!({"data": {"p": "HUNTER2"}});
        let shown = |running: Vec<Value>| {
            let plan = Plan {
                running,
                ..Plan::default()
            };
            let masks = Masks::new(std::slice::from_ref(&edit), &plan);
            let object = masks.object(&key, Some(&object)).unwrap_or_default();
            object.get("data").get("p").clone()
        };
        assert_eq!(shown(vec![]), "HUNTER2".into());
        let direct = operator("a", &secret, &loud, &map);
        assert_eq!(shown(vec![direct]), HIDDEN.into());
        // Through a view, in either order of the Operators.
        let first = operator("a", &secret, &loud, &json!({"kind": "V"}));
        let second = operator("b", &view, &"$.data.p".into(), &map);
        assert_eq!(shown(vec![first.clone(), second.clone()]), HIDDEN.into());
        assert_eq!(shown(vec![second, first]), HIDDEN.into());
    }
}
