//! `deltic run`: runs Operators on a cluster until a signal.
//!
//! This module runs the elector of the lease and the HTTP server of the probes;
//! [`process::run::run`] runs the Operators.

use std::future::Future;
use std::sync::Arc;

use cluster::client::Rate;
use cluster::lease::Leadership;
use cluster::{connect, lease};
use controller::signal;
use engine::Budget;
use engine::background::Background;
use engine::clock::System;
use engine::guard::FailPoints;
use engine::native::ViewStore;
use metrics::Metrics;
use operator::Operator;
use operators::Health;
use operators::targets::TargetPolicy;
use process::config::Config;
use process::instance::{self, Memory};
use process::log;
use process::serve::Server;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{block_on, failed, find, no_cluster, views};
use crate::cli::cluster::{LogFormat, OperatorLimits, Run};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

const NOT_EMBEDDED: &str = "deltic run needs --cluster: running without a cluster, on an embedded API server, is not available yet";

pub(crate) fn run(args: &Run, output: &mut Output) -> Result<Outcome, Stop> {
    if !args.cluster {
        return Err(Stop::usage(NOT_EMBEDDED));
    }
    let files = if args.filename.is_empty() {
        Vec::new()
    } else {
        let files = input::Files::new(&args.filename, false);
        let operators = input::read(&files, output)?.operators();
        let operators = operators.good(&args.filename)?;
        output.diagnostics(&operators.diagnostics)?;
        operators.created
    };
    let format = match args.log_format {
        LogFormat::Auto => log::Format::Auto,
        LogFormat::Text => log::Format::Text,
        LogFormat::Json => log::Format::Json,
    };
    let color = output.color();
    block_on(async {
        let traces = Traces::new()?;
        // Fails only if a subscriber is set already, as in tests in the same process.
        let _ = log::init_with(format, &args.log_level, color, traces.layers());
        Box::pin(start(args, files, &traces)).await
    })
}

/// Sends traces to the collector that the environment names, if it names one.
#[cfg(feature = "otel")]
struct Traces(Option<process::trace::Traces>);

#[cfg(feature = "otel")]
impl Traces {
    fn new() -> Result<Self, Stop> {
        let traces = process::trace::Traces::from_env();
        let traces = traces.map_err(|error| Stop::usage(&error.to_string()))?;
        Ok(Self(traces))
    }

    fn layers(&self) -> Vec<log::OtherLayer> {
        let layers = self.0.iter().map(process::trace::Traces::layer);
        layers.map(|layer| Box::new(layer) as _).collect()
    }

    async fn flush(&self) {
        if let Some(traces) = &self.0 {
            traces.flush(process::trace::FLUSH).await;
        }
    }
}

#[cfg(not(feature = "otel"))]
struct Traces;

#[cfg(not(feature = "otel"))]
impl Traces {
    #[expect(clippy::unnecessary_wraps, reason = "with traces it may fail")]
    fn new() -> Result<Self, Stop> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "with traces there are some")]
    fn layers(&self) -> Vec<log::OtherLayer> {
        Vec::new()
    }

    #[expect(clippy::unused_async, reason = "with traces it waits")]
    async fn flush(&self) {}
}

async fn start(args: &Run, files: Vec<Operator>, traces: &Traces) -> Result<Outcome, Stop> {
    let connection = find(&args.connection).await?;
    let (context, server) = (&connection.context, &connection.server);
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(target: log::ALWAYS, version, context, server, "running on a cluster");
    let (metrics, health) = (Metrics::default(), Health::default());
    serve(args, &health, &metrics).await?;
    let identity = lease::identity();
    let memory = if files.is_empty() {
        None
    } else {
        remembers(args, &connection, &metrics).await?
    };
    let election = Election::start(args, memory.is_some(), &connection, &identity, &metrics)?;
    let config = Config {
        files,
        instance: args.instance.clone(),
        memory,
        namespace: args.namespace.clone(),
        operator_selector: args.operator_selector.clone(),
        require_service_account: args.require_service_account,
        targets: TargetPolicy {
            allow: args.allow_target.clone(),
            deny: args.deny_target.clone(),
        },
        budget: budget(&args.limits),
        rate: Rate {
            per_second: args.qps,
            burst: args.burst,
        },
        grace: args.grace_period,
        identity,
        leadership: election.leadership.clone(),
        views: ViewStore::default(),
        metrics: metrics.clone(),
        health,
        clock: Arc::new(System),
        ..Config::default()
    };
    let client = connection.client(&metrics);
    let client = client.map_err(|error| no_cluster(&error))?;
    let replicated = election.running.is_some();
    let aggregation = views::serve(args, &connection, &metrics, &config, replicated).await?;
    let running = async {
        let result = process::run::run(client, config, asked_to_stop()).await;
        traces.flush().await;
        result
    };
    let result = unless_forced(Box::pin(running)).await?;
    match result {
        Ok(()) => {
            if let Some(aggregation) = aggregation {
                aggregation.end().await;
            }
            election.end().await;
            tracing::info!("stopped");
            Ok(Outcome::Good)
        }
        Err(error) => Err(failed("stopped", error.to_string())),
    }
}

/// The memory of the instance, if its Lease may be used.
async fn remembers(
    args: &Run,
    connection: &connect::Connection,
    metrics: &Metrics,
) -> Result<Option<Memory>, Stop> {
    let client = connection.client(metrics);
    let client = client.map_err(|error| no_cluster(&error))?;
    let (namespace, name) = (lease_namespace(args, connection), lease_name(args));
    let memory = Memory::new(client, namespace, &name);
    let Err(error) = memory.open().await else {
        return Ok(Some(memory));
    };
    tracing::warn!(
        "the kinds that Operators write are not remembered, and a second process with instance {} \
         is not kept away: {error}; grant get, create and update on the Lease {name} in namespace \
         {namespace}. Until then, objects of a target kind that is changed or removed stay",
        args.instance
    );
    Ok(None)
}

pub(super) fn lease_namespace<'a>(args: &'a Run, connection: &'a connect::Connection) -> &'a str {
    let namespace = args.lease_namespace.as_ref();
    namespace.unwrap_or(&connection.namespace)
}

/// The name of the Lease: that of the instance if Operators are given as files.
fn lease_name(args: &Run) -> String {
    if args.filename.is_empty() || args.lease_name != lease::NAME {
        return args.lease_name.clone();
    }
    instance::lease_name(&args.instance)
}

/// Completes at the first signal.
async fn asked_to_stop() {
    signal::received(1).await;
    tracing::info!("stopping: a second signal ends the process at once");
}

/// Waits for a future to complete, but not beyond a second signal.
async fn unless_forced<T>(running: impl Future<Output = T>) -> Result<T, Stop> {
    tokio::select! {
        biased;
        result = running => Ok(result),
        () = signal::received(2) => {
            Err(failed("forced", "ended by a second signal before the shutdown was complete".to_owned()))
        }
    }
}

/// Serves probes and metrics if `--health-addr` is given.
async fn serve(args: &Run, health: &Health, metrics: &Metrics) -> Result<(), Stop> {
    let Some(address) = args.health_addr else {
        return Ok(());
    };
    let server = Server::bind(address, health.clone(), metrics.clone()).await;
    let server = server.map_err(|error| {
        let message = format!("cannot listen at {address}: {error}");
        Stop::Refused(vec![input::error("health-addr", message)])
    })?;
    if let Ok(address) = server.address() {
        tracing::info!(%address, "serving /healthz, /readyz and /metrics");
    }
    server.start(&Background::new(metrics.clone(), FailPoints::default()));
    Ok(())
}

fn budget(limits: &OperatorLimits) -> Budget {
    Budget {
        documents: limits.max_documents,
        bytes: Some(limits.max_bytes).filter(|bytes| *bytes > 0),
        candidates: limits.max_candidates,
        outputs: limits.max_outputs,
        steps: limits.max_steps,
        cel_cost: limits.max_cel_cost,
        derived_bytes: limits.derived.bytes,
        step_time: limits.max_step_time,
    }
}

/// The leader election of this process: if `--leader-elect` is given, or to keep processes of one
/// instance apart.
struct Election {
    leadership: Leadership,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Election {
    fn start(
        args: &Run,
        remembers: bool,
        connection: &connect::Connection,
        identity: &str,
        metrics: &Metrics,
    ) -> Result<Self, Stop> {
        if !args.leader_elect && !remembers {
            metrics.leading(true);
            return Ok(Self {
                leadership: Leadership::always(),
                running: None,
            });
        }
        // A client with its own connections, so that renewals do not wait for other requests.
        let client = connection.client(metrics);
        let client = client.map_err(|error| no_cluster(&error))?;
        let name = if remembers {
            lease_name(args)
        } else {
            args.lease_name.clone()
        };
        let namespace = lease_namespace(args, connection);
        tracing::info!(
            namespace,
            lease = name,
            "one process holds the lease and runs"
        );
        let settings = lease::Settings::new(namespace, &name, identity);
        let (leadership, elector) = lease::elect(&client, settings, metrics.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(elector.run(async {
            let _ = stopped.await;
        }));
        Ok(Self {
            leadership,
            running: Some((stop, task)),
        })
    }

    /// Releases the lease. No further write may follow.
    async fn end(self) {
        if let Some((stop, task)) = self.running {
            // The elector may have ended already.
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}
