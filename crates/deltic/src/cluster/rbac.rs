//! `deltic rbac`: prints the roles with the least permissions that Operators need.

use std::collections::BTreeSet;

use metrics::Metrics;
use process::rbac::{Discovered, Kinds, Options, WellKnown, in_all_namespaces, roles};

use super::{announce, block_on, find, no_cluster};
use crate::cli::ObjectFormat;
use crate::cli::cluster::Rbac;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::{ObjectList, Output};

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
    let mut list = ObjectList::new(args.output);
    for operator in &operators.created {
        if args.output == ObjectFormat::Yaml {
            let everywhere = in_all_namespaces(operator, kinds.as_ref(), &options);
            for line in comment(&operator.name, everywhere) {
                output.comment(&line)?;
            }
        }
        for role in roles(operator, kinds.as_ref(), &options) {
            list.add(&role, output)?;
        }
    }
    list.end(output)?;
    Ok(Outcome::Good)
}

/// Why the roles of an Operator apply to these resources in all namespaces.
fn comment(operator: &str, everywhere: BTreeSet<String>) -> Vec<String> {
    if everywhere.is_empty() {
        return Vec::new();
    }
    let all: Vec<String> = everywhere.into_iter().collect();
    vec![
        format!(
            "Operator {operator} writes {}, and deltic watches what it writes in all namespaces.",
            all.join(", ")
        ),
        "If all of them are in one namespace, run deltic and print these roles with --namespace."
            .to_owned(),
    ]
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
