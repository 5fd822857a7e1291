//! Instructions of one hundred updates, counted by valgrind: numbers without noise.
//!
//! Needs valgrind, and the runner in the version of the library:
//! `cargo install gungraun-runner --version 0.20.0`.

#![expect(
    missing_docs,
    unused_qualifications,
    reason = "the macros make items without documentation"
)]

use std::hint::black_box;

use benches::{Generator, Peer, Workload, hand};
use gungraun::{library_benchmark, library_benchmark_group, main};

const COUNT: usize = 1_000;
const UPDATES: usize = 100;

/// A loaded peer and the updates to run.
fn loaded<P: Peer>(workload: Workload) -> (P, Vec<P::Input>) {
    let generator = Generator::new(workload, COUNT);
    let mut peer = P::new(workload);
    let objects = generator.objects().map(|object| P::input(&object));
    peer.apply(objects, &mut Vec::new());
    let sequences = generator.updates(UPDATES).into_iter();
    let updates = sequences.flat_map(|(_, objects)| objects);
    let updates = updates.take(UPDATES).map(|object| P::input(&object));
    let updates = updates.collect();
    (peer, updates)
}

fn run<P: Peer>((mut peer, updates): (P, Vec<P::Input>)) -> P {
    let mut changes = Vec::new();
    for update in updates {
        peer.apply([update], &mut changes);
        black_box(&changes);
        changes.clear();
    }
    peer
}

#[library_benchmark]
#[bench::w1(loaded(Workload::W1))]
fn hand_w1(input: (hand::W1, Vec<<hand::W1 as Peer>::Input>)) -> hand::W1 {
    run(input)
}

#[library_benchmark]
#[bench::w2(loaded(Workload::W2))]
fn hand_w2(input: (hand::W2, Vec<<hand::W2 as Peer>::Input>)) -> hand::W2 {
    run(input)
}

#[library_benchmark]
#[bench::w3(loaded(Workload::W3))]
fn hand_w3(input: (hand::W3, Vec<<hand::W3 as Peer>::Input>)) -> hand::W3 {
    run(input)
}

library_benchmark_group!(name = updates; benchmarks = hand_w1, hand_w2, hand_w3);
main!(library_benchmark_groups = updates);
