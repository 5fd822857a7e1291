//! One update of one object by the engine, from the line of its event to the changes,
//! measured by criterion.

use std::hint::black_box;

use benches::allocator::Counting;
use benches::engine::Engine;
use benches::{Generator, Peer, UPDATES, Workload};
use criterion::{Criterion, criterion_group, criterion_main};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 10_000;

/// Measures single updates of a loaded peer. The sequence is run again and again: its
/// objects return to earlier revisions, which are changes too.
fn updates<P: Peer>(criterion: &mut Criterion, workload: Workload) {
    let generator = Generator::new(workload, COUNT);
    for (sequence, objects) in generator.updates(UPDATES) {
        let mut loaded = P::new(workload);
        let read = P::reader(workload);
        let all = generator.objects().map(|object| read(&object));
        loaded.apply(all, &mut Vec::new());
        let mut objects = objects.iter().cycle();
        let mut changes = Vec::new();
        let name = format!("{}/{sequence:?}", workload.name());
        criterion.bench_function(&name, |bencher| {
            bencher.iter(|| {
                loaded.apply(objects.next().map(&read), &mut changes);
                black_box(&changes);
                changes.clear();
            });
        });
    }
}

fn all(criterion: &mut Criterion) {
    for workload in Workload::ALL {
        updates::<Engine>(criterion, workload);
    }
}

criterion_group!(group, all);
criterion_main!(group);
