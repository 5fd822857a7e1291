//! Runs Operators until a shutdown.
//!
//! [`run`] runs the Operators of the cluster, or those of the configuration. It ends at a shutdown,
//! or when the lease is lost. The caller runs the elector of the lease and the HTTP server of the
//! probes.
//!
//! A replica that stands by runs the same engines as the leader: it lists and watches its sources,
//! derives, and fills its views. Only writes wait until it leads, so that it takes over at once.

use std::sync::Arc;

use cluster::client::{Clients, Identity};
use cluster::lease::Loss;
use engine::Context;
use kube::Client;
use operators::events::Events;
use operators::{Operators, Policy, Services};

use crate::config::Config;
use crate::files::Files;

/// Why [`run`] failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lease is lost, so another process may lead by now.
    #[error("the lease is lost: another process may lead by now, so this one stops")]
    LeaseLost,
    /// The elector panicked, so this process cannot lead any more.
    #[error(
        "the leader election failed because of an error in deltic itself, so this process stops: \
         please report this, with the log"
    )]
    ElectionFailed,
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

impl From<Loss> for RunError {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Lease => Self::LeaseLost,
            Loss::Panic => Self::ElectionFailed,
        }
    }
}

/// Runs Operators until the lease is lost.
async fn lead(
    clients: &Clients,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let leadership = config.leadership.clone();
    config.health.not_ready("starting");
    config.views.serve_when(config.leadership.clone());
    let health = config.health.clone();
    tokio::select! {
        biased;
        loss = leadership.lost() => {
            // Stops all requests at once, before the writers notice the loss themselves.
            clients.fence();
            health.broken(match loss {
                Loss::Lease => "the lease is lost",
                Loss::Panic => "the leader election failed",
            });
            Err(loss.into())
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
    let background = config.background();
    let policy = Policy {
        require_service_account: config.require_service_account,
        targets: config.targets,
        namespace: config.namespace,
    };
    if !config.files.is_empty() {
        config.health.ready();
        config.metrics.operators(config.files.len());
        let names = config.files.iter().map(|operator| operator.name.clone());
        context
            .roster
            .set_instance(&config.instance, names.collect());
        let files = Files {
            operators: config.files,
            instance: config.instance,
            memory: config.memory,
            leadership: config.leadership,
            background,
        };
        return Box::pin(files.run(&context, &policy, shutdown, grace)).await;
    }
    let client = clients.of(&Identity::Own);
    let operators = Operators::new(Services {
        events: Events::start(client.clone(), &config.identity, background),
        client,
        engines: Arc::new(context),
        policy,
        selector: config.operator_selector,
        metrics: config.metrics,
        health: config.health,
        leadership: config.leadership,
        clock: config.clock,
        fail_points: config.fail_points,
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

#[cfg(test)]
mod tests;
