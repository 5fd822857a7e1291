//! Reads a document of a `*.test.yaml` file.
//!
//! A mistake does not end the reading, so that all of them are reported at once, each at its line
//! and column. Unknown fields are errors with the nearest name.

mod objects;
mod steps;

use std::collections::BTreeSet;
use std::sync::Arc;

use document::{Location, Value};
use expr::Time;
use manifest::{Diagnostic, Manifest, Severity};
use object::{GroupKind, KindRef};

use crate::file::{START, Test, TestFile, TestStep, TestedOperator};

/// The files that a test names. Paths are relative to the test file.
pub trait Inputs {
    /// The objects of a file or of a directory.
    fn objects(&mut self, path: &str) -> Result<Vec<Value>, Vec<Diagnostic>>;

    /// The Operator of a file.
    fn operator(&mut self, path: &str) -> Result<Arc<TestedOperator>, Vec<Diagnostic>>;

    /// An Operator that is part of the test file.
    fn inline_operator(
        &mut self,
        manifest: Manifest,
    ) -> Result<Arc<TestedOperator>, Vec<Diagnostic>>;
}

/// Reads a document with tests, or returns everything that is wrong with it.
pub fn read(manifest: &Manifest, inputs: &mut dyn Inputs) -> Result<TestFile, Vec<Diagnostic>> {
    let mut reader = TestReader {
        manifest,
        inputs,
        problems: manifest.duplicates().to_vec(),
        kinds: BTreeSet::new(),
    };
    let file = reader.file();
    let mut problems = reader.problems;
    match file {
        Some(file) if problems.is_empty() => Ok(file),
        _ => {
            // Those of the files that it names come first, as they are read.
            let is_own = |problem: &Diagnostic| problem.source.as_ref() == Some(manifest.source());
            problems.sort_by_key(|problem| {
                let start = problem.span.as_ref().map(|span| span.start);
                is_own(problem).then_some(start)
            });
            Err(problems)
        }
    }
}

/// Reads the parts of a document and collects its problems.
struct TestReader<'a> {
    manifest: &'a Manifest,
    inputs: &'a mut dyn Inputs,
    problems: Vec<Diagnostic>,
    /// The kinds that the Operator reads and writes.
    kinds: BTreeSet<GroupKind>,
}

/// What the tests of a document have in common.
struct Defaults {
    now: Time,
    seed: u64,
    given: Vec<Value>,
}

impl TestReader<'_> {
    fn file(&mut self) -> Option<TestFile> {
        let manifest = self.manifest;
        let (root, value) = (Location::root(), &manifest.value);
        let fields = ["operator", "now", "seed", "given", "tests"];
        if !self.known(value, &fields, &root) {
            return None;
        }
        let operator = self.operator(value.get("operator"), &root.key("operator"));
        self.kinds = operator.as_deref().map(kinds_of).unwrap_or_default();
        let defaults = Defaults {
            now: self.time(value.get("now"), &root.key("now"), Time::parse(START)),
            seed: self.seed(value.get("seed"), &root.key("seed"), 0),
            given: self.objects(value.get("given"), &root.key("given")),
        };
        let at = root.key("tests");
        let tests = self.items(value.get("tests"), &at);
        if tests.is_empty() && self.problems.is_empty() {
            self.expected("a list of tests", value.get("tests"), &at);
        }
        let tests = tests.into_iter();
        let tests: Vec<Test> = tests
            .filter_map(|(test, at)| self.test(&test, &at, &defaults))
            .collect();
        self.unique(&tests);
        Some(TestFile {
            manifest: manifest.clone(),
            operator: operator?,
            tests,
        })
    }

    fn operator(&mut self, value: &Value, at: &Location) -> Option<Arc<TestedOperator>> {
        let read = if let Some(path) = value.as_str() {
            let read = self.inputs.operator(path);
            self.with_place(read, path, at)
        } else if value.as_map().is_some() {
            let part = self.manifest.part(at)?;
            self.inputs.inline_operator(part)
        } else {
            let expected = "the file of an Operator, or an Operator";
            let mut problem = self.problem("bad-field", at, not(expected, value));
            problem.help = Some("such as operator: operator.yaml".to_owned());
            Err(vec![problem])
        };
        read.map_err(|problems| self.problems.extend(problems)).ok()
    }

    /// A file that cannot be read is an error of the line that names it.
    fn with_place<T>(
        &self,
        read: Result<T, Vec<Diagnostic>>,
        path: &str,
        at: &Location,
    ) -> Result<T, Vec<Diagnostic>> {
        read.map_err(|problems| {
            let placed = |problem: Diagnostic| match problem.source {
                Some(_) => problem,
                None => Diagnostic {
                    message: if problem.message.contains(path) {
                        problem.message
                    } else {
                        format!("{path}: {}", problem.message)
                    },
                    source: Some(self.manifest.source().clone()),
                    span: Some(self.manifest.span(at)),
                    ..problem
                },
            };
            problems.into_iter().map(placed).collect()
        })
    }

    fn test(&mut self, value: &Value, at: &Location, defaults: &Defaults) -> Option<Test> {
        let fields = ["name", "now", "seed", "given", "expect", "steps"];
        if !self.known(value, &fields, at) {
            return None;
        }
        let name = self.text(value.get("name"), &at.key("name"));
        let now = self.time(value.get("now"), &at.key("now"), Some(defaults.now));
        let seed = self.seed(value.get("seed"), &at.key("seed"), defaults.seed);
        let mut apply = defaults.given.clone();
        apply.extend(self.objects(value.get("given"), &at.key("given")));
        let given = TestStep {
            name: "given".to_owned(),
            at: at.clone(),
            apply,
            expect: self.expect(value.get("expect"), &at.key("expect")),
            ..TestStep::default()
        };
        let mut steps = vec![given];
        let mut clock = now;
        for (step, at) in self.items(value.get("steps"), &at.key("steps")) {
            if let Some(step) = self.step(&step, &at, &mut clock) {
                steps.push(step);
            }
        }
        let silent = steps.iter().all(|step| step.expect.is_empty());
        if silent && self.problems.is_empty() {
            let mut problem = self.problem("bad-field", at, "the test expects nothing".to_owned());
            problem.help = Some("add expect: to the test or to one of its steps".to_owned());
            self.problems.push(problem);
        }
        Some(Test {
            name: name?,
            at: at.clone(),
            now,
            seed,
            steps,
        })
    }

    fn unique(&mut self, tests: &[Test]) {
        for (number, test) in tests.iter().enumerate() {
            if tests[..number].iter().any(|other| other.name == test.name) {
                let message = format!("two tests have the name {}", test.name);
                let problem = self.problem("bad-field", &test.at.key("name"), message);
                self.problems.push(problem);
            }
        }
    }

    /// Reports unknown fields. Returns whether the value is a map.
    fn known(&mut self, value: &Value, known: &[&str], at: &Location) -> bool {
        let Some(map) = value.as_map() else {
            self.expected("a map", value, at);
            return false;
        };
        for (key, _) in map {
            let key = key.as_str();
            if known.contains(&key) {
                continue;
            }
            let help = match expr::nearest(key, known.iter().copied()) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("the fields here are {}", known.join(", ")),
            };
            self.problems.push(Diagnostic {
                span: Some(self.manifest.key_span(&at.key(key))),
                help: Some(help),
                ..self.problem("unknown-field", at, format!("unknown field {key}"))
            });
        }
        true
    }

    /// The items of a list, with their locations; nothing is an empty list.
    fn items(&mut self, value: &Value, at: &Location) -> Vec<(Value, Location)> {
        let Some(list) = value.as_list() else {
            if !value.is_null() {
                self.expected("a list", value, at);
            }
            return Vec::new();
        };
        let items = list.iter().enumerate();
        items
            .map(|(index, item)| (item.clone(), at.index(index)))
            .collect()
    }

    fn text(&mut self, value: &Value, at: &Location) -> Option<String> {
        match value.as_str() {
            Some(text) if !text.is_empty() => Some(text.to_owned()),
            _ => {
                self.expected("a string", value, at);
                None
            }
        }
    }

    fn time(&mut self, value: &Value, at: &Location, default: Option<Time>) -> Time {
        let default = default.unwrap_or(Time::EPOCH);
        if value.is_null() {
            return default;
        }
        let time = value.as_str().and_then(Time::parse);
        // The clock has whole seconds.
        time.and_then(|time| Time::of_unix(time.seconds()))
            .unwrap_or_else(|| {
                let found = value.as_str().map(|text| format!("{text:?}"));
                let found = found.unwrap_or_else(|| value.kind().to_string());
                let message = format!(
                    "expected an RFC 3339 time such as 2026-01-02T03:04:05Z, found {found}"
                );
                let problem = self.problem("bad-field", at, message);
                self.problems.push(problem);
                default
            })
    }

    fn seed(&mut self, value: &Value, at: &Location, default: u64) -> u64 {
        if value.is_null() {
            return default;
        }
        let seed = value.as_int().and_then(|seed| u64::try_from(seed).ok());
        seed.unwrap_or_else(|| {
            self.expected("a number from 0", value, at);
            default
        })
    }

    fn expected(&mut self, expected: &str, value: &Value, at: &Location) {
        let problem = self.problem("bad-field", at, not(expected, value));
        self.problems.push(problem);
    }

    fn problem(&self, code: &str, at: &Location, message: String) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: code.to_owned(),
            message,
            source: Some(self.manifest.source().clone()),
            span: Some(self.manifest.span(at)),
            help: None,
        }
    }
}

/// The kinds that an Operator reads and writes.
fn kinds_of(tested: &TestedOperator) -> BTreeSet<GroupKind> {
    let controllers = tested.operator.controllers.iter();
    let kinds = controllers.flat_map(|controller| {
        let sources = controller.sources.iter().map(|source| &source.resource);
        sources.chain(controller.targets.iter().map(|target| &target.resource))
    });
    kinds.map(KindRef::group_kind).collect()
}

fn not(expected: &str, value: &Value) -> String {
    let found = if value.is_null() {
        "nothing".to_owned()
    } else {
        value.kind().to_string()
    };
    format!("expected {expected}, found {found}")
}
