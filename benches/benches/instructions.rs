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

use benches::allocator::Counting;
use benches::engine::Engine;
use benches::{Generator, Peer, Sequence, Workload};
use gungraun::{library_benchmark, library_benchmark_group, main};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 1_000;
const UPDATES: usize = 100;

/// A loaded engine and the updates to run.
type Loaded = (Engine, Vec<<Engine as Peer>::Input>);

fn loaded(workload: Workload, wanted: Sequence) -> Loaded {
    let generator = Generator::new(workload, COUNT);
    let mut engine = Engine::new(workload);
    let objects = generator.objects().map(|object| Engine::input(&object));
    engine.apply(objects, &mut Vec::new());
    let updates = generator.updates(UPDATES).into_iter();
    let updates = updates.filter(|(sequence, _)| *sequence == wanted);
    let updates = updates.flat_map(|(_, objects)| objects);
    let updates = updates.map(|object| Engine::input(&object)).collect();
    (engine, updates)
}

// The engine comes back, so that dropping its state is not counted.
#[library_benchmark]
#[bench::w1(loaded(Workload::W1, Sequence::Any))]
#[bench::w2(loaded(Workload::W2, Sequence::Any))]
#[bench::w3(loaded(Workload::W3, Sequence::Any))]
#[bench::w3_hot(loaded(Workload::W3, Sequence::Hot))]
#[bench::whole(loaded(Workload::Whole, Sequence::Any))]
fn updates((mut engine, updates): Loaded) -> Engine {
    let mut changes = Vec::new();
    for update in updates {
        engine.apply([update], &mut changes);
        black_box(&changes);
        changes.clear();
    }
    engine
}

library_benchmark_group!(name = engine; benchmarks = updates);
main!(library_benchmark_groups = engine);
