//! An Operator and the objects of files, in memory: what `render`, `trace` and `why` run on.
//!
//! The objects are read one by one, and each is reduced to the fields that the pipelines read. So
//! the Operator must be known first: it is searched for in the files, the smallest first.

use document::{Location, Value};
use explanation::Wanted;
use manifest::{Diagnostic, InputFile, Manifest};
use offline::Offline;
use offline::{Event, EventType};
use operator::{Operator, Report};

use crate::cli;
use crate::exit::Stop;
use crate::input::{Booleans, Files, Operators};
use crate::output::Output;
use crate::render::Kinds;
use crate::run::Settings;
use crate::{input, run, watch};

/// An Operator with all objects of the files, which have not been processed yet.
pub(crate) struct Loaded {
    pub(crate) offline: Offline,
    pub(crate) settings: Settings,
    /// The errors of objects without a name.
    pub(crate) nameless: Vec<Diagnostic>,
    /// The kinds of the objects.
    pub(crate) kinds: Kinds,
    /// The objects that a question is about, as the files have them.
    pub(crate) asked: Vec<Value>,
}

/// A question may name objects in several namespaces. At most this many of them are kept.
const MOST_ASKED: usize = 10;

impl Loaded {
    /// Reads one Operator and objects. `wanted` is the object that a question is about.
    pub(crate) fn read(
        files: Files,
        wanted: Option<&Wanted>,
        args: &cli::Run,
        output: &mut Output,
    ) -> Result<Self, Stop> {
        let files = files.objects().with_max_bytes(args.limits.document_bytes);
        if files.names.iter().any(|name| name == "-") {
            output.waits_for("objects", "kubectl get … -o json");
        }
        let mut objects = Objects {
            running: search(&files)?.map(|operator| run::start(operator, args)),
            waiting: Vec::new(),
            operators: Operators::default(),
            nameless: Vec::new(),
            kinds: Kinds::default(),
            asked: Vec::new(),
            wanted: wanted.cloned(),
        };
        let mut booleans = Booleans::default();
        let problems = files.all(output, |manifest| {
            booleans.look(&manifest);
            objects.add(manifest, args);
        })?;
        booleans.print(output)?;
        objects.operators.diagnostics.splice(0..0, problems);
        let (operator, _) = objects.operators.one(&files.names)?;
        let started = objects
            .running
            .unwrap_or_else(|| run::start(operator, args));
        let (mut offline, settings) = started;
        for object in objects.waiting {
            add(&mut offline, object);
        }
        Ok(Self {
            offline,
            settings,
            nameless: objects.nameless,
            kinds: objects.kinds,
            asked: objects.asked,
        })
    }

    /// Processes the objects as one batch. Returns the errors.
    pub(crate) fn run(&mut self) -> Result<Vec<Report>, Stop> {
        let batch = self
            .offline
            .run_complete(&self.settings.env())
            .map_err(|error| Stop::failed(input::error(error.code(), error.to_string())))?;
        Ok(self.offline.current_errors(&batch))
    }
}

/// The Operator of the smallest file that contains one. Errors are found when the files are read
/// again, and standard input can only be read once.
fn search(files: &Files) -> Result<Option<Operator>, Stop> {
    let (found, _) = files.list()?;
    let mut found = found.files;
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
    running: Option<(Offline, Settings)>,
    /// The objects that came before the Operator.
    waiting: Vec<Manifest>,
    operators: Operators,
    /// The errors of objects without a name.
    nameless: Vec<Diagnostic>,
    kinds: Kinds,
    asked: Vec<Value>,
    wanted: Option<Wanted>,
}

impl Objects {
    fn add(&mut self, manifest: Manifest, args: &cli::Run) {
        if input::is_operator(&manifest.value) {
            self.operators.add(manifest);
            if let (None, [operator]) = (&self.running, self.operators.created.as_slice()) {
                let mut running = run::start(operator.clone(), args);
                for object in self.waiting.drain(..) {
                    add(&mut running.0, object);
                }
                self.running = Some(running);
            }
            return;
        }
        if !watch::has_name(&manifest.value) {
            self.nameless.push(no_name(&manifest));
            return;
        }
        self.kinds.note(&manifest.value);
        let mut wanted = self.wanted.iter();
        if self.asked.len() < MOST_ASKED && wanted.any(|one| one.names(&manifest.value)) {
            self.asked.push(manifest.value.clone());
        }
        match &mut self.running {
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

/// The error of an object without a name.
pub(crate) fn no_name(manifest: &Manifest) -> Diagnostic {
    let event = manifest.value.as_list().is_some() || !manifest.value.get("object").is_null();
    let help = "use `deltic replay` for watch events";
    Diagnostic {
        help: event.then(|| help.to_owned()),
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&Location::root().key("metadata"))),
        ..input::error("no-name", watch::no_name(&manifest.value))
    }
}
