//! Reads test files, and the files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use document::{Location, Value};
use manifest::{Diagnostic, InputFile, Manifest};
use testing::{Inputs, TestFile, TestedOperator};

use crate::exit::Stop;
use crate::input::{self, Booleans, Files, Input};
use crate::output;

/// The files that were read. Each is read once, however many tests name it.
#[derive(Default)]
pub(super) struct TestFiles {
    operators: BTreeMap<PathBuf, Arc<TestedOperator>>,
    objects: BTreeMap<PathBuf, Vec<Value>>,
    /// All files that were opened, or that could not be.
    pub(super) seen: BTreeSet<PathBuf>,
    /// The warnings about words of these files that kubectl reads as booleans.
    pub(super) booleans: Booleans,
    /// The links that were skipped, because they lead nowhere.
    pub(super) broken_links: BTreeSet<String>,
}

impl TestFiles {
    /// Reads all tests of these paths, or returns everything that is wrong with them.
    pub(super) fn read(&mut self, paths: &[String]) -> Result<Vec<TestFile>, Stop> {
        let (mut tests, mut problems) = (Vec::new(), Vec::new());
        for path in find(paths, &mut self.broken_links, &mut problems) {
            self.seen.insert(path.clone());
            match self.file(&path) {
                Ok(found) => tests.extend(found),
                Err(found) => {
                    // An Operator with a mistake is reported once, not for each test file.
                    let new = found
                        .into_iter()
                        .filter(|problem| !problems.contains(problem));
                    let new: Vec<_> = new.collect();
                    problems.extend(new);
                }
            }
        }
        if problems.is_empty() {
            Ok(tests)
        } else {
            Err(Stop::Refused(problems))
        }
    }

    fn file(&mut self, path: &Path) -> Result<Vec<TestFile>, Vec<Diagnostic>> {
        let name = path.to_string_lossy();
        let bytes = std::fs::read(path)
            .map_err(|error| vec![input::error("read", format!("cannot read {name}: {error}"))])?;
        let manifests = manifest::parse_bytes(&name, bytes).map_err(|error| vec![error])?;
        if let Some(problem) = manifests.iter().find_map(no_test) {
            return Err(vec![problem]);
        }
        for manifest in &manifests {
            self.booleans.look(manifest);
        }
        let mut inputs = TestInputs {
            directory: path.parent().unwrap_or(Path::new("")).to_owned(),
            files: self,
        };
        let (mut tests, mut problems) = (Vec::new(), Vec::new());
        for manifest in &manifests {
            match testing::read(manifest, &mut inputs) {
                Ok(test) => tests.push(test),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() {
            Ok(tests)
        } else {
            Err(problems)
        }
    }
}

/// The error of an object where a test is expected.
fn no_test(manifest: &Manifest) -> Option<Diagnostic> {
    let object = &manifest.value;
    object.get("kind").as_str()?;
    let is_test = ["operator", "tests"].map(|field| !object.get(field).is_null());
    if is_test.contains(&true) {
        return None;
    }
    let name = &manifest.source().name;
    let (found, help) = if input::is_operator(object) {
        let help = format!("a test is another file, which names the Operator: operator: {name}");
        ("an Operator".to_owned(), help)
    } else {
        let help = format!("a test names the files of its objects: given: [{name}]");
        (format!("the object {}", output::name(object)), help)
    };
    Some(Diagnostic {
        help: Some(help),
        source: Some(manifest.source().clone()),
        span: Some(manifest.span(&Location::root().key("kind"))),
        ..input::error("no-test", format!("expected a test file, found {found}"))
    })
}

/// The test files of these paths, each once.
pub(super) fn find(
    paths: &[String],
    broken_links: &mut BTreeSet<String>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        match manifest::test_files(path) {
            Ok(files) => {
                let links = files.broken_links.iter();
                let links = links.map(|name| name.strip_prefix("./").unwrap_or(name));
                broken_links.extend(links.map(str::to_owned));
                for file in files.files.iter().filter_map(InputFile::path) {
                    // `.` is not part of names in messages.
                    let file = file.strip_prefix(".").unwrap_or(file);
                    if !found.iter().any(|known| known == file) {
                        found.push(file.to_owned());
                    }
                }
            }
            Err(error) => problems.push(error.into()),
        }
    }
    found
}

/// The files that a test file names.
struct TestInputs<'a> {
    /// The directory of the test file.
    directory: PathBuf,
    files: &'a mut TestFiles,
}

impl TestInputs<'_> {
    /// The documents of a file or directory.
    fn documents(&mut self, path: &Path) -> Result<Vec<Manifest>, Vec<Diagnostic>> {
        self.files.seen.insert(path.to_owned());
        let files = Files::new(&[path.to_string_lossy().into_owned()], false);
        let (found, mut problems) = match files.list() {
            Ok(listed) => listed,
            Err(stop) => return Err(diagnostics(stop)),
        };
        self.files.broken_links.extend(found.broken_links);
        let mut manifests = Vec::new();
        for file in found.files {
            match file.documents(manifest::MAX_SIZE) {
                Ok(documents) => {
                    for document in documents {
                        match document {
                            Ok(manifest) => {
                                problems.extend(manifest.duplicates().iter().cloned());
                                self.files.booleans.look(&manifest);
                                manifests.push(manifest);
                            }
                            Err(problem) => problems.push(problem),
                        }
                    }
                }
                Err(error) => problems.push(error.into()),
            }
        }
        if problems.is_empty() {
            Ok(manifests)
        } else {
            Err(problems)
        }
    }

    fn tested(
        manifests: Vec<Manifest>,
        name: &str,
    ) -> Result<Arc<TestedOperator>, Vec<Diagnostic>> {
        let is_operator = |manifest: &&Manifest| input::is_operator(&manifest.value);
        let manifest = manifests.iter().find(is_operator).cloned();
        let input = Input {
            manifests,
            problems: Vec::new(),
        };
        let one = input.operators().one(&[name.to_owned()]);
        let (operator, _) = one.map_err(diagnostics)?;
        let manifest = manifest.ok_or_else(|| {
            vec![input::error(
                "no-operator",
                format!("no Operator in {name}"),
            )]
        })?;
        Ok(Arc::new(TestedOperator { operator, manifest }))
    }
}

impl Inputs for TestInputs<'_> {
    fn objects(&mut self, path: &str) -> Result<Vec<Value>, Vec<Diagnostic>> {
        let path = self.directory.join(path);
        if let Some(objects) = self.files.objects.get(&path) {
            return Ok(objects.clone());
        }
        let manifests = self.documents(&path)?;
        let nameless = manifests
            .iter()
            .filter(|manifest| !crate::watch::has_name(&manifest.value));
        let nameless: Vec<_> = nameless.map(crate::loaded::no_name).collect();
        if !nameless.is_empty() {
            return Err(nameless);
        }
        let objects: Vec<Value> = manifests
            .into_iter()
            .map(|manifest| manifest.value)
            .collect();
        self.files.objects.insert(path, objects.clone());
        Ok(objects)
    }

    fn operator(&mut self, path: &str) -> Result<Arc<TestedOperator>, Vec<Diagnostic>> {
        let path = self.directory.join(path);
        if let Some(operator) = self.files.operators.get(&path) {
            return Ok(operator.clone());
        }
        let manifests = self.documents(&path)?;
        let operator = Self::tested(manifests, &path.to_string_lossy())?;
        self.files.operators.insert(path, operator.clone());
        Ok(operator)
    }

    fn inline_operator(
        &mut self,
        manifest: Manifest,
    ) -> Result<Arc<TestedOperator>, Vec<Diagnostic>> {
        let name = manifest.source().name.clone();
        Self::tested(vec![manifest], &name)
    }
}

/// The reasons why an input was refused.
fn diagnostics(stop: Stop) -> Vec<Diagnostic> {
    match stop {
        Stop::Refused(diagnostics) | Stop::Failed(diagnostics) => diagnostics,
        Stop::Output(error) => vec![input::error("read", error.to_string())],
    }
}
