//! `deltic graph`: draws which kinds the controllers of Operators read and write.

mod dot;
mod layout;
mod mermaid;
mod model;
mod svg;

use crate::cli::graph::{Graph, GraphFormat};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: &Graph, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("graph")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    let graph = model::Graph::new(&operators.created);
    output.text(&match args.output {
        GraphFormat::Mermaid => mermaid::print(&graph),
        GraphFormat::Dot => dot::print(&graph),
        GraphFormat::Svg => svg::print(&graph, args.theme),
    })?;
    Ok(Outcome::Good)
}
