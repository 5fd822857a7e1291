//! Pipelines as incremental dataflow.
//!
//! A [`Pipeline`] is the parsed spec. A [`Circuit`] runs it: it takes batches of source
//! events and returns the changes of target objects. The work is proportional to the change,
//! not to the number of objects. [`scratch`] evaluates a pipeline on all objects at once, in
//! the simplest way. It is the oracle of the tests: after every batch both must agree.
//!
//! ```
//! use dataflow::fields::{Intake, Keep};
//! use dataflow::{Budget, Circuit, Pipeline, SourceEvent, apply::OutputKind};
//! use object::ObjectName;
//! use document::{Location, json};
//!
//! let spec = json!([{"@select": {"@gt": ["$.spec.replicas", 1]}}]);
//! let names = |name: &str| vec![name.to_owned()];
//! let pipeline = Pipeline::parse(
//!     &spec, &Location::root(), &names("Deployment"), &names("Large"), &expr::Functions::builtin(),
//! ).unwrap();
//! let kind = OutputKind { api_version: json!("demo.view.dcontroller.io/v1alpha1"), kind: json!("Large"), placement: None };
//! let mut circuit = Circuit::new(&pipeline, &[kind], Budget::default());
//!
//! let object = json!({"metadata": {"name": "web"}, "spec": {"replicas": 3}});
//! let keep = Keep::new(circuit.fields(0), Intake::default());
//! let event = SourceEvent { source: 0, name: ObjectName::new("", "web"), object: Some(keep.of(&object)) };
//! let step = circuit.step(&[event], &expr::Env::default())?;
//! assert_eq!(step.changes[0].new.as_ref().unwrap().get("kind"), &json!("Large"));
//! # Ok::<(), dataflow::BudgetError>(())
//! ```

// Enums are matched without `_`: after a new variant the compiler lists all places to change.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod apply;
mod circuit;
pub mod explain;
mod failure;
pub mod fields;
mod origin;
pub mod pipeline;
pub mod provenance;
mod recording;
pub mod reference;
mod running;
pub mod scratch;
mod topology;

pub use circuit::{
    Budget, BudgetError, Circuit, Derived, Snapshot, SourceEvent, StepResult, TargetChange, Usage,
};
pub use failure::{Failure, OutputProblem, RunError};
pub use origin::{Component, Origin, SourceObject};
pub use pipeline::Pipeline;
pub use recording::{Documents, RecordedBranch, Recording};
pub use topology::Topology;
