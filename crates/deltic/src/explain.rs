//! `deltic explain`: prints the plan of an Operator.

use crate::cli;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: &cli::Explain, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("explain")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    for (i, operator) in operators.created.iter().enumerate() {
        if i > 0 {
            output.text("\n")?;
        }
        output.text(&operator::explain::explain(operator))?;
    }
    Ok(Outcome::Good)
}
