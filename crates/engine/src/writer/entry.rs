//! The state that a [`Writer`](super::Writer) keeps for one object.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use document::Value;
use fieldset::compare::sharing;
use object::relist::Shown;
use object::{ObjectKey, OperatorId};
use operator::spec::TargetType;
use target::TargetKind;
use target::answer::is_status;
use target::claim::Claim;
use target::decide::{Case, Learned, Verb, Write};
use target::desired::Wanted;
use target::live::{Live, Observed, Record};
use target::peers::Peers;
use target::problem::{Cause, Problem};

use super::fight::Fight;
use super::standing::Standing;

/// The state of one target object.
#[derive(Debug, Default)]
pub(super) struct TargetEntry {
    pub(super) wanted: Wanted,
    pub(super) live: Live,
    pub(super) record: Record,
    /// What it waits for, and until when at most.
    pub(super) waits: Option<(WaitsFor, Instant)>,
    /// When the object was last seen or written.
    pub(super) shown: Shown,
    /// Whether a request for it is in flight.
    pub(super) flight: Flight,
    /// Whether it has its derived state.
    pub(super) standing: Standing,
    /// How many writes of this process have caused each other until the wanted state was set;
    /// 0 if something else caused it.
    pub(super) depth: u32,
    /// How many writes in a row had a depth above 0.
    pub(super) streak: u32,
    /// The problems that were last reported for it.
    pub(super) problems: Vec<Problem>,
    pub(super) contention: Option<Box<Contention>>,
}

/// Documents with more bytes of JSON are compared where that holds up nobody else.
const LARGE: u32 = 64 * 1024;

/// A copy of the state that one decision is based on. `decide` runs without the lock, so that a
/// large object does not block the others.
#[derive(Debug)]
pub(super) struct Snapshot {
    wanted: Wanted,
    live: Live,
    record: Record,
    held: BTreeSet<String>,
    learned: Learned,
}

impl Snapshot {
    pub(super) fn of(entry: &TargetEntry) -> Self {
        let contention = entry.contention.as_deref();
        Self {
            wanted: entry.wanted.clone(),
            live: entry.live.clone(),
            record: entry.record.clone(),
            held: contention.map_or_else(BTreeSet::new, |contention| contention.held.clone()),
            learned: contention.map_or_else(Learned::default, |known| known.learned.clone()),
        }
    }

    /// Whether a decision based on this snapshot is still valid.
    pub(super) fn is_current(&self, entry: &TargetEntry) -> bool {
        let contention = entry.contention.as_deref();
        let held = contention.map_or(&NOTHING_HELD, |contention| &contention.held);
        self.wanted.is_same(&entry.wanted) && self.live == entry.live && self.held == *held
    }

    /// Whether a decision may take long.
    pub(super) fn is_large(&self) -> bool {
        let is_large = |document: &Value| document.measure().bytes > LARGE;
        let mut writers = self.wanted.writers();
        writers.any(|desired| is_large(&desired.document))
            || matches!(&self.live, Live::Present(live) if is_large(&live.object))
    }

    /// The field managers that changed the fields last which a write restores.
    pub(super) fn rivals(&self, write: &Write) -> Vec<String> {
        match &self.live {
            Live::Present(observed) if !write.drift.is_empty() => {
                observed.last_managers(&write.drift)
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn case<'a>(
        &'a self,
        key: &'a ObjectKey,
        kind: &'a TargetKind,
        operator: &'a OperatorId,
        peers: &'a Peers,
        fresh: bool,
    ) -> Case<'a> {
        Case {
            key,
            kind,
            operator,
            wanted: &self.wanted,
            live: &self.live,
            fresh,
            record: &self.record,
            held: &self.held,
            learned: &self.learned,
            peers,
        }
    }
}

/// Whether a request for an object is in flight, and whether the watch has overtaken its
/// answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flight {
    /// No request is in flight.
    #[default]
    None,
    /// A request was sent.
    Sent,
    /// Since the request was sent, the watch has delivered the object's deletion, or a list
    /// without it. The answer may therefore show an object that no longer exists.
    Overtaken,
}

/// What an object waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    Namespace,
    Kind,
}

/// The state of an object that others change, or that the server refuses.
#[derive(Debug, Default)]
pub(super) struct Contention {
    pub(super) fight: Fight,
    /// Whether others have deleted the object since we wrote it.
    pub(super) deleted: bool,
    /// Until when it is held because of a cycle.
    pub(super) cycle: Option<Instant>,
    pub(super) refused: Option<Refused>,
    pub(super) learned: Learned,
    /// The conflicts over fields that an apply left to other managers: of the object, and of its
    /// status.
    pub(super) lost_fields: [Option<Problem>; 2],
    /// The controllers whose removals are held (`maxDeletions`).
    pub(super) held: BTreeSet<String>,
}

static NOTHING_HELD: BTreeSet<String> = BTreeSet::new();

static NOTHING_LEARNED: Learned = Learned {
    recreate: false,
    disowned: false,
    kept: Vec::new(),
};

/// A write that the server refused. It is not sent again until something changes, or `until`.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) body: Value,
    pub(super) status: bool,
    pub(super) version: String,
    pub(super) until: Instant,
    pub(super) problem: Problem,
}

impl TargetEntry {
    /// The input of a decision about the object.
    pub(super) fn case<'a>(
        &'a self,
        key: &'a ObjectKey,
        kind: &'a TargetKind,
        operator: &'a OperatorId,
        peers: &'a Peers,
        fresh: bool,
    ) -> Case<'a> {
        let contention = self.contention.as_deref();
        Case {
            key,
            kind,
            operator,
            wanted: &self.wanted,
            live: &self.live,
            fresh,
            record: &self.record,
            held: contention.map_or(&NOTHING_HELD, |contention| &contention.held),
            learned: contention.map_or(&NOTHING_LEARNED, |contention| &contention.learned),
            peers,
        }
    }

    pub(super) fn contention(&mut self) -> &mut Contention {
        self.contention.get_or_insert_default()
    }

    pub(super) fn fight(&mut self) -> Option<&mut Fight> {
        self.contention
            .as_mut()
            .map(|contention| &mut contention.fight)
    }

    /// Records that drift was repaired, or that others changed the object faster than that in
    /// every attempt; `rivals` are the field managers of the version that was repaired.
    pub(super) fn repaired(&mut self, write: &Write, rivals: &[String]) {
        if self.repairs(write) {
            let now = tokio::time::Instant::now().into_std();
            let fields = write.drift.iter().map(ToString::to_string).collect();
            let contention = self.contention();
            contention.deleted = false;
            contention.fight.repaired(now, fields, rivals.to_vec());
        }
    }

    /// Whether a write restores what others have changed or deleted.
    pub(super) fn repairs(&self, write: &Write) -> bool {
        let contention = self.contention.as_ref();
        let deleted = contention.is_some_and(|contention| contention.deleted);
        let creates = write.creates || write.verb == Verb::Create;
        !write.drift.is_empty() || (creates && deleted)
    }

    /// Records that others have deleted the object, if we wrote it and it is still wanted.
    pub(super) fn deleted_by_others(&mut self) {
        let known = self.contention.as_deref();
        let recreates = known.is_some_and(|contention| contention.learned.recreate);
        let present = matches!(&self.live, Live::Present(_)) && !self.record.is_empty();
        if present && !recreates && !self.is_removal() {
            self.contention().deleted = true;
        }
    }

    pub(super) fn stop_waiting(&mut self, what: WaitsFor) -> bool {
        let waited = self.awaits(what);
        if waited {
            self.waits = None;
        }
        waited
    }

    /// Whether it waits for this.
    pub(super) fn awaits(&self, what: WaitsFor) -> bool {
        self.waits.is_some_and(|(waits, _)| waits == what)
    }

    /// How much longer it waits for its namespace or kind.
    pub(super) fn waiting(&self, now: Instant) -> Option<Duration> {
        let (_, until) = self.waits?;
        let rest = until.saturating_duration_since(now);
        (!rest.is_zero() && !self.wanted.has_withdrawn()).then_some(rest)
    }

    /// The refusal of this write, if nothing has changed since.
    pub(super) fn refused(&self, write: &Write) -> Option<&Refused> {
        let refused = self.contention.as_ref()?.refused.as_ref()?;
        let same = refused.body == write.body
            && refused.version == self.version()
            && refused.status == write.status;
        same.then_some(refused)
    }

    /// Records that the server has accepted a write.
    pub(super) fn accepted(&mut self, write: &Write) {
        if let Some(contention) = &mut self.contention {
            contention.refused = None;
            // Only an apply shows which fields others own now.
            if matches!(write.verb, Verb::Apply { .. }) {
                contention.lost_fields[usize::from(write.status)] = None;
            }
            contention.learned.recreate &= write.verb != Verb::Create;
        }
    }

    pub(super) fn change(&mut self, change: impl FnOnce(&mut Wanted) -> bool) -> bool {
        let changed = change(&mut self.wanted);
        if changed && let Some(contention) = &mut self.contention {
            contention.learned.recreate = false;
            contention.lost_fields = [None, None];
            // The fields were kept in vain: the server refused this document for another reason.
            if contention.refused.is_some() {
                contention.learned.kept.clear();
            }
        }
        changed
    }

    /// Records that a controller no longer wants the object, and that what it wrote stays for
    /// now.
    pub(super) fn hold(&mut self, controller: &str) {
        self.contention().held.insert(controller.to_owned());
        // A layer on an Updater's document stays part of that document.
        if !self.wanted.is_layer(controller) {
            self.change(|wanted| wanted.withdraw(controller));
        }
    }

    /// Ends the hold on a controller's removal. Returns whether there was one.
    pub(super) fn unhold(&mut self, controller: &str) -> bool {
        let contention = self.contention.as_mut();
        contention.is_some_and(|contention| contention.held.remove(controller))
    }

    /// Whether the removal of a controller's fields or object is held.
    pub(super) fn is_held(&self, controller: &str) -> bool {
        let contention = self.contention.as_ref();
        contention.is_some_and(|contention| contention.held.contains(controller))
    }

    /// Stores an observed object, unless a newer version is known.
    pub(super) fn see(&mut self, observed: Observed) {
        if matches!(&self.live, Live::Present(known) if observed.is_older_than(known)) {
            return;
        }
        if self.record.is_of_another(observed.uid()) {
            self.forget_writes();
        }
        self.live = Live::Present(observed);
    }

    /// Records that the object does not exist.
    pub(super) fn lose(&mut self, live: Live) {
        self.deleted_by_others();
        self.forget_writes();
        self.live = live;
    }

    fn forget_writes(&mut self) {
        self.record.clear();
        if let Some(contention) = &mut self.contention {
            contention.learned.disowned = false;
        }
    }

    /// Stores the answer to a delete.
    pub(super) fn deleted(&mut self, body: &Value, operator: &str) {
        self.forget_writes();
        let Live::Present(known) = &self.live else {
            return;
        };
        let left = Observed::new(body, operator);
        if is_status(body) || !left.is_being_deleted() {
            self.live = Live::Absent;
        } else if left.uid() == known.uid() {
            self.live = Live::Present(left);
        }
    }

    /// Records that a request is sent.
    pub(super) fn sent(&mut self) {
        self.flight = Flight::Sent;
    }

    /// Records that the watch has delivered the object's deletion, or a list without it.
    pub(super) fn overtake(&mut self) {
        if self.flight == Flight::Sent {
            self.flight = Flight::Overtaken;
        }
    }

    /// Records that the answer has arrived. If the watch has overtaken it, the object is read
    /// again.
    pub(super) fn answered(&mut self) {
        if std::mem::take(&mut self.flight) == Flight::Overtaken {
            self.doubt();
        }
    }

    /// Discards the known state, so that the object is read before the next decision.
    pub(super) fn doubt(&mut self) {
        self.live = Live::Unknown;
        self.shown = self.shown.max(Shown::BEFORE_ALL_LISTS);
    }

    /// The object has its derived state. The desired, the live and the written document are
    /// mostly equal then; from now on they share memory.
    pub(super) fn settle(&mut self) {
        self.wanted.settle();
        if let Some(contention) = &mut self.contention {
            contention
                .held
                .retain(|controller| self.wanted.is_wanted_by(controller));
        }
        let mut writers = self.wanted.writers();
        let updater = writers.find(|desired| desired.author.target.kind == TargetType::Updater);
        if let (Some(updater), Live::Present(observed)) = (updater, &mut self.live) {
            let manager = &updater.author.manager;
            let last = self.record.last(manager, false);
            let wanted = last.map_or(&updater.document, |last| &last.goal);
            observed.object = sharing(&observed.object, wanted);
            self.record.share(manager, &observed.object);
        }
    }

    /// `metadata.resourceVersion`, or `""`.
    pub(super) fn version(&self) -> String {
        match &self.live {
            Live::Present(observed) => observed.version().to_owned(),
            Live::Unknown | Live::Unseen | Live::Absent => String::new(),
        }
    }

    /// The first controller that wants the object, or else the first that wanted it.
    pub(super) fn controller(&self) -> &str {
        match self.wanted.writers().next() {
            Some(desired) => &desired.author.controller,
            None => self.wanted.first_withdrawn(),
        }
    }

    /// Whether nobody wants the object any more.
    pub(super) fn is_removal(&self) -> bool {
        self.wanted.writers().next().is_none()
    }

    /// Whether nobody wants the object, and it is being deleted.
    pub(super) fn is_leaving(&self) -> bool {
        let deleted = matches!(&self.live, Live::Present(live) if live.is_being_deleted());
        let removed = self.wanted.has_withdrawn() || matches!(self.standing, Standing::Waiting(..));
        deleted && self.is_removal() && removed
    }

    /// A problem, reported for the first controller that wants the object.
    pub(super) fn problem(&self, cause: Cause) -> Problem {
        match self.wanted.writers().next() {
            Some(desired) => desired.problem(cause),
            None => Problem {
                controller: self.controller().to_owned(),
                origin: Value::NULL,
                cause,
            },
        }
    }

    pub(super) fn lost_fields(&self) -> impl Iterator<Item = Problem> {
        let contention = self.contention.iter();
        contention.flat_map(|contention| contention.lost_fields.iter().flatten().cloned())
    }

    /// Stores the problems of the object. Returns whether they have changed.
    pub(super) fn set_problems(&mut self, problems: &[Problem]) -> bool {
        let changed = self.problems != problems;
        if changed {
            self.problems = problems.to_vec();
        }
        changed
    }

    /// Adds fields that the server does not let us remove. Returns whether there are new ones.
    pub(super) fn keep(&mut self, fields: &[String]) -> bool {
        let kept = &mut self.contention().learned.kept;
        let before = kept.len();
        for field in fields {
            if !kept.contains(field) {
                kept.push(field.clone());
            }
        }
        kept.len() > before
    }

    /// Whether the object may be deleted and created again.
    pub(super) fn may_recreate(&self, controller: &str, key: &ObjectKey) -> bool {
        let mut writers = self.wanted.writers();
        let author = writers.find(|desired| desired.author.controller == controller);
        let Live::Present(observed) = &self.live else {
            return false;
        };
        let claim = Claim::read(&observed.object, key);
        author.is_some_and(|desired| desired.author.target.recreate)
            && claim.is_some_and(|claim| claim.created)
    }
}
