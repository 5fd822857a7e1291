//! What `deltic top --once` prints.

use std::fmt::Write;

use document::{Value, json, one_line};

use super::frame::wrap;
use super::table::{Row, Table};
use crate::live::{Condition, ControllerNow, Numbers, OperatorNow, Snapshot};

/// The table of Operators, and all errors that the status has, in full.
pub(super) fn text(snapshot: &Snapshot, width: Option<usize>) -> String {
    let rows: Vec<Row<'_>> = snapshot.operators.iter().map(Row::from).collect();
    if rows.is_empty() {
        return "there are no Operators\n".to_owned();
    }
    let table = Table::fit(&rows, true, None, width);
    let lines = rows.iter().map(|row| table.row(row));
    let lines = std::iter::once(table.header()).chain(lines);
    let mut text = String::new();
    for line in lines {
        text.push_str(line.plain().trim_end());
        text.push('\n');
    }
    for operator in &snapshot.operators {
        for controller in operator.controllers.iter().filter(|c| !c.errors.is_empty()) {
            // Names come from metrics, which anybody may serve.
            let (operator, name) = (one_line(&operator.name), one_line(&controller.name));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\nerrors of {operator}/{name}:");
            for error in &controller.errors {
                let lines = match width {
                    Some(width) => wrap(error, width.saturating_sub(2)),
                    None => vec![error.clone()],
                };
                let _ = writeln!(text, "- {}", lines.join("\n  "));
            }
        }
    }
    text
}

/// Everything as JSON.
pub(super) fn json(snapshot: &Snapshot) -> Value {
    let operators: Value = snapshot.operators.iter().map(operator).collect();
    json!({
        "version": (snapshot.version.clone().map_or(Value::NULL, Value::from)),
        "leader": (snapshot.leads.map_or(Value::NULL, Value::from)),
        "requestsPerSecond": (number(snapshot.requests)),
        "operators": (operators),
    })
}

fn operator(operator: &OperatorNow) -> Value {
    let controllers: Value = operator.controllers.iter().map(controller).collect();
    json!({
        "name": (operator.name.as_str()),
        "ready": (ready(operator.ready.as_ref())),
        "numbers": (numbers(&operator.numbers)),
        "queue": (number(operator.numbers.queue)),
        "crashes": (number(Some(operator.crashes))),
        "orphans": (number(Some(operator.orphans))),
        "controllers": (controllers),
    })
}

fn controller(controller: &ControllerNow) -> Value {
    let sources = controller.sources.iter().map(|(name, (objects, synced))| {
        json!({"name": (name.as_str()), "objects": (number(Some(*objects))), "synced": (*synced)})
    });
    let targets = controller.targets.iter().map(
        |(kind, objects)| json!({"kind": (kind.as_str()), "objects": (number(Some(*objects)))}),
    );
    let codes = controller
        .codes
        .iter()
        .map(|(code, times)| json!({"code": (code.as_str()), "count": (number(Some(*times)))}));
    let (sources, targets, codes): (Value, Value, Value) =
        (sources.collect(), targets.collect(), codes.collect());
    let errors: Value = controller.errors.iter().map(Value::from).collect();
    json!({
        "name": (controller.name.as_str()),
        "ready": (ready(controller.ready.as_ref())),
        "numbers": (numbers(&controller.numbers)),
        "sources": (sources),
        "targets": (targets),
        "errorCodes": (codes),
        "lastErrors": (errors),
    })
}

fn ready(ready: Option<&Condition>) -> Value {
    ready.map_or(Value::NULL, |ready| {
        json!({
            "status": (ready.status.as_str()),
            "reason": (ready.reason.as_str()),
            "message": (ready.message.as_str()),
        })
    })
}

fn numbers(numbers: &Numbers) -> Value {
    let latency = &numbers.latency;
    json!({
        "objects": (number(numbers.objects)),
        "derived": (number(numbers.derived)),
        "changesPerSecond": (number(numbers.changes)),
        "derivedChangesPerSecond": (number(numbers.yields)),
        "writesPerSecond": (number(numbers.writes)),
        "errors": (number(numbers.errors)),
        "errorsPerSecond": (number(numbers.failing)),
        "latencySeconds": (number(latency.mean())),
        "p99StepSeconds": (number(latency.step())),
        "p99WaitSeconds": (number(latency.wait())),
        "p99WriteSeconds": (number(latency.write())),
    })
}

/// A number to the microsecond; null if it is not known.
fn number(number: Option<f64>) -> Value {
    let rounded = number.map(|number| (number * 1e6).round() / 1e6);
    rounded.and_then(Value::number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::OperatorStatus;

    fn snapshot() -> Snapshot {
        let status = OperatorStatus::read(&json!({
            "metadata": {"name": "shop"},
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "fine"}],
                "controllers": [{"name": "web", "counts": {"objects": 3, "targets": 2, "errors": 1}, "lastErrors": ["type at pipeline: one two three four"]}]
            }
        }));
        Snapshot::new(None, Some(&[status]))
    }

    #[test]
    fn a_table_is_printed_with_all_errors() {
        let wide = text(&snapshot(), None);
        let lines: Vec<&str> = wide.lines().collect();
        assert!(lines[0].starts_with("OPERATOR  READY"), "{wide}");
        assert!(lines[1].starts_with("shop      Ready"), "{wide}");
        assert!(lines[1].ends_with("fine"), "{wide}");
        let errors = [
            "",
            "errors of shop/web:",
            "- type at pipeline: one two three four",
        ];
        assert_eq!(lines[2..], errors);
        let narrow = text(&snapshot(), Some(26));
        let expect = "- type at pipeline: one\n  two three four\n";
        assert!(narrow.ends_with(expect), "{narrow}");
        assert!(narrow.lines().all(|line| line.len() <= 26), "{narrow}");
        assert_eq!(text(&Snapshot::default(), None), "there are no Operators\n");
    }

    #[test]
    fn names_do_not_control_the_terminal() {
        let mut snapshot = snapshot();
        snapshot.operators[0].name = "a\u{1b}]0;b\u{7}\u{202e}".to_owned();
        snapshot.operators[0].controllers[0].name = "c\u{1b}[2J\rd".to_owned();
        for width in [None, Some(80)] {
            let text = text(&snapshot, width);
            assert!(
                !text.replace('\n', "").contains(document::is_harmful),
                "{text:?}"
            );
            let expect = r"errors of a\u{1b}]0;b\u{7}\u{202e}/c\u{1b}[2J d:";
            assert!(text.contains(expect), "{text}");
        }
    }

    #[test]
    fn json_says_null_for_what_is_not_known() {
        let json = json(&snapshot());
        let operators = json.get("operators").as_list();
        let shop = operators
            .and_then(|all| all.get(0))
            .cloned()
            .unwrap_or_default();
        assert_eq!(shop.get("numbers").get("objects").as_int(), Some(3));
        assert!(shop.get("numbers").get("changesPerSecond").is_null());
        assert!(shop.get("queue").is_null() && json.get("version").is_null());
    }
}
