//! `deltic render`: prints the objects that an Operator derives from a set of objects.

mod nothing;

use crate::cli;
use crate::evaluated::waiting;
use crate::exit::{Outcome, Stop};
use crate::loaded::Loaded;
use crate::output::Output;
pub(crate) use nothing::Kinds;

pub(crate) fn run(args: &cli::Render, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.recursive.files(&args.filename, &args.files);
    let mut loaded = Loaded::read(files, None, &args.run, output)?;
    let errors = loaded.run()?;
    let targets = loaded.offline.targets();
    output.objects(&targets, args.output)?;
    output.diagnostics(&loaded.nameless)?;
    for report in &errors {
        output.report(report)?;
    }
    output.flush()?;
    for waiting in waiting(&loaded.offline, loaded.settings.env())? {
        let (controller, message) = (&waiting.controller, &waiting.message);
        output.complain(&format!("controller {controller} waits: {message}"));
    }
    if targets.is_empty() {
        output.complain(&nothing::explained(&loaded.offline.flows(), &loaded.kinds));
    }
    Ok(if loaded.nameless.is_empty() && errors.is_empty() {
        Outcome::Good
    } else {
        Outcome::Failed
    })
}
