//! The arguments of the commands that have to do with a cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cluster::{connect, lease};
use engine::Budget;
use operators::targets::Pattern;
use process::log;

use super::{Derived, Format, LIMITS, OperatorFiles};

/// Run operators
///
/// On a cluster, all Operator objects run, or those of the files given with -f. deltic
/// reads and writes with the rights of its kubeconfig or service account, unless an
/// Operator names an account of its own.
#[derive(Debug, Args)]
#[command(after_help = "\
The first interrupt or termination ends what runs and exits with 0; a second one exits at once.
With --leader-elect a process that loses the lease sends nothing more and exits with 1.

Examples:
  deltic run --cluster
  deltic run --cluster --context test -f operator.yaml
  deltic run --cluster --leader-elect --lease-namespace deltic-system --health-addr :8080")]
// Each switch is a choice of its own.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Run {
    /// Run on a Kubernetes cluster
    #[arg(long)]
    pub(crate) cluster: bool,

    /// Run the operators of these files, not those of the cluster: files, directories, or
    /// - for stdin
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Vec<String>,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Read and write only in this namespace (and objects that have none)
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Refuse operators that name no service account
    #[arg(long, help_heading = TENANCY)]
    pub(crate) require_service_account: bool,

    /// Allow targets of this kind: GROUP/KIND, either may be *; /Secret is of the core
    /// group. The more precise of two decides
    #[arg(long, value_name = "KIND", value_delimiter = ',', help_heading = TENANCY)]
    pub(crate) allow_target: Vec<Pattern>,

    /// Deny targets of this kind
    #[arg(long, value_name = "KIND", value_delimiter = ',', help_heading = TENANCY)]
    pub(crate) deny_target: Vec<Pattern>,

    /// Work only while holding a Lease, so that one of several processes does
    #[arg(long, help_heading = OPERATIONS)]
    pub(crate) leader_elect: bool,

    /// The namespace of the Lease [default: that of the pod or context]
    #[arg(long, value_name = "NAME", help_heading = OPERATIONS)]
    pub(crate) lease_namespace: Option<String>,

    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = lease::NAME, help_heading = OPERATIONS)]
    pub(crate) lease_name: String,

    /// Serve /healthz, /readyz and /metrics here, such as :8080 [default: not at all]
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = OPERATIONS)]
    pub(crate) health_addr: Option<SocketAddr>,

    /// How long a graceful shutdown may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "25", help_heading = OPERATIONS)]
    pub(crate) grace_period: Duration,

    /// What is logged: error, warn, info, debug or trace; also by module
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = OPERATIONS)]
    pub(crate) log_level: log::Level,

    /// What the log looks like
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = OPERATIONS)]
    pub(crate) log_format: LogFormat,

    /// How many requests may be sent in a second; 0 for no limit
    #[arg(long, value_name = "N", value_parser = rate, default_value = "0", help_heading = LIMITS)]
    pub(crate) qps: f64,

    /// How many requests may be sent at once, if there is a limit
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = LIMITS)]
    pub(crate) burst: u32,

    #[command(flatten)]
    pub(crate) limits: OperatorLimits,
}

/// What one operator may use.
#[derive(Clone, Copy, Debug, Args)]
#[allow(clippy::struct_field_names)] // The fields are the names of the flags.
pub(crate) struct OperatorLimits {
    /// How many objects the sources of a controller may hold together
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().documents)]
    pub(crate) max_documents: usize,

    /// How many bytes these may take; 0 for no limit
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().bytes.unwrap_or(0))]
    pub(crate) max_bytes: usize,

    /// How many documents one batch may look at to join them
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().candidates)]
    pub(crate) max_candidates: u64,

    /// How many objects a controller may derive, and how many documents its joins may give
    /// in one batch
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().outputs)]
    pub(crate) max_outputs: usize,

    /// How many operators and list items one evaluation may take
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().steps)]
    pub(crate) max_steps: u64,

    /// What one @cel expression may cost
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().cel_cost)]
    pub(crate) max_cel_cost: u64,

    #[command(flatten)]
    pub(crate) derived: Derived,

    /// How long one batch may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = LIMITS, default_value = "30")]
    pub(crate) max_step_time: Duration,
}

/// Print the `CustomResourceDefinition` of Operators
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  deltic crd | kubectl apply --server-side -f -")]
pub(crate) struct Crd {
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,
}

/// Print the least roles that operators need
///
/// Kinds that Kubernetes does not bring are taken to live in namespaces and to have the
/// usual plural, unless a cluster is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic rbac -f operator.yaml
  deltic rbac -f operator.yaml --service-account deltic-system/deltic | kubectl apply -f -
  deltic rbac -f operators/ --discover --context test")]
pub(crate) struct Rbac {
    #[command(flatten)]
    pub(crate) operator: OperatorFiles,

    /// Bind the roles to the account that deltic runs as: NAMESPACE/NAME
    #[arg(long, value_name = "ACCOUNT", value_parser = account)]
    pub(crate) service_account: Option<operator::spec::ServiceAccount>,

    /// For deltic run --namespace: rights in this namespace only
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = lease::NAME)]
    pub(crate) lease_name: String,

    /// Ask a cluster what its kinds are
    #[arg(long)]
    pub(crate) discover: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,
}

/// Put the `CustomResourceDefinition` of Operators on a cluster
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic install
  deltic install --context test --yes")]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Take over fields that someone else manages
    #[arg(long, alias = "force")]
    pub(crate) force_conflicts: bool,
}

/// Remove the `CustomResourceDefinition`, and with it all Operators, from a cluster
///
/// What Operators derived stays. One whose deletionPolicy is Delete stands in the way:
/// delete it first, while deltic runs, if its objects are to go, or say --orphan.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic uninstall
  deltic uninstall --context test --yes")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Leave behind what Operators derived whose deletionPolicy is Delete, too
    #[arg(long)]
    pub(crate) orphan: bool,
}

/// Which cluster.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// The kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the cluster around a pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl Connection {
    pub(crate) fn options(&self) -> connect::Options {
        connect::Options {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON elsewhere
    Auto,
    /// For people
    Text,
    /// One object per line
    Json,
}

const TENANCY: &str = "Tenancy";
const OPERATIONS: &str = "Operations";

/// `:8080` is on all addresses.
fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    whole
        .parse()
        .map_err(|_| "expected an address with a port, such as :8080 or 127.0.0.1:8080".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number of seconds".to_owned();
    let seconds: f64 = text.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| expected())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        _ => Err("expected a number of requests in a second, or 0".to_owned()),
    }
}

fn account(text: &str) -> Result<operator::spec::ServiceAccount, String> {
    match text.split_once('/') {
        Some((namespace, name)) if ![namespace, name].contains(&"") && !name.contains('/') => {
            Ok(operator::spec::ServiceAccount {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            })
        }
        _ => Err("expected NAMESPACE/NAME".to_owned()),
    }
}
