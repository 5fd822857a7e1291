//! One run for one object: decide, send, learn, and decide anew.

use std::sync::Arc;
use std::time::{Duration, Instant};

use document::Value;
use object::ObjectKey;
use target::TargetKind;
use target::answer::{Failure, Outcome, Refusal, Status};
use target::decide::{Action, Case, Decision, Verb, Wait, Write, decide, resolve};
use target::live::Live;
use target::problem::{Cause, Conflict, Happened, Problem};
use tracing::Instrument;

use super::entry::{Refused, Snapshot, TargetEntry, WaitsFor};
use super::request::{self, Answer};
use super::{Next, WriteError, Writer, fight};

/// How many steps one run takes at most; an object that is written by others all the
/// time is left to the next run.
const MAX_STEPS: usize = 16;
/// How often one run meets someone faster.
const MAX_CONFLICTS: usize = 5;
/// How often a refused object, or one whose kind or namespace is missing, is tried though
/// nothing changed.
pub(super) const SLOW_RETRY: Duration = Duration::from_mins(10);
/// How often a namespace is tried that cannot be watched.
const UNWATCHED_RETRY: Duration = Duration::from_mins(1);
/// How often an object that is not ours is looked at: our watch may not show it.
const FOREIGN_RETRY: Duration = Duration::from_mins(1);

/// What a run does next.
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
    /// Whether what is known of the object was read or written in this run.
    fresh: bool,
    conflicts: usize,
    /// What the last decision says against the object.
    problems: Vec<Problem>,
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
            problems: Vec::new(),
        }
    }

    /// Takes steps until there is nothing left to do, or something to wait for.
    pub(super) async fn go(mut self) -> Result<Next, WriteError> {
        for _ in 0..MAX_STEPS {
            let done = match self.next() {
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

    /// Decides the next step.
    fn next(&mut self) -> Todo {
        loop {
            let Some(snapshot) = self.snapshot() else {
                self.writer.tell(self.key, &[]);
                return Todo::Done(Next::Settled);
            };
            let snapshot = match snapshot {
                Ok(snapshot) => snapshot,
                Err(waits) => return Todo::Done(Next::After(waits)),
            };
            let case = snapshot.case(self.key, &self.kind, &self.writer.operator, self.fresh);
            let decision = decide(&case);
            if let Some(todo) = self.take_step(&snapshot, decision) {
                return todo;
            }
        }
    }

    /// What is known of the object, or how long it waits; `None` if nothing is known.
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

    /// What follows from a decision; `None` if the object has changed since.
    fn take_step(&mut self, snapshot: &Snapshot, decision: Decision) -> Option<Todo> {
        let now = tokio::time::Instant::now().into_std();
        let mut state = self.writer.state();
        let entry = state.get(self.key)?;
        if !snapshot.is_current(entry) {
            return None;
        }
        let mut problems = decision.problems;
        problems.extend(entry.lost_fields());
        let todo = match decision.action {
            Action::Nothing => right(entry, now, &mut problems),
            Action::Read => Todo::Read,
            Action::Delete { uid, version } => Todo::Delete { uid, version },
            Action::Wait(wait) => Todo::Done(match wait {
                Wait::Conflict | Wait::Gone | Wait::Unreadable => Next::After(FOREIGN_RETRY),
                Wait::Object | Wait::Held | Wait::Document => Next::Change,
            }),
            Action::Write(write) => may_write(entry, write, now, &mut problems),
        };
        drop(state);
        match &todo {
            Todo::Done(next) => {
                self.writer.tell(self.key, &problems);
                if *next == Next::Settled {
                    let operator = &self.writer.operator;
                    self.writer.state().tidy(self.key, operator);
                }
            }
            _ => self.problems = problems,
        }
        Some(todo)
    }

    async fn send(&self, request: Result<Http, kube::core::request::Error>) -> Sent {
        self.entry(TargetEntry::sent);
        request::send(&self.writer.client, request).await
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
        let answer = self.send(request);
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
        tracing::info_span!("write", object = %self.key, verb)
    }

    fn sent(&self, controller: &str, verb: &'static str, answer: &Sent) {
        let code = match answer {
            Ok(answer) => answer.code,
            Err(Failure::Answer { status, .. }) => status.code,
            Err(Failure::Lost(_)) => 0,
        };
        tracing::debug!(object = %self.key, verb, code, "sent");
        self.writer.report.sent(self.key, controller, verb, code);
    }

    /// A write has succeeded.
    fn wrote(&mut self, write: &Write, answer: &Answer) {
        let observed = answer.observed(&self.writer.operator);
        let read = observed.unreadable.is_none();
        let object = observed.object.clone();
        self.entry(|entry| {
            entry.taken(write);
            entry.repaired(write);
            // An apply that created the object answers 201.
            if write.creates && answer.code != 201 {
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
        self.writer.state().touch(self.key);
        if write.adopts {
            self.writer
                .report
                .happened(self.key, &write.controller, Happened::Adopted);
        }
    }

    /// An apply met fields of others: takes back what was ours, and leaves the rest.
    async fn contested(&mut self, write: &Write, conflicts: &[(String, String)]) -> Flow {
        if !self.fresh || matches!(write.verb, Verb::Apply { force: true }) {
            return self.failed(Some(write), Outcome::Conflict);
        }
        let resolved = {
            let mut state = self.writer.state();
            let Some(entry) = state.get(self.key) else {
                return Ok(None);
            };
            let case = entry.case(self.key, &self.kind, &self.writer.operator, true);
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
        let answer = self.send(request).await;
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
            self.entry(|entry| entry.contention().lost_fields = Some(problem));
        }
        Ok(None)
    }

    async fn delete(&mut self, uid: &str, version: &str) -> Flow {
        let request = request::delete(&self.kind, self.key, uid, version);
        let answer = self.send(request);
        let answer = answer.instrument(self.span("delete")).await;
        let controller = self.writer.controller_of(self.key);
        self.sent(&controller.unwrap_or_default(), "delete", &answer);
        match answer {
            Ok(answer) => {
                let operator = self.writer.operator.clone();
                self.entry(|entry| entry.deleted(&answer.body, &operator));
                self.writer.state().touch(self.key);
                self.fresh = true;
                Ok(None)
            }
            Err(failure) => self.failed(None, self.writer.judge(&failure, self.key)),
        }
    }

    fn learn(&self, answer: &Answer) {
        let observed = answer.observed(&self.writer.operator);
        self.entry(|entry| {
            entry.see(observed);
            entry.answered();
        });
        self.writer.state().touch(self.key);
    }

    fn entry<T: Default>(&self, change: impl FnOnce(&mut TargetEntry) -> T) -> T {
        match self.writer.state().get(self.key) {
            Some(entry) => change(entry),
            None => T::default(),
        }
    }

    /// A request did not succeed.
    fn failed(&mut self, write: Option<&Write>, outcome: Outcome) -> Flow {
        match outcome {
            Outcome::Conflict | Outcome::Managers(_) => {
                self.conflicts += 1;
                if self.conflicts > MAX_CONFLICTS {
                    // Every change would start the next run at once.
                    self.entry(|entry| write.map(|write| entry.repaired(write)));
                    return Err(self.busy());
                }
                self.entry(TargetEntry::doubt);
                Ok(None)
            }
            Outcome::Gone => {
                self.conflicts += 1;
                if self.conflicts > MAX_CONFLICTS {
                    return Err(self.busy());
                }
                self.entry(|entry| entry.lose(Live::Absent));
                Ok(None)
            }
            Outcome::Later {
                after,
                unknown,
                message,
            } => {
                if unknown {
                    self.entry(TargetEntry::doubt);
                }
                Err(self.error(write, Cause::Unavailable(message), after))
            }
            Outcome::NoNamespace => Ok(Some(self.no_namespace(write))),
            Outcome::NoKind => Ok(Some(self.wait(
                write,
                Cause::NoKind,
                WaitsFor::Kind,
                SLOW_RETRY,
            ))),
            // After a growing pause: a right that is granted soon counts soon.
            Outcome::Forbidden(cause) => Err(self.error(write, cause, None)),
            Outcome::Refused(refusal) => self.refused(write, refusal, false),
        }
    }

    /// Waits for the event of a namespace, or if there are none tries more often.
    fn no_namespace(&self, write: Option<&Write>) -> Next {
        let unwatched = self.writer.state().namespaces_unwatched;
        let retry = if unwatched {
            UNWATCHED_RETRY
        } else {
            SLOW_RETRY
        };
        let cause = Cause::NoNamespace { unwatched };
        let next = self.wait(write, cause, WaitsFor::Namespace, retry);
        self.writer.namespace_waits.send_replace(());
        next
    }

    /// Waits for the event of a namespace or a kind.
    fn wait(&self, write: Option<&Write>, cause: Cause, waits: WaitsFor, retry: Duration) -> Next {
        let problem = self.problem(write, cause);
        let until = tokio::time::Instant::now().into_std() + retry;
        self.entry(|entry| entry.waits = Some((waits, until)));
        self.tell_also(&problem);
        Next::After(retry)
    }

    /// Whether the object may be deleted and created again, and the server would take it as a
    /// new one: then it refused the change, and not the object.
    async fn is_valid_if_new(&self, write: &Write) -> bool {
        let create = self.entry(|entry| {
            if write.verb == Verb::Create || !entry.may_recreate(&write.controller, self.key) {
                return None;
            }
            let case = entry.case(self.key, &self.kind, &self.writer.operator, true);
            let absent = Case {
                live: &Live::Absent,
                ..case
            };
            match decide(&absent).action {
                Action::Write(create) if create.verb == Verb::Create => Some(create),
                _ => None,
            }
        });
        let Some(create) = create else {
            return false;
        };
        let request = request::dry_create(&self.kind, self.key, &create);
        let answer = request::send(&self.writer.client, request).await;
        self.sent(&create.controller, create.verb.name(), &answer);
        let exists = |status: &Status| status.code == 409 && status.reason == "AlreadyExists";
        matches!(answer, Err(Failure::Answer { status, .. }) if exists(&status))
    }

    /// The server does not take the object as it is. `recreate`: but it would take it as a
    /// new one, and may.
    fn refused(&mut self, write: Option<&Write>, refusal: Refusal, recreate: bool) -> Flow {
        let now = tokio::time::Instant::now().into_std();
        let cause = Cause::Refused {
            code: refusal.code,
            message: refusal.message,
        };
        let again = self.writer.refused_again(self.key);
        let Some(write) = write else {
            return Err(self.error(None, cause, Some(again)));
        };
        let problem = problem_of(write, cause.clone());
        let otherwise = self.entry(|entry| {
            // Fields that the server assigned, and does not let go; fields that were there
            // before a patch, and must be there.
            let kept = match write.verb {
                Verb::Replace => &refusal.fields[..],
                Verb::Merge => &refusal.required,
                Verb::Create | Verb::Apply { .. } => &[],
            };
            if refusal.code == 422 && entry.keep(kept) {
                let case = entry.case(self.key, &self.kind, &self.writer.operator, self.fresh);
                let other = |next: &Write| next.body != write.body;
                if matches!(decide(&case).action, Action::Write(next) if other(&next)) {
                    return true;
                }
            }
            if recreate {
                entry.contention().learned.recreate = true;
                return true;
            }
            let version = entry.version();
            entry.contention().refused = Some(Refused {
                body: write.body.clone(),
                status: write.status,
                version,
                until: now + again,
                problem,
            });
            false
        });
        if otherwise {
            return Ok(None);
        }
        Err(self.error(Some(write), cause, Some(again)))
    }

    fn tell_also(&self, problem: &Problem) {
        let mut problems = self.problems.clone();
        problems.push(problem.clone());
        self.writer.tell(self.key, &problems);
    }

    fn busy(&self) -> WriteError {
        let message = "the object changes faster than it can be written".to_owned();
        self.error(None, Cause::Unavailable(message), None)
    }

    fn problem(&self, write: Option<&Write>, cause: Cause) -> Problem {
        match write {
            Some(write) => problem_of(write, cause),
            None => {
                let mut state = self.writer.state();
                match state.get(self.key) {
                    Some(entry) => entry.problem(cause),
                    None => Problem {
                        controller: String::new(),
                        origin: Value::NULL,
                        cause,
                    },
                }
            }
        }
    }

    fn error(&self, write: Option<&Write>, cause: Cause, retry: Option<Duration>) -> WriteError {
        let problem = self.problem(write, cause);
        self.tell_also(&problem);
        WriteError {
            key: self.key.clone(),
            problem: Box::new(problem),
            retry,
        }
    }
}

fn problem_of(write: &Write, cause: Cause) -> Problem {
    Problem {
        controller: write.controller.clone(),
        origin: write.origin.clone(),
        cause,
    }
}

fn fighting(fight: &fight::Fight) -> Cause {
    Cause::Fighting {
        fields: fight.fields.clone(),
        managers: fight.managers.clone(),
        pause: fight.pause(),
    }
}

/// The object is right.
fn right(entry: &mut TargetEntry, now: Instant, problems: &mut Vec<Problem>) -> Todo {
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

/// Whether a write is sent now: not one that was refused, and not at once in a fight.
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
            return Todo::Done(Next::After(wait));
        }
    }
    let fight = entry.fight().filter(|_| !write.drift.is_empty());
    let wait = fight.and_then(|fight| Some((fight.wait(now)?, fighting(fight))));
    let Some((wait, cause)) = wait else {
        return Todo::Write(write);
    };
    problems.push(problem_of(&write, cause));
    Todo::Done(Next::After(wait))
}
