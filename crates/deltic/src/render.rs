//! `deltic render`: a set of objects in, the objects that an operator derives out.

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
    let standing = standing(&offline, batch);
    for manifest in &nameless {
        output.diagnostic(&no_name(manifest))?;
    }
    for report in &standing {
        output.report(report)?;
    }
    Ok(if nameless.is_empty() && standing.is_empty() {
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
    let help = "watch events are read by `deltic replay`";
    Diagnostic {
        help: event.then(|| help.to_owned()),
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&Location::root().key("metadata"))),
        ..input::error("no-name", watch::NO_NAME.to_owned())
    }
}

/// The errors that stand: those of the pipelines, and those that only the batch knows,
/// which are about writing.
fn standing(offline: &Offline, batch: Batch) -> Vec<Report> {
    let mut standing = offline.errors();
    for report in batch.errors {
        let written = matches!(report.code, "conflict" | "cycle");
        if written && !standing.contains(&report) {
            standing.push(report);
        }
    }
    standing
}
