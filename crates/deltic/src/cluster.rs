//! The commands that use a cluster. They share how it is found and announced, and how the user
//! confirms a change.

pub(crate) mod crd;
pub(crate) mod definitions;
pub(crate) mod install;
pub(crate) mod kubeconfig;
mod manifests;
pub(crate) mod orphans;
pub(crate) mod plan;
pub(crate) mod rbac;
pub(crate) mod run;
mod views;
pub(crate) mod why;

use std::future::Future;
use std::io::{self, IsTerminal};

use cluster::connect;
use manifest::Diagnostic;

use crate::cli::cluster::Connection;
use crate::exit::Stop;
use crate::input;
use crate::output::Output;

/// Runs a future on a new tokio runtime. Tasks that are left at its end are dropped.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("threads", format!("cannot start threads: {error}")))?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}

/// Finds the cluster without sending a request.
async fn find(connection: &Connection) -> Result<connect::Connection, Stop> {
    let found = connect::find(&connection.options()).await;
    found.map_err(|error| no_cluster(&error))
}

fn no_cluster(error: &connect::ConnectError) -> Stop {
    Stop::Refused(vec![Diagnostic {
        help: Some("use --kubeconfig and --context, or set KUBECONFIG".to_owned()),
        ..input::error("no-cluster", error.to_string())
    }])
}

/// Prints which cluster is used, before any request is sent.
pub(crate) fn announce(connection: &connect::Connection, output: &mut Output) {
    output.complain(&format!("context: {}", connection.context));
    output.complain(&format!("server:  {}", connection.server));
}

/// Asks for confirmation on a terminal, unless `yes`. Returns whether to go on.
fn confirm(question: &str, yes: bool, output: &mut Output) -> Result<bool, Stop> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        return Err(Stop::usage(
            "this changes a cluster, and there is no terminal to ask for confirmation: use --yes",
        ));
    }
    output.flush()?;
    output.complain(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    let agreed = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if !agreed {
        output.complain("nothing was changed");
    }
    Ok(agreed)
}

pub(crate) fn failed(code: &str, message: String) -> Stop {
    Stop::failed(input::error(code, message))
}
