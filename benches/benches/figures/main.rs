//! deltic on a real control plane, beside a bare client and a hand-written controller.
//!
//! The subjects take turns, each in a process of its own, on the same objects; the median
//! of the rounds counts. See `job` for what they do and `measure` for what is measured.

mod job;
mod measure;
mod peer;
mod report;
mod requests;
mod stage;
mod targets;

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use benches::report::{Context, write_into};

use measure::Bench;
use peer::Subject;
use report::{NAME, Results, report};
use stage::Stage;

/// As deltic has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Numbers of objects, and how many times the rounds that are asked for: what takes a
/// second or two varies by a sixth from one time to the next, and by more where the machine
/// does something else.
const SIZES: [(usize, usize); 2] = [(1_000, 3), (10_000, 1)];

const USAGE: &str =
    "[--max N] [--rounds N] [--subject deltic|bare|hand]… [--write FILE] [--date DATE]";

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("unknown argument `{0}`: expected {USAGE}")]
    Argument(String),
    #[error("`{0}` needs a value: expected {USAGE}")]
    Value(String),
    #[error("no subject `{0}`: expected {USAGE}")]
    Subject(String),
    #[error("no target was written for {} s", .0.as_secs())]
    Stuck(Duration),
    #[error("a peer cannot go on: {0}")]
    Peer(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the cluster does not do what the benchmark asks for: {0}")]
    Cluster(#[source] Box<kube::Error>),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Error {
    fn peer(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Peer(Box::new(error))
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Cluster(Box::new(error))
    }
}

/// What the command line asks for.
#[derive(Debug)]
struct Options {
    max: usize,
    rounds: usize,
    subjects: Vec<Subject>,
    write: Option<PathBuf>,
    date: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [flag, name, kubeconfig, namespace] if flag == "--peer" => {
            peer::run(name, Path::new(kubeconfig), namespace)
        }
        _ => Options::parse(&arguments).and_then(|options| options.run(&arguments)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut options = Self {
            max: SIZES[SIZES.len() - 1].0,
            rounds: 5,
            subjects: Vec::new(),
            write: None,
            date: String::new(),
        };
        let mut rest = arguments.iter().filter(|argument| *argument != "--bench");
        while let Some(flag) = rest.next() {
            let missing = || Error::Value(flag.clone());
            let mut value = || rest.next().ok_or_else(missing);
            let number = |text: &String| text.parse().map_err(|_| missing());
            match flag.as_str() {
                "--max" => options.max = number(value()?)?,
                "--rounds" => options.rounds = number(value()?)?.max(1),
                "--subject" => {
                    let name = value()?;
                    let subject = Subject::by_name(name);
                    let subject = subject.ok_or_else(|| Error::Subject(name.clone()))?;
                    options.subjects.push(subject);
                }
                "--write" => options.write = Some(value()?.into()),
                "--date" => options.date.clone_from(value()?),
                _ => return Err(Error::Argument(flag.clone())),
            }
        }
        if options.subjects.is_empty() {
            options.subjects.extend(Subject::ALL);
        }
        Ok(options)
    }

    fn run(&self, arguments: &[String]) -> Result<(), Error> {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let mut results = Results::new();
        for (count, times) in SIZES.into_iter().filter(|(count, _)| *count <= self.max) {
            threads.block_on(self.measure(count, times * self.rounds, &mut results))?;
        }
        let context =
            Context::new("--features cluster --bench figures", arguments).date(&self.date);
        let text = report(&results, &context);
        stdout().write_all(text.as_bytes())?;
        match &self.write {
            Some(file) => Ok(write_into(file, NAME, &text)?),
            None => Ok(()),
        }
    }

    /// The subjects in the order of a round: nobody is always the first to find a server
    /// that has been idle, nor always comes after the same one.
    fn turns(&self, round: usize) -> Vec<Subject> {
        let subjects = self.subjects.iter().copied().cycle();
        let subjects = subjects.skip(round).take(self.subjects.len());
        let mut subjects: Vec<_> = subjects.collect();
        if round / self.subjects.len() % 2 == 1 {
            subjects.reverse();
        }
        subjects
    }

    async fn measure(
        &self,
        count: usize,
        rounds: usize,
        results: &mut Results,
    ) -> Result<(), Error> {
        writeln!(stderr(), "{count} objects: a control plane starts")?;
        let stage = Stage::new();
        let mut bench = Bench::new(&stage, count).await?;
        for round in 1..=rounds {
            for subject in self.turns(round) {
                let name = subject.name();
                write!(stderr(), "{count} objects, round {round}, {name}: ")?;
                let figures = bench.run(subject).await?;
                writeln!(stderr(), "{figures:.3?}")?;
                results.entry((count, subject)).or_default().push(figures);
            }
        }
        Ok(())
    }
}
