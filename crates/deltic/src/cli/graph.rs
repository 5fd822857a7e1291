//! The arguments of `deltic explain` and `deltic graph`.

use clap::{Args, ValueEnum};

use super::{CheckFormat, NamedOperators};

/// Print how the controllers of an Operator run: stages, indexes, stored fields, cost
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic explain operator.yaml
  deltic explain operator.yaml -o json")]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) operators: NamedOperators,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: CheckFormat,
}

/// Draw which kinds the controllers read and write
///
/// The graph shows the sources, the controllers with their stages, the views and the targets of one
/// or several Operators. With --live it has the numbers of a running deltic: objects of each kind, and
/// the changes per second and errors of each controller.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic graph operator.yaml
  deltic graph -R operators/ -o svg > operators.svg
  deltic graph operator.yaml -o dot | dot -Tpdf > operator.pdf
  deltic graph --live -o svg > now.svg")]
pub(crate) struct Graph {
    #[command(flatten)]
    pub(crate) operators: NamedOperators,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "mermaid")]
    pub(crate) output: GraphFormat,

    /// The colours of the SVG
    #[arg(long, value_name = "THEME", default_value = "auto")]
    pub(crate) theme: Theme,

    /// Add the numbers of a running deltic; without files, its Operators are those of the cluster
    #[cfg(feature = "cluster")]
    #[arg(long)]
    pub(crate) live: bool,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) observed: super::top::Observed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// A flowchart for Markdown
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    /// Light or dark, as the viewer prefers
    Auto,
    Light,
    Dark,
}
