//! `deltic test`: runs the tests of Operators.

mod coverage;
mod files;
mod junit;
mod report;
mod update;
mod watch;

use std::time::{Duration, Instant};

use regex::Regex;
use testing::{Test, TestFile, TestResult};

use crate::cli::test::{Test as Args, TestFormat};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;
use files::TestFiles;

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Outcome, Stop> {
    let filter = filter(args)?;
    if args.watch {
        return watch::run(args, filter.as_ref(), output);
    }
    run_once(args, filter.as_ref(), &mut TestFiles::default(), output)
}

/// The tests that `--run` selects.
fn filter(args: &Args) -> Result<Option<Regex>, Stop> {
    let filter = args.run.as_deref().map(Regex::new).transpose();
    filter.map_err(|error| Stop::usage(&format!("--run: {error}")))
}

/// Reads and runs everything once.
fn run_once(
    args: &Args,
    filter: Option<&Regex>,
    files: &mut TestFiles,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    let read = files.read(&args.paths);
    input::complain_of_links(&files.broken_links, output);
    let mut tests = read?;
    files.booleans.print(output)?;
    let mut report = Report::run(&tests, filter);
    if report.ran() == 0 {
        return Err(none(args, &report));
    }
    if args.update && update::write(&tests, &report, output)? {
        // Runs the tests again on the new files, to check what was written.
        *files = TestFiles::default();
        tests = files.read(&args.paths)?;
        report = Report::run(&tests, filter);
    }
    match args.output {
        TestFormat::Text => report::print(&report, output)?,
        TestFormat::Junit => junit::print(&report, output)?,
    }
    if args.coverage || args.coverage_annotate {
        coverage::print(args, &report, output)?;
    }
    Ok(if report.failed() == 0 {
        Outcome::Good
    } else {
        Outcome::Failed
    })
}

/// The error that there is no test.
fn none(args: &Args, report: &Report<'_>) -> Stop {
    let message = match &args.run {
        Some(filter) => format!("none of {} tests matches {filter}", report.skipped),
        None => format!("no test in {}", args.paths.join(", ")),
    };
    let help = match &args.run {
        Some(_) => "--run is compared with `FILE: NAME`",
        None => "tests are in files *.test.yaml; `deltic test --help` shows one",
    };
    Stop::Refused(vec![manifest::Diagnostic {
        help: Some(help.to_owned()),
        ..input::error("no-test", message)
    }])
}

/// The tests that were run, with their results.
struct Report<'a> {
    /// The documents with tests that were run.
    files: Vec<FileReport<'a>>,
    /// How many tests `--run` left out.
    skipped: usize,
    elapsed: Duration,
}

/// The tests of a document.
struct FileReport<'a> {
    file: &'a TestFile,
    tests: Vec<RanTest<'a>>,
}

/// A test that was run.
struct RanTest<'a> {
    test: &'a Test,
    result: TestResult,
    elapsed: Duration,
}

impl RanTest<'_> {
    fn passed(&self) -> bool {
        self.result.failures.is_empty()
    }
}

impl FileReport<'_> {
    /// The name of the file.
    fn name(&self) -> &str {
        &self.file.manifest.source().name
    }

    fn elapsed(&self) -> Duration {
        self.tests.iter().map(|test| test.elapsed).sum()
    }

    fn failed(&self) -> usize {
        self.tests.iter().filter(|test| !test.passed()).count()
    }
}

impl<'a> Report<'a> {
    fn run(files: &'a [TestFile], filter: Option<&Regex>) -> Self {
        let started = Instant::now();
        let mut skipped = 0;
        let mut reports = Vec::new();
        for file in files {
            let name = &file.manifest.source().name;
            let wanted = |test: &&Test| {
                let full = format!("{name}: {}", test.name);
                filter.is_none_or(|filter| filter.is_match(&full))
            };
            let tests: Vec<_> = file.tests.iter().filter(wanted).collect();
            skipped += file.tests.len() - tests.len();
            if tests.is_empty() {
                continue;
            }
            let tests = tests.into_iter().map(|test| ran(file, test)).collect();
            reports.push(FileReport { file, tests });
        }
        Self {
            files: reports,
            skipped,
            elapsed: started.elapsed(),
        }
    }

    fn ran(&self) -> usize {
        self.files.iter().map(|file| file.tests.len()).sum()
    }

    fn failed(&self) -> usize {
        self.files.iter().map(FileReport::failed).sum()
    }
}

fn ran<'a>(file: &TestFile, test: &'a Test) -> RanTest<'a> {
    let started = Instant::now();
    let mut result = testing::run(test, file.operator.operator.clone(), |_| {});
    // In the order of the lines.
    result.failures.sort_by_key(|failure| {
        let step = &test.steps[failure.step];
        let at = failure.mismatch.at().unwrap_or(&step.at);
        file.manifest.span(at).start
    });
    RanTest {
        test,
        result,
        elapsed: started.elapsed(),
    }
}
