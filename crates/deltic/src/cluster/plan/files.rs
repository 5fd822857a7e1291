//! The plan on objects in files.

use std::collections::BTreeMap;

use document::{Value, json};
use expr::Env;
use object::ObjectKey;
use offline::{Event, EventType};
use operator::Operator;
use operator::spec::TargetType;
use rehearsal::{Action, Plan, PlannedChange};
use target::claim::Claim;

use super::super::failed;
use super::Planned;
use crate::cli::plan::{DryRun, Plan as Args};
use crate::evaluated::waiting;
use crate::exit::Stop;
use crate::input::Operators;
use crate::time::Time;

/// What the Operators of files would change in the objects of files.
pub(super) fn on_files(args: &Args, operators: &Operators) -> Result<Planned, Stop> {
    if args.delete || args.dry_run == DryRun::Server {
        let message = "--delete and --dry-run need a cluster, and the files contain objects";
        return Err(Stop::usage(message));
    }
    let mut plan = Plan::default();
    let mut waits = Vec::new();
    let given = given(operators);
    for operator in &operators.created {
        let mut offline = offline::Offline::new(operator.clone(), dataflow::Budget::default());
        let now = args.time.now.unwrap_or_else(Time::now);
        let env = Env::new(now.to_string().into(), 0);
        let added = given.values().map(|object| Event {
            kind: EventType::Added,
            object: object.clone(),
        });
        let mut added = added.map(|event| offline.add(&event));
        let batch = added
            .try_for_each(|added| added)
            .and_then(|()| offline.run_complete(&env));
        let batch = batch.map_err(|error| failed(error.code(), error.to_string()))?;
        for event in &batch.events {
            // As on a cluster, where views are in memory.
            let Some(key) = ObjectKey::of(&event.object).filter(|key| !key.kind.is_view()) else {
                continue;
            };
            let after = Some(&event.object).filter(|_| event.kind != EventType::Deleted);
            let change = PlannedChange::new(&key, given.get(&key), after);
            plan.changes
                .extend(change.map(|change| with_adoption(operator, change)));
        }
        let derived = offline.targets();
        let derived: Vec<ObjectKey> = derived.iter().filter_map(ObjectKey::of).collect();
        for (key, object) in &given {
            let claim = Claim::read(object, key);
            let ours = claim.is_some_and(|claim| claim.operator == operator.name && claim.created);
            if ours && !derived.contains(key) {
                plan.changes
                    .extend(PlannedChange::new(key, Some(object), None));
            }
        }
        plan.error_count += batch.errors.len();
        plan.errors.extend(batch.errors.iter().map(|error| {
            json!({
                "operator": (operator.name.as_str()), "controller": (error.controller.as_str()),
                "origin": (error.origin.clone()), "code": (error.code),
                "message": (error.message.as_str())
            })
        }));
        waits.extend(waiting(&offline, env)?.iter().map(|waiting| {
            json!({
                "operator": (operator.name.as_str()),
                "controller": (waiting.controller.as_str()),
                "message": (waiting.message.as_str())
            })
        }));
    }
    plan.sort();
    plan.secrets = given
        .into_iter()
        .filter(|(key, _)| key.is_secret())
        .map(|(_, object)| object)
        .collect();
    Ok(Planned { plan, waits })
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
    let named = objects.filter_map(|object| Some((ObjectKey::of(object)?, object.clone())));
    named.collect()
}
