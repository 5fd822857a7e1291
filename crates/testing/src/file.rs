//! The model: a file with tests, each with steps.

use std::sync::Arc;

use document::{Location, Value};
use expr::Time;
use manifest::Manifest;
use operator::Operator;

use crate::expect::Expect;
use crate::object_ref::ObjectRef;

/// When the clock of a test starts, unless the test says otherwise.
pub const START: &str = "2026-01-01T00:00:00Z";

/// One document of a `*.test.yaml` file.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// The document, to find lines and columns.
    pub manifest: Manifest,
    /// The Operator under test.
    pub operator: Arc<TestedOperator>,
    /// The tests, in the order of the file.
    pub tests: Vec<Test>,
}

/// An Operator under test.
#[derive(Debug)]
pub struct TestedOperator {
    /// The Operator.
    pub operator: Operator,
    /// What it was read from.
    pub manifest: Manifest,
}

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name, unique in the document.
    pub name: String,
    /// Its location in the document.
    pub at: Location,
    /// When its clock starts.
    pub now: Time,
    /// The seed of `@rnd`.
    pub seed: u64,
    /// Its steps. The first applies the objects of `given`.
    pub steps: Vec<TestStep>,
}

/// A step: changes of objects and of the time, in one batch, and what is expected then.
#[derive(Clone, Debug, Default)]
pub struct TestStep {
    /// Its name, or what it does first.
    pub name: String,
    /// Its location in the document.
    pub at: Location,
    /// Objects that are created, or replaced as a whole.
    pub apply: Vec<Value>,
    /// Parts of objects that are merged into those that exist.
    pub patch: Vec<Placed<Value>>,
    /// Objects that are deleted.
    pub delete: Vec<Placed<ObjectRef>>,
    /// The new time, if the clock moves.
    pub now: Option<Time>,
    /// What is expected after the step.
    pub expect: Expect,
}

/// A part of a document, with its location.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed<T> {
    /// The part.
    pub value: T,
    /// Its location in the document.
    pub at: Location,
}
