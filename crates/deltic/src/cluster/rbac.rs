//! `deltic rbac`: prints the roles with the least permissions that Operators need.

use metrics::Metrics;
use process::rbac::{Discovered, Kinds, Options, WellKnown, roles};

use super::{announce, block_on, find, no_cluster};
use crate::cli::cluster::Rbac;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: &Rbac, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("rbac")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    let options = Options {
        account: args.service_account.as_ref(),
        namespace: args.namespace.as_deref(),
        lease: Some(&args.lease_name),
        instance: args.instance.as_deref(),
        serve: args.views.serve,
        aggregate: args
            .views
            .aggregate
            .then_some(args.views.aggregate_service.as_ref()),
    };
    let kinds: Box<dyn Kinds> = if args.discover {
        Box::new(block_on(discover(args, &operators.created, output))?)
    } else {
        Box::new(WellKnown)
    };
    let roles: Vec<_> = operators
        .created
        .iter()
        .flat_map(|operator| roles(operator, kinds.as_ref(), &options))
        .collect();
    output.objects(&roles, args.output)?;
    Ok(Outcome::Good)
}

async fn discover(
    args: &Rbac,
    operators: &[operator::Operator],
    output: &mut Output,
) -> Result<Discovered, Stop> {
    let connection = find(&args.connection).await?;
    announce(&connection, output);
    let client = connection.client(&Metrics::default());
    let client = client.map_err(|error| no_cluster(&error))?;
    let (kinds, unknown) = Discovered::ask(&client, operators).await;
    for unknown in unknown {
        output.diagnostic(&manifest::Diagnostic {
            severity: manifest::Severity::Warning,
            ..input::error(unknown.code, unknown.message)
        })?;
    }
    Ok(kinds)
}
