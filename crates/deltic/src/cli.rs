//! The arguments of the command line.
//!
//! They follow the conventions of kubectl: `-f` may be repeated and takes files, directories and
//! `-`; `-o` is the output format.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
mod explanations;
mod files;
pub(crate) mod graph;
pub(crate) mod init;
#[cfg(feature = "cluster")]
pub(crate) mod plan;
pub(crate) mod test;
#[cfg(feature = "cluster")]
pub(crate) mod top;
#[cfg(feature = "cluster")]
mod values;
#[cfg(feature = "cluster")]
pub(crate) mod views;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dataflow::Budget;
use document::Bounds;

use crate::time::Time;
pub(crate) use explanations::{Trace, Why, WhyFormat};
pub(crate) use files::{NamedOperators, OperatorFiles, Recursive};

/// Declarative Kubernetes controllers as incremental dataflow.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = EXIT_CODES
)]
pub(crate) struct Cli {
    /// When to use colours; `NO_COLOR` in the environment switches them off
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  everything worked
  1  something failed while running: an expression on an object, or a bad event
  2  nothing was run: bad usage, or a file, Operator or expression is invalid";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Eval(Eval),
    Replay(Replay),
    Render(Render),
    Trace(Trace),
    Why(Why),
    Patch(Patch),
    Check(Check),
    Explain(graph::Explain),
    Graph(graph::Graph),
    Test(test::Test),
    Init(init::Init),
    Schema(init::Schema),
    Doc(Doc),
    Version(Version),
    #[cfg(feature = "cluster")]
    Run(Box<cluster::Run>),
    #[cfg(feature = "cluster")]
    Top(top::Top),
    #[cfg(feature = "cluster")]
    Plan(plan::Plan),
    #[cfg(feature = "cluster")]
    Crd(cluster::Crd),
    #[cfg(feature = "cluster")]
    Rbac(cluster::Rbac),
    #[cfg(feature = "cluster")]
    Install(cluster::Install),
    #[cfg(feature = "cluster")]
    Uninstall(cluster::Uninstall),
    #[cfg(feature = "cluster")]
    Orphans(cluster::Orphans),
    #[cfg(feature = "cluster")]
    Kubeconfig(views::KubeconfigArgs),
    /// Print the completion script of a shell
    #[command(after_help = "Example:\n  source <(deltic completion bash)")]
    Completion {
        /// The shell
        shell: Shell,
    },
    #[command(hide = true)]
    Man(Man),
}

/// Write the man pages of all commands into a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  deltic man /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The directory, which is created if it is missing
    pub(crate) directory: std::path::PathBuf,
}

impl Command {
    /// Whether the exit code is what the command is run for.
    pub(crate) fn judges(&self) -> bool {
        match self {
            Self::Check(_) | Self::Test(_) => true,
            #[cfg(feature = "cluster")]
            Self::Plan(_) => true,
            _ => false,
        }
    }
}

/// Evaluate one expression
///
/// The expression is YAML or JSON; `$` is the object. Several objects give one result each, with
/// the name of the object.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic eval '$.metadata.name' pod.yaml
  kubectl get pods -o json | deltic eval '{\"@len\": $.spec.containers}' -f -
  deltic eval '\"@concat\": [a, b]'
  echo '{\"expr\": {\"@len\": \"$\"}, \"subject\": [1, 2]}' | deltic eval --jsonl")]
pub(crate) struct Eval {
    /// The expression, as YAML or JSON
    #[arg(value_name = "EXPR", required_unless_present = "jsonl")]
    pub(crate) expr: Option<String>,

    /// The objects to evaluate the expression on: files, directories, or - for stdin
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// The same as FILE
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Vec<String>,

    #[command(flatten)]
    pub(crate) recursive: Recursive,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,

    /// Read lines {"expr":…,"subject":…,"local":…} from stdin and print a line
    /// {"value":…} or {"error":…,"code":…} for each
    #[arg(long, conflicts_with_all = ["expr", "files", "filename", "recursive", "output"])]
    pub(crate) jsonl: bool,

    #[command(flatten)]
    pub(crate) time: Now,

    /// The seed of @rnd: the same seed gives the same numbers [default: random]
    #[arg(long, value_name = "N", help_heading = REPEATABLE)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Feed a stream of watch events to an Operator and print the events of its targets
///
/// The events are JSON documents, one after the other, as `kubectl get … --watch
/// --output-watch-events -o json` prints them. An array of events is one batch. The objects
/// of the events act as the cluster: the Operator's writes are applied to them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic replay -f operator.yaml events.json
  kubectl get services -A --watch --output-watch-events -o json |
    deltic replay -f operator.yaml
  deltic replay -f operator.yaml -o jsonl < events.json

With -o jsonl errors are part of the output, and the exit code is 0 unless the
stream cannot be read.")]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) operator: OperatorFiles,

    /// The events: a file, or - for stdin
    #[arg(value_name = "EVENTS", default_value = "-")]
    pub(crate) events: String,

    /// Output format of the events
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: EventFormat,

    #[command(flatten)]
    pub(crate) run: Run,
}

/// Print the objects that an Operator derives from a set of objects
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic render operator.yaml objects/
  deltic render operator.yaml -R repository/ -o name
  kubectl get services,endpointslices -A -o json |
    deltic render -f operator.yaml -f -

Objects are read one by one: a file may be larger than the memory. If nothing is
derived, the number of documents after each stage is printed on stderr.")]
pub(crate) struct Render {
    /// The Operator and the objects: files, directories, or - for stdin
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// The same as FILE
    #[arg(short, long, value_name = "FILE", required_unless_present = "files")]
    pub(crate) filename: Vec<String>,

    #[command(flatten)]
    pub(crate) recursive: Recursive,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: ObjectFormat,

    #[command(flatten)]
    pub(crate) run: Run,
}

/// Patch a set of objects
///
/// A patch file is a list of rules. The target of a rule selects objects, its operations change
/// them. Paths can select elements of lists by filter, and ${…} is a CEL expression. Objects
/// that no rule selects are printed unchanged.
#[derive(Debug, Args)]
#[command(after_help = "\
A rule:
  - target: { group: apps, kind: Deployment, where: resource.spec.replicas > 1 }
    operations:
    - op: add
      path: /spec/template/spec/containers[?(@.name=='app')]/env/-
      value: { name: REPLICAS, value: \"${string(resource.spec.replicas)}\" }

Examples:
  deltic patch -f patches.yaml objects/
  kubectl get deployments -A -o json | deltic patch -f patches.yaml --diff
  deltic patch -f patches.yaml --var 'ports=[80, 443]' objects.yaml
  echo '{\"doc\": {}, \"patch\": [{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]}' |
    deltic patch --jsonl")]
pub(crate) struct Patch {
    /// The patches: files, directories, or - for stdin
    #[arg(short, long, value_name = "FILE", required_unless_present = "jsonl")]
    pub(crate) filename: Vec<String>,

    /// The objects: files, directories, or - for stdin
    #[arg(value_name = "OBJECTS", default_value = "-")]
    pub(crate) objects: Vec<String>,

    #[command(flatten)]
    pub(crate) recursive: Recursive,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: ObjectFormat,

    /// Print the changes as a unified diff; values of Secrets are not shown
    #[arg(long, conflicts_with = "output")]
    pub(crate) diff: bool,

    #[command(flatten)]
    pub(crate) time: Now,

    /// A variable for the expressions, with its value in YAML
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,

    /// Read lines {"doc":…,"patch":[…],"vars":{…}} from stdin, optionally with where, forEach,
    /// var and strict, and print a line {"value":…} or {"error":…,"code":…} for each
    #[arg(long, conflicts_with_all = ["filename", "objects", "recursive", "output", "diff", "variables"])]
    pub(crate) jsonl: bool,

    /// The cost limit of one expression; all expressions of a rule together may cost ten times as
    /// much
    #[arg(long = "max-cel-cost", value_name = "N", help_heading = LIMITS, default_value_t = expr::Limits::default().cel_cost)]
    pub(crate) cel_cost: u64,

    /// The largest object or line, in bytes
    #[arg(long = "max-document-bytes", value_name = "N", help_heading = LIMITS, default_value_t = manifest::MAX_SIZE as u64)]
    pub(crate) document_bytes: u64,

    #[command(flatten)]
    pub(crate) derived: Derived,
}

/// Report all errors and warnings of Operators
///
/// The fields of built-in kinds are known. Those of custom kinds are read from
/// `CustomResourceDefinition`s among the files, or on a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic check operator.yaml
  deltic check --strict -R operators/ crds/
  deltic check operator.yaml --cluster --context test

A warning that is intended is allowed by a comment on its line, or above it:
  # deltic: allow(fan-out)")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) operators: NamedOperators,

    /// Read the `CustomResourceDefinition`s of a cluster
    #[cfg(feature = "cluster")]
    #[arg(long)]
    pub(crate) cluster: bool,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) connection: cluster::Connection,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: CheckFormat,

    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Print the reference of a stage, operator, CEL function, error code, or of paths
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic doc @gather
  deltic doc cel.quantity
  deltic doc path
  deltic doc bad-arity
  deltic doc --list | grep time")]
pub(crate) struct Doc {
    /// What to print: @gather, @concat, path, cel.quantity, or the code of an error
    pub(crate) name: Option<String>,

    /// Print all names, each with a sentence
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,

    /// Print a page of the documentation, or what the tests of its examples need
    #[arg(long, hide = true, conflicts_with_all = ["name", "list"])]
    pub(crate) page: Option<Page>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    Errors,
    Examples,
}

/// Print the version
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  deltic version -o json")]
pub(crate) struct Version {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: CheckFormat,
}

/// How an Operator runs offline.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) time: Now,

    /// The seed of @rnd: the same seed gives the same numbers
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = REPEATABLE)]
    pub(crate) seed: u64,

    /// How many objects the sources of a controller may have in total
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().documents)]
    pub(crate) max_documents: usize,

    /// How many bytes the objects of a controller's sources may take [default: no limit]
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    pub(crate) max_bytes: Option<usize>,

    /// How many candidate documents the joins of one batch may examine
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().candidates)]
    pub(crate) max_candidates: u64,

    /// How many documents the joins of one batch may yield
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().outputs)]
    pub(crate) max_outputs: usize,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
pub(crate) struct Now {
    /// The value of "@now", and of `now` in CEL, such as 2026-01-02T03:04:05Z [default: the current time]
    #[arg(long, value_name = "TIME", help_heading = REPEATABLE)]
    pub(crate) now: Option<Time>,
}

/// The limits of one input and one evaluation.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Limits {
    /// How many operators and list items one evaluation may process
    #[arg(long = "max-steps", value_name = "N", help_heading = LIMITS, default_value_t = expr::Limits::default().steps)]
    pub(crate) steps: u64,

    /// The cost limit of one @cel expression
    #[arg(long = "max-cel-cost", value_name = "N", help_heading = LIMITS, default_value_t = expr::Limits::default().cel_cost)]
    pub(crate) cel_cost: u64,

    /// The largest object, event or line that is read, in bytes
    #[arg(long = "max-document-bytes", value_name = "N", help_heading = LIMITS, default_value_t = manifest::MAX_SIZE as u64)]
    pub(crate) document_bytes: u64,

    #[command(flatten)]
    pub(crate) derived: Derived,
}

/// The limit on the size of derived documents.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Derived {
    /// The largest derived document, in bytes of JSON
    #[arg(long = "max-derived-bytes", value_name = "N", help_heading = LIMITS, default_value_t = Bounds::BYTES, value_parser = clap::value_parser!(u32).range(1..=i64::from(Bounds::MOST_BYTES)))]
    pub(crate) bytes: u32,
}

impl Derived {
    pub(crate) fn bounds(self) -> Bounds {
        Bounds {
            bytes: self.bytes,
            ..Bounds::default()
        }
    }
}

const REPEATABLE: &str = "Repeatable runs";
const LIMITS: &str = "Limits";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Yaml,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectFormat {
    /// YAML documents
    Yaml,
    /// One JSON List
    Json,
    /// One line kind/namespace/name for each object
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventFormat {
    /// One line per event
    Text,
    /// Whole events as YAML documents
    Yaml,
    /// Whole events as JSON, in the form of kubectl
    Json,
    /// One line per input document, with events and errors
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Text for people
    Text,
    /// JSON, on stdout
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
