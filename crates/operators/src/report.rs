//! Renders the status of an Operator.
//!
//! The input is the engine's status, the problems of the spec and the status that is stored; the
//! output is the status that should be stored:
//!
//! ```text
//! status:
//!   observedGeneration: 3
//!   conditions:                  # the worst of all controllers; conditions of others are kept
//!   - {type: Ready, status: Unknown, reason: ReconciliationFailed,
//!      message: "controller web: 1 error; the newest: …", lastTransitionTime: …}
//!   controllers:
//!   - {name: web, conditions: […], lastErrors: […], counts: {…}}
//!   kinds:                       # where objects of this Operator may be
//!   - {group: apps, kind: Deployment}
//!   orphans: 2                   # objects of a predecessor with the same name
//! ```
//!
//! `lastTransitionTime` changes only when the status of its condition does. So rendering again
//! without news gives the stored status, and nothing is written.

mod reason;

use document::{Key, ListRef, Value, json, one_line};
use engine::DELETION_HELD;
use engine::status::{ControllerStatus, MAX_ERRORS, OperatorStatus, Ready, ReportedError};
use object::marks::ALLOW_DELETIONS;
use object::{abridged, bounded};
use operator::Problem;
pub(crate) use reason::Reason;

/// The longest message of a condition or an error, in bytes.
pub(super) const MAX_MESSAGE: usize = 1024;
/// The longest message about an invalid spec, in bytes. It lists several problems.
const MAX_PROBLEMS: usize = 4096;

/// The state of an Operator, apart from that of its engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum OperatorState {
    /// The engine of its current spec runs and reports its own status.
    #[default]
    Runs,
    /// Its spec is invalid or refused.
    Invalid {
        /// The reasons.
        problems: Vec<Problem>,
        /// The earlier generation whose engine keeps running.
        running: Option<i64>,
    },
    /// It cannot run now.
    Waits {
        /// The reason of its condition.
        reason: Reason,
        /// The message of its condition.
        message: String,
    },
}

impl OperatorState {
    /// Whether it waits for this reason.
    pub(super) fn is(&self, waits_for: Reason) -> bool {
        matches!(self, Self::Waits { reason, .. } if *reason == waits_for)
    }
}

/// The input of a status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'a> {
    /// The name of the Operator.
    pub(super) name: &'a str,
    pub(super) generation: i64,
    pub(super) state: &'a OperatorState,
    pub(super) engine: &'a OperatorStatus,
}

/// How to allow the removals of an Operator that `maxDeletions` holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Release<'a> {
    /// By an annotation of the Operator of this name, with its generation.
    Annotation(&'a str, i64),
    /// By its file, because it is not on the cluster.
    File,
}

impl Release<'_> {
    fn help(self) -> String {
        match self {
            Self::Annotation(name, generation) => format!(
                "; to allow all that are held: kubectl annotate dop {name} \
                 {ALLOW_DELETIONS}={generation} --overwrite"
            ),
            Self::File => {
                "; to allow all that are held, raise maxDeletions in the file of the Operator and \
                 start deltic again"
                    .to_owned()
            }
        }
    }
}

impl<'a> Report<'a> {
    fn release(&self) -> Release<'a> {
        Release::Annotation(self.name, self.generation)
    }
}

/// A condition without its time.
struct Condition {
    reason: Reason,
    message: String,
}

/// Renders the status; `there` is the one that is stored.
pub(super) fn render(report: &Report<'_>, there: &Value, now: &str) -> Value {
    let generation = report.generation;
    let release = report.release();
    let controllers: Value = report
        .engine
        .controllers
        .iter()
        .map(|controller| {
            let old = named(there.get("controllers"), "name", &controller.name);
            let ready = match &report.engine.crashed {
                Some(why) => crashed(why),
                None => of_controller(controller, release),
            };
            let condition = ready.render(old.get("conditions"), generation, now);
            let newest = controller.errors.iter().take(MAX_ERRORS);
            let errors: Value = newest
                .map(|error| Value::from(text(error, release).as_str()))
                .collect();
            json!({
                "name": (controller.name.as_str()),
                "conditions": [(condition)],
                "lastErrors": (errors),
                "counts": (counts(controller)),
            })
        })
        .collect();
    let ready = overall(report).render(there.get("conditions"), generation, now);
    // Keep the conditions that others wrote.
    let others = there
        .get("conditions")
        .as_list()
        .into_iter()
        .flat_map(ListRef::iter);
    let others = others.filter(|condition| condition.get("type").as_str() != Some(READY));
    let conditions: Value = std::iter::once(ready).chain(others.cloned()).collect();
    let mut status = json!({
        "observedGeneration": generation,
        "conditions": (conditions),
        "controllers": (controllers),
    });
    // Without a report of the engine, the stored values stay.
    if let Some(kinds) = &report.engine.kinds {
        status = with(status, "kinds", kinds.print());
    }
    if let Some(orphans) = report.engine.orphans {
        status = with(status, "orphans", number(orphans));
    }
    status
}

fn with(status: Value, field: &str, value: Value) -> Value {
    match status.as_map() {
        Some(fields) => fields.with(Key::new(field), value).into(),
        None => status,
    }
}

fn number(count: usize) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

/// Whether the fields that we write equal those that are stored.
pub(super) fn same(rendered: &Value, there: &Value) -> bool {
    let fields = rendered.as_map().into_iter().flatten();
    let mut fields = fields.map(|(key, value)| (key.as_str(), value));
    fields.all(|(key, value)| there.get(key) == value)
}

/// The status without counts and times, so that it does not depend on the stored one.
pub(super) fn content(report: &Report<'_>) -> Value {
    without_counts(&render(report, &Value::NULL, ""))
}

/// Whether only counts differ. Writing those may wait.
pub(super) fn same_but_counts(rendered: &Value, there: &Value) -> bool {
    same(&without_counts(rendered), &without_counts(there))
}

fn without_counts(status: &Value) -> Value {
    let status = each(status, "conditions", without_message);
    each(&status, "controllers", |controller| {
        let controller = each(controller, "conditions", without_message);
        match controller.as_map() {
            Some(map) => map.without("counts").into(),
            None => controller,
        }
    })
}

/// A condition without its message, if that contains counts.
fn without_message(condition: &Value) -> Value {
    let counting = [Reason::Syncing, Reason::Deleting].map(|reason| Some(reason.as_str()));
    match condition.as_map() {
        Some(map) if counting.contains(&condition.get("reason").as_str()) => {
            map.without("message").into()
        }
        _ => condition.clone(),
    }
}

/// A map with the elements of one of its lists changed.
fn each(map: &Value, list: &str, change: impl Fn(&Value) -> Value) -> Value {
    let elements = map.get(list).as_list();
    let changed: Value = elements
        .into_iter()
        .flat_map(ListRef::iter)
        .map(change)
        .collect();
    match map.as_map() {
        Some(map) => map.with(Key::new(list), changed).into(),
        None => map.clone(),
    }
}

const READY: &str = "Ready";

impl Condition {
    fn new(reason: Reason, message: &str) -> Self {
        Self {
            reason,
            message: shown(message, MAX_MESSAGE),
        }
    }

    fn render(&self, old: &Value, generation: i64, now: &str) -> Value {
        let status = self.reason.status();
        let old = named(old, "type", READY);
        let since = old.get("lastTransitionTime").as_str();
        let since = since.filter(|_| old.get("status").as_str() == Some(status));
        json!({
            "type": READY,
            "status": status,
            "reason": (self.reason.as_str()),
            "message": (self.message.as_str()),
            "observedGeneration": generation,
            "lastTransitionTime": (since.unwrap_or(now)),
        })
    }
}

/// The element of a list whose `key` is `name`.
fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let mut elements = list.as_list().into_iter().flat_map(ListRef::iter);
    let found = elements.find(|element| element.get(key).as_str() == Some(name));
    found.unwrap_or(const { &Value::NULL })
}

fn overall(report: &Report<'_>) -> Condition {
    match report.state {
        OperatorState::Invalid { problems, running } => Condition {
            reason: Reason::Invalid,
            message: shown(&invalid(problems, *running), MAX_PROBLEMS),
        },
        OperatorState::Waits { reason, message } => Condition::new(*reason, message),
        OperatorState::Runs => match &report.engine.crashed {
            Some(why) => crashed(why),
            None => of_all(&report.engine.controllers, report.release()),
        },
    }
}

/// The engine ended because of a panic.
fn crashed(why: &str) -> Condition {
    Condition::new(Reason::Crashed, why)
}

/// The condition of the controller that is furthest from ready.
fn of_all(controllers: &[ControllerStatus], release: Release<'_>) -> Condition {
    let rank = |controller: &&ControllerStatus| match controller.ready {
        Ready::Stopped(_) => 0,
        Ready::False(_) => 1,
        Ready::Failing => 2,
        Ready::Syncing(_) => 3,
        Ready::True => 4,
    };
    let Some(worst) = controllers.iter().min_by_key(rank) else {
        return Condition::new(Reason::NotReady, "starting");
    };
    let condition = of_controller(worst, release);
    if worst.ready == Ready::True {
        return condition;
    }
    let message = format!("controller {}: {}", worst.name, condition.message);
    Condition::new(condition.reason, &message)
}

fn of_controller(controller: &ControllerStatus, release: Release<'_>) -> Condition {
    match &controller.ready {
        Ready::True => Condition::new(Reason::Ready, "all targets are in sync"),
        Ready::Syncing(why) => Condition::new(Reason::Syncing, why),
        Ready::False(why) => Condition::new(Reason::NotReady, why),
        Ready::Stopped(why) => Condition::new(Reason::BudgetExceeded, why),
        Ready::Failing => {
            let errors = controller.counts.errors.max(controller.errors.len());
            let plural = if errors == 1 { "" } else { "s" };
            let newest = controller.errors.first();
            let newest = newest.map(|error| format!("; the newest: {}", text(error, release)));
            let newest = newest.unwrap_or_default();
            let message = format!("{errors} error{plural}{newest}");
            Condition::new(Reason::ReconciliationFailed, &message)
        }
    }
}

/// The problems of a spec.
fn invalid(problems: &[Problem], running: Option<i64>) -> String {
    let errors: Vec<String> = problems.iter().map(problem).collect();
    let still_running = running.map_or_else(String::new, |generation| {
        format!("generation {generation} keeps running; ")
    });
    let shown = errors.iter().take(MAX_ERRORS);
    let shown = shown.map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = errors.len().saturating_sub(MAX_ERRORS);
    let more = match more {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("{still_running}{shown}{more}")
}

/// A problem as text: code, location, message and help.
pub fn problem(problem: &Problem) -> String {
    let Problem {
        code,
        message,
        at,
        help,
        ..
    } = problem;
    match help {
        Some(help) => format!("{code} at {at}: {message} ({help})"),
        None => format!("{code} at {at}: {message}"),
    }
}

/// An error as text: code, stage, objects, message, and how to allow a removal that is held.
pub(crate) fn text(reported: &ReportedError, release: Release<'_>) -> String {
    let ReportedError {
        code,
        stage,
        origin,
        message,
    } = reported;
    let place = if stage.is_empty() {
        String::new()
    } else {
        format!(" at {stage}")
    };
    let objects = objects(origin);
    let objects = if objects.is_empty() {
        objects
    } else {
        format!(" for {objects}")
    };
    let help = match code.as_str() {
        DELETION_HELD => release.help(),
        _ => String::new(),
    };
    shown(
        &format!("{code}{place}{objects}: {message}{help}"),
        MAX_MESSAGE,
    )
}

/// A message of at most `max` bytes, without line breaks.
fn shown(message: &str, max: usize) -> String {
    abridged(&one_line(message), max)
}

/// The objects of an origin. Group keys are left out, because they are values of documents and
/// may be secret.
fn objects(origin: &Value) -> String {
    let parts = origin.as_list().into_iter().flat_map(ListRef::iter);
    let objects = parts.filter_map(|part| {
        let name = part.get("name").as_str()?;
        let source = part.get("source").as_str().unwrap_or_default();
        Some(match part.get("namespace").as_str() {
            Some(namespace) => format!("{source} {namespace}/{name}"),
            None => format!("{source} {name}"),
        })
    });
    bounded(&objects.collect::<Vec<_>>().join(", "), MAX_MESSAGE / 4)
}

fn counts(controller: &ControllerStatus) -> Value {
    let counts = controller.counts;
    let usual = json!({
        "sources": (number(counts.sources)),
        "objects": (number(counts.objects)),
        "targets": (number(counts.targets)),
        "errors": (number(counts.errors)),
    });
    match usual.as_map() {
        Some(map) if counts.held > 0 => map.with(Key::new("held"), number(counts.held)).into(),
        _ => usual,
    }
}

#[cfg(test)]
mod tests;
