use document::{Location, json};

use super::*;
use crate::apply::OutputKind;
use crate::circuit::{Budget, Circuit, SourceEvent};
use crate::fields::{Intake, Keep};

/// The objects of each source.
type Sources<'a> = &'a [(&'a str, &'a [Value])];

/// Runs a pipeline on objects, and passes its provenance to a test.
fn explain(pipeline: &Value, sources: Sources<'_>, test: impl FnOnce(&Provenance<'_>)) {
    let functions = Functions::builtin();
    let names: Vec<String> = sources.iter().map(|(name, _)| (*name).to_owned()).collect();
    let targets = ["Out".to_owned()];
    let parsed = Pipeline::parse(pipeline, &Location::root(), &names, &targets, &functions);
    let pipeline = parsed.expect("the pipeline is valid");
    let kind = OutputKind {
        api_version: json!("v1"),
        kind: json!("Out"),
        placement: None,
    };
    let mut circuit = Circuit::new(&pipeline, &[kind], Budget::default());
    let mut batch = Vec::new();
    for (source, (_, objects)) in sources.iter().enumerate() {
        let keep = Keep::new(circuit.fields(source), Intake::default());
        batch.extend(objects.iter().map(|object| SourceEvent {
            source,
            name: ObjectName::of(object).expect("an object has a name"),
            object: Some(keep.of(object)),
        }));
    }
    let env = Env::default();
    circuit.step(batch, &env).expect("within the budget");
    let recording = circuit.record(&env).expect("within the budget");
    test(&Provenance::new(&pipeline, &recording, &functions, &env));
}

fn pod(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name}, "node": node})
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn name(name: &str) -> ObjectName {
    ObjectName::new("", name)
}

/// The losses of the first branch, in the stage at which the object ended.
fn losses(provenance: &Provenance<'_>, source: usize, object: &str) -> (usize, Vec<Loss>) {
    let descents = provenance.descent(source, &name(object));
    let descent = descents.first().expect("the object enters a branch");
    let ended = descent.ended().expect("the object ends");
    let lost = match descent.stages.get(ended) {
        Some(stage) => &stage.lost,
        None => &descent.lost,
    };
    (ended, lost.iter().map(|(_, loss)| loss.clone()).collect())
}

#[test]
fn the_way_back_of_a_group_leads_to_all_of_its_members() {
    let pipeline = json!([
        {"@select": {"@ne": ["$.node", "n3"]}},
        {"@project": {"metadata": {"name": "$.node"}, "pods": "$.metadata.name"}},
        {"@gather": ["$.metadata.name", "$.pods"]},
    ]);
    let pods = [
        pod("a", "n1"),
        pod("b", "n1"),
        pod("c", "n2"),
        pod("d", "n3"),
    ];
    explain(&pipeline, &[("Pod", &pods)], |provenance| {
        let found = provenance.way_back(0, &name("n1"), 100, 100);
        let found = found.expect("n1 is derived");
        assert_eq!(found.document.get("pods"), &json!(["a", "b"]));
        assert_eq!(found.from.len(), 2);
        let (at, origin) = provenance.output(0, &name("n1")).expect("n1 is derived");
        let sources = provenance.sources(at, &origin);
        assert_eq!(sources, BTreeSet::from([(0, name("a")), (0, name("b"))]));
        let first = provenance
            .way_back(0, &name("n1"), 1, 100)
            .expect("n1 is derived");
        assert_eq!((first.from.len(), first.more), (1, 1));
        assert!(provenance.way_back(0, &name("n3"), 100, 100).is_none());
    });
}

#[test]
fn a_false_condition_names_the_part_and_its_values() {
    let pipeline = json!([{"@select": {"@and": [
        {"@exists": "$.node"},
        {"@or": [{"@eq": ["$.node", "n2"]}, {"@not": {"@eq": ["$.metadata.name", "a"]}}]},
    ]}}]);
    explain(&pipeline, &[("Pod", &[pod("a", "n1")])], |provenance| {
        let (ended, losses) = losses(provenance, 0, "a");
        assert_eq!(ended, 0);
        let [Loss::False(parts)] = losses.as_slice() else {
            panic!("{losses:?}");
        };
        let shown: Vec<_> = parts
            .iter()
            .map(|part| (part.spec.to_string(), part.result, part.operands.clone()))
            .collect();
        let value = |path: &str, value: &str| vec![(json!(path), Some(json!(value)))];
        assert_eq!(
            shown,
            [
                (
                    r#"{"@eq":["$.node","n2"]}"#.to_owned(),
                    false,
                    value("$.node", "n1")
                ),
                (
                    r#"{"@eq":["$.metadata.name","a"]}"#.to_owned(),
                    true,
                    value("$.metadata.name", "a")
                ),
            ]
        );
    });
}

#[test]
fn an_object_without_a_partner_names_the_key_and_the_nearest() {
    let pipeline = json!([
        {"@join": {"@eq": ["$.Pod.node", "$.Node.metadata.name"]}},
        {"@project": {"metadata": "$.Pod.metadata"}},
    ]);
    let sources: Sources<'_> = &[
        ("Pod", &[pod("a", "node-1"), pod("b", "node-2")]),
        ("Node", &[node("node-2"), node("nodes-1")]),
    ];
    explain(&pipeline, sources, |provenance| {
        let (ended, losses) = losses(provenance, 0, "a");
        assert_eq!(ended, 0);
        let [Loss::NoPartner(unjoined)] = losses.as_slice() else {
            panic!("{losses:?}");
        };
        let [one] = unjoined.as_slice() else {
            panic!("{unjoined:?}");
        };
        assert_eq!(one.key, Some(json!("node-1")));
        assert_eq!((one.input, one.tried), (Some(1), 2));
        assert!(one.nearest.is_some());
        let joined = provenance
            .way_back(0, &name("b"), 10, 100)
            .expect("b is derived");
        let join = &joined.from[0];
        let parts: Vec<_> = join.from.iter().map(|part| part.source.clone()).collect();
        assert_eq!(parts, [Some((0, name("b"))), Some((1, name("node-2")))]);
    });
}

#[test]
fn the_other_ways_to_end_have_their_reasons() {
    let unwind = json!([{"@unwind": "$.list"}]);
    let empty = json!({"metadata": {"name": "a"}, "list": []});
    explain(&unwind, &[("A", &[empty])], |provenance| {
        let (_, losses) = losses(provenance, 0, "a");
        assert!(matches!(
            losses[0],
            Loss::NothingToUnwind {
                found: document::Kind::List,
                ..
            }
        ));
    });
    let gather = json!([{"@gather": ["$.key", "$.value"]}]);
    for (object, expect) in [
        (json!({"metadata": {"name": "a"}, "value": 1}), Loss::NoKey),
        (
            json!({"metadata": {"name": "a"}, "key": 1}),
            Loss::NoValue {
                path: "$.value".to_owned(),
            },
        ),
    ] {
        explain(&gather, &[("A", &[object])], |provenance| {
            assert_eq!(losses(provenance, 0, "a"), (0, vec![expect]));
        });
    }
    let failing = json!([{"@project": {"metadata": "$.metadata", "n": {"@add": ["$.x", 1]}}}]);
    let text = json!({"metadata": {"name": "a"}, "x": "no number"});
    explain(&failing, &[("A", &[text])], |provenance| {
        let (_, losses) = losses(provenance, 0, "a");
        assert!(matches!(losses[0], Loss::Failed(_)));
    });
    let nameless = json!([{"@project": {"x": 1}}]);
    explain(&nameless, &[("A", &[node("a")])], |provenance| {
        let (ended, losses) = losses(provenance, 0, "a");
        assert_eq!(ended, 1, "the output is checked after the stages");
        assert!(matches!(losses[0], Loss::Failed(Failure::Output { .. })));
    });
}

#[test]
fn a_loser_of_a_conflict_ends_at_the_output() {
    let pipeline = json!([{"@project": {"metadata": {"name": "same"}, "node": "$.node"}}]);
    let pods = [pod("a", "n1"), pod("b", "n2")];
    explain(&pipeline, &[("Pod", &pods)], |provenance| {
        let (ended, losses) = losses(provenance, 0, "b");
        assert_eq!(ended, 1);
        assert!(matches!(losses[0], Loss::Failed(Failure::Conflict { .. })));
        let winner = provenance.descent(0, &name("a"));
        assert_eq!(winner[0].outputs, [(0, name("same"))]);
        assert_eq!(winner[0].ended(), None);
    });
}

#[test]
fn the_keys_of_other_documents_are_not_evaluated_to_follow_an_object() {
    let pipeline = json!([
        {"@project": {"metadata": {"name": "$.node"}, "pods": "$.metadata.name"}},
        {"@gather": ["$.metadata.name", "$.pods"]},
        {"@unwind": "$.pods"},
    ]);
    let pods = [pod("a", "n1"), pod("b", "n1"), pod("c", "n2")];
    explain(&pipeline, &[("Pod", &pods)], |provenance| {
        let evaluated = || {
            provenance
                .groups
                .values()
                .any(|groups| groups.get().is_some())
        };
        let descent = provenance.descent(0, &name("b"));
        assert_eq!(descent[0].outputs.len(), 2, "{descent:?}");
        assert!(!evaluated());
        let (target, derived) = &descent[0].outputs[1];
        assert!(provenance.way_back(*target, derived, 10, 100).is_some());
        assert!(evaluated());
    });
}
