//! Runs Operators until a shutdown.
//!
//! [`run`] runs the Operators of the cluster, or those of the configuration. It ends at a shutdown,
//! or when the lease is lost. The caller runs the elector of the lease and the HTTP server of the
//! probes.
//!
//! A replica that stands by runs the same engines as the leader: it lists and watches its sources,
//! derives, and fills its views. Only writes wait until it leads, so that it takes over at once.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use cluster::client::{Clients, Identity};
use cluster::lease::Leadership;
use engine::status::{OperatorStatus, Ready};
use engine::{Context, EngineEvents};
use futures::future::join_all;
use kube::Client;
use operator::Operator;
use operators::cycles::ViewGraph;
use operators::events::Events;
use operators::{Engines, Operators, Policy, Services, report};
use tokio::sync::watch;

use crate::config::Config;

/// Why [`run`] failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lease is lost, so another process may lead by now.
    #[error("the lease is lost: another process may lead by now, so this one stops")]
    LeaseLost,
    /// A shutdown took too long.
    #[error("the shutdown did not finish within the grace period of {} s", .0.as_secs())]
    Grace(std::time::Duration),
    /// An Operator of the configuration may not run.
    #[error("Operator {operator} is refused: {why}")]
    Refused {
        /// Its name.
        operator: String,
        /// The rule that it breaks.
        why: String,
    },
}

/// Runs Operators until `shutdown` completes, and then finishes the writes under way. Derived
/// objects stay.
pub async fn run(
    client: Client,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let clients = Clients::new(client, config.rate, config.leadership.clone());
    let result = lead(&clients, config, shutdown).await;
    if result.is_err() {
        clients.fence();
    }
    result
}

/// Runs Operators until the lease is lost.
async fn lead(
    clients: &Clients,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let leadership = config.leadership.clone();
    if leadership.is_over() {
        return Err(RunError::LeaseLost);
    }
    config.health.not_ready("starting");
    config.views.serve_when(config.leadership.clone());
    let health = config.health.clone();
    tokio::select! {
        biased;
        () = leadership.lost() => {
            // Stops all requests at once, before the writers notice the loss themselves.
            clients.fence();
            health.broken("the lease is lost");
            Err(RunError::LeaseLost)
        }
        result = work(clients, config, shutdown) => result,
    }
}

async fn work(
    clients: &Clients,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let grace = config.grace;
    let context = context(clients, &config);
    let policy = Policy {
        require_service_account: config.require_service_account,
        targets: config.targets,
        namespace: config.namespace,
    };
    if !config.files.is_empty() {
        config.health.ready();
        config.metrics.operators(config.files.len());
        let leadership = &config.leadership;
        return files(&context, &policy, config.files, leadership, shutdown, grace).await;
    }
    let client = clients.of(&Identity::Own);
    let operators = Operators::new(Services {
        events: Events::start(client.clone(), &config.identity),
        client,
        engines: Arc::new(context),
        policy,
        selector: config.operator_selector,
        metrics: config.metrics,
        health: config.health,
        leadership: config.leadership,
        clock: config.clock,
    });
    let done = operators.run(shutdown, grace).await;
    done.then_some(()).ok_or(RunError::Grace(grace))
}

fn context(clients: &Clients, config: &Config) -> Context {
    Context {
        budget: config.budget,
        namespace: config.namespace.clone(),
        clock: config.clock.clone(),
        workers: config.workers.clone(),
        fail_points: config.fail_points.clone(),
        ..Context::new(clients.clone(), &config.views, config.metrics.clone())
    }
}

/// Runs Operators of the configuration, which are not stored on the cluster.
async fn files(
    engines: &dyn Engines,
    policy: &Policy,
    operators: Vec<Operator>,
    leadership: &Leadership,
    shutdown: impl Future<Output = ()>,
    grace: std::time::Duration,
) -> Result<(), RunError> {
    for operator in &operators {
        if let Some(problem) = policy.refusals(operator, &document::Value::NULL).first() {
            return Err(RunError::Refused {
                operator: operator.name.clone(),
                why: report::problem(problem),
            });
        }
    }
    let views = ViewGraph::default();
    for (number, operator) in operators.iter().enumerate() {
        // The order of the files counts as that of creation.
        views.set(operator, &format!("{number:08}"));
        if let Some(cycle) = views.cycle(&operator.name) {
            return Err(RunError::Refused {
                operator: operator.name.clone(),
                why: cycle.to_string(),
            });
        }
    }
    for operator in &operators {
        engines.down(&operator.name, "the Operator has not started yet");
    }
    let mut running = Vec::new();
    let mut logs = tokio::task::JoinSet::new();
    for operator in operators {
        let events: Arc<dyn EngineEvents> = Events::none().of(&operator.name, "");
        let name = operator.name.clone();
        let run = engines.start(operator, BTreeSet::new(), events);
        logs.spawn(log(name, run.status()));
        running.push(run);
    }
    let mut shutdown = pin!(shutdown);
    tokio::select! {
        biased;
        () = &mut shutdown => {}
        () = leadership.acquired() => {
            for run in &running {
                run.lead();
            }
            shutdown.await;
        }
    }
    let stops = join_all(running.into_iter().map(operators::Run::stop));
    match tokio::time::timeout(grace, stops).await {
        Ok(_) => Ok(()),
        Err(_) => Err(RunError::Grace(grace)),
    }
}

/// Logs the readiness of the controllers of an Operator whenever it changes.
async fn log(operator: String, mut status: watch::Receiver<OperatorStatus>) {
    let mut logged = Vec::new();
    while status.changed().await.is_ok() {
        let now: Vec<(String, Ready)> = {
            let status = status.borrow_and_update();
            let controllers = status.controllers.iter();
            controllers
                .map(|c| (c.name.clone(), c.ready.clone()))
                .collect()
        };
        for changed in now.iter().filter(|ready| !logged.contains(*ready)) {
            let (controller, ready) = changed;
            tracing::info!(operator, controller, ?ready, "status changed");
        }
        logged = now;
    }
}

#[cfg(test)]
mod tests;
