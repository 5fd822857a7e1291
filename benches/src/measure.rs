//! Runs one peer on one workload and measures it; meant for a process of its own.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::allocator;
use crate::differential::{Closures, Differential};
use crate::engine::{Engine, FromScratch, SharedWatch};
use crate::generate::{Generator, Object, Sequence, UPDATES};
use crate::hand;
use crate::peer::{Outcome, Peer};
use crate::workload::Workload;

/// What to measure. Each is a run of its own, so that none disturbs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Load and updates by the clock.
    Time,
    /// Bytes held after a load that comes in pages.
    Memory,
    /// Whether the outputs are right: their fingerprints.
    Check,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// One of [`PEERS`].
    pub peer: String,
    /// The name of the workload.
    pub workload: String,
    /// How many objects.
    pub count: usize,
    /// What to measure.
    pub mode: Mode,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Measurement {
    /// Of [`Mode::Time`].
    Time(Times),
    /// Of [`Mode::Memory`].
    Memory(Memory),
    /// Of [`Mode::Check`]: a fingerprint of all target objects after the load, and one
    /// after every sequence of updates.
    Check(Vec<u64>),
}

/// Nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The whole load, page by page, with reading.
    pub load: f64,
    /// Of each single update of any object, reading the event.
    pub read: Vec<f64>,
    /// Each single update of any object, from its event to the changes.
    pub any: Vec<f64>,
    /// Each single update in the hot group; only W3 has one.
    pub hot: Vec<f64>,
    /// Each single update of any object that finds nothing in the caches but its event.
    pub cold: Vec<f64>,
}

/// How long single updates took, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// On average.
    pub mean: f64,
    /// Half of them at most.
    pub p50: f64,
    /// 99 of 100 of them at most.
    pub p99: f64,
}

/// Bytes per object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Held after the load.
    pub live: f64,
    /// The most that was held during the load.
    pub peak: f64,
}

/// How many objects a page of a load has.
const PAGE: usize = 500;

/// All peers, in the order of the report.
pub const PEERS: [&str; 6] = [
    "deltic",
    "deltic, shared watch",
    "hand",
    "differential",
    "differential-closures",
    "from-scratch",
];

/// The from-scratch evaluator is quadratic: it is run up to this many objects.
const FROM_SCRATCH: usize = 1_000;

impl Task {
    /// Runs it; `None` if there is no such peer or workload, or the peer does not do that
    /// workload.
    pub fn run(&self) -> Option<Measurement> {
        let workload = Workload::by_name(&self.workload)?;
        match (self.peer.as_str(), workload) {
            ("deltic", _) => Some(self.measure::<Engine>(workload)),
            ("deltic, shared watch", Workload::W1 | Workload::W2 | Workload::W3) => {
                Some(self.measure::<SharedWatch>(workload))
            }
            ("hand", Workload::W1) => Some(self.measure::<hand::W1>(workload)),
            ("hand", Workload::W2) => Some(self.measure::<hand::W2>(workload)),
            ("hand", Workload::W3) => Some(self.measure::<hand::W3>(workload)),
            ("differential", _) => Some(self.measure::<Differential>(workload)),
            ("differential-closures", _) => Some(self.measure::<Closures>(workload)),
            ("from-scratch", _) if self.count <= FROM_SCRATCH => {
                Some(self.measure::<FromScratch>(workload))
            }
            _ => None,
        }
    }

    fn measure<P: Peer>(&self, workload: Workload) -> Measurement {
        let generator = Generator::new(workload, self.count);
        match self.mode {
            Mode::Time => Measurement::Time(time::<P>(workload, generator)),
            Mode::Memory => Measurement::Memory(memory::<P>(workload, generator)),
            Mode::Check => Measurement::Check(check::<P>(workload, generator)),
        }
    }
}

/// Measures load and updates. The clock of an update starts with the line of its event, and
/// stops when its changes have been dropped: whoever holds the last reference to an old
/// document, freeing it is part of the work.
fn time<P: Peer>(workload: Workload, generator: Generator) -> Times {
    let mut peer = P::new(workload);
    let read = P::reader(workload);
    let sequences = generator.updates(UPDATES);
    let mut times = Times {
        load: load(&mut peer, &read, generator),
        ..Times::default()
    };
    let mut caches = Caches::new();
    let mut changes = Vec::new();
    for (sequence, objects) in sequences {
        let mut durations = Vec::with_capacity(objects.len());
        for object in objects.into_iter().take(P::TIMED) {
            if sequence == Sequence::Cold {
                caches.fill();
            }
            let start = Instant::now();
            let input = read(&object);
            if sequence == Sequence::Any {
                times.read.push(start.elapsed().as_nanos() as f64);
            }
            peer.apply([input], &mut changes);
            black_box(&changes);
            changes.clear();
            durations.push(start.elapsed().as_nanos() as f64);
        }
        match sequence {
            Sequence::Any => times.any = durations,
            Sequence::Hot => times.hot = durations,
            Sequence::Cold => times.cold = durations,
        }
    }
    times
}

/// Loads all objects and gives the nanoseconds that the peer took. They come in pages, as
/// many as wait for a controller that is busy with those before them.
fn load<P: Peer>(peer: &mut P, read: &impl Fn(&Object) -> P::Input, generator: Generator) -> f64 {
    let mut changes = Vec::new();
    let mut took = Duration::ZERO;
    let mut objects = generator.objects();
    while objects.len() > 0 {
        let page: Vec<Object> = (&mut objects).take(PAGE).collect();
        let start = Instant::now();
        peer.load(page.iter().map(read).collect(), &mut changes);
        black_box(&changes);
        changes.clear();
        took += start.elapsed();
    }
    let start = Instant::now();
    peer.loaded(&mut changes);
    black_box(&changes);
    drop(changes);
    (took + start.elapsed()).as_nanos() as f64
}

/// Other work that takes the caches.
struct Caches(Vec<u64>);

impl Caches {
    /// More than the last level of most processors.
    const BYTES: usize = 64 << 20;
    /// Words in a line.
    const LINE: usize = 8;

    fn new() -> Self {
        Self(vec![0; Self::BYTES / size_of::<u64>()])
    }

    /// Writes to every line.
    fn fill(&mut self) {
        for line in self.0.iter_mut().step_by(Self::LINE) {
            *line = line.wrapping_add(1);
        }
        black_box(&self.0);
    }
}

/// Measures what is held. The inputs are handed over page by page, so that what the peer
/// keeps of them counts, and what it drops does not.
fn memory<P: Peer>(workload: Workload, generator: Generator) -> Memory {
    allocator::start_counting();
    let mut peer = P::new(workload);
    let read = P::reader(workload);
    let mut changes = Vec::new();
    let mut objects = generator.objects();
    while objects.len() > 0 {
        // The lines of a watch are read one by one.
        let page = (&mut objects).take(PAGE);
        let page = page.map(|object| read(&object)).collect();
        peer.load(page, &mut changes);
        changes.clear();
    }
    peer.loaded(&mut changes);
    drop(changes);
    let bytes = allocator::bytes();
    black_box(&peer);
    let count = generator.count() as f64;
    Memory {
        live: bytes.live as f64 / count,
        peak: bytes.peak as f64 / count,
    }
}

/// Folds all changes and takes fingerprints.
fn check<P: Peer>(workload: Workload, generator: Generator) -> Vec<u64> {
    let mut state = Folded::<P>::new(workload);
    let read = P::reader(workload);
    state.apply(generator.objects().map(|object| read(&object)));
    let mut fingerprints = vec![state.fingerprint()];
    for (_, objects) in generator.updates(UPDATES) {
        let (single, rest) = objects.split_at(P::TIMED.min(objects.len()));
        for object in single {
            state.apply([read(object)]);
        }
        if !rest.is_empty() {
            state.apply(rest.iter().map(&read));
        }
        fingerprints.push(state.fingerprint());
    }
    fingerprints
}

/// A peer and the last change of every target object.
pub struct Folded<P: Peer> {
    peer: P,
    last: BTreeMap<(String, String), P::Change>,
}

impl<P: Peer> Folded<P> {
    /// A peer that has seen nothing yet.
    pub fn new(workload: Workload) -> Self {
        Self {
            peer: P::new(workload),
            last: BTreeMap::new(),
        }
    }

    /// Hands a batch to the peer; gives the number of changes.
    pub fn apply(&mut self, objects: impl IntoIterator<Item = P::Input>) -> usize {
        let mut changes = Vec::new();
        self.peer.apply(objects, &mut changes);
        let count = changes.len();
        for change in changes {
            let key = P::key(&change);
            self.last.insert(key, change);
        }
        count
    }

    /// All target objects as they are now.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let outcomes = self.last.values().map(P::outcome);
        outcomes.filter(|outcome| outcome.new.is_some())
    }

    fn fingerprint(&self) -> u64 {
        // Its keys are fixed: equal input gives an equal hash in every process.
        let mut hasher = DefaultHasher::new();
        for outcome in self.outcomes() {
            outcome.key.hash(&mut hasher);
            let document = outcome.new.map(|new| new.to_string());
            document.hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl<P: Peer> std::fmt::Debug for Folded<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Folded");
        out.field("targets", &self.last.len())
            .finish_non_exhaustive()
    }
}

impl Spread {
    /// Of these durations; `None` if there are none.
    pub fn of(durations: &[f64]) -> Option<Self> {
        let mut durations = durations.to_vec();
        durations.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let place = (durations.len() * percent).div_ceil(100).checked_sub(1)?;
            durations.get(place).copied()
        };
        Some(Self {
            p50: at(50)?,
            p99: at(99)?,
            mean: durations.iter().sum::<f64>() / durations.len() as f64,
        })
    }
}

impl Times {
    /// The better of two runs, update by update: both did the same work in the same order,
    /// and noise only ever adds.
    pub fn improve(&mut self, other: &Self) {
        self.load = self.load.min(other.load);
        let sequences = [
            (&mut self.read, &other.read),
            (&mut self.any, &other.any),
            (&mut self.hot, &other.hot),
            (&mut self.cold, &other.cold),
        ];
        for (ours, theirs) in sequences {
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                *ours = ours.min(*theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_takes_the_value_that_so_many_do_not_exceed() {
        let durations: Vec<_> = (1..=200).rev().map(f64::from).collect();
        let expect = Spread {
            mean: 100.5,
            p50: 100.0,
            p99: 198.0,
        };
        assert_eq!(Spread::of(&durations), Some(expect));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn the_better_of_two_runs_is_taken_update_by_update() {
        let run = |load, any: &[f64]| Times {
            load,
            any: any.to_vec(),
            ..Times::default()
        };
        let mut best = run(5.0, &[1.0, 9.0, 3.0]);
        best.improve(&run(4.0, &[2.0, 2.0, 2.0]));
        assert_eq!(best, run(4.0, &[1.0, 2.0, 2.0]));
    }
}
