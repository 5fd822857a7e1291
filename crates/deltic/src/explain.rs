//! `deltic explain`: prints the plan of an Operator.

use document::Value;

use crate::cli::CheckFormat;
use crate::cli::graph::Explain;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::{Output, pretty};

pub(crate) fn run(args: &Explain, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operators.files("explain")?;
    let operators = input::read(&files, output)?.operators();
    let operators = operators.good(&files.names)?;
    output.diagnostics(&operators.diagnostics)?;
    if args.output == CheckFormat::Json {
        let plans = operators.created.iter().map(operator::explain::to_json);
        output.text(&format!("{}\n", pretty(&Value::list(plans))))?;
        return Ok(Outcome::Good);
    }
    for (i, operator) in operators.created.iter().enumerate() {
        if i > 0 {
            output.text("\n")?;
        }
        output.prose(&operator::explain::explain(operator))?;
    }
    Ok(Outcome::Good)
}
