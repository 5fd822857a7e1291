//! A pipeline that runs without errors on random objects of the schemas has no error from the typed
//! checks.
//!
//! The pipelines read fields of built-in kinds, mostly with operators that suit their types, and
//! sometimes with others, so that many fail. If one yields objects that a server would accept and
//! nothing fails, a finding that says it must fail is wrong.

mod expressions;
mod objects;
mod pipelines;

use dataflow::Budget;
use document::Value;
use expr::{Env, Functions};
use object::KindRef;
use offline::{Event, EventType, Offline};
use operator::{Problem, Severity};
use schema::{Catalog, Found, KindSchema};

use pipelines::Kind;

const KINDS: [(&str, &str); 8] = [
    ("", "Pod"),
    ("", "Service"),
    ("", "ConfigMap"),
    ("", "Node"),
    ("apps", "Deployment"),
    ("batch", "Job"),
    ("networking.k8s.io", "Ingress"),
    ("discovery.k8s.io", "EndpointSlice"),
];

fn schema_of((group, kind): (&str, &str)) -> KindSchema {
    let kind = KindRef {
        group: group.to_owned(),
        version: None,
        kind: kind.to_owned(),
    };
    match Catalog::default().find(&kind) {
        Found::Kind(schema) => schema,
        other => panic!("{kind:?}: {other:?}"),
    }
}

/// What a run showed.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing failed, and there were results.
    Good,
    /// An evaluation failed, or a result would be refused.
    Bad,
    /// There were no results.
    Empty,
}

fn run(operator: operator::Operator, objects: &[Value], target: &Value) -> Outcome {
    let mut offline = Offline::new(operator, Budget::default());
    let events: Vec<Event> = objects
        .iter()
        .map(|object| Event {
            kind: EventType::Added,
            object: object.clone(),
        })
        .collect();
    let Ok(batch) = offline.batch(&events, &Env::default()) else {
        return Outcome::Bad;
    };
    if !batch.errors.is_empty() {
        return Outcome::Bad;
    }
    let targets = offline.targets();
    if targets.is_empty() {
        return Outcome::Empty;
    }
    let refused = |object: &Value| {
        target.get("kind").as_str() == Some("ConfigMap") && !objects::is_config_map(object)
    };
    if targets.iter().any(refused) {
        return Outcome::Bad;
    }
    Outcome::Good
}

#[test]
fn a_pipeline_that_runs_has_no_errors() {
    let counts = std::cell::RefCell::new([0_usize; 4]);
    seeded::check(900, |random| {
        let mut kinds = vec![*random.pick(&KINDS)];
        let second = *random.pick(&KINDS);
        if random.chance(25) && second != kinds[0] {
            kinds.push(second);
        }
        let kinds: Vec<Kind<'_>> = kinds
            .into_iter()
            .map(|kind| (kind, schema_of(kind)))
            .collect();
        let (manifest, target) = pipelines::operator(random, &kinds);
        let (operator, problems) = operator::read(&manifest, &Functions::builtin());
        let Some(operator) = operator else {
            panic!("{problems:?} in {manifest}");
        };
        let found = operator::typed::check(
            &[(&operator.clone().into(), &manifest)],
            &Catalog::default(),
        );
        let errors: Vec<&Problem> = found[0]
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
        let objects: Vec<Value> = (0..6)
            .flat_map(|number| kinds.iter().map(move |kind| (number, kind)))
            .map(|(number, (kind, schema))| objects::object(random, *kind, schema, number))
            .collect();
        let outcome = run(operator, &objects, &target);
        let good = outcome == Outcome::Good;
        assert!(!good || errors.is_empty(), "{manifest}\n{errors:?}");
        let mut counts = counts.borrow_mut();
        counts[0] += usize::from(good);
        counts[1] += usize::from(outcome == Outcome::Bad);
        counts[2] += usize::from(outcome == Outcome::Empty);
        counts[3] += usize::from(!errors.is_empty());
    });
    let [good, bad, empty, found] = *counts.borrow();
    if !seeded::alone() {
        assert!(
            good > 60 && bad > 60,
            "{good} good, {bad} bad, {empty} empty"
        );
        assert!(found > 40, "errors were found in {found} pipelines only");
    }
}
