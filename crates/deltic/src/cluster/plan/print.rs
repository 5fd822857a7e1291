//! Prints a plan.

use document::{Map, Value, json};
use explanation::shown;
use object::ObjectName;
use operator::describe_origin;
use rehearsal::{Action, Plan, PlannedChange};

use super::Planned;
use super::masks::Masks;
use crate::cli::Format;
use crate::cli::plan::{Plan as Args, PlanFormat};
use crate::diff;
use crate::exit::Stop;
use crate::output::{DiffLine, Output};

/// How many errors are printed.
const SHOWN_ERRORS: usize = 20;

/// Prints a plan.
pub(super) fn print(
    planned: &Planned,
    masks: &Masks,
    args: &Args,
    output: &mut Output,
) -> Result<(), Stop> {
    let (plan, format) = (&planned.plan, args.output);
    if format == PlanFormat::Json {
        output.value(&as_json(planned, masks), Format::Json)?;
        return Ok(());
    }
    for change in &plan.changes {
        let title = title(change, masks);
        if format == PlanFormat::Name {
            output.say(&format!("{title}\n"))?;
            continue;
        }
        output.diff_line(DiffLine::File, &title)?;
        let (before, after) = masks.change(change);
        let lines = diff::titled(("", before.as_ref()), ("", after.as_ref()));
        for (line, text) in lines {
            if line != DiffLine::File {
                output.diff_line(line, &text)?;
            }
        }
    }
    for error in plan.errors.iter().take(SHOWN_ERRORS) {
        output.complain(&error_line(&masks.text(error)));
    }
    match plan
        .error_count
        .saturating_sub(SHOWN_ERRORS.min(plan.errors.len()))
    {
        0 => {}
        1 => output.complain("error: … and 1 more"),
        more => output.complain(&format!("error: … and {more} more")),
    }
    for waits in &planned.waits {
        let waits = masks.text(waits);
        let text = |field: &str| waits.get(field).as_str().unwrap_or_default();
        output.complain(&format!(
            "{} waits: {}",
            controller_of(&waits),
            text("message")
        ));
    }
    for one in &plan.unsettled {
        let (operator, message) = (&one.operator, &one.message);
        output.complain(&if one.incomplete {
            format!(
                "error: Operator {operator} does not run, so the plan is not complete: {message}"
            )
        } else {
            format!("warning: Operator {operator} would not be ready: {message}")
        });
    }
    output.prose(&format!("{}\n", summary(plan, args.delete)))?;
    Ok(())
}

/// `error: Operator shop, controller web, Deployment/shop/web: … (code)`
fn error_line(error: &Value) -> String {
    let text = |field: &str| error.get(field).as_str().unwrap_or_default();
    let code = match text("code") {
        "" => String::new(),
        code => format!(" ({code})"),
    };
    let object = match describe_origin(error.get("origin")).as_str() {
        "" => String::new(),
        origin => format!(", {origin}"),
    };
    let (controller, message) = (controller_of(error), text("message"));
    format!("error: {controller}{object}: {message}{code}")
}

/// `Operator shop, controller web`
fn controller_of(entry: &Value) -> String {
    let text = |field: &str| entry.get(field).as_str().unwrap_or_default();
    format!(
        "Operator {}, controller {}",
        text("operator"),
        text("controller")
    )
}

/// The plan as a document.
fn as_json(planned: &Planned, masks: &Masks) -> Value {
    let plan = &planned.plan;
    let changes = plan.changes.iter().map(|change| {
        let key = &change.key;
        let (before, after) = masks.change(change);
        json!({
            "action": (change.action.as_str()),
            "group": (key.kind.group.as_str()),
            "kind": (key.kind.kind.as_str()),
            "namespace": (key.namespace()),
            "name": (masks.name(key)),
            "operator": (change.operator.as_deref().map_or(Value::NULL, Value::from)),
            "held": (change.held),
            "before": (before.unwrap_or_default()),
            "after": (after.unwrap_or_default()),
        })
    });
    let not_ready = plan.unsettled.iter().map(|one| {
        json!({
            "operator": (one.operator.as_str()), "message": (one.message.as_str()),
            "incomplete": (one.incomplete)
        })
    });
    json!({
        "changes": (changes.collect::<Value>()),
        "errorCount": (i64::try_from(plan.error_count).unwrap_or(i64::MAX)),
        "errors": (masks.text(&plan.errors.iter().cloned().collect())),
        "notReady": (not_ready.collect::<Value>()),
        "summary": (counts(plan)),
        "waits": (masks.text(&planned.waits.iter().cloned().collect()))
    })
}

/// The first line of a change.
fn title(change: &PlannedChange, masks: &Masks) -> String {
    let held = if change.held {
        " (held by maxDeletions until it is allowed)"
    } else {
        ""
    };
    let note = match change.action {
        Action::Overwrite => " (it exists, and is not ours)",
        Action::Delete | Action::Replace | Action::Change | Action::Create => "",
    };
    let key = &change.key;
    let name = ObjectName::new(key.namespace(), masks.name(key));
    let object = shown(&key.kind, &name);
    format!("{} {object}{note}{held}", change.action.as_str())
}

/// How many objects each action concerns.
fn counts(plan: &Plan) -> Value {
    let counts = Action::ALL.map(|action| {
        let count = plan.changes.iter().filter(|one| one.action == action);
        let count = i64::try_from(count.count()).unwrap_or(i64::MAX);
        (action.as_str(), Value::from(count))
    });
    let counts = counts.map(|(name, count)| (document::Key::new(name), count));
    Map::from_entries(counts.to_vec()).into()
}

/// One line about the whole plan.
fn summary(plan: &Plan, delete: bool) -> String {
    let errors = match plan.error_count {
        0 => String::new(),
        1 => "; 1 error: its object stays as it is".to_owned(),
        count => format!("; {count} errors: their objects stay as they are"),
    };
    let incomplete = plan.unsettled.iter().any(|one| one.incomplete);
    if plan.changes.is_empty() && errors.is_empty() {
        let text = match (incomplete, delete) {
            (true, _) => "plan: not complete",
            (false, true) => "nothing would change: derived objects stay (deletionPolicy)",
            (false, false) => "nothing to do: everything is as derived",
        };
        return text.to_owned();
    }
    let mut parts = Vec::new();
    for action in Action::ALL {
        let of = plan.changes.iter().filter(|one| one.action == action);
        let count = of.count();
        if count > 0 {
            parts.push(format!("{count} to {}", action.as_str()));
        }
    }
    let held = plan.changes.iter().filter(|change| change.held).count();
    let held = match held {
        0 => String::new(),
        held => format!("; maxDeletions holds {held} of these until allowed"),
    };
    let others = match plan.others.len() {
        0 => String::new(),
        _ => {
            let names: Vec<&str> = plan.others.iter().map(String::as_str).collect();
            format!(
                "; with the Operators that share views: {}",
                names.join(", ")
            )
        }
    };
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    let incomplete = if incomplete { "; not complete" } else { "" };
    format!(
        "plan: {}{held}{errors}{incomplete}{others}",
        parts.join(", ")
    )
}
