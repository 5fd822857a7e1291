//! `deltic crd`: prints the `CustomResourceDefinition` of Operators.

use crate::cli::cluster::Crd;
use crate::exit::{Outcome, Stop};
use crate::output::Output;

pub(crate) fn run(args: &Crd, output: &mut Output) -> Result<Outcome, Stop> {
    output.value(&operators::crd::definition(), args.output)?;
    Ok(Outcome::Good)
}
