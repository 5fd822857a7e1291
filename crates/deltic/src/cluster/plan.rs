//! `deltic plan`: what running Operators would change.

mod files;
mod masks;
mod print;

use document::Value;
use metrics::Metrics;
use process::config::Config;
use rehearsal::{Ending, Options, Plan, PlanError, rehearse};

use super::{announce, block_on, find, no_cluster};
use crate::cli::plan::{DryRun, Plan as Args};
use crate::exit::{Outcome, Stop};
use crate::input::{self, Operators};
use crate::output::Output;
use files::on_files;
use masks::Masks;
use print::print;

/// A plan, and what is known beside it.
struct Planned {
    plan: Plan,
    /// The objects that do not exist, and for which Patchers wait. On a cluster they are not known.
    waits: Vec<Value>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("plan")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    let planned = if operators.others.is_empty() {
        let plan = block_on(on_cluster(args, &operators, output))?;
        let waits = Vec::new();
        Planned { plan, waits }
    } else {
        on_files(args, &operators)?
    };
    output.progress_ends();
    let masks = Masks::new(&operators.created, &planned.plan);
    print(&planned, &masks, args, output)?;
    let plan = planned.plan;
    let incomplete = plan.unsettled.iter().any(|one| one.incomplete);
    Ok(if incomplete || plan.error_count > 0 {
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
