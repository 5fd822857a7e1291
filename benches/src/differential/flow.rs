//! Drives a dataflow: objects in, changes of target objects out.

use std::cell::RefCell;
use std::rc::Rc;

use differential_dataflow::consolidation::consolidate;
use differential_dataflow::input::{Input as _, InputSession};
use document::Value;
use hashbrown::HashMap;
use timely::communication::allocator::{Allocator, thread::Thread};
use timely::dataflow::ProbeHandle;
use timely::worker::{Config, Worker};

use super::collection::Collection;
use super::fields::Fields;
use super::{closures, language};
use crate::generate::Object;
use crate::peer::{Outcome, Peer, key, plain, read_event};
use crate::workload::Workload;

/// The pipeline of the workload, evaluated on differential-dataflow: the same expressions,
/// with its joins and groups.
pub struct Differential(Flow);

/// A program for this workload alone: keys and outputs are Rust closures.
pub struct Closures(Flow);

/// A change of one target object: what it was, what it is.
#[derive(Clone, Debug)]
pub struct Change {
    old: Option<Value>,
    new: Option<Value>,
}

/// Target objects with the change of their count, as they leave the dataflow.
type Updates = Rc<RefCell<Vec<(Value, isize)>>>;

/// A dataflow and what is needed to feed it.
struct Flow {
    workload: Workload,
    fields: Fields,
    /// The last version of every object of each source, as it went in.
    objects: Vec<HashMap<(Value, Value), Value, foldhash::fast::RandomState>>,
    inputs: Vec<InputSession<u64, Value, isize>>,
    probe: ProbeHandle<u64>,
    updates: Updates,
    worker: Worker,
    epoch: u64,
}

impl Flow {
    /// `build` makes the dataflow: sources in, target objects out.
    fn new(
        workload: Workload,
        build: for<'scope> fn(Workload, Vec<Collection<'scope>>) -> Collection<'scope>,
    ) -> Self {
        let thread = Allocator::Thread(Thread::default());
        let mut worker = Worker::new(Config::default(), thread, None);
        let updates = Updates::default();
        let captured = updates.clone();
        let (inputs, probe) = worker.dataflow(|scope| {
            let sources = workload.sources().iter();
            let (inputs, sources) = sources.map(|_| scope.new_collection()).unzip();
            let (probe, _) = build(workload, sources)
                .inspect(move |(document, _, count)| {
                    captured.borrow_mut().push((document.clone(), *count));
                })
                .probe();
            (inputs, probe)
        });
        Self {
            workload,
            fields: Fields::new(),
            objects: vec![HashMap::default(); workload.sources().len()],
            inputs,
            probe,
            updates,
            worker,
            epoch: 0,
        }
    }

    /// One epoch.
    fn apply(
        &mut self,
        objects: impl IntoIterator<Item = (usize, Value)>,
        changes: &mut Vec<Change>,
    ) {
        self.insert(objects);
        self.step(changes);
    }

    /// Takes objects into the current epoch.
    fn insert(&mut self, objects: impl IntoIterator<Item = (usize, Value)>) {
        for (source, object) in objects {
            self.replace(source, object);
        }
    }

    /// Ends the epoch.
    fn step(&mut self, changes: &mut Vec<Change>) {
        self.epoch += 1;
        for input in &mut self.inputs {
            input.advance_to(self.epoch);
            input.flush();
        }
        let (probe, epoch) = (&self.probe, self.epoch);
        self.worker.step_while(|| probe.less_than(&epoch));
        self.collect(changes);
    }

    /// Retracts the last version of an object and inserts the new one.
    fn replace(&mut self, source: usize, object: Value) {
        let key = self.fields.key(&object);
        let input = &mut self.inputs[source];
        if let Some(old) = self.objects[source].insert(key, object.clone()) {
            input.remove(old);
        }
        input.insert(object);
    }

    /// Turns what left the dataflow into changes.
    fn collect(&mut self, changes: &mut Vec<Change>) {
        let mut updates = self.updates.borrow_mut();
        if updates.iter().all(|(_, count)| *count == 1) {
            // A load: nothing to pair.
            changes.extend(updates.drain(..).map(|(new, _)| Change {
                old: None,
                new: Some(new),
            }));
            return;
        }
        // What comes out of a group is consolidated, what comes out of a join is not.
        if self.workload != Workload::W3 {
            consolidate(&mut updates);
        }
        if updates.len() > 2 {
            let fields = &self.fields;
            updates.sort_by_cached_key(|(document, _)| fields.key(document));
        }
        let mut rest = updates.drain(..).peekable();
        while let Some(first) = rest.next() {
            let key = self.fields.key(&first.0);
            let partner = rest.next_if(|(document, _)| self.fields.key(document) == key);
            let mut change = Change {
                old: None,
                new: None,
            };
            for (document, count) in [Some(first), partner].into_iter().flatten() {
                let side = if count < 0 {
                    &mut change.old
                } else {
                    &mut change.new
                };
                *side = Some(document);
            }
            changes.push(change);
        }
    }
}

macro_rules! peer {
    ($name:ident, $build:path) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut out = f.debug_struct(stringify!($name));
                out.field("workload", &self.0.workload)
                    .finish_non_exhaustive()
            }
        }

        impl Peer for $name {
            type Input = (usize, Value);
            type Change = Change;

            fn new(workload: Workload) -> Self {
                Self(Flow::new(workload, $build))
            }

            fn reader(_: Workload) -> impl Fn(&Object) -> Self::Input {
                |object| (object.source, read_event(object))
            }

            fn load(&mut self, page: Vec<Self::Input>, _changes: &mut Vec<Change>) {
                // One epoch for the whole load is faster than one for each page.
                self.0.insert(page);
            }

            fn loaded(&mut self, changes: &mut Vec<Change>) {
                self.0.step(changes);
            }

            fn apply<I>(&mut self, objects: I, changes: &mut Vec<Change>)
            where
                I: IntoIterator<Item = Self::Input>,
            {
                self.0.apply(objects, changes);
            }

            fn key(change: &Change) -> (String, String) {
                let document = change.new.as_ref().or(change.old.as_ref());
                document.map(key).unwrap_or_default()
            }

            fn outcome(change: &Change) -> Outcome {
                Outcome {
                    key: Self::key(change),
                    old: change.old.as_ref().map(plain),
                    new: change.new.as_ref().map(plain),
                }
            }
        }
    };
}

peer!(Differential, language::build);
peer!(Closures, closures::build);
