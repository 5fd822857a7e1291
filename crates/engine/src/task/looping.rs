//! The loop of an Operator's task: commands, the status, and batches.

use std::collections::BTreeMap;
use std::time::Duration;

use operator::spec::SourceKind;
use tokio::sync::{mpsc, watch};

use super::Task;
use crate::guard::Boundary;
use crate::snapshot::Asked;
use crate::{Command, progress};

/// What the engines of an Operator were told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Orders {
    /// Whether removals beyond `maxDeletions` are allowed.
    pub(crate) allowed: bool,
    /// Whether this process leads, so that it may write.
    pub(crate) leads: bool,
}

/// How a [`Task`] ended.
pub(crate) enum TaskEnd {
    /// By a command.
    Stopped,
    /// A controller has exceeded its budget, and is to be tried again.
    OverBudget {
        /// The controllers, and the budgets that they exceeded.
        exceeded: BTreeMap<String, String>,
        /// When the first of them stopped.
        at: tokio::time::Instant,
    },
    /// The scope of a target kind has changed, and with it what can be derived.
    ScopeChanged,
}

/// How long after a controller has exceeded its budget it is tried again although nothing that it
/// reads has changed.
const BUDGET_RETRY: Duration = Duration::from_mins(10);

/// The status is updated at most this often.
const STATUS_EVERY: Duration = Duration::from_millis(200);

impl Task {
    /// Runs until a command to stop, or until a controller that has exceeded its budget has to be
    /// tried again. Orders that a later engine has to follow, too, are stored in `orders`.
    pub(crate) async fn run(
        mut self: Box<Self>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
        orders: &mut Orders,
    ) -> TaskEnd {
        let mut repair = tokio::time::interval(self.repair_period());
        repair.reset();
        let mut next_report = tokio::time::Instant::now();
        let mut stale_status = true;
        let writer = self.writes.writer.clone();
        let mut ended = self.context.views.causes().ended();
        let mut peers = self.context.roster.subscribe();
        let mut asked = self.views.take_asked();
        let reads_now = self.reads_now();
        let mut clock_steps = reads_now.then(|| {
            let context = &self.context;
            let wall_clock = &context.wall_clock;
            wall_clock.steps(&context.clock, &context.background())
        });
        let end = loop {
            if self.has_to_start_again() {
                break TaskEnd::ScopeChanged;
            }
            let (retry, release) = (self.retry_at(), self.views.next_release());
            let wake = if reads_now { self.next_wake() } else { None };
            // Once for each time, because the batch may be unable to look.
            let look = self.next_look().filter(|at| Some(*at) != self.looked);
            tokio::select! {
                // The inbox is last: it is ready most often, and must not block the others.
                biased;
                command = commands.recv() => match command {
                    None | Some(Command::Stop) => break TaskEnd::Stopped,
                    Some(Command::Lead) => {
                        orders.leads = true;
                        self.writes.lead();
                    }
                    Some(Command::AllowDeletions(allowed)) => {
                        orders.allowed = allowed;
                        self = self
                            .elsewhere(move |task| {
                                task.allow_deletions(allowed);
                                task.guarded_take();
                            })
                            .await;
                        stale_status = true;
                    }
                    Some(Command::DeleteAll(answer)) => {
                        self = self
                            .guarded(Boundary::Removal, |task| {
                                let _ = answer.send(task.delete_all());
                            })
                            .await;
                    }
                },
                () = tokio::time::sleep_until(next_report), if stale_status => {
                    let start = tokio::time::Instant::now();
                    self = self.guarded(Boundary::Report, Self::tell_status).await;
                    // Even with very many errors, most of the time is left for other work.
                    let pause = STATUS_EVERY.max(start.elapsed() * 20);
                    next_report = tokio::time::Instant::now() + pause;
                    stale_status = self.is_behind();
                }
                () = writer.fell_behind(), if !stale_status => stale_status = true,
                () = sleep_until(retry), if retry.is_some() => break self.over_budget(),
                () = sleep_until(release), if release.is_some() => {
                    self = self
                        .elsewhere(|task| {
                            task.release_due();
                            task.guarded_take();
                        })
                        .await;
                }
                () = sleep_until(look), if look.is_some() => {
                    self.looked = look;
                    self = self.batch().await;
                    stale_status = true;
                }
                _ = repair.tick() => self.writes.repair_all(),
                // The next turn of the loop computes how long it is until the next deadline.
                () = stepped(&mut clock_steps), if reads_now => {}
                () = sleep_until(wake), if wake.is_some() => {
                    let guard = self.guard.clone();
                    if guard.run(Boundary::Time, || self.wake()) {
                        self = self.batch().await;
                        stale_status = true;
                    }
                }
                Some(asked) = next(&mut asked) => {
                    self = self.guarded(Boundary::Report, |task| task.answer(asked)).await;
                }
                Ok(()) = peers.changed() => self.writes.look_at_contested(),
                // The changes of a view have stopped counting for `maxDeletions`.
                Ok(()) = ended.changed() => {
                    self = self.batch().await;
                    stale_status = true;
                }
                () = self.inbox.changed() => {
                    self = self.batch().await;
                    stale_status = true;
                }
            }
        };
        let guard = self.guard.clone();
        guard.run(Boundary::Stop, || {
            self.subscriptions.clear();
            self.own_views.clear();
        });
        self.writes.stop().await;
        self.guarded(Boundary::Report, Self::tell_status).await;
        end
    }

    /// When the Operator is started again because a controller has exceeded its budget: after a
    /// pause if something that the controller reads has changed, otherwise later.
    fn retry_at(&self) -> Option<tokio::time::Instant> {
        let stopped = self.controllers.iter();
        let times = stopped.filter_map(|task| {
            let pause = if task.missed {
                self.budget_pause
            } else {
                BUDGET_RETRY
            };
            Some(task.stopped_at? + pause)
        });
        times.min()
    }

    fn over_budget(&self) -> TaskEnd {
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let exceeded = controllers.filter_map(|(controller, task)| {
            Some((controller.name.clone(), task.stopped.clone()?))
        });
        let first = self
            .controllers
            .iter()
            .filter_map(|task| task.stopped_at)
            .min();
        TaskEnd::OverBudget {
            exceeded: exceeded.collect(),
            at: first.unwrap_or_else(tokio::time::Instant::now),
        }
    }

    /// Processes a batch. If it takes longer than a moment, the status says so.
    async fn batch(self: Box<Self>) -> Box<Self> {
        let status = self.status.clone();
        let mut batch = std::pin::pin!(self.elsewhere(Self::guarded_take));
        let mut task = tokio::select! {
            biased;
            task = &mut batch => task,
            () = tokio::time::sleep(progress::MOMENT) => {
                status.send_if_modified(progress::busy);
                batch.await
            }
        };
        let (store, inbox) = (&task.context.store, &task.inbox);
        task.own_views.follow_refused(store, inbox);
        task
    }

    /// Runs a part of the engine where it holds up nobody else. A panic in it is reported.
    async fn guarded(
        self: Box<Self>,
        boundary: Boundary,
        part: impl FnOnce(&mut Self) + Send + 'static,
    ) -> Box<Self> {
        let guard = self.guard.clone();
        self.elsewhere(move |task| guard.run(boundary, || part(task)))
            .await
    }

    /// Runs a computation where it holds up nobody else.
    async fn elsewhere(
        mut self: Box<Self>,
        work: impl FnOnce(&mut Self) + Send + 'static,
    ) -> Box<Self> {
        let workers = self.context.workers.clone();
        let work = move || {
            work(&mut self);
            self
        };
        workers.run(work).await
    }

    /// How often all targets are compared with the cluster: the shortest period of a `Periodic`
    /// source or a `resync`.
    fn repair_period(&self) -> Duration {
        let controllers = self.operator.controllers.iter();
        let periods = controllers.flat_map(|controller| {
            let sources = controller.sources.iter();
            let periodic = sources.filter_map(|source| match source.kind {
                SourceKind::Periodic(period) => Some(period),
                SourceKind::Watcher | SourceKind::OneShot => None,
            });
            periodic.chain(controller.options.resync)
        });
        let shortest = periods.min().unwrap_or(Duration::from_hours(10));
        shortest.max(Duration::from_millis(100))
    }
}

/// Waits until the time of day is set.
async fn stepped(steps: &mut Option<watch::Receiver<()>>) {
    if let Some(steps) = steps
        && steps.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// The next one who asks for the objects.
async fn next(asked: &mut Option<mpsc::UnboundedReceiver<Asked>>) -> Option<Asked> {
    asked.as_mut()?.recv().await
}

async fn sleep_until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
