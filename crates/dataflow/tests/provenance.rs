//! Checks explanations on random pipelines and objects: the objects that an output is derived from
//! are enough to derive it again, and the stage at which an object ends is the first that yields
//! nothing that is derived from it.

#[allow(
    dead_code,
    unused_imports,
    reason = "only the generator of cases is used"
)]
mod random;

use std::collections::{BTreeMap, BTreeSet};

use dataflow::apply::OutputKind;
use dataflow::fields::Keep;
use dataflow::provenance::{Point, Provenance, SourceName};
use dataflow::{Budget, Circuit, Pipeline, Recording, SourceEvent, TargetChange};
use document::{Location, Value, json};
use expr::{Env, Functions};
use object::ObjectName;

use random::Case;

/// The number of seeds of a normal test run.
const RUNS: u64 = 1_500;

type Objects = BTreeMap<SourceName, Value>;

struct World {
    pipeline: Pipeline,
    kinds: Vec<OutputKind>,
    env: Env,
}

impl World {
    fn new(case: &Case) -> Self {
        let functions = Functions::builtin();
        let at = Location::root();
        let pipeline = Pipeline::parse(
            &case.pipeline,
            &at,
            &case.sources,
            &case.targets,
            &functions,
        );
        let kinds = case.targets.iter().map(|kind| OutputKind {
            api_version: json!("v1"),
            kind: kind.into(),
            placement: None,
        });
        let mut env = Env::new(json!("1970-01-01T00:10:00Z"), 7);
        env.limits = case.limits;
        Self {
            pipeline: pipeline.expect("random pipelines are valid"),
            kinds: kinds.collect(),
            env,
        }
    }

    /// A circuit with these objects, and its changes.
    fn load(&self, objects: &Objects) -> (Circuit, Vec<TargetChange>) {
        let mut circuit = Circuit::new(&self.pipeline, &self.kinds, Budget::default());
        let fields = dataflow::fields::needs(&self.pipeline);
        let keeps: Vec<Keep> = fields.iter().map(Keep::fields).collect();
        let batch: Vec<SourceEvent> = objects
            .iter()
            .map(|((source, name), object)| SourceEvent {
                source: *source,
                name: name.clone(),
                object: Some(keeps[*source].of(object)),
            })
            .collect();
        let step = circuit.step(batch, &self.env).expect("within the budget");
        (circuit, step.changes)
    }
}

/// The objects at the end of a history.
fn last_objects(case: &Case) -> Objects {
    let mut objects = Objects::new();
    for event in case.history.iter().flat_map(|batch| &batch.events) {
        let key = (event.source, event.name.clone());
        match &event.object {
            Some(object) => drop(objects.insert(key, object.clone())),
            None => drop(objects.remove(&key)),
        }
    }
    objects
}

fn outputs(changes: &[TargetChange]) -> BTreeMap<(usize, ObjectName), Value> {
    let new = changes.iter().filter_map(|change| {
        let key = (change.target, change.key.clone());
        Some((key, change.new.clone()?))
    });
    new.collect()
}

/// Counts what was checked, so that the test cannot pass without checking anything.
#[derive(Default)]
struct Checked {
    outputs: usize,
    ended: usize,
}

fn check(seed: u64, checked: &mut Checked) {
    let case = Case::generate(seed);
    if case.is_bounded() {
        // A group that is too large yields nothing, and its members alone may fit.
        return;
    }
    let world = World::new(&case);
    let objects = last_objects(&case);
    let (circuit, changes) = world.load(&objects);
    let recording = circuit.record(&world.env).expect("within the budget");
    assert_eq!(
        outputs(&recording.outputs),
        outputs(&changes),
        "seed {seed}: the recording differs from the circuit\n{case}"
    );
    let functions = Functions::builtin();
    let provenance = Provenance::new(&world.pipeline, &recording, &functions, &world.env);
    for ((target, name), object) in outputs(&changes) {
        let (at, origin) = provenance.output(target, &name).expect("it is derived");
        let enough = provenance.enough(at, &origin);
        let part = objects.iter().filter(|(key, _)| enough.contains(*key));
        let part = part.map(|(key, object)| (key.clone(), object.clone()));
        // Not the target object: the same objects may derive another one of this name, which wins.
        let (circuit, _) = world.load(&part.collect());
        let again = circuit.record(&world.env).expect("within the budget");
        let again = Provenance::new(&world.pipeline, &again, &functions, &world.env);
        let document = provenance.document(at, &origin);
        assert!(document.is_some(), "seed {seed}: {object} has no document");
        assert_eq!(
            again.document(at, &origin),
            document,
            "seed {seed}: {name:?} is not derived from {enough:?}\n{case}"
        );
        checked.outputs += 1;
    }
    check_ends(seed, &case, &world, &recording, &provenance, checked);
}

fn check_ends(
    seed: u64,
    case: &Case,
    world: &World,
    recording: &Recording,
    provenance: &Provenance<'_>,
    checked: &mut Checked,
) {
    for (source, name) in last_objects(case).into_keys() {
        for descent in provenance.descent(source, &name) {
            let branch = descent.branch;
            let yields = |stage: usize| {
                let at = Point::Stage { branch, stage };
                let documents = recording.branches[branch].stages[stage].keys();
                let mut sources = documents.map(|origin| provenance.sources(at, origin));
                sources.any(|sources: BTreeSet<_>| sources.contains(&(source, name.clone())))
            };
            let stages = world.pipeline.branches[branch].stages.len();
            let first = (0..stages).find(|stage| !yields(*stage));
            let ended = descent.ended().filter(|stage| *stage < stages);
            assert_eq!(
                ended, first,
                "seed {seed}: {name:?} in branch {branch}\n{case}"
            );
            checked.ended += usize::from(ended.is_some());
        }
    }
}

#[test]
fn explanations_hold_on_random_pipelines() {
    let mut checked = Checked::default();
    let seeds = seeded::seeds(RUNS);
    let all = seeds.end - seeds.start >= RUNS;
    for seed in seeds {
        check(seed, &mut checked);
    }
    if all {
        assert!(checked.outputs > 1_000, "only {} outputs", checked.outputs);
        assert!(checked.ended > 1_000, "only {} ends", checked.ended);
    }
}
