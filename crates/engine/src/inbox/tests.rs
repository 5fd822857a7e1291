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

/// What an inbox gives: the names and values of the events, and of the objects that are listed
/// again.
fn taken(inbox: &Inbox) -> (Vec<String>, Vec<String>, Taken) {
    let taken = inbox.take();
    let shown = |name: &ObjectName, object: Option<&Kept>| {
        let value = object.map(|kept| kept.document().get("spec").clone());
        format!(
            "{} {}",
            name.name.as_str().unwrap_or_default(),
            value.unwrap_or_default()
        )
    };
    let events = taken.events.iter().flat_map(|(_, events)| events);
    let events = events.map(|event| shown(&event.name, event.object.as_ref()));
    let relisted = taken.relisted.iter();
    let relisted = relisted.map(|event| shown(&event.name, event.object.as_ref()));
    (events.collect(), relisted.collect(), taken)
}

#[test]
fn a_list_of_a_complete_source_becomes_events_when_it_is_complete() {
    let inbox = Inbox::new([(0, 0), (0, 1)]);
    let put = |port, name: &str, value: Option<i64>, bulk| {
        let object = value.map(|value| kept(&json!({"spec": (value)})));
        inbox.put(port, ObjectName::new("", name), object, bulk);
    };
    let listing = |port, listing| {
        inbox.set(port, |state| {
            state.listing = listing;
            state.listed |= !listing;
        });
    };
    // The first list enters as it arrives.
    listing((0, 0), true);
    put((0, 0), "a", Some(1), true);
    assert_eq!(taken(&inbox).0, ["a 1"]);
    listing((0, 0), false);
    // An event, and then a list that does not complete.
    put((0, 0), "a", Some(2), false);
    listing((0, 0), true);
    put((0, 0), "a", Some(3), true);
    put((0, 0), "b", Some(1), true);
    put((0, 1), "other", Some(1), false);
    let (events, relisted, batch) = taken(&inbox);
    assert_eq!(
        events,
        ["a 2", "other 1"],
        "others do not wait for the list"
    );
    assert_eq!(relisted, ["a 3", "b 1"]);
    assert!(batch.bulk.is_empty());
    // The rest of the list, in one batch with an event after it.
    put((0, 0), "c", Some(1), true);
    put((0, 0), "d", None, true);
    listing((0, 0), false);
    put((0, 0), "c", Some(2), false);
    let (events, relisted, batch) = taken(&inbox);
    assert_eq!(events, ["c 2", "d null"]);
    assert!(relisted.is_empty());
    assert_eq!(batch.bulk, BTreeSet::from([0]));
    assert!(batch.ports.unwrap()[&(0, 0)].complete());
}

#[test]
fn an_object_that_a_new_list_shows_is_unreadable_until_it_enters() {
    let inbox = Inbox::new([(0, 0)]);
    let (a, b) = (ObjectName::new("", "a"), ObjectName::new("", "b"));
    let unreadable = |inbox: &Inbox| -> Option<Vec<String>> {
        let unreadable = inbox.take().unreadable?;
        Some(
            unreadable
                .keys()
                .map(|(_, n)| n.name.as_str().unwrap_or_default().to_owned())
                .collect(),
        )
    };
    inbox.set((0, 0), |state| state.listed = true);
    inbox.put_unreadable((0, 0), a.clone(), Unreadable::Large);
    inbox.put_unreadable((0, 0), b.clone(), Unreadable::Large);
    assert_eq!(unreadable(&inbox).unwrap(), ["a", "b"]);
    inbox.set((0, 0), |state| state.listing = true);
    for name in [&a, &b] {
        inbox.put((0, 0), name.clone(), Some(kept(&json!({"spec": 1}))), true);
    }
    // The next version of `b` arrives before the list is complete.
    inbox.put_unreadable((0, 0), b, Unreadable::Large);
    assert_eq!(unreadable(&inbox), None);
    inbox.set((0, 0), |state| state.listing = false);
    assert_eq!(unreadable(&inbox).unwrap(), ["b"]);
}
