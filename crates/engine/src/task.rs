//! The task that runs one Operator.
//!
//! It takes the contents of the inbox as one batch, steps the circuits in the order of their views,
//! and passes the derived objects to the views and to the writer. The modules `sweep`, `upstream`,
//! `deletions` and `unread` add functions that decide what may be removed, and when.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::client::Identity;
use expr::Env;
use object::{GroupKind, ObjectKey};
use operator::Operator;
use operator::spec::SourceKind;
use target::Desired;
use tokio::sync::{mpsc, watch};

use super::controller_task::ControllerTask;
use super::measures::Measures;
use super::problem_log::ProblemLog;
use super::unread::Unread;
use super::writes::Writes;
use super::{Command, Context, EngineEvents, deletions, inputs, limits, sweep, upstream, views};
use crate::inbox::{Inbox, Port, PortState};
use crate::status::OperatorStatus;
use crate::writer::Writer;

/// The task of an Operator.
pub(super) struct Task {
    pub(super) context: Context,
    pub(super) operator: Arc<Operator>,
    /// The controllers, each after those that write the views that it reads. Controllers of a
    /// cycle are in the order of the spec.
    pub(super) order: Vec<usize>,
    pub(super) graph: upstream::Graph,
    pub(super) inbox: Arc<Inbox>,
    pub(super) controllers: Vec<ControllerTask>,
    pub(super) views: views::Outputs,
    pub(super) writes: Writes,
    pub(super) problem_log: Arc<ProblemLog>,
    pub(super) measures: Measures,
    pub(super) ports: BTreeMap<Port, PortState>,
    pub(super) sweep: sweep::Sweep,
    pub(super) deletions: deletions::Deletions,
    pub(super) status: watch::Sender<OperatorStatus>,
    /// The watches that this Operator reads.
    pub(super) subscriptions: inputs::Subscriptions,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("operator", &self.operator.name)
            .finish_non_exhaustive()
    }
}

/// The status is updated at most this often.
const STATUS_EVERY: Duration = Duration::from_millis(200);

impl Task {
    pub(super) fn new(
        context: Context,
        operator: Operator,
        events: Arc<dyn EngineEvents>,
        status: watch::Sender<OperatorStatus>,
    ) -> Self {
        let operator = Arc::new(operator);
        let inbox = Arc::new(Inbox::new(inputs::ports(&operator)));
        let measures = Measures::new(&context.metrics, &operator);
        let problem_log = Arc::new(ProblemLog::new(events, inbox.clone(), measures.clone()));
        let identity = Identity::from(operator.service_account.as_ref());
        let client = context.clients.of(&identity);
        let writer = Writer::new(&operator.name, client, problem_log.clone())
            .within(context.namespace.clone());
        let writer = limits::retry_refused(&operator, writer);
        let writer = writer.count_held_before(deletions::has_percentage(&operator));
        context.views.secrets().set(&operator);
        let (views, name) = (context.views.clone(), operator.name.clone());
        let writer = writer.hide_values(move || views.secrets().reach(&name));
        let writer = Arc::new(writer);
        let mut writes = Writes::start(&context, &operator, writer, &measures);
        let controllers = operator.controllers.iter().enumerate();
        let controllers = controllers
            .map(|(rank, controller)| {
                ControllerTask::new(&operator.name, rank, controller, context.budget)
            })
            .collect();
        let views = views::Outputs::new(&context.views, &operator);
        let mut subscriptions =
            inputs::subscribe(&context, &operator, &inbox, &writes, &problem_log);
        subscriptions.patched(&context.store, &operator, &inbox, views.touched());
        writes.subscribed();
        let order = operator.order();
        Self {
            graph: upstream::Graph::new(&operator, &order),
            order,
            views,
            controllers,
            inbox,
            writes,
            problem_log,
            measures,
            ports: BTreeMap::new(),
            sweep: sweep::Sweep::default(),
            deletions: deletions::Deletions::default(),
            status,
            subscriptions,
            operator,
            context,
        }
    }

    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        let mut repair = tokio::time::interval(self.repair_period());
        repair.reset();
        let mut report = tokio::time::interval(STATUS_EVERY);
        report.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut stale_status = true;
        let mut ended = self.context.views.causes().ended();
        loop {
            tokio::select! {
                // The inbox is last: it is ready most often, and must not block the others.
                biased;
                command = commands.recv() => match command {
                    None | Some(Command::Stop) => break,
                    Some(Command::Lead) => self.writes.lead(),
                    Some(Command::AllowDeletions(allowed)) => {
                        self.allow_deletions(allowed);
                        stale_status = true;
                    }
                    Some(Command::DeleteAll(answer)) => {
                        let _ = answer.send(self.delete_all());
                    }
                },
                _ = report.tick(), if stale_status => {
                    stale_status = false;
                    self.tell_status();
                }
                _ = repair.tick() => self.writes.repair_all(),
                // The changes of a view have stopped counting for `maxDeletions`.
                Ok(()) = ended.changed() => {
                    self.take();
                    stale_status = true;
                }
                () = self.inbox.changed() => {
                    self.take();
                    stale_status = true;
                }
            }
        }
        self.subscriptions.clear();
        self.writes.stop().await;
        self.tell_status();
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

    /// Processes the contents of the inbox: steps the circuits, writes the views, and opens
    /// controllers whose sources are complete.
    fn take(&mut self) {
        let taken = self.inbox.take();
        if let Some(ports) = taken.ports {
            self.ports = ports;
        }
        if let Some(unreadable) = taken.unreadable {
            self.cannot_read(unreadable);
        }
        if self.sweep.is_deleting() {
            return;
        }
        let mut events = taken.events;
        let env = self.env();
        for position in 0..self.order.len() {
            let number = self.order[position];
            let batch = events.iter_mut().find(|(other, _)| *other == number);
            if let Some((_, batch)) = batch {
                let bulk = taken.bulk.contains(&number);
                if bulk {
                    self.begin_sum(number);
                }
                self.step(number, std::mem::take(batch), bulk, &env);
            }
        }
        if self.views.take_touched() {
            self.views
                .write(&self.context.store, &self.operator, &self.problem_log);
        }
        for (view, name) in self.views.take_recorded() {
            self.subscriptions
                .enter_anew(&self.context.store, &view, &name);
        }
        self.open();
        if self.views.collections().len() > 0 || !self.sweep.is_over() {
            let upstream = self.upstream();
            self.publish(&upstream);
            self.sweep(&upstream);
        }
        self.settle();
    }

    /// The environment of a step: the time, and a key for `@rnd` that is the same in every process.
    fn env(&self) -> Env {
        let key = document::stable_hash(&self.operator.name);
        let mut env = Env::new(self.context.clock.text().into(), key);
        env.limits = self.context.budget.limits();
        env
    }

    fn step(&mut self, number: usize, batch: Vec<dataflow::SourceEvent>, bulk: bool, env: &Env) {
        let controller = &self.operator.controllers[number];
        let unread = self.unread(number);
        let task = &mut self.controllers[number];
        let start = Instant::now();
        let (operator, name, events) = (&self.operator.name, &controller.name, batch.len());
        let span = tracing::info_span!("step", operator, controller = name, events);
        let step = span.in_scope(|| task.step(batch, env));
        let metrics = self.measures.of(&controller.name);
        metrics.inspect(|metrics| metrics.step(start.elapsed()));
        let Some(step) = step else {
            return;
        };
        self.problem_log.failed(controller, &step.errors);
        let counts = bulk || !task.open;
        for mut change in step.changes {
            // A derived object outlives the source objects that it shares values with, and must
            // not keep them in memory.
            change.new = change.new.map(|object| object.detached());
            if !self.waits(number, &change, counts) {
                self.change(number, &unread, change);
            }
        }
        self.views
            .write(&self.context.store, &self.operator, &self.problem_log);
    }

    /// Passes a changed object to its view or to the writer.
    fn change(&mut self, number: usize, unread: &Unread, mut change: dataflow::TargetChange) {
        let controller = &self.operator.controllers[number];
        if controller.targets[change.target].resource.is_view() {
            let at = (number, change.target);
            let object = self.controllers[number].view_object(&mut change);
            self.views.change(at, controller, change.key, object);
            return;
        }
        let (key, desired) = self.controllers[number].desired(controller, change);
        self.want(number, unread, key, desired);
    }

    /// Passes the wanted state of an object to the writer, or stores it until it may be written.
    pub(super) fn want(
        &mut self,
        number: usize,
        unread: &Unread,
        key: ObjectKey,
        desired: Option<Desired>,
    ) {
        let task = &mut self.controllers[number];
        if task.open && !unread.protects(&self.writes.writer, &key) {
            task.pending.remove(&key);
            let controller = &self.operator.controllers[number];
            self.writes.want(&key, controller, desired);
        } else if task.open || desired.is_some() {
            task.pending.insert(key, desired);
        } else {
            // If an earlier run wrote the object, the sweep removes it.
            task.pending.remove(&key);
        }
    }

    /// Opens the controllers that may write now.
    fn open(&mut self) {
        for position in 0..self.order.len() {
            let number = self.order[position];
            if self.controllers[number].open || !self.may_open(number, position) {
                continue;
            }
            let controller = &self.operator.controllers[number];
            let task = &mut self.controllers[number];
            task.open = true;
            tracing::debug!(
                operator = self.operator.name,
                controller = controller.name,
                "open"
            );
        }
        self.write_pending();
    }

    /// Whether a controller has received everything that it reads. A stopped controller does not
    /// open, because it does not derive all of its objects.
    fn may_open(&self, number: usize, position: usize) -> bool {
        let controller = &self.operator.controllers[number];
        let mut inputs = controller.inputs.iter().enumerate();
        let all_listed = inputs.all(|(input, source)| {
            let Some(state) = self.ports.get(&(number, input)) else {
                return false;
            };
            match views::view_of(&controller.sources[*source]) {
                Some(view) => state.synced() && self.is_told(&view, state, position),
                None => state.listed,
            }
        });
        all_listed && self.controllers[number].stopped.is_none()
    }

    /// Whether a port has received everything that earlier controllers wrote to a view.
    fn is_told(&self, view: &GroupKind, state: &PortState, position: usize) -> bool {
        let earlier = &self.order[..position];
        let producers = self.views.producers(view).iter();
        let mut producers = producers.filter(|producer| earlier.contains(producer));
        producers.all(|producer| self.controllers[*producer].open)
            && self.views.version(view) <= state.version
    }

    fn tell_status(&self) {
        let status =
            self.problem_log
                .status(&self.operator, &self.controllers, &self.ports, |number| {
                    self.held(number)
                });
        self.measure(&status);
        self.status.send_if_modified(|old| {
            let news = *old != status;
            if news {
                *old = status;
            }
            news
        });
    }

    /// Updates the metrics.
    fn measure(&self, status: &OperatorStatus) {
        self.measures.queue().depth(self.writes.waiting());
        for (number, controller) in self.operator.controllers.iter().enumerate() {
            let Some(metrics) = self.measures.of(&controller.name) else {
                continue;
            };
            metrics.targets(status.controllers[number].counts.targets);
            metrics.standing_errors(status.controllers[number].counts.errors);
            for (input, source) in controller.inputs.iter().enumerate() {
                let port = self.ports.get(&(number, input));
                let synced = port.is_some_and(PortState::synced);
                let objects = self.controllers[number].circuit.objects(input);
                metrics.source(&controller.sources[*source].name, objects, synced);
            }
        }
    }
}
