//! Patches whose values change their shape: a list that is set whole, then elements of it, then a
//! text. Whatever was set before, the object is as if only the present patches had been set on the
//! object of the user.

use super::*;

/// What a user has, and what Patchers set: of a list of maps, and of another field.
const SHAPES: &str = include_str!("../shapes.txt");

fn patch(by: &str, field: &str, value: &str) -> Desired {
    let value: Value = value.parse().unwrap();
    let document = json!({field: {"l": value}});
    let rank = usize::from(by == "q");
    desired(by, rank, target(TargetType::Patcher), &document)
}

/// An object as a server with a schema returns it: without empty lists.
fn without_empty_lists(object: &Value) -> Value {
    if let Some(map) = object.as_map() {
        let left = map.iter().filter(|(_, value)| *value != json!([]));
        let left = left.map(|(key, value)| (key.clone(), without_empty_lists(value)));
        return left.collect::<Map>().into();
    }
    object.clone()
}

/// Takes all steps, on a server that makes this of what it is sent.
fn settled(mut subject: Subject, stores: fn(&Value) -> Value) -> Subject {
    subject = subject.fresh();
    for _ in 0..12 {
        match subject.decide().action {
            Action::Write(_) => subject = subject.step(stores),
            Action::Nothing => {
                subject.wanted.settle();
                return subject;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it does not settle: {:?}", subject.decide());
}

fn present(subject: &Subject) -> Value {
    let Live::Present(observed) = &subject.live else {
        panic!("it is there");
    };
    observed.object.clone()
}

/// What each Patcher wants.
type Wishes<'a> = [(&'a str, Option<&'a str>)];

/// The object with these patches, and nothing set before.
fn from_scratch(
    user: &Value,
    field: &str,
    wishes: &Wishes<'_>,
    stores: fn(&Value) -> Value,
) -> Value {
    let mut subject = Subject::deployment().live(user);
    for (by, value) in wishes {
        if let Some(value) = value {
            subject = subject.wants(patch(by, field, value));
        }
    }
    present(&settled(subject, stores)).get(field).clone()
}

/// Changes what one Patcher after the other wants.
fn check_history(field: &str, user: &str, history: &Wishes<'_>) {
    check_stored(field, user, history, same);
    // A server with a schema would also drop the maps around its lists.
    if history
        .iter()
        .all(|(_, value)| !value.is_some_and(|value| value.starts_with('{')))
    {
        check_stored(field, user, history, without_empty_lists);
    }
}

fn check_stored(field: &str, user: &str, history: &Wishes<'_>, stores: fn(&Value) -> Value) {
    let object = match user {
        "null" => json!({field: {"other": 1}}),
        user => json!({field: {"other": 1, "l": (user.parse::<Value>().unwrap())}}),
    };
    let object = stores(&object);
    let mut subject = Subject::deployment().live(&object);
    let mut now = [("p", None), ("q", None)];
    for (by, value) in history.iter().chain(&[("p", None), ("q", None)]) {
        match value {
            Some(value) => subject = subject.wants(patch(by, field, value)),
            None => {
                subject.wanted.withdraw(by);
            }
        }
        subject = settled(subject, stores);
        now[usize::from(*by == "q")].1 = *value;
        let expect = from_scratch(&object, field, &now, stores);
        let found = present(&subject).get(field).clone();
        assert_eq!(found, expect, "{object}: {history:?}; now {now:?}");
    }
    let annotations = present(&subject).get("metadata").get("annotations").clone();
    assert_eq!(annotations, Value::NULL, "{object}, {history:?}");
}

/// Calls a test for each combination of a user's value and two others.
fn for_each(check: impl Fn(&str, &str, &str)) {
    for values in SHAPES.split("\n\n") {
        let values: Vec<&str> = values.lines().collect();
        for user in &values {
            // A list goes with its last element, also if it was there, and empty, before.
            for first in values.iter().filter(|_| *user != "[]") {
                for second in &values {
                    check(user, first, second);
                }
            }
        }
    }
}

fn are_lists_of_maps(first: &str, second: &str) -> bool {
    [first, second].iter().all(|value| value.starts_with("[{"))
}

#[test]
fn a_patcher_may_change_the_shape_of_its_value() {
    for_each(|user, first, second| {
        let history = [("p", Some(first)), ("p", Some(second))];
        check_history("spec", user, &history);
        if !are_lists_of_maps(first, second) {
            check_history("status", user, &history);
        }
    });
}

#[test]
fn a_field_of_a_list_element_may_change_its_shape() {
    for user in ["null", r#"[{"v": "x", "o": 1}]"#, r#"[{"v": {"b": 2}}]"#] {
        let (text, map) = (r#"[{"v": "P"}]"#, r#"[{"v": {"a": 1}}]"#);
        check_history("spec", user, &[("p", Some(text)), ("p", Some(map))]);
        check_history("spec", user, &[("p", Some(map)), ("p", Some(text))]);
    }
}

#[test]
fn patchers_may_set_values_of_different_shapes() {
    // Several Patchers that add elements to one list change the same ones.
    for field in ["spec", "status"] {
        for_each(|user, first, second| {
            if are_lists_of_maps(first, second) {
                return;
            }
            let (p, q) = (("p", Some(first)), ("q", Some(second)));
            check_history(field, user, &[p, q]);
            check_history(field, user, &[q, p]);
            check_history(field, user, &[p, q, ("p", None), p]);
        });
    }
}

/// The record is then known from the answer to the last write.
#[test]
fn a_shape_may_change_after_somebody_has_removed_the_record() {
    let user = json!({"spec": {"l": [{"v": "x", "o": 1}]}});
    let subject = Subject::deployment().live(&user);
    let subject = settled(subject.wants(patch("p", "spec", "[]")), same);
    let subject = subject.changed(|object| set(object, &["metadata", "annotations"], json!({})));
    let list = patch("p", "spec", r#"[{"v": "P"}]"#);
    let mut subject = settled(subject.wants(list), same);
    let expect = json!({"l": [{"v": "P", "o": 1}]});
    assert_eq!(present(&subject).get("spec"), &expect);
    subject.wanted.withdraw("p");
    let subject = settled(subject, same);
    assert_eq!(present(&subject).get("spec"), user.get("spec"));
}
