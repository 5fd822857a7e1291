//! Loads a workload and runs updates, for a profiler:
//! `cargo run -p benches --profile bench --example profile -- w1 10000 200000`.

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
    let updates: usize = text(2, "2000").parse().unwrap_or(UPDATES);
    let generator = Generator::new(workload, count);
    let read = Engine::reader(workload);
    let objects: Vec<_> = generator.objects().map(|object| read(&object)).collect();
    let mut engine = Engine::new(workload);
    let mut changes = Vec::new();
    engine.apply(objects, &mut changes);
    changes.clear();
    for (sequence, objects) in generator.updates(updates) {
        let mut times: Vec<f64> = Vec::new();
        for object in &objects {
            let input = read(object);
            let start = std::time::Instant::now();
            update(&mut engine, input, &mut changes);
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
