//! `deltic render`: prints the objects that an Operator derives from a set of objects.

use document::Location;
use manifest::{Diagnostic, Manifest};
use offline::Offline;
use offline::{Batch, Event, EventType};
use operator::Report;

use crate::cli;
use crate::exit::{Outcome, Stop};
use crate::output::Output;
use crate::{input, run, watch};

pub(crate) fn run(args: &cli::Render, output: &mut Output) -> Result<Outcome, Stop> {
    let files = &args.filename;
    let (operator, objects) = input::read(files)?.operators().one(files)?;
    let (mut offline, settings) = run::start(operator, &args.run);
    let (named, nameless): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .partition(|manifest| watch::has_name(&manifest.value));
    let events: Vec<Event> = named.into_iter().map(added).collect();
    let batch = offline
        .batch(&events, &settings.env())
        .map_err(|error| Stop::Failed(Box::new(input::error(error.code(), error.to_string()))))?;
    output.objects(&offline.targets(), args.output)?;
    let errors = current_errors(&offline, batch);
    for manifest in &nameless {
        output.diagnostic(&no_name(manifest))?;
    }
    for report in &errors {
        output.report(report)?;
    }
    Ok(if nameless.is_empty() && errors.is_empty() {
        Outcome::Good
    } else {
        Outcome::Failed
    })
}

fn added(manifest: Manifest) -> Event {
    Event {
        kind: EventType::Added,
        object: manifest.value,
    }
}

fn no_name(manifest: &Manifest) -> Diagnostic {
    let event = manifest.value.as_list().is_some() || !manifest.value.get("object").is_null();
    let help = "use `deltic replay` for watch events";
    Diagnostic {
        help: event.then(|| help.to_owned()),
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&Location::root().key("metadata"))),
        ..input::error("no-name", watch::NO_NAME.to_owned())
    }
}

/// The current errors: those of the pipelines, and those of writes, which only the batch has.
fn current_errors(offline: &Offline, batch: Batch) -> Vec<Report> {
    let mut errors = offline.errors();
    for report in batch.errors {
        let written = matches!(report.code, "conflict" | "cycle");
        if written && !errors.contains(&report) {
            errors.push(report);
        }
    }
    errors
}
