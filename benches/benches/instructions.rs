//! Instructions of one hundred updates, from the lines of a watch to the changes, counted by
//! valgrind: numbers without noise.
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
use benches::differential::Differential;
use benches::engine::Engine;
use benches::{Generator, Object, Peer, Sequence, Workload, hand};
use gungraun::{library_benchmark, library_benchmark_group, main};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 1_000;
const UPDATES: usize = 100;

/// What reads events for a peer.
type Read<P> = Box<dyn Fn(&Object) -> <P as Peer>::Input>;

/// A loaded peer, what reads for it, and the updates to run.
struct Loaded<P: Peer> {
    peer: P,
    read: Read<P>,
    updates: Vec<Object>,
}

impl<P: Peer> Loaded<P> {
    fn new(workload: Workload, wanted: Sequence) -> Self {
        let generator = Generator::new(workload, COUNT);
        let mut peer = P::new(workload);
        let read = Box::new(P::reader(workload));
        let objects = generator.objects().map(|object| read(&object));
        peer.apply(objects, &mut Vec::new());
        let updates = generator.updates(UPDATES).into_iter();
        let updates = updates.filter(|(sequence, _)| *sequence == wanted);
        let updates = updates.flat_map(|(_, objects)| objects).collect();
        Self {
            peer,
            read,
            updates,
        }
    }

    /// Runs the updates. It comes back, so that dropping its state is not counted.
    fn run(mut self) -> Self {
        let mut changes = Vec::new();
        for update in &self.updates {
            let input = (self.read)(update);
            self.peer.apply([input], &mut changes);
            black_box(&changes);
            changes.clear();
        }
        self
    }
}

#[library_benchmark]
#[bench::w1(Loaded::new(Workload::W1, Sequence::Any))]
#[bench::w2(Loaded::new(Workload::W2, Sequence::Any))]
#[bench::w3(Loaded::new(Workload::W3, Sequence::Any))]
#[bench::w3_hot(Loaded::new(Workload::W3, Sequence::Hot))]
#[bench::whole(Loaded::new(Workload::Whole, Sequence::Any))]
fn deltic(loaded: Loaded<Engine>) -> Loaded<Engine> {
    loaded.run()
}

#[library_benchmark]
#[bench::w1(Loaded::new(Workload::W1, Sequence::Any))]
#[bench::w2(Loaded::new(Workload::W2, Sequence::Any))]
#[bench::w3(Loaded::new(Workload::W3, Sequence::Any))]
#[bench::w3_hot(Loaded::new(Workload::W3, Sequence::Hot))]
#[bench::whole(Loaded::new(Workload::Whole, Sequence::Any))]
fn differential(loaded: Loaded<Differential>) -> Loaded<Differential> {
    loaded.run()
}

#[library_benchmark]
#[bench::any(Loaded::new(Workload::W1, Sequence::Any))]
fn hand_w1(loaded: Loaded<hand::W1>) -> Loaded<hand::W1> {
    loaded.run()
}

#[library_benchmark]
#[bench::any(Loaded::new(Workload::W2, Sequence::Any))]
fn hand_w2(loaded: Loaded<hand::W2>) -> Loaded<hand::W2> {
    loaded.run()
}

#[library_benchmark]
#[bench::any(Loaded::new(Workload::W3, Sequence::Any))]
#[bench::hot(Loaded::new(Workload::W3, Sequence::Hot))]
fn hand_w3(loaded: Loaded<hand::W3>) -> Loaded<hand::W3> {
    loaded.run()
}

library_benchmark_group!(
    name = updates;
    benchmarks = deltic, differential, hand_w1, hand_w2, hand_w3
);
main!(library_benchmark_groups = updates);
