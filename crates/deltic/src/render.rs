//! `deltic render`: prints the objects that an Operator derives from a set of objects.
//!
//! The objects are read one by one, and each is reduced to the fields that the pipelines read. So
//! the Operator must be known first: it is searched for in the files, the smallest first.

mod nothing;

use document::Location;
use manifest::{Diagnostic, InputFile, Manifest};
use offline::Offline;
use offline::{Batch, Event, EventType};
use operator::{Operator, Report};

use crate::cli;
use crate::exit::{Outcome, Stop};
use crate::input::{Files, Operators};
use crate::output::Output;
use crate::run::Settings;
use crate::{input, run, watch};
use nothing::Kinds;

pub(crate) fn run(args: &cli::Render, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.recursive.files(&args.filename, &args.files);
    let files = files
        .objects()
        .with_max_bytes(args.run.limits.document_bytes);
    if files.names.iter().any(|name| name == "-") {
        output.waits_for("objects", "kubectl get … -o json");
    }
    let mut objects = Objects {
        rendering: search(&files)?.map(|operator| run::start(operator, &args.run)),
        waiting: Vec::new(),
        operators: Operators::default(),
        nameless: Vec::new(),
        kinds: Kinds::default(),
    };
    let problems = files.all(output, |manifest| objects.add(manifest, args))?;
    objects.operators.diagnostics.splice(0..0, problems);
    let Objects {
        rendering,
        waiting,
        operators,
        nameless,
        kinds,
    } = objects;
    let (operator, _) = operators.one(&files.names)?;
    let (mut offline, settings) = rendering.unwrap_or_else(|| run::start(operator, &args.run));
    for object in waiting {
        add(&mut offline, object);
    }
    let batch = offline
        .run(&settings.env())
        .map_err(|error| Stop::failed(input::error(error.code(), error.to_string())))?;
    let targets = offline.targets();
    output.objects(&targets, args.output)?;
    let errors = current_errors(&offline, batch);
    output.diagnostics(&nameless)?;
    for report in &errors {
        output.report(report)?;
    }
    if targets.is_empty() {
        output.flush()?;
        output.complain(&nothing::explained(&offline.flows(), &kinds));
    }
    Ok(if nameless.is_empty() && errors.is_empty() {
        Outcome::Good
    } else {
        Outcome::Failed
    })
}

/// The Operator of the smallest file that contains one. Errors are found when the files are read
/// again, and standard input can only be read once.
fn search(files: &Files) -> Result<Option<Operator>, Stop> {
    let (mut found, _) = files.list()?;
    found.retain(|file| file.size.is_some());
    found.sort_by_key(|file| file.size);
    Ok(found
        .iter()
        .find_map(|file| operator_of(file, files.max_bytes)))
}

fn operator_of(file: &InputFile, max_bytes: usize) -> Option<Operator> {
    let mut operators = Operators::default();
    let documents = file.documents(max_bytes).ok()?;
    documents
        .map_while(Result::ok)
        .filter(|manifest| input::is_operator(&manifest.value))
        .for_each(|manifest| operators.add(manifest));
    operators.created.pop()
}

/// The documents that were read so far.
struct Objects {
    /// The run of the Operator, once it is known.
    rendering: Option<(Offline, Settings)>,
    /// The objects that came before the Operator.
    waiting: Vec<Manifest>,
    operators: Operators,
    /// The errors of objects without a name.
    nameless: Vec<Diagnostic>,
    kinds: Kinds,
}

impl Objects {
    fn add(&mut self, manifest: Manifest, args: &cli::Render) {
        if input::is_operator(&manifest.value) {
            self.operators.add(manifest);
            if let (None, [operator]) = (&self.rendering, self.operators.created.as_slice()) {
                let mut rendering = run::start(operator.clone(), &args.run);
                for object in self.waiting.drain(..) {
                    add(&mut rendering.0, object);
                }
                self.rendering = Some(rendering);
            }
            return;
        }
        if !watch::has_name(&manifest.value) {
            self.nameless.push(no_name(&manifest));
            return;
        }
        self.kinds.note(&manifest.value);
        match &mut self.rendering {
            Some((offline, _)) => add(offline, manifest),
            None => self.waiting.push(manifest),
        }
    }
}

fn add(offline: &mut Offline, manifest: Manifest) {
    let event = Event {
        kind: EventType::Added,
        object: manifest.value,
    };
    // Objects without a name were sorted out before.
    let _ = offline.add(&event);
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
