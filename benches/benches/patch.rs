//! Patches beside the `json-patch` crate, in one run: absolute times and ratios.
//!
//! ```text
//! cargo bench -p benches --bench patch
//! ```

use std::hint::black_box;
use std::io::{Write, stdout};
use std::time::Instant;

use benches::allocator::Counting;
use benches::patch::{Case, copy, in_place, ours, patch};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Objects are made, measured and dropped so many at a time: far more than the caches
/// hold, far less than memory does.
const CHUNK: usize = 500;

/// At most this many times the time of the crate, both making a new document.
const BAR: f64 = 2.0;

/// Nanoseconds per patch.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    ours: f64,
    copy: f64,
    in_place: f64,
}

fn main() -> std::io::Result<()> {
    // `cargo test` runs benchmarks without `--bench`: then see only that they work.
    let real = std::env::args().any(|argument| argument == "--bench");
    let (count, rounds) = if real { (10_000, 7) } else { (20, 1) };

    // So few that all of it, clones too, stays in the caches.
    let one = measure(&vec![Case::new(0); 4], rounds * CHUNK);
    let mut all = Times::default();
    let mut made = 0;
    while made < count {
        let cases: Vec<_> = (made..count.min(made + CHUNK)).map(Case::new).collect();
        all.add(measure(&cases, rounds), cases.len() as f64 / count as f64);
        made += cases.len();
    }

    let mut out = stdout();
    writeln!(
        out,
        "Two operations with a filter each, on a Deployment of {} containers; ns per patch, best \
         of the rounds. Ours and `copy` make a new document and leave the input as it is, \
         `in place` changes it. The crate has its pointers written beforehand.\n",
        benches::patch::CONTAINERS
    )?;
    writeln!(
        out,
        "| objects | ours | json-patch, copy | ratio | json-patch, in place | ratio | |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|---|")?;
    let many = format!("{count} different ones");
    for (name, times) in [("one, again and again", one), (many.as_str(), all)] {
        writeln!(
            out,
            "| {name} | {:.0} | {:.0} | {:.2} | {:.0} | {:.2} | {} |",
            times.ours,
            times.copy,
            times.ours / times.copy,
            times.in_place,
            times.ours / times.in_place,
            times.grade()
        )?;
    }
    Ok(())
}

impl Times {
    /// Adds the times of a part of the objects.
    fn add(&mut self, other: Self, share: f64) {
        self.ours += other.ours * share;
        self.copy += other.copy * share;
        self.in_place += other.in_place * share;
    }

    fn best(self, other: Self) -> Self {
        Self {
            ours: self.ours.min(other.ours),
            copy: self.copy.min(other.copy),
            in_place: self.in_place.min(other.in_place),
        }
    }

    /// How the bar is met, beside the clone and beside the change in place.
    fn grade(self) -> &'static str {
        if self.ours <= BAR * self.copy.min(self.in_place) {
            "✅ both"
        } else if self.ours <= BAR * self.copy {
            "✅ copy, ❌ in place"
        } else {
            "❌ missed"
        }
    }
}

/// The sides take turns; the best round of each counts. What a side makes is dropped while
/// its clock runs; the clones that are changed in place are not its work.
fn measure(cases: &[Case], rounds: usize) -> Times {
    let patch = patch();
    let mut best: Option<Times> = None;
    for _ in 0..rounds {
        let per_case = |start: Instant| start.elapsed().as_nanos() as f64 / cases.len() as f64;
        let start = Instant::now();
        for case in cases {
            black_box(ours(&patch, black_box(case)));
        }
        let ours = per_case(start);

        let start = Instant::now();
        for case in cases {
            black_box(copy(black_box(case)));
        }
        let copy = per_case(start);

        let mut documents: Vec<_> = cases.iter().map(|case| case.json.clone()).collect();
        let start = Instant::now();
        for (case, document) in cases.iter().zip(&mut documents) {
            black_box(in_place(black_box(case), document));
        }
        let in_place = per_case(start);
        black_box(&documents);

        let times = Times {
            ours,
            copy,
            in_place,
        };
        best = Some(best.map_or(times, |best| best.best(times)));
    }
    best.unwrap_or_default()
}
