//! What messages about an Operator hide, because it may be a value of a Secret.
//!
//! Messages contain no values of documents, but names of objects, and those can be such values:
//!
//! ```text
//! Secret ─▶ @project {metadata: {name: $.data.password}} ─▶ ConfigMap ***
//! ```
//!
//! Names that reach the Operator through views of others count, too. Which ones do changes when one
//! of these Operators is edited, so it is computed again then.

use std::sync::{Arc, Mutex, PoisonError};

use dataflow::{Origin, RunError};
use document::Value;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::secrets::HIDDEN;
use operator::{Controller, Operator, Report};
use target::claim::hashed_origin;
use target::problem::{Cause, Conflict, Problem};

use crate::availability::Views;

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
    /// For messages. The worst is assumed for views of Operators that are not known.
    operator: Arc<Operator>,
    /// For marks of objects, which must not differ while another Operator starts: from the last time
    /// when all were known. Before that, no object of their views has been read.
    last_known: Arc<Operator>,
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
        let last_known = match marked.take() {
            _ if flows.knows_upstream(&self.operator) => operator.clone(),
            Some(before) => before.last_known,
            None => self.operator.clone(),
        };
        let current = Marked {
            version,
            operator,
            last_known,
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

    /// A target object, in messages about a controller.
    pub(crate) fn target(&self, controller: &str, key: &ObjectKey) -> String {
        if self.hides(controller, &key.kind) {
            return format!("{}/{HIDDEN}", key.kind);
        }
        key.to_string()
    }

    /// An object of a view, in messages about a controller.
    pub(crate) fn view_object(
        &self,
        controller: &str,
        kind: &GroupKind,
        name: &ObjectName,
    ) -> String {
        if self.hides(controller, kind) {
            return format!("{kind} {HIDDEN}");
        }
        format!("{kind} {name}")
    }

    /// The name of a target object, unless it is hidden in messages about a controller.
    pub(crate) fn name<'a>(&self, controller: &str, key: &'a ObjectKey) -> Option<&'a ObjectName> {
        (!self.hides(controller, &key.kind)).then_some(&key.name)
    }

    /// A target object in log lines and traces, whichever controller names it.
    pub(crate) fn logged(&self, key: &ObjectKey) -> String {
        let operator = self.marked().operator;
        let controllers = operator.controllers.iter();
        let mut writers = controllers.filter(|c| writes(c, &key.kind)).peekable();
        let hides = match writers.peek() {
            Some(_) => writers.any(|controller| names(controller, &key.kind)),
            None => self.views.secrets().reach(&operator.name),
        };
        if hides {
            return format!("{}/{HIDDEN}", key.kind);
        }
        key.to_string()
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
        hashed_origin(&described)
    }

    /// A problem of an object.
    pub(crate) fn problem(&self, key: &ObjectKey, problem: &Problem) -> Problem {
        let mut shown = problem.clone();
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

fn writes(controller: &Controller, kind: &GroupKind) -> bool {
    let mut targets = controller.targets.iter();
    targets.any(|target| target.resource.group_kind() == *kind)
}

/// Whether a controller names target objects of a kind by values of Secrets.
fn names(controller: &Controller, kind: &GroupKind) -> bool {
    let targets = controller.targets.iter().enumerate();
    let mut of_kind = targets.filter(|(_, target)| target.resource.group_kind() == *kind);
    let parts = &controller.secret_parts;
    of_kind.any(|(number, _)| parts.names_target(&controller.pipeline, number))
}
