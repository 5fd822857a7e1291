//! Documents with deadlines: the cost of an update, of a deadline, and of time that passes.
//!
//! ```text
//! cargo bench -p benches --bench time
//! ```

use std::io::{Write, stdout};
use std::time::Instant;

use benches::allocator::Counting;
use dataflow::apply::OutputKind;
use dataflow::fields::{Intake, Keep};
use dataflow::{Budget, Circuit, Pipeline, SourceEvent};
use document::{Location, Value, json};
use expr::{Env, Functions, Time};
use object::ObjectName;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The Unix time at which all documents are created.
const START: i64 = 1_767_225_600;

/// The seconds before the first deadline. The documents are due one by one after that.
const IDLE: i64 = 3_600;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test` runs benchmarks without `--bench`: then see only that they work.
    let real = std::env::args().any(|argument| argument == "--bench");
    let counts: &[i64] = if real {
        &[1_000, 10_000, 100_000]
    } else {
        &[20]
    };
    let mut out = stdout();
    writeln!(
        out,
        "A selection by a deadline of each document, and a projection; ns.\n\n\
         | documents | update that sets another deadline | deadline that fires | idle minute |\n\
         |--:|--:|--:|--:|"
    )?;
    for &count in counts {
        let costs = measure(count)?;
        writeln!(
            out,
            "| {count} | {:.0} | {:.0} | {:.0} |",
            costs.update, costs.deadline, costs.idle
        )?;
    }
    Ok(())
}

/// Nanoseconds.
struct Costs {
    update: f64,
    deadline: f64,
    idle: f64,
}

fn measure(count: i64) -> Result<Costs, Box<dyn std::error::Error>> {
    let mut run = Run::new()?;
    let created: Vec<_> = (0..count).map(|number| run.event(number, 0)).collect();
    run.circuit.step(created, &env(START))?;

    // Every document gets a deadline that is as far away as the others'.
    let updates: Vec<_> = (0..count).map(|number| run.event(number, count)).collect();
    let now = env(START + 1);
    let started = Instant::now();
    for update in updates {
        run.circuit.step([update], &now)?;
    }
    let update = started.elapsed().as_nanos() as f64 / count as f64;

    let minute = env(START + 60);
    let started = Instant::now();
    let nothing = run.circuit.step(Vec::<SourceEvent>::new(), &minute)?;
    let idle = started.elapsed().as_nanos() as f64;
    assert!(nothing.changes.is_empty(), "nothing is due");

    let times: Vec<Env> = (0..count)
        .map(|number| env(START + IDLE + count + number))
        .collect();
    let started = Instant::now();
    for (number, now) in times.iter().enumerate() {
        let due = run.circuit.next_deadline();
        assert_eq!(due, Some(START + IDLE + count + i64::try_from(number)?));
        let step = run.circuit.step(Vec::<SourceEvent>::new(), now)?;
        assert_eq!(step.changes.len(), 1, "one document is due");
    }
    let deadline = started.elapsed().as_nanos() as f64 / count as f64;
    assert_eq!(run.circuit.next_deadline(), None);
    Ok(Costs {
        update,
        deadline,
        idle,
    })
}

struct Run {
    circuit: Circuit,
    keep: Keep,
}

impl Run {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let spec = json!([
            {"@select": {"@lt": ["@now", {"@timeAdd": ["$.metadata.creationTimestamp", "$.spec.ttl"]}]}},
            {"@project": {"metadata": {"name": "$.metadata.name"}, "ttl": "$.spec.ttl"}},
        ]);
        let names = |name: &str| vec![name.to_owned()];
        let functions = Functions::builtin();
        let at = Location::root();
        let pipeline = Pipeline::parse(&spec, &at, &names("Preview"), &names("T"), &functions);
        let pipeline = pipeline.map_err(|errors| format!("{errors:?}"))?;
        let kind = OutputKind {
            api_version: json!("v1"),
            kind: json!("T"),
        };
        let circuit = Circuit::new(&pipeline, &[kind], Budget::default());
        let keep = Keep::new(circuit.fields(0), Intake::default());
        Ok(Self { circuit, keep })
    }

    /// A document whose deadline comes `later` seconds after the usual one.
    fn event(&self, number: i64, later: i64) -> SourceEvent {
        let name = format!("preview-{number}");
        let object = json!({
            "metadata": {"name": (name.as_str()), "creationTimestamp": (text(START))},
            "spec": {"ttl": (Value::from(IDLE + number + later))},
        });
        SourceEvent {
            source: 0,
            name: ObjectName::new("", name.as_str()),
            object: Some(self.keep.of(&object)),
        }
    }
}

fn text(seconds: i64) -> String {
    Time::of_unix(seconds).unwrap_or(Time::EPOCH).to_string()
}

fn env(seconds: i64) -> Env {
    Env::new(text(seconds).into(), 0)
}
