//! What the status of an Operator says about a rehearsal.

use document::{ListRef, Value, json};
use object::metadata::{KEYS, name};

/// How many errors an Operator has.
pub(crate) fn error_count(operator: &Value) -> usize {
    let counts = controllers(operator).map(|controller| {
        let count = controller.get("counts").get("errors").as_int();
        let count = count.and_then(|count| usize::try_from(count).ok());
        let shown = controller.get("lastErrors").as_list().map(ListRef::len);
        // An error that is not about an object, such as that a kind is missing, is not counted.
        count.unwrap_or_default().max(shown.unwrap_or_default())
    });
    counts.sum()
}

/// The errors in the status of an Operator, each with its controller: texts that contain the code and
/// the object.
pub(crate) fn errors(operator: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for controller in controllers(operator) {
        let texts = controller.get("lastErrors").as_list();
        for text in texts.into_iter().flatten() {
            all.push(json!({
                "operator": (name(operator)),
                "controller": (controller.get("name").clone()),
                "message": (text.clone())
            }));
        }
    }
    all
}

/// How far an Operator is, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Readiness {
    /// It is ready, or only single objects have errors.
    Settled,
    /// Some objects are not as derived, perhaps because they wait for something else.
    Waiting,
    /// It cannot become ready by itself, as far as it is known.
    Stuck,
    /// It has not reported yet.
    Starting,
}

/// How far an Operator is, from its status.
pub(crate) fn readiness(operator: &Value) -> Readiness {
    let generation = operator.get_key(&KEYS.metadata).get_key(&KEYS.generation);
    let current = ready(operator).filter(|ready| ready.get("observedGeneration") == generation);
    let reason = current.and_then(|ready| ready.get("reason").as_str());
    match reason {
        _ if object::metadata::is_terminating(operator) => Readiness::Waiting,
        None => Readiness::Starting,
        Some("Syncing") => Readiness::Waiting,
        Some("Ready" | "ReconciliationFailed") => Readiness::Settled,
        Some(_) => Readiness::Stuck,
    }
}

/// The condition Ready.
pub(crate) fn ready(operator: &Value) -> Option<&Value> {
    let conditions = operator.get("status").get("conditions").as_list();
    let mut conditions = conditions.into_iter().flat_map(ListRef::iter);
    conditions.find(|condition| condition.get("type").as_str() == Some("Ready"))
}

/// The states of the controllers.
pub(crate) fn controllers(operator: &Value) -> impl Iterator<Item = &Value> {
    let controllers = operator.get("status").get("controllers").as_list();
    controllers.into_iter().flat_map(ListRef::iter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_the_status_does_not_show_count() {
        let of = |name: &str, shown: usize, count: i64| {
            let texts: Value = (0..shown).map(|_| Value::from("error")).collect();
            json!({"name": name, "lastErrors": texts, "counts": {"errors": count}})
        };
        let controllers = json!([(of("a", 10, 4000)), (of("b", 0, 0)), (of("c", 2, 1))]);
        let operator = json!({
            "metadata": {"name": "shop"}, "status": {"controllers": controllers}
        });
        assert_eq!(errors(&operator).len(), 12);
        assert_eq!(error_count(&operator), 4002);
    }

    #[test]
    fn errors_have_their_messages() {
        let operator = json!({
            "metadata": {"name": "shop"},
            "status": {"controllers": [
                {"name": "quiet", "lastErrors": []},
                {"name": "web", "lastErrors": ["type at pipeline[0] for Pod a/b: expected a list"]}
            ]}
        });
        let expect = json!({
            "operator": "shop",
            "controller": "web",
            "message": "type at pipeline[0] for Pod a/b: expected a list"
        });
        assert_eq!(errors(&operator), [expect]);
        assert_eq!(error_count(&operator), 1);
    }
}
