//! One update of one object, by criterion.

use std::hint::black_box;

use benches::allocator::Counting;
use benches::{Generator, Peer, UPDATES, Workload, hand};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 10_000;

/// Measures single updates of a loaded peer. The sequence is run again and again: its
/// objects return to earlier revisions, which are changes too.
fn updates<P: Peer>(criterion: &mut Criterion, peer: &str, workload: Workload) {
    let generator = Generator::new(workload, COUNT);
    for (sequence, objects) in generator.updates(UPDATES) {
        let mut loaded = P::new(workload);
        loaded.apply(
            generator.objects().map(|object| P::input(&object)),
            &mut Vec::new(),
        );
        let mut objects = objects.iter().cycle();
        let mut changes = Vec::new();
        let name = format!("{}/{sequence:?}/{peer}", workload.name());
        criterion.bench_function(&name, |bencher| {
            bencher.iter_batched(
                || objects.next().map(P::input),
                |object| {
                    loaded.apply(object, &mut changes);
                    black_box(&changes);
                    changes.clear();
                },
                BatchSize::SmallInput,
            );
        });
    }
}

fn all(criterion: &mut Criterion) {
    updates::<hand::W1>(criterion, "hand", Workload::W1);
    updates::<hand::W2>(criterion, "hand", Workload::W2);
    updates::<hand::W3>(criterion, "hand", Workload::W3);
}

criterion_group!(group, all);
criterion_main!(group);
