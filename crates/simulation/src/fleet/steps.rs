//! The steps of a history: actions of users, administrators, networks and machines.

use seeded::Random;

use super::member::{Member, has_limit};
use crate::api::policy::VIEWS;

/// One step. A number in it selects the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetStep {
    /// A user creates or changes a source object.
    Put(Source, u64),
    /// A user deletes a source object, and possibly creates it again.
    Delete(Source, u64),
    /// Users delete source objects while no watch can tell of it.
    Lose(Source, u64),
    /// A user makes an Item unreadable.
    Spoil(u64),
    /// Users delete all sources.
    Empty,
    /// Somebody changes a derived object.
    Vandalise(u64),
    /// Somebody deletes a derived object.
    DeleteDerived(u64),
    /// An administrator edits or creates an Operator.
    EditOperator(usize, u64),
    /// An administrator deletes an Operator.
    DeleteOperator(usize),
    /// An administrator deletes an Operator and creates it under another name.
    RenameOperator(usize),
    /// An administrator makes a backup of all Operators and derived objects.
    Backup,
    /// An administrator deletes all Operators, and restores what is missing from the backup.
    Restore,
    /// An administrator corrects all Operators.
    RepairOperators,
    /// Sets the percentage of requests that fail.
    Faults(usize),
    /// The server drops its history.
    Compact,
    /// All watches break.
    Cut,
    /// The server starts or stops refusing streaming lists.
    StreamingLists,
    /// The server is down for this many milliseconds, and loses its history.
    ServerRestart(u64),
    /// Requests for a kind are refused with this status, until the next such step.
    Refuse(&'static str, u16),
    /// Service accounts may not read and write a kind, or not read views, until the next
    /// [`FleetStep::RefuseNone`].
    Deny(&'static str),
    /// No kind is refused any more.
    RefuseNone,
    /// The wall clocks of all machines are set, by this many seconds.
    ClockStep(i64),
    /// A replica dies, and starts again after this many milliseconds.
    Crash(usize, u64),
    /// The replica that sends the next write dies with it.
    CrashWithWrite,
    /// A replica is shut down, and starts again.
    Restart(usize),
    /// A replica is cut off for this many milliseconds; its requests fail if the flag is set.
    Partition(usize, u64, bool),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// Faults end. When the cluster is quiet, it must have the derived state.
    Check,
}

/// A kind of source objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An Item.
    Item,
    /// A Link.
    Link,
    /// A Secret.
    Secret,
    /// A Deployment.
    Deployment,
}

impl Source {
    const ALL: [Self; 4] = [Self::Item, Self::Link, Self::Secret, Self::Deployment];

    /// The Kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Item => "Item",
            Self::Link => "Link",
            Self::Secret => "Secret",
            Self::Deployment => "Deployment",
        }
    }
}

/// The kinds that are refused now and then.
const REFUSED: [&str; 6] = [
    "Item",
    "Link",
    "Secret",
    "ConfigMap",
    "Operator",
    "Deployment",
];

/// What service accounts may not do now and then.
const DENIED: [&str; 4] = ["Link", "ConfigMap", "Widget", VIEWS];

/// Builds the history of a fleet.
pub(super) struct Histories<'a> {
    pub(super) random: &'a mut Random,
    pub(super) fleet: &'static [Member],
    pub(super) replicas: usize,
}

impl Histories<'_> {
    /// A random history, which ends with a [`FleetStep::Check`].
    pub(super) fn history(&mut self, length: usize) -> Vec<FleetStep> {
        let mut steps: Vec<FleetStep> = (0..10).map(|_| self.put()).collect();
        while steps.len() < length {
            match self.random.below(20) {
                0..=5 => steps.push(self.source()),
                6 => steps.push(self.disturbance()),
                7..=9 => steps.push(self.administration()),
                10 | 11 => self.storm(&mut steps),
                12 => steps.push(self.server()),
                13 | 14 => steps.push(self.machine()),
                15 => self.outage(&mut steps),
                16 if self.random.chance(60) => self.bad_start(&mut steps),
                16 if self.random.chance(25) => steps.push(FleetStep::Check),
                17 if self.random.chance(40) => self.another_identity(&mut steps),
                18 if has_limit(self.fleet) => self.loss(&mut steps),
                _ => steps.push(self.wait(&[20, 200, 2_000, 20_000, 90_000])),
            }
        }
        steps.push(FleetStep::Check);
        steps
    }

    /// Many steps in a short time, on a bad network.
    fn storm(&mut self, steps: &mut Vec<FleetStep>) {
        steps.push(FleetStep::Faults(*self.random.pick(&[5, 20, 60])));
        for _ in 0..3 + self.random.below(6) {
            let step = match self.random.below(10) {
                0..=2 => self.source(),
                3 => self.disturbance(),
                4 => self.server(),
                5 => self.administration(),
                6 if self.random.chance(40) => self.machine(),
                _ => self.wait(&[5, 50, 500, 2_000]),
            };
            steps.push(step);
        }
        steps.push(FleetStep::Faults(0));
    }

    /// Sources go while a process lists them on a bad network, so that lists break off.
    fn bad_start(&mut self, steps: &mut Vec<FleetStep>) {
        steps.extend([self.put(), self.put()]);
        steps.push(FleetStep::Faults(*self.random.pick(&[30, 60, 80])));
        let broken = [
            FleetStep::Crash(self.replica(), 100),
            FleetStep::ServerRestart(300),
        ];
        steps.push(*self.random.pick(&broken));
        for _ in 0..3 + self.random.below(4) {
            steps.push(self.wait(&[50, 200, 600, 1_500]));
            let gone = FleetStep::Delete(self.kind(), self.random.bits());
            steps.push(if self.random.chance(70) {
                gone
            } else {
                self.source()
            });
        }
        steps.push(FleetStep::Faults(0));
        if self.random.chance(40) {
            steps.push(FleetStep::Check);
        }
    }

    /// Operators get other uids or names, while sources go and processes start.
    fn another_identity(&mut self, steps: &mut Vec<FleetStep>) {
        steps.push(self.wait(&[5_000, 30_000]));
        steps.push(FleetStep::Backup);
        for _ in 0..=self.random.below(3) {
            let (member, number) = (self.member(), self.random.bits());
            let gone = FleetStep::Delete(self.kind(), number);
            let edit = FleetStep::EditOperator(member, number);
            let changes = [gone, edit, FleetStep::DeleteOperator(member)];
            steps.push(*self.random.pick(&changes));
            steps.push(self.wait(&[20, 2_000, 20_000]));
        }
        let rename = FleetStep::RenameOperator(self.member());
        let changes = [FleetStep::Restore, rename, FleetStep::RepairOperators];
        steps.push(*self.random.pick(&changes));
        steps.push(self.wait(&[200, 20_000]));
        if self.random.chance(60) {
            steps.push(FleetStep::Crash(self.replica(), 100));
        }
    }

    /// Sources go, and only a list shows it. Often no Operator has been edited since the process started,
    /// so that nothing else can cause a deletion.
    fn loss(&mut self, steps: &mut Vec<FleetStep>) {
        if self.random.chance(70) {
            steps.push(FleetStep::RepairOperators);
            steps.push(self.wait(&[200, 2_000]));
            steps.push(FleetStep::Crash(self.replica(), 100));
        }
        steps.extend([self.put(), self.put()]);
        steps.push(self.wait(&[200, 5_000, 30_000]));
        steps.push(FleetStep::Lose(self.kind(), self.random.bits()));
        steps.push(self.wait(&[20, 2_000, 20_000]));
    }

    /// Something is unavailable while a process starts, and while sources change.
    fn outage(&mut self, steps: &mut Vec<FleetStep>) {
        steps.push(self.wait(&[200, 5_000, 30_000]));
        let broken = match self.random.below(4) {
            0 => FleetStep::EditOperator(self.member(), self.random.bits()),
            1 => FleetStep::DeleteOperator(self.member()),
            2 => FleetStep::Spoil(self.random.bits()),
            _ => self.refusal(),
        };
        steps.push(broken);
        steps.push(FleetStep::Crash(
            self.replica(),
            self.random.range(0..2_000),
        ));
        if self.random.chance(50) {
            steps.push(self.source());
        }
        steps.push(self.wait(&[2_000, 30_000, 120_000]));
        steps.push(FleetStep::RefuseNone);
        if self.random.chance(50) {
            steps.push(FleetStep::RepairOperators);
        }
    }

    /// A kind of objects that the fleet reads.
    fn kind(&mut self) -> Source {
        let fleet = self.fleet;
        let read = |source: &Source| fleet.iter().any(|m| m.reads(fleet, source.kind()));
        let sources: Vec<Source> = Source::ALL.into_iter().filter(read).collect();
        *self.random.pick(&sources)
    }

    fn put(&mut self) -> FleetStep {
        FleetStep::Put(self.kind(), self.random.bits())
    }

    /// A change of a source object.
    fn source(&mut self) -> FleetStep {
        let (kind, number) = (self.kind(), self.random.bits());
        match self.random.below(30) {
            0..=8 => FleetStep::Delete(kind, number),
            9 | 10 if kind == Source::Item => FleetStep::Spoil(number),
            11 if self.random.chance(30) => FleetStep::Empty,
            _ => FleetStep::Put(kind, number),
        }
    }

    fn disturbance(&mut self) -> FleetStep {
        let number = self.random.bits();
        *self.random.pick(&[
            FleetStep::Vandalise(number),
            FleetStep::DeleteDerived(number),
        ])
    }

    fn administration(&mut self) -> FleetStep {
        let member = self.member();
        match self.random.below(7) {
            0 => FleetStep::DeleteOperator(member),
            1 => FleetStep::RepairOperators,
            2 => FleetStep::RenameOperator(member),
            _ => FleetStep::EditOperator(member, self.random.bits()),
        }
    }

    fn server(&mut self) -> FleetStep {
        let refuse = self.refusal();
        match self.random.below(8) {
            0 | 1 => FleetStep::Compact,
            2 => FleetStep::Cut,
            3 => FleetStep::StreamingLists,
            4 => FleetStep::ServerRestart(self.random.range(100..20_000)),
            5 => refuse,
            _ => FleetStep::RefuseNone,
        }
    }

    /// An end of a process, or something else that happens to its machine.
    fn machine(&mut self) -> FleetStep {
        let replica = self.replica();
        match self.random.below(8) {
            0 | 1 => FleetStep::Crash(replica, self.random.range(0..5_000)),
            2 => FleetStep::CrashWithWrite,
            3 | 4 => FleetStep::Restart(replica),
            5 => {
                let steps = [-86_400, -3_600, -5, 5, 3_600, 86_400 * 400];
                FleetStep::ClockStep(*self.random.pick(&steps))
            }
            _ => {
                let time = *self.random.pick(&[3_000, 12_000, 17_000, 60_000]);
                FleetStep::Partition(replica, time, self.random.chance(50))
            }
        }
    }

    fn refusal(&mut self) -> FleetStep {
        if self.fleet.iter().any(Member::has_account) && self.random.chance(60) {
            return FleetStep::Deny(DENIED[self.random.below(DENIED.len())]);
        }
        let kind = REFUSED[self.random.below(REFUSED.len())];
        FleetStep::Refuse(kind, *self.random.pick(&[403, 404, 503]))
    }

    fn member(&mut self) -> usize {
        self.random.below(self.fleet.len())
    }

    fn replica(&mut self) -> usize {
        self.random.below(self.replicas)
    }

    fn wait(&mut self, times: &[u64]) -> FleetStep {
        FleetStep::Wait(*self.random.pick(times))
    }
}
