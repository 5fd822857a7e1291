//! Loads a workload and runs updates, for a profiler:
//! `cargo run -p benches --profile bench --example profile -- w1 1000 20`.

use benches::engine::Engine;
use benches::{Generator, Peer, UPDATES, Workload};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One update, with a name that a profiler can be told to look at.
#[inline(never)]
fn update(
    engine: &mut Engine,
    input: <Engine as Peer>::Input,
    changes: &mut Vec<<Engine as Peer>::Change>,
) {
    engine.apply([input], changes);
    changes.clear();
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |at: usize, default: &str| arguments.get(at).cloned().unwrap_or(default.to_owned());
    let workload = Workload::by_name(&text(0, "w1")).unwrap_or(Workload::W1);
    let count: usize = text(1, "1000").parse().unwrap_or(1000);
    let rounds: usize = text(2, "1").parse().unwrap_or(1);
    let generator = Generator::new(workload, count);
    let read = Engine::reader(workload);
    let objects: Vec<_> = generator.objects().map(|object| read(&object)).collect();
    let sequences = generator.updates(UPDATES);
    let mut engine = Engine::new(workload);
    let mut changes = Vec::new();
    engine.apply(objects, &mut changes);
    changes.clear();
    let updates: Vec<_> = sequences.into_iter().flat_map(|(_, all)| all).collect();
    // The best time of each update: noise only ever adds.
    let mut best = vec![std::time::Duration::MAX; updates.len()];
    for _ in 0..rounds {
        for (object, best) in updates.iter().zip(&mut best) {
            let input = read(object);
            let start = std::time::Instant::now();
            update(&mut engine, input, &mut changes);
            *best = start.elapsed().min(*best);
        }
    }
    let total: std::time::Duration = best.iter().sum();
    let mean = total.as_secs_f64() * 1e6 / updates.len() as f64;
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("{mean:.2} µs per update\n"),
    );
}
