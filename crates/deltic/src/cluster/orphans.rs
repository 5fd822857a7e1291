//! `deltic orphans`: objects that no Operator owns any more.

use metrics::Metrics;
use process::orphans::{self, Deleted, Found, Orphan};

use super::install::stop;
use super::{announce, block_on, confirm, find, no_cluster};
use crate::cli::cluster::Orphans;
use crate::exit::{Outcome, Stop};
use crate::output::Output;

pub(crate) fn orphans(args: &Orphans, output: &mut Output) -> Result<Outcome, Stop> {
    block_on(async {
        let connection = find(&args.connection).await?;
        announce(&connection, output);
        let client = connection.client(&Metrics::default());
        let client = client.map_err(|error| no_cluster(&error))?;
        let found = orphans::find(&client, args.operator.as_deref()).await;
        let found = found.map_err(|error| stop(&error))?;
        for orphan in &found.orphans {
            output.text(&format!("{}\n", describe(orphan)))?;
        }
        for (kind, why) in &found.unlisted {
            output.complain(&format!("warning: cannot list {kind}: {why}"));
        }
        if found.orphans.is_empty() {
            output.complain(
                "no orphans found; what a Patcher has set in objects of others is not listed",
            );
        }
        let created: Vec<&Orphan> = created(&found);
        let complete = found.unlisted.is_empty();
        if !args.delete || created.is_empty() {
            return Ok(outcome(complete));
        }
        if !confirm(&question(&created), args.yes, output)? {
            return Ok(Outcome::Failed);
        }
        let mut all_deleted = true;
        for orphan in created {
            let text = match orphans::delete(&client, orphan).await {
                Ok(Deleted::Deleted) => "deleted".to_owned(),
                Ok(Deleted::Gone) => "does not exist any more".to_owned(),
                Ok(Deleted::Owned) => "has an owner by now, and stays".to_owned(),
                Err(error) => {
                    all_deleted = false;
                    output.complain(&format!("error: {}: {error}", orphan.key));
                    continue;
                }
            };
            output.text(&format!("{} {text}\n", orphan.key))?;
        }
        Ok(outcome(complete && all_deleted))
    })
}

fn outcome(good: bool) -> Outcome {
    if good { Outcome::Good } else { Outcome::Failed }
}

/// The orphans that their Operators created. Objects that existed before are never deleted.
fn created(found: &Found) -> Vec<&Orphan> {
    let all = found.orphans.iter();
    all.filter(|orphan| orphan.claim.created).collect()
}

fn describe(orphan: &Orphan) -> String {
    let claim = &orphan.claim;
    let uid = claim.uid.as_deref();
    let uid = uid.map_or_else(String::new, |uid| format!(" ({uid})"));
    let fate = if orphan.replaced {
        "was deleted and created again"
    } else {
        "does not exist any more"
    };
    let stays = if claim.created {
        ""
    } else {
        "; it existed before, and stays"
    };
    let (key, operator) = (&orphan.key, &claim.operator);
    format!("{key}: its Operator {operator}{uid} {fate}{stays}")
}

fn question(created: &[&Orphan]) -> String {
    match created.len() {
        1 => "delete this object?".to_owned(),
        count => format!("delete these {count} objects?"),
    }
}
