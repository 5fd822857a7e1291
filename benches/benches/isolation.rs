//! How much an Operator that does its worst slows down its neighbour.
//!
//! One process runs on an API server in memory, with real threads and real time. A neighbour
//! derives a config map from each Widget; measured is the time from the change of a Widget to the
//! change of its config map. It is measured alone, and then beside one *bomb* after the other, in
//! one run:
//!
//! ```text
//! cargo bench -p benches --features isolation --bench isolation [-- SAMPLES]
//! ```
//!
//! The bar: the p99 beside each bomb is at most twice the p99 alone.

#![allow(clippy::print_stdout)] // It is a program that prints a table.
#![allow(clippy::unwrap_used)] // A benchmark fails by panicking.

use std::time::{Duration, Instant};

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use process::run::run;
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::fields::set;
use tokio::sync::oneshot;

const BAR: f64 = 2.0;

fn main() {
    let mut samples = std::env::args().filter_map(|argument| argument.parse().ok());
    let samples = samples.next_back().unwrap_or(1_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let missed = runtime.block_on(measure(samples));
    runtime.shutdown_background();
    assert!(!missed, "a neighbour is slowed down more than {BAR} times");
}

/// Measures everything. Returns whether the bar is missed.
async fn measure(samples: usize) -> bool {
    let server = Server::new(Virtual::start(), 1);
    server.with(|state| state.faults.no_delays());
    let (stop, stopped) = oneshot::channel::<()>();
    let client = server.client(&Caller::new("deltic"));
    let process = tokio::spawn(run(client, Config::default(), async {
        let _ = stopped.await;
    }));
    put(&server, &operator("neighbour"), "spec", copies());
    change(&server, 0, 0).await;
    let alone = p99(&server, samples).await;
    println!("| beside | p99 | ratio |\n|---|---|---|");
    println!("| nobody | {:.2} ms | 1 |", millis(alone));
    let mut missed = false;
    for (name, bomb) in bombs() {
        let rival = bomb.prepare(&server);
        put(&server, &operator("bomb"), "spec", bomb.spec);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let beside = p99(&server, samples).await;
        let ratio = beside.as_secs_f64() / alone.as_secs_f64();
        println!("| {name} | {:.2} ms | {ratio:.2} |", millis(beside));
        missed |= ratio > BAR;
        if let Some(rival) = rival {
            rival.abort();
        }
        server.delete(&operator("bomb"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let start = Instant::now();
    let _ = stop.send(());
    process.await.unwrap().unwrap();
    println!("\nThe shutdown took {:.2} ms.", millis(start.elapsed()));
    missed
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The p99 of the time from a source to its target.
async fn p99(server: &Server, samples: usize) -> Duration {
    let mut times = Vec::with_capacity(samples);
    for sample in 0..samples {
        times.push(change(server, sample % 50, sample + 1).await);
    }
    times.sort();
    times[(times.len() * 99).div_ceil(100) - 1]
}

/// Changes a Widget, and waits for its config map.
async fn change(server: &Server, number: usize, n: usize) -> Duration {
    let name = format!("w{number}");
    let widget = ObjectKey::new("example.com", "Widget", "ns", &name);
    let target = ObjectKey::new("", "ConfigMap", "ns", &name);
    let expect = n.to_string();
    let start = Instant::now();
    put(server, &widget, "spec", json!({"n": (expect.as_str())}));
    loop {
        let object = server.get(&target).unwrap_or_default();
        if object.get("data").get("n").as_str() == Some(expect.as_str()) {
            return start.elapsed();
        }
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "the neighbour is stuck"
        );
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

fn put(server: &Server, key: &ObjectKey, field: &str, value: Value) {
    let old = server.get(key).unwrap_or_else(|| json!({}));
    server.put(key, "user", &set(&old, &[field], value));
}

fn operator(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
}

fn name() -> Value {
    json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"})
}

fn controller(sources: Value, pipeline: Value, target: Value) -> Value {
    json!({"controllers": [{
        "name": "c", "sources": (sources), "pipeline": (pipeline), "target": (target),
    }]})
}

fn kind(group: &str, kind: &str) -> Value {
    json!({"apiGroup": group, "kind": kind})
}

fn copies() -> Value {
    controller(
        [kind("example.com", "Widget")].into_iter().collect(),
        json!([{"@project": {"metadata": (name()), "data": {"n": "$.spec.n"}}}]),
        kind("", "ConfigMap"),
    )
}

/// An Operator that does its worst, and what it needs.
struct Bomb {
    spec: Value,
    /// How many objects of which kinds it reads.
    objects: Vec<(&'static str, usize)>,
    /// Whether somebody keeps changing its target.
    rival: bool,
}

impl Bomb {
    fn new(pipeline: Value) -> Self {
        let sources = [kind("example.com", "Plain")].into_iter().collect();
        Self {
            spec: controller(sources, pipeline, kind("example.com", "Copy")),
            objects: vec![("Plain", 10)],
            rival: false,
        }
    }

    /// Creates the objects, and starts the rival.
    fn prepare(&self, server: &Server) -> Option<tokio::task::JoinHandle<()>> {
        for (kind, count) in &self.objects {
            for i in 0..*count {
                let key = ObjectKey::new("example.com", kind, "ns", &format!("o{i}"));
                put(server, &key, "spec", json!({"n": 0, "s": "x"}));
            }
        }
        let server = server.clone();
        self.rival.then(|| {
            tokio::spawn(async move {
                let key = ObjectKey::new("example.com", "Copy", "ns", "o0");
                for i in 0_i64.. {
                    if server.get(&key).is_some() {
                        let value = json!({"n": (-i)});
                        server.change(&key, "rival", |old| set(old, &["spec"], value));
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
        })
    }
}

/// Two controllers whose views nest each other.
fn views() -> Bomb {
    let nested = (0..40).fold(json!("$.s"), |inside, _| json!({"x": (inside)}));
    let nest = json!({"@project": {"metadata": (name()), "s": (nested)}});
    let controller = |name: &str, source: Value, target: &str| {
        json!({
            "name": name, "sources": [source], "pipeline": [(nest.clone())],
            "target": {"kind": target},
        })
    };
    let controllers = json!({"controllers": [
        (controller("first", kind("example.com", "Plain"), "A")),
        (controller("there", json!({"kind": "A"}), "B")),
        (controller("back", json!({"kind": "B"}), "A")),
    ]});
    Bomb {
        spec: controllers,
        ..Bomb::new(Value::NULL)
    }
}

fn bombs() -> Vec<(&'static str, Bomb)> {
    let project = |fields: Value| json!({"@project": (fields)});
    let nested = (0..60).fold(json!("$.s"), |inside, _| json!({"x": (inside)}));
    let deep = (0..300).map(|_| project(json!({"metadata": (name()), "s": (nested.clone())})));
    let doubles = (0..60).map(|_| project(json!({"metadata": (name()), "s": ["$.s", "$.s"]})));
    let compare = [json!({"@select": {"@eq": ["$.s", "$.s"]}})];
    let hash = [project(
        json!({"metadata": (name()), "s": {"@hash": "$.s"}}),
    )];
    let path = format!("${}", "..[?(@".repeat(30)) + &")]".repeat(30);
    let pairs = json!([
        {"@join": {"@lt": ["$.Plain.spec.n", "$.Thing.spec.n"]}},
        {"@project": {"metadata": {"name": "$.Plain.metadata.name", "namespace": "ns"}}},
    ]);
    let both = json!([
        {"apiGroup": "example.com", "kind": "Plain"}, {"apiGroup": "example.com", "kind": "Thing"},
    ]);
    let copy = json!([{"@project": {"metadata": (name()), "spec": {"n": "$.spec.n"}}}]);
    let grow = json!([{"@project": {
        "metadata": (name()), "spec": {"n": {"@add": ["$.spec.n", 1]}},
    }}]);
    let fields = (0..12_000).map(|i| {
        (
            document::Key::new(&format!("f{i}")),
            Value::from("$.spec.n"),
        )
    });
    let many: Value = fields.collect::<document::Map>().into();
    let applier = json!([{"@project": {"metadata": (name()), "spec": (many)}}]);
    vec![
        ("documents of 18,000 levels", Bomb::new(deep.collect())),
        (
            "a nested filter",
            Bomb::new(json!([{"@project": {"metadata": (name()), "s": (path)}}])),
        ),
        (
            "documents of 2^60 parts",
            Bomb::new(doubles.clone().chain(compare).collect()),
        ),
        (
            "the hash of 2^60 parts",
            Bomb::new(doubles.chain(hash).collect()),
        ),
        ("views that nest each other", views()),
        (
            "a cross join of 10,000 and 10,000",
            Bomb {
                spec: controller(both, pairs, kind("example.com", "Copy")),
                objects: vec![("Plain", 10_000), ("Thing", 10_000)],
                rival: false,
            },
        ),
        (
            "a fight",
            Bomb {
                rival: true,
                ..Bomb::new(copy)
            },
        ),
        (
            "a loop",
            Bomb {
                spec: controller(
                    [kind("example.com", "Plain")].into_iter().collect(),
                    grow,
                    kind("example.com", "Plain"),
                ),
                ..Bomb::new(Value::NULL)
            },
        ),
        (
            "views with 12,000 fields",
            Bomb {
                spec: controller(
                    [kind("example.com", "Plain")].into_iter().collect(),
                    applier,
                    json!({"kind": "V", "type": "Applier"}),
                ),
                ..Bomb::new(Value::NULL)
            },
        ),
    ]
}
