//! The arguments of the command line, as clap reads them.
//!
//! The conventions are those of kubectl: `-f` may be repeated and takes files,
//! directories and `-`, `-o` says how results are printed.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dataflow::Budget;
use document::Bounds;

use crate::time::Time;

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
  1  something failed while running: an expression on an object, a bad event
  2  nothing was run: bad usage, or an operator, expression or file that cannot be read";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Eval(Eval),
    Replay(Replay),
    Render(Render),
    Patch(Patch),
    Check(Check),
    Explain(Explain),
    #[cfg(feature = "cluster")]
    Run(Box<cluster::Run>),
    #[cfg(feature = "cluster")]
    Crd(cluster::Crd),
    #[cfg(feature = "cluster")]
    Rbac(cluster::Rbac),
    #[cfg(feature = "cluster")]
    Install(cluster::Install),
    #[cfg(feature = "cluster")]
    Uninstall(cluster::Uninstall),
    /// Print the completion script of a shell
    #[command(after_help = "Example:\n  source <(deltic completion bash)")]
    Completion {
        /// Which shell
        shell: Shell,
    },
}

/// Evaluate one expression
///
/// The expression is YAML or JSON; `$` is the object read with -f. With several objects
/// there is one result for each.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic eval '$.metadata.name' -f pod.yaml
  kubectl get pods -o json | deltic eval '{\"@len\": $.spec.containers}' -f -
  deltic eval '\"@concat\": [a, b]'
  echo '{\"expr\": {\"@len\": \"$\"}, \"subject\": [1, 2]}' | deltic eval --jsonl")]
pub(crate) struct Eval {
    /// The expression, as YAML or JSON
    #[arg(value_name = "EXPR", required_unless_present = "jsonl")]
    pub(crate) expr: Option<String>,

    /// Read the objects that `$` stands for: a file, a directory, or - for stdin
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Vec<String>,

    /// How to print results
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,

    /// Read lines {"expr":…,"subject":…,"local":…} from stdin and print a line
    /// {"value":…} or {"error":…,"code":…} for each
    #[arg(long, conflicts_with_all = ["expr", "filename", "output"])]
    pub(crate) jsonl: bool,

    #[command(flatten)]
    pub(crate) time: Now,

    /// The key of @rnd: the same seed gives the same numbers [default: from the system]
    #[arg(long, value_name = "N", help_heading = REPEATABLE)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Feed a stream of watch events to an operator and print what it does
///
/// The events are JSON documents, one after the other, as `kubectl get … --watch
/// --output-watch-events -o json` prints them. An array of events is one batch. The
/// objects are the cluster: what the operator writes is applied to them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic replay -f operator.yaml events.json
  kubectl get services -A --watch --output-watch-events -o json | deltic replay -f operator.yaml
  deltic replay -f operator.yaml -o jsonl < events.json

With -o jsonl errors are part of the output, and the exit code is 0 unless the stream cannot
be read.")]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) operator: OperatorFiles,

    /// The events: a file, or - for stdin
    #[arg(value_name = "EVENTS", default_value = "-")]
    pub(crate) events: String,

    /// How to print the events of the targets
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: EventFormat,

    #[command(flatten)]
    pub(crate) run: Run,
}

/// Print the objects that an operator derives from a set of objects
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic render -f operator.yaml -f objects/
  kubectl get services,endpointslices -A -o json | deltic render -f operator.yaml -f -")]
pub(crate) struct Render {
    /// The operator and the objects: files, directories, or - for stdin
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) filename: Vec<String>,

    /// How to print the objects
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,

    #[command(flatten)]
    pub(crate) run: Run,
}

/// Patch a set of objects
///
/// A patch file is a list of rules: a target says which objects, operations say what is done
/// to them. Paths go into lists by filter, and ${…} is CEL. What no rule is about is printed
/// as it is.
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
  echo '{\"doc\": {}, \"patch\": [{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]}' | deltic patch --jsonl")]
pub(crate) struct Patch {
    /// The patches: files, directories, or - for stdin
    #[arg(short, long, value_name = "FILE", required_unless_present = "jsonl")]
    pub(crate) filename: Vec<String>,

    /// The objects: files, directories, or - for stdin
    #[arg(value_name = "OBJECTS", default_value = "-")]
    pub(crate) objects: Vec<String>,

    /// How to print the objects
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: Format,

    /// Print what changes, as a unified diff; values of Secrets are not shown
    #[arg(long, conflicts_with = "output")]
    pub(crate) diff: bool,

    /// A variable of the expressions, its value as YAML
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,

    /// Read lines {"doc":…,"patch":[…],"vars":{…}} from stdin, perhaps with where, forEach,
    /// var and strict, and print a line {"value":…} or {"error":…,"code":…} for each
    #[arg(long, conflicts_with_all = ["filename", "objects", "output", "diff", "variables"])]
    pub(crate) jsonl: bool,

    /// What one expression may cost; all of a rule may cost ten times as much
    #[arg(long = "max-cel-cost", value_name = "N", help_heading = LIMITS, default_value_t = expr::Limits::default().cel_cost)]
    pub(crate) cel_cost: u64,

    /// How many bytes one line may have
    #[arg(long = "max-document-bytes", value_name = "N", help_heading = LIMITS, default_value_t = manifest::MAX_SIZE as u64)]
    pub(crate) document_bytes: u64,

    #[command(flatten)]
    pub(crate) derived: Derived,
}

/// Report all errors and warnings of operators
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic check -f operator.yaml
  deltic check --strict -f operators/")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) operator: OperatorFiles,

    /// How to print what was found
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: CheckFormat,

    /// Count warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Print how the controllers of an operator run: stages, indexes, fields kept, cost
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  deltic explain -f operator.yaml")]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) operator: OperatorFiles,
}

#[derive(Debug, Args)]
pub(crate) struct OperatorFiles {
    /// The operator: a file, a directory, or - for stdin
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) filename: Vec<String>,
}

/// How an operator runs.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) time: Now,

    /// Mixed into the key of @rnd: the same seed gives the same numbers
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = REPEATABLE)]
    pub(crate) seed: u64,

    /// How many objects the sources of a controller may hold together
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().documents)]
    pub(crate) max_documents: usize,

    /// How many bytes the documents of a controller's sources may take (not limited)
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    pub(crate) max_bytes: Option<usize>,

    /// How many documents one batch may look at to join them
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value_t = Budget::default().candidates)]
    pub(crate) max_candidates: u64,

    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
pub(crate) struct Now {
    /// What "@now" gives, such as 2026-01-02T03:04:05Z [default: the clock]
    #[arg(long, value_name = "TIME", help_heading = REPEATABLE)]
    pub(crate) now: Option<Time>,
}

/// What one input and one evaluation may cost.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Limits {
    /// How many operators and list items one evaluation may take
    #[arg(long = "max-steps", value_name = "N", help_heading = LIMITS, default_value_t = expr::Limits::default().steps)]
    pub(crate) steps: u64,

    /// What one @cel expression may cost
    #[arg(long = "max-cel-cost", value_name = "N", help_heading = LIMITS, default_value_t = expr::Limits::default().cel_cost)]
    pub(crate) cel_cost: u64,

    /// How many bytes one JSON document of a stream may have
    #[arg(long = "max-document-bytes", value_name = "N", help_heading = LIMITS, default_value_t = manifest::MAX_SIZE as u64)]
    pub(crate) document_bytes: u64,

    #[command(flatten)]
    pub(crate) derived: Derived,
}

/// How large what is derived may be.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Derived {
    /// How many bytes a derived document may have, written as JSON
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
pub(crate) enum EventFormat {
    /// One line per event
    Text,
    /// Whole events as YAML documents
    Yaml,
    /// Whole events as JSON, as kubectl prints them
    Json,
    /// One line per input document, with events and errors
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people, on stderr
    Text,
    /// A list, on stdout
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }
}
