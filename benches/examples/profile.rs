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
    let objects: Vec<_> = generator
        .objects()
        .map(|object| Engine::input(&object))
        .collect();
    let sequences = generator.updates(UPDATES);
    let mut engine = Engine::new(workload);
    let mut changes = Vec::new();
    engine.apply(objects, &mut changes);
    changes.clear();
    let mut total = std::time::Duration::ZERO;
    for _ in 0..rounds {
        for (_, objects) in &sequences {
            let inputs: Vec<_> = objects.iter().map(Engine::input).collect();
            let start = std::time::Instant::now();
            for input in inputs {
                update(&mut engine, input, &mut changes);
            }
            total += start.elapsed();
        }
    }
    let updates: usize = sequences
        .iter()
        .map(|(_, objects)| objects.len())
        .sum::<usize>()
        * rounds;
    assert!(updates > 0);
    let mean = total.as_secs_f64() * 1e6 / updates as f64;
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("{mean:.2} µs per update\n"),
    );
}
