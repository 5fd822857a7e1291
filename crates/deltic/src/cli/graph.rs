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
/// or several Operators.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic graph operator.yaml
  deltic graph -R operators/ -o svg > operators.svg
  deltic graph operator.yaml -o dot | dot -Tpdf > operator.pdf")]
pub(crate) struct Graph {
    #[command(flatten)]
    pub(crate) operators: NamedOperators,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "mermaid")]
    pub(crate) output: GraphFormat,

    /// The colours of the SVG
    #[arg(long, value_name = "THEME", default_value = "auto")]
    pub(crate) theme: Theme,
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
