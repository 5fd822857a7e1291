//! The bars: what the engine must and should reach beside its peers.

use std::collections::BTreeMap;

use crate::measure::{Measurement, Memory, Spread, Times};
use crate::workload::Workload;

/// The name of the engine among the peers.
pub const ENGINE: &str = "deltic";

/// What is known of one peer on one workload at one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The best of all rounds.
    pub times: Times,
    /// Bytes per object.
    pub memory: Memory,
    /// Fingerprints of the output.
    pub check: Vec<u64>,
}

impl Row {
    /// Adds what a round has measured.
    pub fn add(&mut self, measurement: Measurement, round: usize) {
        match measurement {
            Measurement::Time(times) if round == 0 => self.times = times,
            Measurement::Time(times) => self.times.improve(&times),
            Measurement::Memory(memory) => self.memory = memory,
            Measurement::Check(check) => self.check = check,
        }
    }
}

/// All results: by workload, number of objects, and peer.
pub type Results = BTreeMap<(Workload, usize, String), Row>;

/// Which side of the bar is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A factor that should be large: how many times faster.
    AtLeast,
    /// A number that should be small.
    AtMost,
}

/// One bar and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What is compared.
    pub name: String,
    /// At how many objects.
    pub count: usize,
    /// What was measured; `None` if a side of the comparison is missing.
    pub value: Option<f64>,
    /// Which side is good.
    pub side: Side,
    /// What must be reached.
    pub must: f64,
    /// What should be reached, if that is more.
    pub aim: Option<f64>,
}

/// How a bar was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// The aim is reached.
    Aim,
    /// What must be is reached, the aim is not.
    Must,
    /// Missed.
    Missed,
    /// Not measured.
    Unknown,
}

impl Bar {
    /// How it was met.
    pub fn grade(&self) -> Grade {
        let Some(value) = self.value else {
            return Grade::Unknown;
        };
        let reaches = |bar: f64| match self.side {
            Side::AtLeast => value >= bar,
            Side::AtMost => value <= bar,
        };
        if self.aim.is_some_and(reaches) {
            Grade::Aim
        } else if reaches(self.must) {
            Grade::Must
        } else {
            Grade::Missed
        }
    }
}

/// The sizes at which the bars hold.
const SIZES: [usize; 2] = [10_000, 100_000];

/// All bars.
pub fn bars(results: &Results) -> Vec<Bar> {
    let look = Look(results);
    let mut bars = Vec::new();
    for count in SIZES {
        look.updates(count, &mut bars);
        look.loads(count, &mut bars);
        look.memory(count, &mut bars);
    }
    look.growth(&mut bars);
    bars
}

/// A number out of a row.
type Metric = fn(&Row) -> Option<f64>;

const LOAD: Metric = |row| Some(row.times.load);
const MEAN: Metric = |row| Spread::of(&row.times.any).map(|spread| spread.mean);
const P50: Metric = |row| Spread::of(&row.times.any).map(|spread| spread.p50);
const COLD_MEAN: Metric = |row| Spread::of(&row.times.cold).map(|spread| spread.mean);
const COLD_P50: Metric = |row| Spread::of(&row.times.cold).map(|spread| spread.p50);
const HOT_P99: Metric = |row| Spread::of(&row.times.hot).map(|spread| spread.p99);
const PEAK_KB: Metric = |row| Some(row.memory.peak / 1_000.0);

/// Looks numbers up.
struct Look<'a>(&'a Results);

impl Look<'_> {
    fn get(&self, workload: Workload, count: usize, peer: &str, metric: Metric) -> Option<f64> {
        let row = self.0.get(&(workload, count, peer.to_owned()))?;
        metric(row).filter(|value| *value > 0.0)
    }

    fn ours(&self, workload: Workload, count: usize, metric: Metric) -> Option<f64> {
        self.get(workload, count, ENGINE, metric)
    }

    /// How many times faster than the same pipeline on differential-dataflow.
    fn faster(&self, workload: Workload, count: usize, metric: Metric) -> Option<f64> {
        let theirs = self.get(workload, count, "differential", metric)?;
        Some(theirs / self.ours(workload, count, metric)?)
    }

    fn updates(&self, count: usize, bars: &mut Vec<Bar>) {
        let mut faster = |name: &str, workload, metric, must, aim| {
            bars.push(Bar {
                name: format!("update, {name}: times faster than differential-dataflow"),
                count,
                value: self.faster(workload, count, metric),
                side: Side::AtLeast,
                must,
                aim: Some(aim),
            });
        };
        let must = if count == 10_000 { 3.8 } else { 3.5 };
        faster("W1 mean", Workload::W1, MEAN, must, 5.0);
        faster("W2 mean", Workload::W2, MEAN, 2.5, 4.0);
        faster("W3 p50", Workload::W3, P50, 3.0, 5.0);
        if count == 100_000 {
            faster("W3 hot group p99", Workload::W3, HOT_P99, 10.0, 20.0);
        }
        let ours = self.ours(Workload::W1, count, MEAN);
        let hand = self.get(Workload::W1, count, "hand", MEAN);
        bars.push(Bar {
            name: "update, W1 mean: over the hand-written time".to_owned(),
            count,
            value: ours.zip(hand).map(|(ours, hand)| ours / hand),
            side: Side::AtMost,
            must: if count == 10_000 { 1.4 } else { 1.2 },
            aim: Some(1.0),
        });
    }

    fn loads(&self, count: usize, bars: &mut Vec<Bar>) {
        for workload in [Workload::W1, Workload::W2, Workload::W3] {
            bars.push(Bar {
                name: format!(
                    "load, {}: times faster than differential-dataflow",
                    workload.title()
                ),
                count,
                value: self.faster(workload, count, LOAD),
                side: Side::AtLeast,
                must: 1.0,
                aim: Some(2.0),
            });
        }
    }

    /// W1 reads a few fields. What W2 and W3 copy into their outputs is half of their
    /// objects or more, so that they stand in the tables without a bar.
    fn memory(&self, count: usize, bars: &mut Vec<Bar>) {
        for (workload, must, aim) in [(Workload::W1, 1.0, 0.6), (Workload::Whole, 3.5, 2.5)] {
            bars.push(Bar {
                name: format!("memory, {}: peak KB per object", workload.title()),
                count,
                value: self.ours(workload, count, PEAK_KB),
                side: Side::AtMost,
                must,
                aim: Some(aim),
            });
        }
    }

    /// An event of a running controller comes when other work has taken the caches, at
    /// every size. Updates in a tight loop would compare a state that fits into the caches
    /// with one that does not; [`growth_in_a_loop`] tells that apart.
    fn growth(&self, bars: &mut Vec<Bar>) {
        let cases: [(&str, Workload, Metric); 3] = [
            ("W1 mean", Workload::W1, COLD_MEAN),
            ("W2 mean", Workload::W2, COLD_MEAN),
            ("W3 p50", Workload::W3, COLD_P50),
        ];
        for (name, workload, metric) in cases {
            bars.push(Bar {
                name: format!("update, {name}, cold caches: over the time at 1,000 objects"),
                count: 100_000,
                value: self.grown(workload, ENGINE, metric),
                side: Side::AtMost,
                must: 1.5,
                aim: Some(1.2),
            });
        }
    }

    /// What a peer takes at 100,000 objects over what it takes at 1,000.
    fn grown(&self, workload: Workload, peer: &str, metric: Metric) -> Option<f64> {
        let small = self.get(workload, 1_000, peer, metric)?;
        Some(self.get(workload, 100_000, peer, metric)? / small)
    }
}

/// How the time of an update in a tight loop grows from 1,000 to 100,000 objects: for each
/// peer, W1 mean, W2 mean and W3 p50.
pub fn growth_in_a_loop<'a>(
    results: &Results,
    peers: &[&'a str],
) -> Vec<(&'a str, [Option<f64>; 3])> {
    let look = Look(results);
    let grown = |peer| {
        [
            look.grown(Workload::W1, peer, MEAN),
            look.grown(Workload::W2, peer, MEAN),
            look.grown(Workload::W3, peer, P50),
        ]
    };
    peers.iter().map(|peer| (*peer, grown(peer))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Option<f64>, side: Side, expect: Grade) {
        let bar = Bar {
            name: String::new(),
            count: 1,
            value,
            side,
            must: if side == Side::AtLeast { 5.0 } else { 3.0 },
            aim: Some(if side == Side::AtLeast { 8.0 } else { 2.0 }),
        };
        assert_eq!(bar.grade(), expect, "{value:?} {side:?}");
    }

    #[test]
    fn bars_are_graded_by_their_good_side() {
        check(Some(8.0), Side::AtLeast, Grade::Aim);
        check(Some(5.0), Side::AtLeast, Grade::Must);
        check(Some(4.9), Side::AtLeast, Grade::Missed);
        check(Some(2.0), Side::AtMost, Grade::Aim);
        check(Some(3.0), Side::AtMost, Grade::Must);
        check(Some(3.1), Side::AtMost, Grade::Missed);
        check(None, Side::AtMost, Grade::Unknown);
    }

    #[test]
    fn the_same_pipeline_is_compared_with() {
        let mut results = Results::new();
        for (peer, mean) in [
            (ENGINE, 10.0),
            ("differential", 40.0),
            ("differential-closures", 30.0),
        ] {
            let mut row = Row::default();
            row.times.any = vec![mean];
            results.insert((Workload::W1, 10_000, peer.to_owned()), row);
        }
        let bars = bars(&results);
        assert_eq!(bars[0].value, Some(4.0));
        assert_eq!(bars[0].grade(), Grade::Must);
    }
}
