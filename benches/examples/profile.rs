//! Loads a workload and runs updates, for a profiler:
//! `cargo run -p benches --profile bench --example profile -- w1 10000 200000 [PEER]`.
//!
//! To count the instructions of updates, reading included:
//! `valgrind --tool=callgrind --toggle-collect='profile::update*' PROGRAM w1 1000 1000 [PEER]`.

use std::hint::black_box;

use benches::differential::{Closures, Differential};
use benches::engine::{Engine, SharedWatch};
use benches::{Generator, Object, Peer, UPDATES, Workload, hand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One update, with a name that a profiler can be told to look at.
#[inline(never)]
fn update<P: Peer>(
    peer: &mut P,
    read: &dyn Fn(&Object) -> P::Input,
    object: &Object,
    changes: &mut Vec<P::Change>,
) {
    let input = read(object);
    peer.apply([input], changes);
    black_box(&changes);
    changes.clear();
}

fn run<P: Peer>(workload: Workload, count: usize, updates: usize) {
    let generator = Generator::new(workload, count);
    let read = P::reader(workload);
    let objects: Vec<_> = generator.objects().map(|object| read(&object)).collect();
    let mut peer = P::new(workload);
    let mut changes = Vec::new();
    peer.apply(objects, &mut changes);
    changes.clear();
    for (sequence, objects) in generator.updates(updates) {
        let mut times: Vec<f64> = Vec::new();
        for object in &objects {
            let start = std::time::Instant::now();
            update(&mut peer, &read, object, &mut changes);
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_unstable_by(f64::total_cmp);
        let (mean, half) = (
            times.iter().sum::<f64>() / times.len() as f64,
            times[times.len() / 2],
        );
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{sequence:?}: mean {mean:.2} µs, p50 {half:.2} µs\n"),
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |at: usize, default: &str| arguments.get(at).cloned().unwrap_or(default.to_owned());
    let workload = Workload::by_name(&text(0, "w1")).unwrap_or(Workload::W1);
    let count: usize = text(1, "1000").parse().unwrap_or(1000);
    let updates: usize = text(2, "2000").parse().unwrap_or(UPDATES);
    match (text(3, "deltic").as_str(), workload) {
        ("shared", _) => run::<SharedWatch>(workload, count, updates),
        ("differential", _) => run::<Differential>(workload, count, updates),
        ("closures", _) => run::<Closures>(workload, count, updates),
        ("hand", Workload::W2) => run::<hand::W2>(workload, count, updates),
        ("hand", Workload::W3) => run::<hand::W3>(workload, count, updates),
        ("hand", _) => run::<hand::W1>(workload, count, updates),
        _ => run::<Engine>(workload, count, updates),
    }
}
