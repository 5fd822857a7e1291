//! Reading of files, document by document.

use std::collections::BTreeSet;

use document::Value;
use manifest::{Diagnostic, Found, InputFile, Manifest};

use crate::exit::Stop;
use crate::output::Output;

/// Until this many bytes were read, nothing is done with the documents: if one of them cannot be
/// read, the command ends without a partial result. Larger input is not kept in memory.
const HELD: u64 = 4 * 1024 * 1024;

/// How many broken links are named.
const SHOWN_LINKS: usize = 3;

/// The files, directories and `-` that a command reads.
#[derive(Debug)]
pub(crate) struct Files {
    /// As they are named on the command line.
    pub(crate) names: Vec<String>,
    /// Whether subdirectories are read.
    pub(crate) recursive: bool,
    /// How many bytes a document may have.
    pub(crate) max_bytes: usize,
    /// What to do with documents in directories that are no objects.
    pub(crate) skipped: Skipped,
}

/// Which documents of a directory are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skipped {
    /// None.
    Nothing,
    /// Those without a kind, such as the values of a chart.
    OtherThanObjects,
}

/// How the documents are read so far.
#[derive(Default)]
struct Progress {
    problems: Vec<Diagnostic>,
    /// The documents that wait until it is certain that small input can be read.
    held: Vec<Manifest>,
    documents: usize,
    bytes: u64,
    skipped: usize,
    /// The files with skipped documents.
    skipped_in: BTreeSet<String>,
    broken_links: BTreeSet<String>,
    /// Whether results are printed while files are read.
    prints: bool,
}

impl Files {
    /// Files, each document of which may have the default size.
    pub(crate) fn new(names: &[String], recursive: bool) -> Self {
        Self {
            names: names.to_vec(),
            recursive,
            max_bytes: manifest::MAX_SIZE,
            skipped: Skipped::Nothing,
        }
    }

    /// The same, with this limit on documents.
    pub(crate) fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self {
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
            ..self
        }
    }

    /// The same, without documents in directories that are no objects.
    pub(crate) fn objects(self) -> Self {
        Self {
            skipped: Skipped::OtherThanObjects,
            ..self
        }
    }

    /// The files, and those that cannot be found.
    pub(crate) fn list(&self) -> Result<(Found, Vec<Diagnostic>), Stop> {
        super::stdin_once(self.names.iter())?;
        let (mut all, mut problems) = (Found::default(), Vec::new());
        for name in &self.names {
            match manifest::files(name, self.recursive) {
                Ok(found) => {
                    all.files.extend(found.files);
                    all.broken_links.extend(found.broken_links);
                }
                Err(error) => problems.push(error.into()),
            }
        }
        Ok((all, problems))
    }

    /// Reads all documents. An error in one file does not stop the reading of the others; all
    /// errors are returned.
    pub(crate) fn all(
        &self,
        output: &mut Output,
        mut each: impl FnMut(Manifest),
    ) -> Result<Vec<Diagnostic>, Stop> {
        let mut progress = Progress::default();
        let files = self.start(&mut progress)?;
        for file in &files {
            self.file(file, &mut progress, output, |progress, _| {
                progress.held.drain(..).for_each(&mut each);
                Ok(())
            })?;
            progress.held.drain(..).for_each(&mut each);
        }
        output.progress_ends();
        progress.complain(output);
        Ok(progress.problems)
    }

    /// Passes each document on, with whether there are several. If small input has errors, they
    /// are returned before anything is passed on; later, an error ends the reading.
    pub(crate) fn each(
        &self,
        output: &mut Output,
        mut each: impl FnMut(Manifest, bool, &mut Output) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut progress = Progress {
            prints: true,
            ..Progress::default()
        };
        let files = self.start(&mut progress)?;
        let mut begun = false;
        let mut several = false;
        let mut pass = |progress: &mut Progress, output: &mut Output, last: bool| {
            if !progress.problems.is_empty() || (!last && progress.bytes < HELD) {
                return Ok(());
            }
            several |= progress.held.len() > 1 || (!last && !progress.held.is_empty());
            begun = true;
            let mut held = progress.held.drain(..);
            held.try_for_each(|manifest| each(manifest, several, output))
        };
        for file in &files {
            self.file(file, &mut progress, output, |progress, output| {
                pass(progress, output, false)
            })?;
        }
        pass(&mut progress, output, true)?;
        output.progress_ends();
        progress.complain(output);
        match progress.problems {
            problems if problems.is_empty() => Ok(()),
            problems if begun => Err(Stop::Failed(problems)),
            problems => Err(Stop::Refused(problems)),
        }
    }

    fn start(&self, progress: &mut Progress) -> Result<Vec<InputFile>, Stop> {
        let (found, problems) = self.list()?;
        progress.problems = problems;
        progress.broken_links = found.broken_links.into_iter().collect();
        Ok(found.files)
    }

    /// Reads a file. `step` is called after each document.
    fn file(
        &self,
        file: &InputFile,
        progress: &mut Progress,
        output: &mut Output,
        mut step: impl FnMut(&mut Progress, &mut Output) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut documents = match file.documents(self.max_bytes) {
            Ok(documents) => documents,
            Err(error) => {
                progress.problems.push(error.into());
                return Ok(());
            }
        };
        let before = progress.bytes;
        while let Some(document) = documents.next() {
            progress.bytes = before + documents.bytes_read();
            match document {
                Ok(manifest) => self.document(manifest, file, progress),
                Err(problem) => {
                    progress.problems.push(with_help(problem));
                    return Ok(());
                }
            }
            let line = || progress.line(file, documents.bytes_read());
            // Somebody may be typing standard input.
            if progress.prints || file.size.is_none() {
                output.progress(line);
            } else {
                output.working(line);
            }
            step(progress, output)?;
        }
        Ok(())
    }

    fn document(&self, manifest: Manifest, file: &InputFile, progress: &mut Progress) {
        let skipped = self.skipped == Skipped::OtherThanObjects && file.found;
        if skipped && !is_object(&manifest.value) {
            progress.skipped += 1;
            progress.skipped_in.insert(file.name.clone());
            return;
        }
        progress.documents += 1;
        let duplicates = manifest.duplicates();
        let known = |problem: &&Diagnostic| !progress.problems.contains(problem);
        let duplicates: Vec<_> = duplicates.iter().filter(known).cloned().collect();
        progress.problems.extend(duplicates);
        progress.held.push(manifest);
    }
}

impl Progress {
    /// `objects.json: 312 of 1024 MB, 61000 documents`
    fn line(&self, file: &InputFile, read: u64) -> String {
        let mega = |bytes: u64| bytes / 1_000_000;
        let of = file.size.map(|size| format!(" of {}", mega(size)));
        format!(
            "{}: {}{} MB, {} documents",
            file.name,
            mega(read),
            of.unwrap_or_default(),
            self.documents
        )
    }

    /// Says how many documents and links were skipped.
    fn complain(&self, output: &mut Output) {
        complain_of_links(&self.broken_links, output);
        let Some(first) = self.skipped_in.first() else {
            return;
        };
        let others = match self.skipped_in.len() - 1 {
            0 => String::new(),
            1 => " and one other file".to_owned(),
            others => format!(" and {others} other files"),
        };
        let documents = match self.skipped {
            1 => "1 document that is no object: it has".to_owned(),
            count => format!("{count} documents that are no objects: they have"),
        };
        output.complain(&format!("skipped {documents} no kind, in {first}{others}"));
    }
}

/// Says which links were skipped because they lead nowhere.
pub(crate) fn complain_of_links(links: &BTreeSet<String>, output: &mut Output) {
    let shown: Vec<&str> = links.iter().take(SHOWN_LINKS).map(String::as_str).collect();
    let more = match links.len().saturating_sub(SHOWN_LINKS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = match links.len() {
        0 => return,
        1 => "a link that leads".to_owned(),
        count => format!("{count} links that lead"),
    };
    output.complain(&format!(
        "skipped {what} nowhere: {}{more}",
        shown.join(", ")
    ));
}

/// Whether a document is an object: it has a kind.
fn is_object(value: &Value) -> bool {
    value.get("kind").as_str().is_some()
}

/// The problem, with the flag that raises the limit.
fn with_help(mut problem: Diagnostic) -> Diagnostic {
    if problem.code == "too-large" && problem.help.is_none() {
        problem.help = Some("--max-document-bytes N allows larger documents".to_owned());
    }
    problem
}
