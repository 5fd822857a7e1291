//! The arguments of the commands that explain what an Operator derives.

use clap::{Args, ValueEnum};

use super::{Recursive, Run};

/// Show what each stage received and yielded
///
/// Without an object, the number of documents after each stage. With one, the documents that are
/// derived from it, before and after each stage, and why it ends. Values of Secrets are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic trace -f operator.yaml -f objects/
  deltic trace -f operator.yaml -f objects/ pod/shop/web-1")]
pub(crate) struct Trace {
    /// The Operator and the objects: files, directories, or - for stdin
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) filename: Vec<String>,

    /// The object to follow: pod/web, pod/shop/web or pod/web.shop
    #[arg(value_name = "KIND/NAME")]
    pub(crate) object: Option<String>,

    #[command(flatten)]
    pub(crate) recursive: Recursive,

    #[command(flatten)]
    pub(crate) run: Run,
}

/// Explain why an object is derived, or what becomes of a source object
///
/// Prints the way back from a derived object to its sources, stage by stage, across controllers
/// and views. `why not` prints at which stage a source object ends, and why. Values of Secrets
/// are not shown. Without files, a running deltic is asked: the one whose views the cluster serves,
/// or the one of a kubeconfig that deltic kubeconfig has made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic why health/shop/web
  deltic why not pod/shop/web-1 --operator pod-health
  deltic why health/shop/web --kubeconfig views.yaml
  deltic why -f operator.yaml -f objects/ health/shop/web
  deltic why not -f operator.yaml -f objects/ pod/shop/web-1
  deltic why -f operator.yaml -f objects/ health/web.shop -o mermaid")]
pub(crate) struct Why {
    /// The object: health/web, health/shop/web or health/web.shop, after `not` if the question is
    /// where a source object ends
    #[arg(value_name = "[not] KIND/NAME", required = true, num_args = 1..=2)]
    pub(crate) object: Vec<String>,

    /// The Operator and the objects: files, directories, or - for stdin [default: those of a running
    /// deltic]
    #[arg(short, long, value_name = "FILE", required = cfg!(not(feature = "cluster")))]
    pub(crate) filename: Vec<String>,

    /// The Operator to ask about; one without views answers only on deltic's own port [default: all
    /// with views]
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "NAME", conflicts_with = "filename")]
    pub(crate) operator: Option<String>,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) connection: super::cluster::Connection,

    #[command(flatten)]
    pub(crate) recursive: Recursive,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: WhyFormat,

    /// How many members of each group are followed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) members: usize,

    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyFormat {
    /// A tree
    Text,
    /// JSON, with the documents after each stage
    Json,
    /// A Mermaid flowchart
    Mermaid,
}
