//! The arguments of `deltic plan`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::cluster::Connection;
use super::values::{namespace, seconds};
use super::{NamedOperators, Now};

/// Show what running Operators would change, before it happens
///
/// deltic runs the Operators on a copy of the cluster in memory and compares it with the cluster,
/// which is only read: this needs permission to get, list and watch what they read and write. An
/// Operator that already runs is planned as an edit. If the files contain other objects, too, the
/// Operators are planned on these, without a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  nothing would change
  1  something would change
  2  there is no plan, or it is not complete: some objects have errors

Examples:
  deltic plan -f operator.yaml
  deltic plan -f operator.yaml --context test --dry-run server
  deltic plan -f operator.yaml --delete
  deltic plan -f operator.yaml -f objects/ -o json")]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) operators: NamedOperators,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Plan the deletion of the Operators: what they leave behind depends on their
    /// deletionPolicy
    #[arg(long)]
    pub(crate) delete: bool,

    /// Who tries the writes: nobody, or the server, which shows its defaults and its admission,
    /// and needs the permission to write
    #[arg(long, value_name = "MODE", default_value = "none")]
    pub(crate) dry_run: DryRun,

    /// For deltic run --namespace: read and write only objects of this namespace
    #[arg(short, long, value_name = "NAME", value_parser = namespace)]
    pub(crate) namespace: Option<String>,

    #[command(flatten)]
    pub(crate) time: Now,

    /// How long the Operators may take to become ready
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "300")]
    pub(crate) timeout: Duration,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "diff")]
    pub(crate) output: PlanFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// The writes are only computed
    None,
    /// The server tries each write, and stores nothing
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// A unified diff of each object, and a summary
    Diff,
    /// The names of the objects, and a summary
    Name,
    /// One JSON document
    Json,
}
