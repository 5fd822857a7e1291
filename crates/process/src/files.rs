//! Runs Operators of the configuration, which are not stored on the cluster.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use cluster::lease::Leadership;
use engine::background::{Background, Chore};
use engine::kinds::Kinds;
use engine::status::{OperatorStatus, Ready};
use engine::{EngineEvents, Resume};
use futures::future::join_all;
use operator::Operator;
use operators::cycles::ViewGraph;
use operators::events::Events;
use operators::{Engines, Policy, Run, report};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::instance::Memory;
use crate::run::RunError;

/// Operators that are given as files.
pub(crate) struct Files {
    pub(crate) operators: Vec<Operator>,
    pub(crate) instance: String,
    pub(crate) memory: Option<Memory>,
    pub(crate) leadership: Leadership,
    pub(crate) background: Background,
}

/// A running Operator.
struct RunningFile {
    operator: Operator,
    /// The kinds that may have held objects when it started.
    kinds: Kinds,
    run: Box<dyn Run>,
}

impl Files {
    /// Runs them until `shutdown` completes.
    pub(crate) async fn run(
        self,
        engines: &dyn Engines,
        policy: &Policy,
        shutdown: impl Future<Output = ()>,
        grace: Duration,
    ) -> Result<(), RunError> {
        self.check(policy)?;
        for operator in &self.operators {
            engines.down(&operator.name, "the Operator has not started yet");
        }
        let mut running = Vec::new();
        let mut tasks = JoinSet::new();
        let shutdown = pin!(shutdown);
        self.run_until(engines, &mut running, &mut tasks, shutdown)
            .await;
        let stops = join_all(running.into_iter().map(|file| file.run.stop()));
        match tokio::time::timeout(grace, stops).await {
            Ok(_) => Ok(()),
            Err(_) => Err(RunError::Grace(grace)),
        }
    }

    fn check(&self, policy: &Policy) -> Result<(), RunError> {
        for operator in &self.operators {
            if let Some(problem) = policy.refusals(operator, &document::Value::NULL).first() {
                return Err(RunError::Refused {
                    operator: operator.name.clone(),
                    why: report::problem(problem),
                });
            }
        }
        let views = ViewGraph::default();
        for (number, operator) in self.operators.iter().enumerate() {
            // The order of the files counts as that of creation.
            views.set(operator, &format!("{number:08}"));
            if let Some(cycle) = views.cycle(&operator.name) {
                return Err(RunError::Refused {
                    operator: operator.name.clone(),
                    why: cycle.to_string(),
                });
            }
        }
        Ok(())
    }

    async fn run_until(
        &self,
        engines: &dyn Engines,
        running: &mut Vec<RunningFile>,
        tasks: &mut JoinSet<()>,
        mut shutdown: Pin<&mut impl Future<Output = ()>>,
    ) {
        let lead = async {
            for operator in &self.operators {
                let kinds = match &self.memory {
                    Some(memory) => memory.recall(&operator.name).await,
                    None => Kinds::default(),
                };
                running.push(self.start(engines, operator, kinds, tasks));
            }
            self.leadership.acquired().await;
            for file in std::mem::take(running) {
                let file = self.lead(engines, file, tasks).await;
                running.push(file);
            }
        };
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = lead => {}
        }
        shutdown.await;
    }

    fn start(
        &self,
        engines: &dyn Engines,
        operator: &Operator,
        kinds: Kinds,
        tasks: &mut JoinSet<()>,
    ) -> RunningFile {
        let resume = Resume {
            kinds: kinds.clone(),
            ..Resume::of_instance(&self.instance)
        };
        let events: Arc<dyn EngineEvents> = Events::none().of(&operator.name, "");
        let run = engines.start(operator.clone(), resume, events);
        let background = self.background.clone();
        let state = (operator.name.clone(), run.status());
        tasks.spawn(background.run(Chore::StatusLog, state, |(name, status)| {
            Box::pin(log(name, status))
        }));
        RunningFile {
            operator: operator.clone(),
            kinds,
            run,
        }
    }

    /// Lets an Operator write. The kinds that it writes are recorded before.
    async fn lead(
        &self,
        engines: &dyn Engines,
        mut file: RunningFile,
        tasks: &mut JoinSet<()>,
    ) -> RunningFile {
        if let Some(memory) = &self.memory {
            let name = file.operator.name.clone();
            let targets = Kinds::of(&file.operator);
            let kinds = memory.add(&name, &targets).await;
            // The process that led before may have recorded others since this one started.
            if !file.kinds.clone().with(&targets).contains_all(&kinds) {
                file.run.stop().await;
                file = self.start(engines, &file.operator, kinds, tasks);
            }
            let background = self.background.clone();
            let state = (name, memory.clone(), file.run.status());
            tasks.spawn(
                background.run(Chore::Kinds, state, |(name, memory, status)| {
                    Box::pin(record(name, memory, status))
                }),
            );
        }
        file.run.lead();
        file
    }
}

/// Records the kinds that may hold objects of an Operator, whenever they change.
async fn record(operator: &str, memory: &Memory, status: &mut watch::Receiver<OperatorStatus>) {
    let mut recorded = None;
    loop {
        let kinds = status.borrow_and_update().kinds.clone();
        if let Some(kinds) = kinds
            && recorded.as_ref() != Some(&kinds)
        {
            memory.set(operator, &kinds).await;
            recorded = Some(kinds);
        }
        if status.changed().await.is_err() {
            return;
        }
    }
}

/// Logs the readiness of the controllers of an Operator whenever it changes.
async fn log(operator: &str, status: &mut watch::Receiver<OperatorStatus>) {
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
