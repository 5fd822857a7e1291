//! One writer on the API server in memory: the resulting objects, and the requests that it
//! needed.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod answers;
mod harness;
mod inherited;
mod layers;
mod ownership;
mod removals;
mod repair;
mod retyped;
mod stories;

use std::time::Duration;

use document::{Path, Value, json};
use engine::writer::Next;
use harness::{Actor, Harness, OPERATOR, Sim, config_map, spec, target, timeless, widget};
use object::marks::{OPERATOR as LABEL, OWNER};
use object::{ObjectKey, OperatorId};
use operator::spec::TargetType;
use simulation::faults::Fault;
use simulation::fields::{at, set, unset};
use target::claim::Claim;
use target::problem::Happened;

fn harness() -> Harness {
    Harness::new(Sim::default())
}

fn updater() -> Actor {
    Actor::new("c", 0, TargetType::Updater)
}

fn patcher() -> Actor {
    Actor::new("p", 1, TargetType::Patcher)
}

fn applier() -> Actor {
    Actor::new("a", 2, TargetType::Applier)
}

fn claim(harness: &Harness, key: &ObjectKey) -> Option<Claim> {
    Claim::read(&harness.live(key), key)
}

fn foreign_widget(spec: &Value) -> impl Fn(&Value) -> Value {
    let spec = spec.clone();
    move |_| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": (spec.clone())})
}

/// The methods and codes of the writes since the last call.
fn writes(harness: &Harness) -> Vec<String> {
    let writes = harness.sim.take_sent();
    let writes = writes.iter().filter(|sent| sent.method != "GET");
    let text = writes.map(|write| {
        let status = if write.path.ends_with("/status") {
            " status"
        } else {
            ""
        };
        format!("{}{status} {}", write.method, write.code)
    });
    text.collect()
}
