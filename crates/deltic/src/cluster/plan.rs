//! `deltic plan`: what running Operators would change.

use std::collections::{BTreeMap, BTreeSet};

use document::{Map, Value, json};
use explanation::{SecretTexts, shown};
use expr::{Env, Functions};
use metrics::Metrics;
use object::{GroupKind, ObjectKey, ObjectName};
use offline::{Event, EventType};
use operator::Operator;
use operator::secrets::{HIDDEN, Taint, mark_with, of_views};
use operator::spec::TargetType;
use process::config::Config;
use rehearsal::{Action, Ending, Options, Plan, PlanError, PlannedChange, rehearse};
use target::claim::Claim;

use super::{announce, block_on, failed, find, no_cluster};
use crate::cli::Format;
use crate::cli::plan::{DryRun, Plan as Args, PlanFormat};
use crate::diff;
use crate::exit::{Outcome, Stop};
use crate::input::{self, Operators};
use crate::output::{DiffLine, Output};
use crate::time::Time;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("plan")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    let plan = if operators.others.is_empty() {
        block_on(on_cluster(args, &operators, output))?
    } else {
        on_files(args, &operators)?
    };
    output.progress_ends();
    let masks = Masks::new(&operators.created, &plan);
    print(&plan, &masks, args, output)?;
    let incomplete = plan.unsettled.iter().any(|one| one.incomplete);
    Ok(if incomplete || !plan.errors.is_empty() {
        Outcome::Refused
    } else if plan.changes.is_empty() {
        Outcome::Good
    } else {
        Outcome::Failed
    })
}

async fn on_cluster(args: &Args, operators: &Operators, output: &mut Output) -> Result<Plan, Stop> {
    let connection = find(&args.connection).await?;
    announce(&connection, output);
    let client = connection.client(&Metrics::default());
    let client = client.map_err(|error| no_cluster(&error))?;
    let options = Options {
        ending: if args.delete {
            Ending::Delete
        } else {
            Ending::Apply
        },
        dry_run: args.dry_run == DryRun::Server,
        timeout: args.timeout,
        config: Config {
            namespace: args.namespace.clone(),
            ..Config::default()
        },
    };
    let manifests = operators.manifests.iter();
    let manifests: Vec<Value> = manifests.map(|manifest| manifest.value.clone()).collect();
    let plan = rehearse(client, &manifests, options, |line| {
        output.working(|| line.to_owned());
    });
    let plan = plan.await;
    output.progress_ends();
    plan.map_err(|error| {
        let code = match &error {
            PlanError::Operators(_) => "no-operators",
            PlanError::Operator { .. } => "refused",
            PlanError::Ended(_) => "ended",
            PlanError::Timeout { .. } => "timeout",
        };
        Stop::Refused(vec![input::error(code, error.to_string())])
    })
}

/// The plan on objects in files.
fn on_files(args: &Args, operators: &Operators) -> Result<Plan, Stop> {
    if args.delete || args.dry_run == DryRun::Server {
        let message = "--delete and --dry-run need a cluster, and the files contain objects";
        return Err(Stop::usage(message));
    }
    let mut plan = Plan::default();
    let given = given(operators);
    for operator in &operators.created {
        let mut offline = offline::Offline::new(operator.clone(), dataflow::Budget::default());
        let events = given.values().map(|object| Event {
            kind: EventType::Added,
            object: object.clone(),
        });
        let events: Vec<Event> = events.collect();
        let now = args.time.now.unwrap_or_else(Time::now);
        let env = Env::new(now.to_string().into(), 0);
        let batch = offline.batch(&events, &env);
        let batch = batch.map_err(|error| failed(error.code(), error.to_string()))?;
        for event in &batch.events {
            // As on a cluster, where views are in memory.
            let Some(key) = key_of(&event.object).filter(|key| !key.kind.is_view()) else {
                continue;
            };
            let after = Some(&event.object).filter(|_| event.kind != EventType::Deleted);
            let change = PlannedChange::new(&key, given.get(&key), after);
            plan.changes
                .extend(change.map(|change| with_adoption(operator, change)));
        }
        let derived = offline.targets();
        let derived: Vec<ObjectKey> = derived.iter().filter_map(key_of).collect();
        for (key, object) in &given {
            let claim = Claim::read(object, key);
            let ours = claim.is_some_and(|claim| claim.operator == operator.name && claim.created);
            if ours && !derived.contains(key) {
                plan.changes
                    .extend(PlannedChange::new(key, Some(object), None));
            }
        }
        plan.errors.extend(batch.errors.iter().map(|error| {
            json!({
                "operator": (operator.name.as_str()), "controller": (error.controller.as_str()),
                "code": (error.code), "message": (error.message.as_str())
            })
        }));
    }
    plan.sort();
    plan.secrets = given
        .into_iter()
        .filter(|(key, _)| key.is_secret())
        .map(|(_, object)| object)
        .collect();
    Ok(plan)
}

/// A change of an object in files, which are written without claims: if an Updater changes an object
/// that is not claimed, it takes the object over.
fn with_adoption(operator: &Operator, mut change: PlannedChange) -> PlannedChange {
    let before = change.before.as_ref();
    let claim = before.and_then(|object| Claim::read(object, &change.key));
    let ours = claim.is_some_and(|claim| claim.operator == operator.name);
    let targets = operator.controllers.iter().flat_map(|one| &one.targets);
    let mut updaters = targets.filter(|target| target.kind == TargetType::Updater);
    let updated = updaters.any(|target| target.resource.is(&change.key.kind));
    if change.action == Action::Change && updated && !ours {
        change.action = Action::Overwrite;
    }
    change
}

fn given(operators: &Operators) -> BTreeMap<ObjectKey, Value> {
    let objects = operators.others.iter().map(|manifest| &manifest.value);
    let named = objects.filter_map(|object| Some((key_of(object)?, object.clone())));
    named.collect()
}

fn key_of(object: &Value) -> Option<ObjectKey> {
    Some(ObjectKey {
        kind: GroupKind::of(object)?,
        name: ObjectName::of(object)?,
    })
}

/// What must not be shown: values of Secrets, and what is computed from them.
struct Masks {
    /// The parts of derived objects that are computed from Secrets, by kind.
    parts: Vec<(GroupKind, Taint)>,
    /// The kinds with names that are computed from Secrets.
    names: BTreeSet<GroupKind>,
    /// The values of Secrets, wherever they are.
    texts: SecretTexts,
}

impl Masks {
    fn new(operators: &[Operator], plan: &Plan) -> Self {
        let mut parts = Vec::new();
        let mut names = BTreeSet::new();
        let before = plan.running.iter();
        let before = before.filter_map(|one| operator::read(one, &Functions::builtin()).0);
        let before: Vec<Operator> = before.collect();
        let is_edited = |one: &&Operator| operators.iter().any(|edit| edit.name == one.name);
        let others = before.iter().filter(|one| !is_edited(one)).cloned();
        let after: Vec<Operator> = operators.iter().cloned().chain(others).collect();
        let all = marked(before).into_iter().chain(marked(after));
        for controller in all.flat_map(|one| one.controllers) {
            for (number, target) in controller.targets.iter().enumerate() {
                let kind = target.resource.group_kind();
                let secrets = &controller.secret_parts;
                if secrets.names_target(&controller.pipeline, number) {
                    names.insert(kind.clone());
                }
                let of = secrets.of_target(&controller.pipeline, number);
                parts.extend(of.into_iter().map(|part| (kind.clone(), part)));
            }
        }
        let mut texts = SecretTexts::default();
        plan.secrets.iter().for_each(|secret| texts.add(secret));
        Self {
            parts,
            names,
            texts,
        }
    }

    /// An object to be shown. The values of a Secret are masked by the diff, which shows which of
    /// them change.
    fn object(&self, key: &ObjectKey, object: Option<&Value>) -> Option<Value> {
        let object = object?;
        let parts = self.parts.iter().filter(|(kind, _)| *kind == key.kind);
        let masked = parts.fold(object.clone(), |object, (_, part)| part.masked(&object));
        let mut masked = self.text(&masked);
        if self.names.contains(&key.kind) {
            // The claims in the annotations contain the name.
            let hidden = |_: &Value| HIDDEN.into();
            masked = changed(&masked, "metadata", |metadata| {
                changed(metadata, "annotations", hidden)
            });
        }
        let map = object.as_map().filter(|_| key.is_secret());
        let Some(map) = map else {
            return Some(masked);
        };
        let members = map.iter().map(|(name, member)| {
            let kept = ["apiVersion", "kind", "data", "stringData"].contains(&name.as_str());
            let shown = if kept { member } else { masked.get_key(name) };
            (name.clone(), shown.clone())
        });
        Some(members.collect::<Map>().into())
    }

    /// The name of an object to be shown.
    fn name<'a>(&self, key: &'a ObjectKey) -> &'a str {
        if self.names.contains(&key.kind) {
            return HIDDEN;
        }
        key.object_name()
    }

    fn text(&self, value: &Value) -> Value {
        self.texts.masked(value, false)
    }

    /// Both states of an object.
    fn change(&self, change: &PlannedChange) -> (Option<Value>, Option<Value>) {
        let before = self.object(&change.key, change.before.as_ref());
        let after = self.object(&change.key, change.after.as_ref());
        diff::masked(before.as_ref(), after.as_ref())
    }
}

/// Operators that know which parts of each other's views are computed from Secrets.
fn marked(mut operators: Vec<Operator>) -> Vec<Operator> {
    let mut views = BTreeMap::new();
    // Each round follows the views of one more Operator.
    for _ in 0..=operators.len() {
        let known = views.clone();
        for operator in &mut operators {
            mark_with(operator, &views);
            views.extend(of_views(operator));
        }
        if views == known {
            break;
        }
    }
    operators
}

/// A map with another value for one of its members.
fn changed(map: &Value, name: &str, change: impl Fn(&Value) -> Value) -> Value {
    let Some(members) = map.as_map() else {
        return map.clone();
    };
    let members = members.iter().map(|(key, member)| {
        let is_it = key.as_str() == name;
        let member = if is_it {
            change(member)
        } else {
            member.clone()
        };
        (key.clone(), member)
    });
    members.collect::<Map>().into()
}

/// Prints a plan.
fn print(plan: &Plan, masks: &Masks, args: &Args, output: &mut Output) -> Result<(), Stop> {
    let format = args.output;
    if format == PlanFormat::Json {
        output.value(&as_json(plan, masks), Format::Json)?;
        return Ok(());
    }
    for change in &plan.changes {
        let title = title(change, masks);
        if format == PlanFormat::Name {
            output.text(&format!("{title}\n"))?;
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
    for error in &plan.errors {
        let error = masks.text(error);
        let text = |field: &str| error.get(field).as_str().unwrap_or_default().to_owned();
        let (operator, controller) = (text("operator"), text("controller"));
        let code = match text("code") {
            code if code.is_empty() => code,
            code => format!(" ({code})"),
        };
        let message = quiet(&text("message"));
        output.complain(&format!(
            "error: Operator {operator}, controller {controller}: {message}{code}"
        ));
    }
    for one in &plan.unsettled {
        let (operator, message) = (&one.operator, quiet(&one.message));
        output.complain(&if one.incomplete {
            format!(
                "error: Operator {operator} does not run, so the plan is not complete: {message}"
            )
        } else {
            format!("warning: Operator {operator} would not be ready: {message}")
        });
    }
    output.text(&format!("{}\n", summary(plan, args.delete)))?;
    Ok(())
}

/// A text from a server that does not move the cursor of a terminal.
fn quiet(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The plan as a document.
fn as_json(plan: &Plan, masks: &Masks) -> Value {
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
        "errors": (masks.text(&plan.errors.iter().cloned().collect())),
        "notReady": (not_ready.collect::<Value>()),
        "summary": (counts(plan))
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
    let errors = match plan.errors.len() {
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
        held => format!("; maxDeletions holds {held} deletions until they are allowed"),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(name: &str, source: &Value, value: &Value, target: &Value) -> Value {
        json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": name},
            "spec": {"controllers": [{
                "name": "c", "sources": [(source.clone())], "target": (target.clone()),
                "pipeline": [{"@project": {"metadata": "$.metadata", "data": {"p": (value.clone())}}}]
            }]}
        })
    }

    #[test]
    fn what_running_operators_have_computed_is_masked() {
        let loud = json!({"@upper": "$.data.password"});
        let secret = json!({"apiGroup": "", "kind": "Secret"});
        let map = json!({"apiGroup": "", "kind": "ConfigMap"});
        let view = json!({"apiGroup": "a.view.dcontroller.io", "kind": "V"});
        let edit = operator("a", &secret, &"constant".into(), &map);
        let (edit, problems) = operator::read(&edit, &Functions::builtin());
        let edit = edit.unwrap_or_else(|| panic!("{problems:?}"));
        let key = ObjectKey::new("", "ConfigMap", "shop", "a");
        let object = json!({"data": {"p": "HUNTER2"}});
        let shown = |running: Vec<Value>| {
            let plan = Plan {
                running,
                ..Plan::default()
            };
            let masks = Masks::new(std::slice::from_ref(&edit), &plan);
            let object = masks.object(&key, Some(&object)).unwrap_or_default();
            object.get("data").get("p").clone()
        };
        assert_eq!(shown(vec![]), "HUNTER2".into());
        let direct = operator("a", &secret, &loud, &map);
        assert_eq!(shown(vec![direct]), HIDDEN.into());
        // Through a view, whatever the order.
        let first = operator("a", &secret, &loud, &json!({"kind": "V"}));
        let second = operator("b", &view, &"$.data.p".into(), &map);
        assert_eq!(shown(vec![first.clone(), second.clone()]), HIDDEN.into());
        assert_eq!(shown(vec![second, first]), HIDDEN.into());
    }
}
