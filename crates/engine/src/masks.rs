//! What messages about an Operator hide, because it may be a value of a Secret.
//!
//! Messages contain no values of documents, but names of objects, and those can be such values:
//!
//! ```text
//! Secret ─▶ @project {metadata: {name: $.data.password}} ─▶ ConfigMap ***
//! ```
//!
//! The paths of fields contain the values of key fields, which identify list elements. They are
//! hidden as well.
//!
//! Names that reach the Operator through views of others count, too. Which ones do changes when one
//! of these Operators is edited, so it is computed again then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dataflow::{Origin, RunError};
use document::Value;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::secrets::{HIDDEN, Taint};
use operator::{Controller, Operator, Report};
use target::claim::hidden_origin;
use target::problem::{Cause, Conflict, Problem};

use crate::availability::Views;
use crate::kinds::writes;
use crate::secrets::with_views;

/// The masks of one Operator.
pub(crate) struct Masks {
    operator: Arc<Operator>,
    views: Views,
    marked: Mutex<Option<Marked>>,
}

/// The Operator with the parts of its documents that may contain values of Secrets.
#[derive(Clone)]
struct Marked {
    /// The version of the flows that it was computed from.
    version: u64,
    /// Used in messages. Views of unknown Operators count as containing values of Secrets throughout.
    operator: Arc<Operator>,
    /// For marks of objects, which must not differ while another Operator starts: with what was last
    /// known of the views.
    last_known: Arc<Operator>,
    /// The parts of the views that reach the Operator, as last known. A view of which nothing was
    /// ever known is not among them: none of its objects has been read.
    views: BTreeMap<GroupKind, Taint>,
}

impl Masks {
    pub(crate) fn new(operator: &Arc<Operator>, views: &Views) -> Self {
        Self {
            operator: operator.clone(),
            views: views.clone(),
            marked: Mutex::default(),
        }
    }

    fn marked(&self) -> Marked {
        let flows = self.views.secrets();
        let version = flows.version();
        let mut marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = marked.as_ref().filter(|marked| marked.version == version) {
            return current.clone();
        }
        let operator = flows.marked(&self.operator);
        let before = marked.take().map(|marked| marked.views);
        let before = before.unwrap_or_default();
        let views = flows.upstream_views(&self.operator, |view| {
            before.get(view).cloned().unwrap_or_default()
        });
        let current = Marked {
            version,
            operator,
            last_known: with_views(&self.operator, &views),
            views,
        };
        *marked = Some(current.clone());
        current
    }

    /// Calls `use_it` with a controller and its marks; `None` if it is not in the spec.
    fn of<T>(&self, controller: &str, use_it: impl FnOnce(&Controller) -> T) -> Option<T> {
        find(&self.marked().operator, controller).map(use_it)
    }

    /// Whether a controller may name objects of a kind by values of Secrets. For one that is no
    /// longer in the spec, the worst is assumed.
    fn hides(&self, controller: &str, kind: &GroupKind) -> bool {
        let hides = self.of(controller, |controller| names(controller, kind));
        hides.unwrap_or_else(|| self.views.secrets().reach(&self.operator.name))
    }

    /// Whether values of Secrets may reach the objects of a kind that a controller writes. Then the
    /// values of key fields in paths are hidden: `.spec.users[name=***]`.
    pub(crate) fn hides_keys(&self, controller: &str, kind: &GroupKind) -> bool {
        let hides = self.of(controller, |controller| taints(controller, kind));
        hides.unwrap_or_else(|| self.views.secrets().reach(&self.operator.name))
    }

    /// A target object, in messages about a controller.
    pub(crate) fn target(&self, controller: &str, key: &ObjectKey) -> String {
        if self.hides(controller, &key.kind) {
            return format!("{}/{HIDDEN}", key.kind);
        }
        key.to_string()
    }

    /// An object of a view, in messages about a controller.
    pub(crate) fn view_object(&self, controller: &str, key: &ObjectKey) -> String {
        let kind = &key.kind;
        match self.name(controller, key) {
            Some(name) => format!("{kind} {name}"),
            None => format!("{kind} {HIDDEN}"),
        }
    }

    /// The name of a target object, unless it is hidden in messages about a controller.
    pub(crate) fn name<'a>(&self, controller: &str, key: &'a ObjectKey) -> Option<&'a ObjectName> {
        (!self.hides(controller, &key.kind)).then_some(&key.name)
    }

    /// A target object in log lines and traces, whichever controller names it.
    pub(crate) fn logged(&self, key: &ObjectKey) -> String {
        if self.is_hidden(key) {
            return format!("{}/{HIDDEN}", key.kind);
        }
        key.to_string()
    }

    /// A target object in a status, whichever controller names it: `ConfigMap shop/web`.
    pub(crate) fn shown(&self, key: &ObjectKey) -> String {
        if self.is_hidden(key) {
            return format!("{} {HIDDEN}", key.kind);
        }
        format!("{} {}", key.kind, key.name)
    }

    /// Whether values of Secrets may be in the name of a target object, whichever controller names it.
    fn is_hidden(&self, key: &ObjectKey) -> bool {
        let operator = self.marked().operator;
        let controllers = operator.controllers.iter();
        let mut writers = controllers.filter(|c| writes(c, &key.kind)).peekable();
        match writers.peek() {
            Some(_) => writers.any(|controller| names(controller, &key.kind)),
            None => self.views.secrets().reach(&operator.name),
        }
    }

    /// The report of an error in a controller's pipeline.
    pub(crate) fn report(&self, controller: &Controller, error: &RunError) -> Report {
        let report = self.of(&controller.name, |marked| Report::new(marked, error));
        report.unwrap_or_else(|| Report::new(controller, error))
    }

    /// A described origin of a controller's document.
    pub(crate) fn origin(&self, controller: &str, origin: &Value) -> Value {
        let masked = self.of(controller, |controller| masked(controller, origin));
        masked.unwrap_or_else(|| origin.clone())
    }

    /// The origin of a controller's document, for the marks of its object, which others can read.
    pub(crate) fn claimed(&self, controller: &Controller, origin: &Origin) -> Value {
        let described = origin.describe(&controller.pipeline.sources);
        let marked = self.marked().last_known;
        let masked = find(&marked, &controller.name).map(|marked| masked(marked, &described));
        if masked.is_none_or(|masked| masked == described) {
            return described;
        }
        hidden_origin()
    }

    /// A problem of an object.
    pub(crate) fn problem(&self, key: &ObjectKey, problem: &Problem) -> Problem {
        let mut shown = problem.clone();
        if self.hides_keys(&problem.controller, &key.kind) {
            shown.cause.hide_key_values();
        }
        shown.origin = self.origin(&problem.controller, &problem.origin);
        match &mut shown.cause {
            Cause::Conflict(
                Conflict::Object { winner, origin } | Conflict::Field { winner, origin, .. },
            ) => *origin = self.origin(winner, origin),
            Cause::Forbidden { namespace, .. } if self.hides(&problem.controller, &key.kind) => {
                HIDDEN.clone_into(namespace);
            }
            _ => {}
        }
        shown
    }
}

fn find<'a>(operator: &'a Operator, controller: &str) -> Option<&'a Controller> {
    let mut controllers = operator.controllers.iter();
    controllers.find(|c| c.name == controller)
}

fn masked(controller: &Controller, origin: &Value) -> Value {
    let sources = &controller.pipeline.sources;
    controller.secret_parts.mask(origin, sources)
}

/// The numbers of a controller's targets of a kind.
fn of_kind(controller: &Controller, kind: &GroupKind) -> impl Iterator<Item = usize> {
    let targets = controller.targets.iter().enumerate();
    let of_kind = targets.filter(|(_, target)| target.resource.group_kind() == *kind);
    of_kind.map(|(number, _)| number)
}

/// Whether a controller names target objects of a kind by values of Secrets.
fn names(controller: &Controller, kind: &GroupKind) -> bool {
    let parts = &controller.secret_parts;
    of_kind(controller, kind).any(|number| parts.names_target(&controller.pipeline, number))
}

/// Whether values of Secrets may be in target objects of a kind.
fn taints(controller: &Controller, kind: &GroupKind) -> bool {
    let parts = |number| {
        controller
            .secret_parts
            .of_target(&controller.pipeline, number)
    };
    of_kind(controller, kind).any(|number| parts(number).iter().any(|taint| !taint.is_none()))
}

#[cfg(test)]
mod tests {
    use document::{Value, json};
    use store::Store;

    use super::*;

    fn operator(name: &str, sources: &Value) -> Arc<Operator> {
        let controllers = sources.as_list().into_iter().flatten().enumerate();
        let controllers: Value = controllers
            .map(|(number, source)| {
                json!({
                    "name": (format!("c{number}")), "sources": [(source.clone())],
                    "pipeline": [{"@project": {"metadata": {"name": "$.data.pw"}}}],
                    "target": {"kind": (format!("V{number}"))}
                })
            })
            .collect();
        let spec = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": name}, "spec": {"controllers": controllers}
        });
        let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
        Arc::new(operator.unwrap_or_else(|| panic!("{problems:?}")))
    }

    /// A reader of two Operators, of which one never exists: what is known of the other one counts
    /// all the same.
    #[test]
    fn an_unknown_neighbour_does_not_bare_the_names_of_others() {
        let store = Store::new(crate::clock::System, store::Config::default());
        let views = Views::new(&store);
        let view =
            |of: &str| json!({"apiGroup": (format!("{of}.view.dcontroller.io")), "kind": "V0"});
        let reader = operator("reader", &json!([(view("producer")), (view("missing"))]));
        let masks = Masks::new(&reader, &views);
        let origin = Origin::object(0, ObjectName::new("", "hunter2"));
        let claimed = |number: usize| masks.claimed(&reader.controllers[number], &origin);
        let clear = json!([{"source": "V0", "name": "hunter2"}]);
        assert_eq!((claimed(0), claimed(1)), (clear.clone(), clear.clone()));
        let secret = json!({"apiGroup": "", "kind": "Secret"});
        views
            .secrets()
            .set(&operator("producer", &json!([(secret.clone())])));
        assert_eq!((claimed(0), claimed(1)), (hidden_origin(), clear.clone()));
        // Its objects stay for a while after it is gone, also while others come and go.
        views.secrets().remove("producer");
        views.secrets().set(&operator(
            "missing",
            &json!([{"apiGroup": "", "kind": "Pod"}]),
        ));
        assert_eq!((claimed(0), claimed(1)), (hidden_origin(), clear.clone()));
        views.secrets().set(&operator("missing", &json!([secret])));
        assert_eq!((claimed(0), claimed(1)), (hidden_origin(), hidden_origin()));
    }
}
