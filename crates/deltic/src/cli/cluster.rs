//! The arguments of the commands that use a cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cluster::{connect, lease};
use engine::Budget;
use object::LabelSelector;
use operators::targets::Pattern;
use process::log;

use super::values::{account, address, image, instance_name, name, namespace, rate};
use super::values::{seconds, selector};
use super::views::{RbacOfViews, Serving};
use super::{Derived, Format, LIMITS, NamedOperators, ObjectFormat};

/// Run Operators
///
/// With --cluster, all Operators of the cluster run or, with -f, those of the given files.
/// deltic reads and writes with the permissions of its kubeconfig or service account, unless
/// an Operator has its own serviceAccount.
#[derive(Debug, Args)]
#[command(after_help = "\
On the first SIGINT or SIGTERM deltic finishes the writes under way and exits
with 0; on a second one it exits at once. With --leader-elect a process that
loses the lease sends no further request and exits with 1.

Examples:
  deltic run --cluster
  deltic run --cluster --context test -f operator.yaml
  deltic run --cluster --leader-elect --lease-namespace deltic-system \\
    --health-addr :8080
  deltic run --cluster --lease-namespace deltic-system --aggregate")]
// The switches are independent of each other.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Run {
    /// Run on a Kubernetes cluster
    #[arg(long)]
    pub(crate) cluster: bool,

    /// Run the Operators of these files instead of those of the cluster: files, directories,
    /// or - for stdin
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Vec<String>,

    /// The name under which the Operators of files own their objects: another instance leaves
    /// these alone
    #[arg(
        long,
        value_name = "NAME",
        default_value = engine::DEFAULT_INSTANCE,
        value_parser = instance_name,
        requires = "filename"
    )]
    pub(crate) instance: String,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Read and write only objects of this namespace; cluster-scoped objects are read, and not
    /// written
    #[arg(short, long, value_name = "NAME", value_parser = namespace)]
    pub(crate) namespace: Option<String>,

    /// Run only the Operators with these labels, such as team=a or 'team in (a, b)'; other
    /// processes run the others
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = selector, conflicts_with = "filename")]
    pub(crate) operator_selector: Option<LabelSelector>,

    /// Refuse Operators without a serviceAccount
    #[arg(long, help_heading = TENANCY)]
    pub(crate) require_service_account: bool,

    /// Allow targets of this kind: GROUP/KIND, where each may be *; /Secret is in the core
    /// group. The most precise of several patterns decides
    #[arg(long, value_name = "KIND", value_delimiter = ',', help_heading = TENANCY)]
    pub(crate) allow_target: Vec<Pattern>,

    /// Deny targets of this kind
    #[arg(long, value_name = "KIND", value_delimiter = ',', help_heading = TENANCY)]
    pub(crate) deny_target: Vec<Pattern>,

    /// Use leader election: of several processes only the holder of a Lease runs Operators
    #[arg(long, help_heading = OPERATIONS)]
    pub(crate) leader_elect: bool,

    /// The namespace of the Lease [default: the namespace of the pod or context]
    #[arg(long, value_name = "NAME", help_heading = OPERATIONS)]
    pub(crate) lease_namespace: Option<String>,

    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = lease::NAME, help_heading = OPERATIONS)]
    pub(crate) lease_name: String,

    /// Serve /healthz, /readyz and /metrics at this address, such as 127.0.0.1:8080, or :8080 for
    /// all addresses [default: off]
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = OPERATIONS)]
    pub(crate) health_addr: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) serving: Serving,

    /// How long a graceful shutdown may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "25", help_heading = OPERATIONS)]
    pub(crate) grace_period: Duration,

    /// The log level: error, warn, info, debug or trace; or levels by module, such as
    /// info,kube=debug
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = OPERATIONS)]
    pub(crate) log_level: log::Level,

    /// The format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "auto", help_heading = OPERATIONS)]
    pub(crate) log_format: LogFormat,

    /// How many requests may be sent per second; 0 for no limit
    #[arg(long, value_name = "N", value_parser = rate, default_value = "0", help_heading = LIMITS)]
    pub(crate) qps: f64,

    /// How many requests may be sent at once if --qps sets a limit
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = LIMITS)]
    pub(crate) burst: u32,

    #[command(flatten)]
    pub(crate) limits: OperatorLimits,
}

/// The limits of one Operator.
#[derive(Clone, Copy, Debug, Args)]
#[allow(clippy::struct_field_names)] // The fields are the names of the flags.
pub(crate) struct OperatorLimits {
    /// How many objects the sources of an Operator may have in total
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().documents)]
    pub(crate) max_documents: usize,

    /// How many bytes these objects may take; 0 for no limit
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().bytes.unwrap_or(0))]
    pub(crate) max_bytes: usize,

    /// How many candidate documents the joins of one batch may examine
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().candidates)]
    pub(crate) max_candidates: u64,

    /// How many objects an Operator may derive, and how many documents the joins of a controller
    /// may yield in one batch
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().outputs)]
    pub(crate) max_outputs: usize,

    /// How many operators and list items one evaluation may process
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().steps)]
    pub(crate) max_steps: u64,

    /// The cost limit of one @cel expression
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().cel_cost)]
    pub(crate) max_cel_cost: u64,

    #[command(flatten)]
    pub(crate) derived: Derived,

    /// How long a controller may work on one batch
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = LIMITS, default_value = "30")]
    pub(crate) max_step_time: Duration,
}

/// Print the `CustomResourceDefinition` of Operators
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  deltic crd | kubectl apply --server-side -f -")]
pub(crate) struct Crd {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,
}

/// Print the roles with the least permissions that Operators need
///
/// Custom resources are assumed to be namespaced and to have the usual plural, unless
/// --discover looks them up on a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic rbac -f operator.yaml
  deltic rbac -f operator.yaml --service-account deltic-system/deltic |
    kubectl apply -f -
  deltic rbac -f operator.yaml --service-account deltic-system/deltic \\
    --aggregate
  deltic rbac -f operators/ --discover --context test")]
pub(crate) struct Rbac {
    #[command(flatten)]
    pub(crate) operators: NamedOperators,

    /// Bind the roles to the account that deltic runs as: NAMESPACE/NAME
    #[arg(long, value_name = "ACCOUNT", value_parser = account)]
    pub(crate) service_account: Option<operator::spec::ServiceAccount>,

    /// For deltic run --namespace: permissions in this namespace only
    #[arg(short, long, value_name = "NAME", value_parser = namespace)]
    pub(crate) namespace: Option<String>,

    /// The name of the Lease
    #[arg(long, value_name = "NAME", value_parser = name, default_value = lease::NAME)]
    pub(crate) lease_name: String,

    /// For deltic run -f: permissions on the Lease of this instance, too
    #[arg(long, value_name = "NAME", value_parser = instance_name)]
    pub(crate) instance: Option<String>,

    #[command(flatten)]
    pub(crate) views: RbacOfViews,

    /// Look up the kinds on a cluster
    #[arg(long)]
    pub(crate) discover: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: ObjectFormat,
}

/// Install the `CustomResourceDefinition` of Operators on a cluster
///
/// With --manifests nothing is installed: all that runs deltic in a cluster is printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic install
  deltic install --context test --yes
  deltic install --manifests --image registry.example.com/deltic:0.1.0 |
    kubectl apply --server-side -f -")]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Take over fields that another manager owns
    #[arg(long, alias = "force")]
    pub(crate) force_conflicts: bool,

    #[command(flatten)]
    pub(crate) manifests: Manifests,
}

/// What `deltic install --manifests` prints.
#[derive(Debug, Args)]
pub(crate) struct Manifests {
    /// Print the manifests of a Deployment of deltic, with its definition, account, roles and
    /// Services, instead of installing anything
    #[arg(long = "manifests", id = "manifests", conflicts_with_all = ["kubeconfig", "context", "yes", "force_conflicts"])]
    pub(crate) wanted: bool,

    /// The namespace of the Deployment, which is printed, too
    #[arg(short, long, value_name = "NAME", default_value = "deltic-system", value_parser = namespace, requires = "manifests")]
    pub(crate) namespace: String,

    /// The image of deltic, built with deploy/Containerfile [default: deltic, with this version as
    /// the tag]
    #[arg(long, value_name = "IMAGE", value_parser = image, requires = "manifests")]
    pub(crate) image: Option<String>,

    /// Make views part of the cluster's own API: deltic run --aggregate
    #[arg(long, requires = "manifests")]
    pub(crate) aggregate: bool,

    /// Output format
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        default_value = "yaml",
        requires = "manifests"
    )]
    pub(crate) output: ObjectFormat,
}

/// Remove the `CustomResourceDefinition`, and with it all Operators, from a cluster
///
/// Derived objects stay. This is refused while an Operator has deletionPolicy Delete: either
/// delete that Operator first, while deltic runs, which deletes its objects, or use --orphan
/// to keep them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic uninstall
  deltic uninstall --context test --yes")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Keep the derived objects of Operators with deletionPolicy Delete, too
    #[arg(long)]
    pub(crate) orphan: bool,
}

/// List derived objects whose Operator no longer exists, and delete them with --delete
///
/// An object is an orphan if its Operator was deleted, or deleted and created again. An Operator
/// of the same name takes such an object over if it derives it, and otherwise leaves it alone.
/// Objects that existed before deltic wrote them are listed, but never deleted. Objects of
/// Operators that were given as files (deltic run -f) are not listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic orphans
  deltic orphans --operator shop --delete
  deltic orphans --context test --delete --yes")]
pub(crate) struct Orphans {
    #[command(flatten)]
    pub(crate) connection: Connection,

    /// Only objects that an Operator with this name derived
    #[arg(long, value_name = "NAME")]
    pub(crate) operator: Option<String>,

    /// Delete the orphans that deltic created
    #[arg(long)]
    pub(crate) delete: bool,

    /// Do not ask for confirmation
    #[arg(short, long, requires = "delete")]
    pub(crate) yes: bool,
}

/// The cluster to use.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// The kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the service account of the pod]
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
    /// Text for people
    Text,
    /// One JSON object per line
    Json,
}

const TENANCY: &str = "Tenancy";
const OPERATIONS: &str = "Operations";
