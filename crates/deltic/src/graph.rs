//! `deltic graph`: draws which kinds the controllers of Operators read and write.

mod counts;
mod dot;
mod layout;
#[cfg(feature = "cluster")]
mod live;
mod mermaid;
mod model;
mod svg;

use crate::cli::graph::{Graph, GraphFormat};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;
use counts::Counts;
use operator::Operator;

pub(crate) fn run(args: &Graph, output: &mut Output) -> Result<Outcome, Stop> {
    #[cfg(feature = "cluster")]
    if args.live {
        let (operators, counts) = live::read(args, output)?;
        return draw(args, &operators, &counts, output);
    }
    draw(args, &given(args, output)?, &Counts::default(), output)
}

/// The Operators of the files.
fn given(args: &Graph, output: &mut Output) -> Result<Vec<Operator>, Stop> {
    let files = args.operators.files("graph")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    Ok(operators.created)
}

fn draw(
    args: &Graph,
    operators: &[Operator],
    counts: &Counts,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    let graph = model::Graph::new(operators, counts);
    output.text(&match args.output {
        GraphFormat::Mermaid => mermaid::print(&graph),
        GraphFormat::Dot => dot::print(&graph),
        GraphFormat::Svg => svg::print(&graph, args.theme),
    })?;
    Ok(Outcome::Good)
}

#[cfg(test)]
mod tests;
