//! `deltic render`: prints the objects that an Operator derives from a set of objects.

mod nothing;

use crate::cli;
use crate::evaluated::waiting;
use crate::exit::{Outcome, Stop};
use crate::loaded::Loaded;
use crate::output::Output;
pub(crate) use nothing::Kinds;

/// How many of the objects that Patchers wait for are named.
const MOST_WAITING: usize = 20;

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
    let waiting = waiting(&loaded.offline, loaded.settings.env())?;
    for waiting in waiting.iter().take(MOST_WAITING) {
        let (controller, message) = (&waiting.controller, &waiting.message);
        output.complain(&format!("controller {controller} waits: {message}"));
    }
    if waiting.len() > MOST_WAITING {
        let more = waiting.len() - MOST_WAITING;
        output.complain(&format!("{more} more objects are waited for"));
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
