//! Views that deltic serves, beside the same objects of a custom resource on kube-apiserver and
//! etcd: one client, one machine, one run, the same requests.

mod load;
mod report;
mod subject;

use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use benches::report::{Context, write_into};

use load::Load;
use report::{NAME, report};
use subject::{Stage, Subject};

/// As deltic has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "[--few N] [--many N] [--watches N] [--events N] [--write FILE] [--date DATE]";

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("unknown argument `{0}`: expected {USAGE}")]
    Argument(String),
    #[error("`{0}` needs a value: expected {USAGE}")]
    Value(String),
    #[error("a server does not do what the benchmark asks for: {0}")]
    Server(#[from] Box<kube::Error>),
    #[error("{0}")]
    Unexpected(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Server(Box::new(error))
    }
}

/// What the command line asks for.
#[derive(Clone, Debug)]
struct Options {
    load: Load,
    write: Option<PathBuf>,
    date: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Options::parse(&arguments).and_then(|options| options.run(&arguments)) {
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
            load: Load::default(),
            write: None,
            date: String::new(),
        };
        let mut rest = arguments.iter().filter(|argument| *argument != "--bench");
        while let Some(flag) = rest.next() {
            let missing = || Error::Value(flag.clone());
            let mut value = || rest.next().ok_or_else(missing);
            let number = |text: &String| text.parse().map_err(|_| missing());
            match flag.as_str() {
                "--few" => options.load.few = number(value()?)?,
                "--many" => options.load.many = number(value()?)?,
                "--watches" => options.load.watches = number(value()?)?,
                "--events" => options.load.events = number(value()?)?,
                "--write" => options.write = Some(value()?.into()),
                "--date" => options.date.clone_from(value()?),
                _ => return Err(Error::Argument(flag.clone())),
            }
        }
        Ok(options)
    }

    fn run(&self, arguments: &[String]) -> Result<(), Error> {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let stage = Stage::new();
        let mut results = Vec::new();
        for subject in Subject::ALL {
            writeln!(stderr(), "{}", subject.name())?;
            let figures = threads.block_on(self.load.run(&stage, subject))?;
            writeln!(stderr(), "{figures:.3?}")?;
            results.push((subject, figures));
        }
        stage.stop();
        let context = Context::new("--features cluster --bench serving", arguments);
        let text = report(&results, &self.load, &context.date(&self.date));
        stdout().write_all(text.as_bytes())?;
        match &self.write {
            Some(file) => Ok(write_into(file, NAME, &text)?),
            None => Ok(()),
        }
    }
}
