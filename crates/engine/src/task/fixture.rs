//! The task of an Operator, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use document::{Value, json};
use metrics::Metrics;
use operator::Operator;

use super::{Task, TaskParts};
use crate::guard::Guard;
use crate::native::ViewStore;
use crate::status::ReportedError;
use crate::turns::Halt;
use crate::{Context, EngineEvents, Resume};

struct IgnoreEvents;

impl EngineEvents for IgnoreEvents {
    fn adopted(
        &self,
        _kind: &object::GroupKind,
        _name: Option<&object::ObjectName>,
        _controller: &str,
    ) {
    }
    fn reported(&self, _controller: &str, _error: &ReportedError) {}
}

/// The Operator `o` with these controllers.
pub(crate) fn operator(controllers: Value) -> Operator {
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "o"}, "spec": {"controllers": (controllers)},
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

/// The Operator `o` of the instance `i`, on a server that does not answer.
pub(crate) fn task(controllers: &[Value]) -> Task {
    let operator = operator(controllers.iter().cloned().collect());
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
    });
    let client = kube::Client::new(silent, "default");
    let clients = Clients::new(client, Rate::default(), Leadership::always());
    let context = Context::new(clients, &ViewStore::default(), Metrics::default());
    Task::new(TaskParts {
        context,
        operator: Arc::new(operator),
        events: Arc::new(IgnoreEvents),
        status: Arc::default(),
        guard: Guard::default(),
        halt: Halt::default(),
        exceeded: BTreeMap::new(),
        budget_pause: Duration::ZERO,
        resume: Resume::of_instance("i"),
    })
}
