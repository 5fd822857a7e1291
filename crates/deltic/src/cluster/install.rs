//! `deltic install` and `deltic uninstall`: the definition of Operators on a cluster.

use manifest::Diagnostic;
use metrics::Metrics;
use object::marks::FINALIZER;
use operators::crd;
use process::install;
use process::install::{Holds, InstallError, Installed};

use super::{announce, block_on, confirm, find, manifests, no_cluster};
use crate::cli::cluster::{Install, Uninstall};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

pub(crate) fn install(args: &Install, output: &mut Output) -> Result<Outcome, Stop> {
    if args.manifests.wanted {
        return manifests::print(&args.manifests, output);
    }
    block_on(async {
        let connection = find(&args.connection).await?;
        announce(&connection, output);
        let question = format!("install the CustomResourceDefinition {}?", crd::NAME);
        if !confirm(&question, args.yes, output)? {
            return Ok(Outcome::Failed);
        }
        let client = connection.client(&Metrics::default());
        let client = client.map_err(|error| no_cluster(&error))?;
        let waits = || {
            output.complain("the installed definition is being deleted: waiting until it is gone");
        };
        let installed = install::install(&client, args.force_conflicts, waits).await;
        let became = match installed.map_err(|error| stop(&error))? {
            Installed::Created => "created",
            Installed::Changed => "changed",
            Installed::Unchanged => "unchanged",
        };
        let name = crd::NAME;
        output.text(&format!("customresourcedefinition/{name} {became}\n"))?;
        Ok(Outcome::Good)
    })
}

pub(crate) fn uninstall(args: &Uninstall, output: &mut Output) -> Result<Outcome, Stop> {
    block_on(async {
        let connection = find(&args.connection).await?;
        announce(&connection, output);
        let client = connection.client(&Metrics::default());
        let client = client.map_err(|error| no_cluster(&error))?;
        let found = install::look(&client).await;
        let Some(found) = found.map_err(|error| stop(&error))? else {
            output.text(&format!(
                "customresourcedefinition/{} is not installed\n",
                crd::NAME
            ))?;
            return Ok(Outcome::Good);
        };
        if !found.deleting.is_empty() && !args.orphan {
            return Err(stop(&InstallError::Deletes(found.deleting)));
        }
        if !confirm(&question(&found), args.yes, output)? {
            return Ok(Outcome::Failed);
        }
        let removed = install::uninstall(&client, &found, args.orphan).await;
        removed.map_err(|error| stop(&error))?;
        let name = crd::NAME;
        output.text(&format!("customresourcedefinition/{name} deleted\n"))?;
        Ok(Outcome::Good)
    })
}

fn question(found: &install::Uninstall) -> String {
    let mut names = [found.orphaning.clone(), found.deleting.clone()].concat();
    names.sort();
    let name = crd::NAME;
    match names.len() {
        0 => format!("delete the CustomResourceDefinition {name}?"),
        count => format!(
            "delete the CustomResourceDefinition {name} and {count} Operators ({})? Their derived objects stay.",
            names.join(", ")
        ),
    }
}

pub(super) fn stop(error: &InstallError) -> Stop {
    let (code, help) = match error {
        InstallError::Conflict(_) => ("conflict", Some("use --force-conflicts to take them over")),
        InstallError::Forbidden(_) => ("forbidden", None),
        InstallError::Late(_) => (
            "timeout",
            Some("check the conditions of the definition with kubectl"),
        ),
        InstallError::Terminating(holds) => ("timeout", release(holds)),
        InstallError::Deletes(_) => (
            "deletes",
            Some(
                "delete these Operators first, while deltic runs, to delete their objects; or keep the objects with --orphan",
            ),
        ),
        InstallError::Unknown(_) | InstallError::Api(_) => ("cluster", None),
    };
    let diagnostic = Diagnostic {
        help: help.map(str::to_owned),
        ..input::error(code, error.to_string())
    };
    match error {
        InstallError::Deletes(_) => Stop::Refused(vec![diagnostic]),
        _ => Stop::failed(diagnostic),
    }
}

/// How to release a definition that is being deleted, if the finalizers of deltic hold it.
fn release(holds: &Holds) -> Option<&'static str> {
    let mut finalizers = holds.operators.values().flatten();
    finalizers.any(|finalizer| finalizer == FINALIZER).then_some(
        "let deltic run until it has deleted the objects of these Operators, or keep the objects with `deltic uninstall --orphan`; then install again",
    )
}
