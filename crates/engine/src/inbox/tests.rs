use std::sync::Arc;

use dataflow::fields::{Fields, Intake, Keep};
use document::{Path, Value, json};
use expr::Functions;

use super::*;

/// An input that keeps `spec.x` of a view.
fn input(inbox: &Arc<Inbox>) -> Input {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{"kind": "View"}],
            "pipeline": [{"@project": {"metadata": "$.metadata", "x": "$.spec.x"}}],
            "target": {"kind": "Target"},
        }]},
    });
    let (operator, problems) = operator::read(&manifest, &Functions::builtin());
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let source = operator.controllers[0].sources[0].clone();
    Input::new(inbox.clone(), (0, 0), source, keep(&["$.spec.x"]))
}

fn keep(paths: &[&str]) -> Keep {
    let mut fields = Fields::default();
    for path in paths {
        fields.add_path(Path::parse(path).unwrap().segments(), &Fields::all());
    }
    Keep::new(&fields, Intake::default())
}

fn kept(object: &Value) -> Kept {
    keep(&["$.spec"]).of(object)
}

#[test]
fn kept_fields_of_a_view_object_do_not_keep_the_rest_in_memory() {
    let view = json!({"metadata": {"name": "a"}, "spec": {"x": {"n": [1]}, "large": [1, 2, 3]}});
    let view = view.packed();
    let inbox = Arc::new(Inbox::new([(0, 0)]));
    let name = ObjectName::of(&view).unwrap();
    input(&inbox).apply_stored(&name, &view, false);
    let (_, mut events) = inbox.take().events.remove(0);
    let kept = events.remove(0).object.unwrap();
    assert_eq!(kept.document(), &json!({"spec": {"x": {"n": [1]}}}));
    assert!(
        kept.document().detached().same(kept.document()),
        "the kept part is a document of its own"
    );
}

#[test]
fn the_last_state_of_each_object_waits() {
    let inbox = Inbox::new([(0, 0), (1, 0)]);
    let name = |n: usize| ObjectName::new("", &format!("o{n}"));
    // Without an index, with one, and with one that is freed after the batch.
    for (round, many) in [2, FEW, FEW + 1, 2 * LARGE, 2].into_iter().enumerate() {
        for state in 0..2 {
            for n in (0..many).rev() {
                let object = json!({"spec": (format!("{round} {state} {n}"))});
                inbox.put((0, 0), name(n), Some(kept(&object)), false);
            }
        }
        let other = kept(&json!({"spec": "other"}));
        inbox.put((1, 0), name(0), Some(other), false);
        inbox.put((0, 0), name(0), None, false);
        let events = inbox.take().events;
        let controllers: Vec<usize> = events.iter().map(|(controller, _)| *controller).collect();
        assert_eq!(controllers, [0, 1]);
        assert_eq!(events[0].1.len(), many);
        for (event, n) in events[0].1.iter().zip((0..many).rev()) {
            assert_eq!(event.name, name(n), "in the order in which they came first");
            let last = json!({"spec": (format!("{round} 1 {n}"))});
            let last = (n > 0).then_some(last);
            assert_eq!(event.object.as_ref().map(Kept::document), last.as_ref());
        }
        assert!(inbox.take().events.is_empty());
    }
}

#[test]
fn input_states_are_taken_only_when_they_have_changed() {
    let inbox = Inbox::new([(0, 0)]);
    assert!(!inbox.take().ports.unwrap()[&(0, 0)].listed);
    assert!(inbox.take().ports.is_none());
    inbox.put((0, 0), ObjectName::new("", "a"), None, false);
    assert!(inbox.take().ports.is_none());
    inbox.set((0, 0), |state| state.listed = true);
    assert!(inbox.take().ports.unwrap()[&(0, 0)].listed);
}
