//! The task that runs one Operator.
//!
//! It takes the contents of the inbox as one batch, steps the circuits in the order of their views,
//! and passes the derived objects to the views and to the writer. The modules `sweep`, `upstream`,
//! `deletions` and `unread` add functions that decide what may be removed, and when.

#[cfg(test)]
pub(super) mod fixture;
mod looping;
mod pending;
mod places;
mod report;
mod rivals;
mod time;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::client::Identity;
use expr::Env;
pub(super) use looping::{Orders, TaskEnd};
use object::{GroupKind, ObjectKey, OperatorId};
use operator::Operator;
pub(super) use pending::Pending;
use target::Desired;
use tokio::sync::watch;

use super::controller_task::{ControllerTask, Deadline};
use super::guard::{Boundary, Guard};
use super::masks::Masks;
use super::measures::Measures;
use super::own_views::{Arrived, Entering, OwnViews, ViewBatch};
use super::problem_log::ProblemLog;
use super::relists::Relists;
use super::turns::Halt;
use super::writes::Writes;
use super::{Context, EngineEvents, Resume, deletions, inputs, limits, sweep, upstream, views};
use crate::budget::UsedByOthers;
use crate::forgotten::Forgotten;
use crate::inbox::{Inbox, Port, PortState, Taken};
use crate::kinds::Kinds;
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
    /// The views of this Operator that its controllers read or patch.
    pub(super) own_views: OwnViews,
    /// The join candidates that were checked in this batch.
    candidates: u64,
    /// The changes of targets in this batch, which are passed to the writer at its end.
    outbox: Vec<WantedChange>,
    pub(super) writes: Writes,
    pub(super) problem_log: Arc<ProblemLog>,
    pub(super) masks: Arc<Masks>,
    scopes: places::Scopes,
    pub(super) measures: Measures,
    pub(super) ports: BTreeMap<Port, PortState>,
    /// The objects of sources that are being listed again.
    pub(super) relists: Relists,
    pub(super) sweep: sweep::Sweep,
    /// The kinds that may hold objects of the Operator within our boundary.
    pub(super) kinds: Kinds,
    /// Those that may hold objects only outside of it.
    pub(super) kinds_elsewhere: Kinds,
    pub(super) deletions: deletions::Deletions,
    pub(super) status: Arc<watch::Sender<OperatorStatus>>,
    /// The watches that this Operator reads.
    pub(super) subscriptions: inputs::Subscriptions,
    pub(super) guard: Guard,
    /// Interrupts a batch, because the engine has to end.
    pub(super) halt: Halt,
    /// How long a controller that exceeds its budget pauses.
    budget_pause: Duration,
    /// The next ticks of Periodic sources.
    ticks: Vec<time::Tick>,
    /// When errors were due to be looked through and a batch was run for that.
    looked: Option<tokio::time::Instant>,
}

/// A change of what a controller wants of a target.
struct WantedChange {
    /// The controller.
    number: usize,
    key: ObjectKey,
    desired: Option<Desired>,
    /// The depth of the step that derived it.
    depth: u32,
}

/// The parts of a [`Task`].
pub(super) struct TaskParts {
    pub(super) context: Context,
    pub(super) operator: Arc<Operator>,
    pub(super) events: Arc<dyn EngineEvents>,
    pub(super) status: Arc<watch::Sender<OperatorStatus>>,
    pub(super) guard: Guard,
    pub(super) halt: Halt,
    /// The controllers that exceeded their budget in the last engine, and those budgets.
    pub(super) exceeded: BTreeMap<String, String>,
    /// How long a controller that exceeds its budget pauses.
    pub(super) budget_pause: Duration,
    /// What is known of the Operator.
    pub(super) resume: Resume,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("operator", &self.operator.name)
            .finish_non_exhaustive()
    }
}

impl Task {
    pub(super) fn new(parts: TaskParts) -> Self {
        let TaskParts {
            context,
            operator,
            events,
            status,
            guard,
            halt,
            mut exceeded,
            budget_pause,
            resume,
        } = parts;
        let inbox = Inbox::new(inputs::ports(&operator)).guarded(guard.clone());
        let inbox = Arc::new(inbox);
        let measures = Measures::new(&context.metrics, &operator);
        let masks = Arc::new(Masks::new(&operator, &context.views));
        let problem_log = ProblemLog::new(events, inbox.clone(), measures.clone(), masks.clone());
        let problem_log = Arc::new(problem_log);
        let identity = Identity::from(operator.service_account.as_ref());
        let client = context.clients.of(&identity);
        let id = OperatorId::new(&operator.name, &resume.uid);
        let writer = Writer::new(&id, client, problem_log.clone())
            .within(context.namespace.clone())
            .with_peers(context.roster.subscribe());
        let writer = limits::retry_refused(&operator, writer);
        let writer = writer.count_held_before(deletions::has_percentage(&operator));
        context.views.secrets().set(&operator);
        let (views, name) = (context.views.clone(), operator.name.clone());
        let writer = writer.hide_values(move || views.secrets().reach(&name));
        let writer = writer
            .echoing(context.echoes.clone())
            .on(context.workers.clone());
        let writer = Arc::new(writer);
        let mut writes = Writes::start(&context, &operator, writer, &measures, &guard);
        let controllers = operator.controllers.iter().enumerate();
        let controllers = controllers
            .map(|(rank, controller)| {
                let (budget, boundary) = (context.budget, context.namespace.as_deref());
                let task = ControllerTask::new(&id, rank, controller, budget, boundary);
                let exceeded = exceeded.remove(&controller.name);
                task.started(halt.clone(), exceeded)
            })
            .collect();
        let views = views::Outputs::new(&context.views, &operator, &context.echoes);
        let kinds = resume.kinds.with(&Kinds::of(&operator));
        let (kinds, kinds_elsewhere) = kinds.divide(context.namespace.as_deref());
        let subscriptions =
            inputs::subscribe(&context, &operator, &kinds, &inbox, &writes, &problem_log);
        writes.subscribed();
        let order = operator.order();
        let ticks = time::ticks(&operator);
        Self {
            graph: upstream::Graph::new(&operator),
            order,
            views,
            own_views: OwnViews::start(&operator, &context.store, &inbox),
            candidates: 0,
            outbox: Vec::new(),
            controllers,
            inbox,
            writes,
            problem_log,
            masks,
            scopes: places::Scopes::default(),
            measures,
            ports: BTreeMap::new(),
            relists: Relists::default(),
            sweep: sweep::Sweep::default(),
            kinds,
            kinds_elsewhere,
            deletions: deletions::Deletions::default(),
            status,
            subscriptions,
            operator,
            context,
            guard,
            halt,
            budget_pause,
            ticks,
            looked: None,
        }
    }

    pub(super) fn guarded_take(&mut self) {
        let guard = self.guard.clone();
        guard.run(Boundary::Batch, || self.take());
    }

    /// Processes the contents of the inbox: steps the circuits, opens controllers whose sources
    /// are complete, and writes the views.
    fn take(&mut self) {
        let is_placed = self.place_targets();
        if !is_placed && !self.sweep.is_deleting() {
            return;
        }
        let mut taken = self.inbox.take();
        if let Some(ports) = taken.ports.take() {
            self.ports = ports;
        }
        if let Some(unreadable) = taken.unreadable.take() {
            self.cannot_read(unreadable);
        }
        if self.sweep.is_deleting() {
            return;
        }
        self.relist(&mut taken);
        self.candidates = 0;
        self.views.round = 0;
        self.controllers
            .iter_mut()
            .for_each(ControllerTask::begin_batch);
        self.enter_arrived();
        let env = self.env();
        let upstream = loop {
            if !self.run_controllers(&mut taken, &env) {
                return;
            }
            self.look_at_errors();
            self.pass_to_writer();
            self.open();
            let known = self.views.collections().len() > 0 || !self.is_swept();
            let upstream = known.then(|| self.upstream());
            if let Some(upstream) = &upstream {
                self.sweep(upstream);
            }
            self.settle();
            // What was removed from a view enters the controllers that read it.
            if !self.own_views.any_waits() {
                break upstream;
            }
        };
        self.commit();
        if let Some(upstream) = upstream {
            self.publish(&upstream);
        }
        self.end_views();
        self.forget_kinds();
    }

    /// Enters the objects of own views that others have changed, and writes again what is derived
    /// for them.
    fn enter_arrived(&mut self) {
        let memories = self.context.views.memories().clone();
        for arrived in self.own_views.arrived(&self.context.store) {
            let Arrived {
                key,
                object,
                version,
            } = arrived;
            let object = object.as_ref();
            let bulk = version.is_none_or(|at| self.context.views.causes().is_bulk(&key.kind, at));
            self.own_views.enter(&Entering {
                key: &key,
                object,
                memory: &memories.on(&self.operator.name, &key, object),
                depth: None,
                bulk,
                listed: version.is_none(),
            });
            self.views.repair(&key.kind, &key.name);
        }
        self.views.depth = 0;
        self.write_views(None);
    }

    /// Steps the controllers in the order of their views, until no events wait. Only the
    /// controllers of a cycle run more than once. Returns false if the engine has to end.
    fn run_controllers(&mut self, taken: &mut Taken, env: &Env) -> bool {
        loop {
            for position in 0..self.order.len() {
                let number = self.order[position];
                let ViewBatch {
                    mut events,
                    mut echoes,
                    mut bulk,
                } = self.own_views.take(number);
                let arrived = taken.events.iter_mut().find(|(other, _)| *other == number);
                if let Some((_, arrived)) = arrived {
                    events.append(arrived);
                    echoes.append(&mut taken.echoes_of(number));
                    bulk |= taken.bulk.remove(&number);
                }
                if bulk || events.is_empty() {
                    self.pass_time(number, env);
                }
                if events.is_empty() {
                    continue;
                }
                if bulk {
                    self.begin_sum(number);
                }
                self.begin_depth(number, &events, &echoes);
                self.step(number, events, bulk, env);
                if self.halt.is_raised() {
                    return false;
                }
            }
            if !self.own_views.any_waits() {
                return true;
            }
            self.views.round += 1;
        }
    }

    /// Passes the changed targets of the batch to the writer, which thus gets no state in between.
    fn pass_to_writer(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        let doubts = self.doubts();
        for change in std::mem::take(&mut self.outbox) {
            let WantedChange {
                number,
                key,
                desired,
                depth,
            } = change;
            self.views.depth = depth;
            self.want(number, &doubts[number], key, desired);
        }
        self.views.depth = 0;
    }

    /// Writes the objects of views that have changed in this batch to the store.
    fn commit(&mut self) {
        let (store, causes) = (&self.context.store, self.context.views.causes());
        let (operator, log) = (&self.operator, &self.problem_log);
        let doubted = self
            .views
            .commit(store, operator, &mut self.own_views, causes, log);
        if doubted {
            self.inbox.poke();
        }
    }

    fn step(&mut self, number: usize, batch: Vec<dataflow::SourceEvent>, bulk: bool, env: &Env) {
        let others = self.used_by_others(number);
        let controller = &self.operator.controllers[number];
        let task = &mut self.controllers[number];
        let start = Instant::now();
        let errors = task.error_count();
        let (operator, name, events) = (&self.operator.name, &controller.name, batch.len());
        let span = tracing::info_span!("step", operator, controller = name, events);
        let step = span.in_scope(|| task.step(batch, env, &others));
        let metrics = self.measures.of(&controller.name);
        metrics.inspect(|metrics| metrics.step(events, start.elapsed()));
        let Some(step) = step else {
            return;
        };
        metrics.inspect(|metrics| metrics.derived(step.changes.len()));
        self.candidates += task.circuit.usage().candidates;
        self.problem_log.failed(controller, &step.errors);
        task.note_errors(errors, !step.errors.is_empty());
        let counts = bulk || !task.open;
        let deadline = task.deadline(start);
        for mut change in step.changes {
            if deadline.is_over() {
                return self.interrupted(number);
            }
            // A derived object outlives the source objects that it shares values with, and must
            // not keep them in memory.
            change.new = change.new.map(|object| object.detached());
            if !self.waits(number, &change, counts) {
                self.change(number, change);
            }
        }
        if !self.write_views(Some(&deadline)) {
            return self.interrupted(number);
        }
        self.controllers[number].worked(start.elapsed());
    }

    /// What the other controllers use of the budget.
    fn used_by_others(&self, number: usize) -> UsedByOthers {
        let mut used = UsedByOthers::default();
        let tasks = self.controllers.iter().enumerate();
        for (_, task) in tasks.filter(|(other, _)| *other != number) {
            let dataflow::Usage {
                documents, bytes, ..
            } = task.circuit.usage();
            used.circuits.documents += documents;
            used.circuits.bytes += bytes;
            used.outputs += task.outputs();
        }
        used.circuits.candidates = self.candidates;
        used
    }

    /// Decides on the changed objects of views, which are written at the end of the batch. Returns
    /// whether it finished in time.
    pub(super) fn write_views(&mut self, deadline: Option<&Deadline>) -> bool {
        let (store, causes) = (&self.context.store, self.context.views.causes());
        let (operator, own) = (&self.operator, &mut self.own_views);
        self.views.stage(store, operator, own, causes, || {
            deadline.is_some_and(Deadline::is_over) || self.halt.is_raised()
        })
    }

    /// A batch of a controller took too long, or the engine has to end.
    fn interrupted(&mut self, number: usize) {
        if !self.halt.is_raised() {
            self.controllers[number].out_of_time();
        }
    }

    /// Passes a changed object to its view, or keeps it for the writer.
    fn change(&mut self, number: usize, mut change: dataflow::TargetChange) {
        let controller = &self.operator.controllers[number];
        if controller.targets[change.target].resource.is_view() {
            let at = (number, change.target);
            let object = self.controllers[number].view_object(&mut change);
            self.views.change(at, controller, change.key, object);
            return;
        }
        let (key, desired) = self.controllers[number].desired(controller, change, &self.masks);
        self.outbox.push(WantedChange {
            number,
            key,
            desired,
            depth: self.views.depth,
        });
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
            task.forgotten = Forgotten::of(controller, task);
            task.opened = Some(tokio::time::Instant::now());
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
                Some(view) => state.synced() && self.are_open(&view, position),
                None => state.listed,
            }
        });
        all_listed && self.controllers[number].stopped.is_none()
    }

    /// Whether the earlier controllers that write to a view are open.
    fn are_open(&self, view: &GroupKind, position: usize) -> bool {
        let earlier = &self.order[..position];
        let producers = self.views.producers(view).iter();
        let mut producers = producers.filter(|producer| earlier.contains(producer));
        producers.all(|producer| self.controllers[*producer].open)
    }
}
