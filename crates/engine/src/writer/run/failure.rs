//! Requests that did not succeed: whether the run decides again, waits, or ends with an error.

use std::time::Duration;

use document::Value;
use target::answer::{Failure, Outcome, Refusal, Status};
use target::decide::{Action, Case, Verb, Write, decide};
use target::live::Live;
use target::problem::{Cause, Problem};

use super::super::entry::{Refused, TargetEntry, WaitsFor};
use super::super::{Next, WriteError, request};
use super::{Flow, Run, SLOW_RETRY, look_again};

/// How many write conflicts one run accepts.
const MAX_CONFLICTS: usize = 5;
/// How often a write is tried again if its namespace is missing and cannot be watched.
const UNWATCHED_RETRY: Duration = Duration::from_mins(1);

impl Run<'_> {
    /// Handles a request that did not succeed.
    pub(super) fn failed(&mut self, write: Option<&Write>, outcome: Outcome) -> Flow {
        match outcome {
            Outcome::Conflict | Outcome::Managers(_) => {
                self.conflicts += 1;
                if self.conflicts > MAX_CONFLICTS {
                    // Without a pause, every change of others would start the next run at once.
                    let rivals = &self.rivals;
                    self.entry(|entry| write.map(|write| entry.repaired(write, rivals)));
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
            // If the right is granted soon, the retry is soon, too.
            Outcome::Denied(cause) => Err(self.error(write, cause, None)),
            Outcome::Refused(refusal) => self.refused(write, refusal, false),
        }
    }

    /// Waits for the namespace's event; if namespaces are not watched, tries again more often.
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

    /// Waits for an event of a namespace or a kind.
    fn wait(&self, write: Option<&Write>, cause: Cause, waits: WaitsFor, retry: Duration) -> Next {
        let problem = self.problem(write, cause);
        let until = tokio::time::Instant::now().into_std() + retry;
        self.entry(|entry| entry.waits = Some((waits, until)));
        self.report_with(&problem);
        Next::After(retry)
    }

    /// Whether the object may be deleted and created again, and the server would accept it as a
    /// new one. Then it has refused the change, and not the object itself.
    pub(super) async fn is_valid_if_new(&self, write: &Write) -> bool {
        let create = self.entry(|entry| {
            if write.verb == Verb::Create || !entry.may_recreate(&write.controller, self.key) {
                return None;
            }
            let case = self.case(entry, true);
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

    /// Handles a refusal. `recreate`: the server would accept the object as a new one, and
    /// deltic may delete and create it.
    pub(super) fn refused(
        &mut self,
        write: Option<&Write>,
        refusal: Refusal,
        recreate: bool,
    ) -> Flow {
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
            // Fields that the server has assigned and does not let us remove, and fields that
            // an undone patch would remove but that are required.
            let kept = match write.verb {
                Verb::Replace => &refusal.fields[..],
                Verb::Merge => &refusal.required,
                Verb::Create | Verb::Apply { .. } => &[],
            };
            if refusal.code == 422 && entry.keep(kept) {
                let case = self.case(entry, self.fresh);
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
        Err(self.error(Some(write), cause, Some(look_again(write, again))))
    }

    fn report_with(&self, problem: &Problem) {
        let mut problems = self.problems.clone();
        problems.push(problem.clone());
        self.writer.report_problems(self.key, &problems);
    }

    pub(super) fn busy(&self) -> WriteError {
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
        self.report_with(&problem);
        WriteError {
            key: self.key.clone(),
            problem: Box::new(problem),
            retry,
        }
    }
}

pub(super) fn problem_of(write: &Write, cause: Cause) -> Problem {
    Problem {
        controller: write.controller.clone(),
        origin: write.origin.clone(),
        cause,
    }
}
