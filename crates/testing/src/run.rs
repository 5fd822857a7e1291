//! Runs a test.

use std::collections::{BTreeMap, BTreeSet};

use dataflow::Budget;
use document::{Value, merge_patch};
use expr::{Env, Time};
use offline::{Event, EventType, Offline, OfflineError};
use operator::Operator;

use crate::expect::StepOutcome;
use crate::file::{Placed, Test, TestStep};
use crate::mismatch::Mismatch;
use crate::object_ref::ObjectRef;

/// The result of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestResult {
    /// What went wrong; empty if the test passed.
    pub failures: Vec<TestFailure>,
}

/// Something that went wrong in a step.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFailure {
    /// The number of the step; 0 are the objects of `given`.
    pub step: usize,
    /// What went wrong.
    pub mismatch: Mismatch,
}

/// Runs a test on its Operator. `after_step` may look at the state after each step.
///
/// A step whose batch cannot be run ends the test. After a mismatch it goes on, so that all of
/// them are reported, and can be recorded, at once.
pub fn run(test: &Test, operator: Operator, mut after_step: impl FnMut(&Offline)) -> TestResult {
    let random_key = random_key(&operator.name, test.seed);
    let mut offline = Offline::new(operator, Budget::default());
    offline.start_at(test.now);
    let mut running = RunningTest {
        offline,
        objects: BTreeMap::new(),
        now: test.now,
        random_key,
    };
    let mut result = TestResult::default();
    let (mut derived, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (number, step) in test.steps.iter().enumerate() {
        let mut fail = |mismatch| {
            let step = number;
            result.failures.push(TestFailure { step, mismatch });
        };
        let found = match running.step(number, step, &mut fail) {
            Ok(found) => found,
            Err(error) => {
                fail(Mismatch::Stopped {
                    code: error.code(),
                    message: error.to_string(),
                });
                break;
            }
        };
        derived.extend(found.targets.iter().filter_map(ObjectRef::of));
        // An object that the step deletes was there before it.
        let deletes = step.delete.iter().map(|name| name.value.clone());
        seen.extend(running.objects.keys().cloned().chain(deletes));
        let operator = running.offline.operator();
        let mut mismatches = step.expect.never_derived(operator);
        mismatches.extend(step.expect.without_namespace(operator, &derived));
        mismatches.extend(step.expect.objects.never_there(operator, &seen));
        mismatches.extend(step.expect.compare(&found, &running.objects));
        mismatches.into_iter().for_each(fail);
        after_step(&running.offline);
    }
    result
}

/// The key of the random numbers of an Operator. Offline there is no uid, so the name identifies
/// it.
pub fn random_key(operator: &str, seed: u64) -> u64 {
    document::stable_hash(&format!("{operator}/{seed}"))
}

/// A test while it runs.
struct RunningTest {
    offline: Offline,
    /// The objects of the cluster: those that the steps have applied, and those that controllers
    /// have written.
    objects: BTreeMap<ObjectRef, Value>,
    now: Time,
    random_key: u64,
}

impl RunningTest {
    fn step(
        &mut self,
        number: usize,
        step: &TestStep,
        fail: &mut impl FnMut(Mismatch),
    ) -> Result<StepOutcome, OfflineError> {
        for object in &step.apply {
            self.set(object.clone())?;
        }
        for part in &step.patch {
            match self.patched(part) {
                Ok(object) => self.set(object)?,
                Err(mismatch) => fail(mismatch),
            }
        }
        for name in &step.delete {
            match self.objects.get(&name.value) {
                Some(object) => {
                    let object = object.clone();
                    self.objects.remove(&name.value);
                    let kind = EventType::Deleted;
                    self.offline.add(&Event { kind, object })?;
                }
                None => fail(self.unknown(&name.value, name)),
            }
        }
        self.now = step.now.unwrap_or(self.now);
        let env = Env::new(Value::from(self.now.to_string()), self.random_key);
        let batch = if step.now.is_some() {
            self.offline.tick(&env)?
        } else if number == 0 {
            self.offline.run_complete(&env)?
        } else {
            self.offline.run(&env)?
        };
        for event in &batch.events {
            self.written(event);
        }
        let errors = self.offline.current_errors(&batch);
        let events = batch.events.into_iter();
        Ok(StepOutcome {
            targets: self.offline.targets(),
            errors,
            events: events.map(|event| (event.kind, event.object)).collect(),
        })
    }

    /// Creates or replaces an object.
    fn set(&mut self, object: Value) -> Result<(), OfflineError> {
        if let Some(name) = ObjectRef::of(&object) {
            self.objects.insert(name, object.clone());
        }
        let kind = EventType::Modified;
        self.offline.add(&Event { kind, object })
    }

    /// A controller has written an object.
    fn written(&mut self, event: &Event) {
        let Some(name) = ObjectRef::of(&event.object) else {
            return;
        };
        match event.kind {
            EventType::Added | EventType::Modified => {
                self.objects.insert(name, event.object.clone());
            }
            EventType::Deleted => {
                self.objects.remove(&name);
            }
        }
    }

    fn patched(&self, part: &Placed<Value>) -> Result<Value, Mismatch> {
        // The reader has checked that it has a name.
        let name = ObjectRef::of(&part.value).unwrap_or_else(|| ObjectRef::new("", "", ""));
        match self.objects.get(&name) {
            Some(object) => Ok(merge_patch(object, &part.value)),
            None => Err(self.unknown(&name, part)),
        }
    }

    fn unknown<T>(&self, name: &ObjectRef, place: &Placed<T>) -> Mismatch {
        let known = self.objects.keys();
        let same_kind: Vec<&ObjectRef> = known.filter(|one| one.kind() == name.kind()).collect();
        let without_namespace = !name.has_namespace()
            && !same_kind.is_empty()
            && same_kind.iter().all(|one| one.has_namespace());
        let meant = same_kind.iter().find(|one| one.name() == name.name());
        let nearest = match meant.filter(|_| without_namespace) {
            Some(meant) => Some(meant.to_string()),
            None => {
                let names: Vec<String> = self.objects.keys().map(ObjectRef::to_string).collect();
                let nearest = expr::nearest(&name.to_string(), names.iter().map(String::as_str));
                nearest.map(str::to_owned)
            }
        };
        Mismatch::Unknown {
            at: place.at.clone(),
            name: name.clone(),
            nearest,
            without_namespace,
        }
    }
}
