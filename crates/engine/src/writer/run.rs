//! One run for one object: decide, send, store the answer, and decide again.

mod failure;

use std::sync::Arc;
use std::time::{Duration, Instant};

use failure::problem_of;
use object::ObjectKey;
use target::TargetKind;
use target::answer::{Failure, Outcome, was_created_by};
use target::decide::{Action, Case, Decision, Verb, Wait, Write, decide, resolve};
use target::live::Live;
use target::peers::Peers;
use target::problem::{Cause, Conflict, Happened, Problem};
use tracing::Instrument;

use super::entry::{Snapshot, TargetEntry};
use super::request::{self, Answer};
use super::standing::Awaited;
use super::{Next, WriteError, Writer, fight};
use crate::echoes::KindEchoes;

/// How many requests one run sends at most. An object that others change all the time is left
/// to the next run.
const MAX_STEPS: usize = 16;
/// How often a refused object, or one whose kind or namespace is missing, is tried again
/// although nothing changed.
pub(super) const SLOW_RETRY: Duration = Duration::from_mins(10);
/// How often an object of somebody else is read again: our watch may not include it.
const FOREIGN_RETRY: Duration = Duration::from_mins(1);

/// The next action of a run.
enum Todo {
    Done(Next),
    Read,
    Write(Box<Write>),
    Delete { uid: String, version: String },
}

/// One run.
pub(super) struct Run<'a> {
    writer: &'a Writer,
    key: &'a ObjectKey,
    kind: Arc<TargetKind>,
    /// Whether the known state of the object was read or written in this run.
    fresh: bool,
    conflicts: usize,
    /// The Operators that existed when the run began.
    peers: Peers,
    /// The problems of the last decision.
    problems: Vec<Problem>,
    /// The field managers that changed the fields last which the next write restores.
    rivals: Vec<String>,
    echoes: Arc<KindEchoes>,
}

type Flow = Result<Option<Next>, WriteError>;
type Http = http::Request<Vec<u8>>;
type Sent = Result<Answer, Failure>;

impl<'a> Run<'a> {
    pub(super) fn new(writer: &'a Writer, key: &'a ObjectKey, kind: Arc<TargetKind>) -> Self {
        Self {
            writer,
            key,
            kind,
            fresh: false,
            conflicts: 0,
            peers: writer.peers(),
            problems: Vec::new(),
            rivals: Vec::new(),
            echoes: writer.echoes.of(&key.kind),
        }
    }

    /// Sends requests until nothing is left to do, or the run has to wait.
    pub(super) async fn go(mut self) -> Result<Next, WriteError> {
        for _ in 0..MAX_STEPS {
            if self.writer.is_closed() {
                return Ok(Next::Change);
            }
            let done = match self.next().await {
                Todo::Done(next) => return Ok(next),
                Todo::Read => self.read().await?,
                Todo::Write(write) => self.write(&write).await?,
                Todo::Delete { uid, version } => self.delete(&uid, &version).await?,
            };
            if let Some(next) = done {
                return Ok(next);
            }
        }
        Err(self.busy())
    }

    fn case<'b>(&'b self, entry: &'b TargetEntry, fresh: bool) -> Case<'b> {
        let operator = &self.writer.operator;
        entry.case(self.key, &self.kind, operator, &self.peers, fresh)
    }

    /// Decides the next action.
    async fn next(&mut self) -> Todo {
        loop {
            let Some(snapshot) = self.snapshot() else {
                self.writer.report_problems(self.key, &[]);
                return Todo::Done(Next::Settled);
            };
            let snapshot = match snapshot {
                Ok(snapshot) => snapshot,
                Err(waits) => {
                    // The problem was reported when the wait began.
                    self.writer
                        .changing(|state| state.ran(self.key, true, None));
                    return Todo::Done(Next::After(waits));
                }
            };
            let (snapshot, decision) = self.decide(snapshot).await;
            if let Some(todo) = self.take_step(&snapshot, decision) {
                return todo;
            }
        }
    }

    /// Decides on a snapshot; on a large one, where it holds up nobody else.
    async fn decide(&self, snapshot: Snapshot) -> (Snapshot, Decision) {
        let (key, kind, fresh) = (self.key, &self.kind, self.fresh);
        let (operator, peers) = (&self.writer.operator, &self.peers);
        if !snapshot.is_large() {
            let decision = decide(&snapshot.case(key, kind, operator, peers, fresh));
            return (snapshot, decision);
        }
        let (key, kind) = (key.clone(), kind.clone());
        let (operator, peers) = (operator.clone(), peers.clone());
        let work = move || {
            let decision = decide(&snapshot.case(&key, &kind, &operator, &peers, fresh));
            (snapshot, decision)
        };
        self.writer.workers.run(work).await
    }

    /// The state of the object, or how much longer it waits; `None` if nothing is known of it.
    fn snapshot(&self) -> Option<Result<Snapshot, Duration>> {
        let now = tokio::time::Instant::now().into_std();
        let mut state = self.writer.state();
        let entry = state.get(self.key)?;
        if let Some(rest) = entry.waiting(now) {
            return Some(Err(rest));
        }
        entry.waits = None;
        Some(Ok(Snapshot::of(entry)))
    }

    /// The action for a decision; `None` if the object has changed since.
    fn take_step(&mut self, snapshot: &Snapshot, decision: Decision) -> Option<Todo> {
        let now = tokio::time::Instant::now().into_std();
        let mut state = self.writer.state();
        let entry = state.get(self.key)?;
        if !snapshot.is_current(entry) {
            return None;
        }
        let mut problems = decision.problems;
        problems.extend(entry.lost_fields());
        let awaited = match awaited(&decision.action) {
            None if entry.is_leaving() => Some(Awaited::Gone),
            awaited => awaited,
        };
        let todo = match decision.action {
            Action::Nothing => settled(entry, now, &mut problems),
            Action::Read => Todo::Read,
            Action::Delete { uid, version } => {
                if let Some(rest) = entry.cycle(now) {
                    problems.push(entry.problem(Cause::Cycle));
                    Todo::Done(Next::After(rest))
                } else {
                    Todo::Delete { uid, version }
                }
            }
            Action::Wait(wait) => Todo::Done(match wait {
                Wait::Conflict | Wait::Gone | Wait::Unreadable => Next::After(FOREIGN_RETRY),
                Wait::Object | Wait::Held => Next::Change,
            }),
            Action::Write(write) => {
                self.rivals = snapshot.rivals(&write);
                may_write(entry, write, now, &mut problems)
            }
        };
        if let Todo::Done(_) = todo {
            state.ran(self.key, !problems.is_empty(), awaited);
            if problems.iter().any(|problem| problem.cause == Cause::Cycle) {
                state.cycles.insert(self.key.clone());
            }
        }
        drop(state);
        match &todo {
            Todo::Done(next) => {
                self.writer.behind.notify_one();
                self.writer.report_problems(self.key, &problems);
                if *next == Next::Settled {
                    self.writer.tidy(self.key);
                }
            }
            _ => self.problems = problems,
        }
        Some(todo)
    }

    async fn send(&self, request: Result<Http, kube::core::request::Error>) -> Sent {
        let Ok(_permit) = self.writer.requests.acquire().await else {
            let ended = "the Operator has ended before the request was sent";
            return Err(Failure::Lost(ended.to_owned()));
        };
        self.entry(TargetEntry::sent);
        request::send(&self.writer.client, request).await
    }

    /// Sends a write, and records it for those that read the object.
    async fn send_write(&self, request: Result<Http, kube::core::request::Error>) -> Sent {
        let (name, depth) = (&self.key.name, self.entry(|entry| entry.depth));
        self.echoes.sends(name, depth);
        let answer = self.send(request).await;
        let version = answer.as_ref().ok().map(Answer::version);
        self.echoes.sent(name, depth, version);
        if version.is_some() {
            self.entry(TargetEntry::wrote);
        }
        answer
    }

    async fn read(&mut self) -> Flow {
        let request = request::read(&self.kind, self.key);
        match self.send(request).await {
            Ok(answer) => self.learn(&answer),
            Err(failure) => match self.writer.judge(&failure, self.key) {
                Outcome::Gone => self.entry(|entry| entry.lose(Live::Absent)),
                outcome => return self.failed(None, outcome),
            },
        }
        self.fresh = true;
        Ok(None)
    }

    async fn write(&mut self, write: &Write) -> Flow {
        let request = request::write(&self.kind, self.key, write);
        let answer = self.send_write(request);
        let answer = answer.instrument(self.span(write.verb.name())).await;
        self.sent(&write.controller, write.verb.name(), &answer);
        match answer {
            Ok(answer) => {
                self.wrote(write, &answer);
                self.fresh = true;
                Ok(None)
            }
            Err(failure) => match self.writer.judge(&failure, self.key) {
                Outcome::Managers(conflicts) => self.contested(write, &conflicts).await,
                Outcome::Refused(refusal) => {
                    let recreate = refusal.code == 422 && self.is_valid_if_new(write).await;
                    self.refused(Some(write), refusal, recreate)
                }
                outcome => self.failed(Some(write), outcome),
            },
        }
    }

    fn span(&self, verb: &'static str) -> tracing::Span {
        tracing::info_span!("write", object = %self.writer.describe(self.key), verb)
    }

    fn sent(&self, controller: &str, verb: &'static str, answer: &Sent) {
        let code = match answer {
            Ok(answer) => answer.code,
            Err(Failure::Answer { status, .. }) => status.code,
            Err(Failure::Lost(_)) => 0,
        };
        tracing::debug!(object = %self.writer.describe(self.key), verb, code, "sent");
        self.writer.report.sent(self.key, controller, verb, code);
    }

    /// Stores the answer of a successful write.
    fn wrote(&mut self, write: &Write, answer: &Answer) {
        let observed = answer.observed(&self.writer.operator.name);
        let read = observed.unreadable.is_none();
        let object = observed.object.clone();
        // An apply that created the object answers 201.
        let disowned = write.creates
            && answer.code != 201
            && !was_created_by(&answer.body, &write.manager, &self.writer.operator.name);
        let rivals = std::mem::take(&mut self.rivals);
        self.entry(|entry| {
            entry.accepted(write);
            entry.repaired(write, &rivals);
            if disowned {
                entry.contention().learned.disowned = true;
            }
            entry.see(observed);
            if read {
                let goal = write.goal.clone();
                entry
                    .record
                    .note(&write.manager, write.status, goal, object);
            }
            entry.answered();
        });
        self.writer.touch(self.key);
        if write.adopts {
            self.writer
                .report
                .happened(self.key, &write.controller, Happened::Adopted);
        }
    }

    /// An apply conflicts with other field managers: takes back the fields that were ours, and
    /// leaves the others alone.
    async fn contested(&mut self, write: &Write, conflicts: &[(String, String)]) -> Flow {
        if !self.fresh || matches!(write.verb, Verb::Apply { force: true }) {
            return self.failed(Some(write), Outcome::Conflict);
        }
        let resolved = {
            let mut state = self.writer.state();
            let Some(entry) = state.get(self.key) else {
                return Ok(None);
            };
            let case = self.case(entry, true);
            resolve(&case, &write.manager, &write.body, conflicts)
        };
        let Some(body) = resolved.body else {
            return self.failed(Some(write), Outcome::Conflict);
        };
        let forced = Write {
            verb: Verb::Apply { force: true },
            body,
            ..write.clone()
        };
        let request = request::write(&self.kind, self.key, &forced);
        let answer = self.send_write(request).await;
        self.sent(&write.controller, forced.verb.name(), &answer);
        match answer {
            Ok(answer) => self.wrote(&forced, &answer),
            Err(failure) => {
                return self.failed(Some(&forced), self.writer.judge(&failure, self.key));
            }
        }
        if !resolved.lost.is_empty() {
            let cause = Cause::Conflict(Conflict::Managers(resolved.lost));
            let problem = problem_of(write, cause);
            let at = usize::from(write.status);
            self.entry(|entry| entry.contention().lost_fields[at] = Some(problem));
        }
        Ok(None)
    }

    async fn delete(&mut self, uid: &str, version: &str) -> Flow {
        let request = request::delete(&self.kind, self.key, uid, version);
        let answer = self.send_write(request);
        let answer = answer.instrument(self.span("delete")).await;
        let controller = self.writer.controller_of(self.key);
        self.sent(&controller.unwrap_or_default(), "delete", &answer);
        match answer {
            Ok(answer) => {
                let operator = self.writer.operator.name.clone();
                self.entry(|entry| entry.deleted(&answer.body, &operator));
                self.writer.touch(self.key);
                self.fresh = true;
                Ok(None)
            }
            Err(failure) => self.failed(None, self.writer.judge(&failure, self.key)),
        }
    }

    fn learn(&self, answer: &Answer) {
        let observed = answer.observed(&self.writer.operator.name);
        self.entry(|entry| {
            entry.see(observed);
            entry.answered();
        });
        self.writer.touch(self.key);
    }

    fn entry<T: Default>(&self, change: impl FnOnce(&mut TargetEntry) -> T) -> T {
        match self.writer.state().get(self.key) {
            Some(entry) => change(entry),
            None => T::default(),
        }
    }
}

/// What an object waits for if this is the next action.
fn awaited(action: &Action) -> Option<Awaited> {
    match action {
        Action::Nothing => None,
        Action::Wait(Wait::Object) => Some(Awaited::Object),
        Action::Wait(Wait::Gone) => Some(Awaited::Gone),
        _ => Some(Awaited::Other),
    }
}

fn fighting(fight: &fight::Fight) -> Cause {
    Cause::Fighting {
        fields: fight.fields.clone(),
        managers: fight.managers.clone(),
        pause: fight.pause(),
    }
}

/// The object has its derived state; it may still be fought over.
fn settled(entry: &mut TargetEntry, now: Instant, problems: &mut Vec<Problem>) -> Todo {
    entry.settle();
    let Some((rest, cause)) = entry.fight().and_then(|fight| {
        let rest = fight.active_for(now)?;
        Some((rest, fighting(fight)))
    }) else {
        return Todo::Done(Next::Settled);
    };
    let problem = entry.problem(cause);
    problems.push(problem);
    Todo::Done(Next::After(rest))
}

/// When to look at an object again whose write is refused for this long. If an Applier may not
/// create it, somebody else may: such an object has no label of ours, and no event of it arrives.
/// Each run starts with a read, so that the write is only repeated if the object exists by then.
fn look_again(write: &Write, wait: Duration) -> Duration {
    match write.verb {
        Verb::Apply { .. } if write.creates => wait.min(FOREIGN_RETRY),
        Verb::Apply { .. } | Verb::Create | Verb::Replace | Verb::Merge => wait,
    }
}

/// Whether to send a write now. A refused write waits, and so does a repair in a fight.
fn may_write(
    entry: &mut TargetEntry,
    write: Box<Write>,
    now: Instant,
    problems: &mut Vec<Problem>,
) -> Todo {
    if let Some(refused) = entry.refused(&write) {
        let wait = refused.until.saturating_duration_since(now);
        if !wait.is_zero() {
            problems.push(refused.problem.clone());
            return Todo::Done(Next::After(look_again(&write, wait)));
        }
    }
    if let Some(rest) = entry.cycle(now) {
        problems.push(problem_of(&write, Cause::Cycle));
        return Todo::Done(Next::After(rest));
    }
    let repairs = entry.repairs(&write);
    let fight = entry.fight().filter(|_| repairs);
    let wait = fight.and_then(|fight| Some((fight.wait(now)?, fighting(fight))));
    let Some((wait, cause)) = wait else {
        return Todo::Write(write);
    };
    problems.push(problem_of(&write, cause));
    Todo::Done(Next::After(wait))
}
