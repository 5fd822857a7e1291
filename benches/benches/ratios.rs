//! All peers on all workloads, and the report of their ratios.
//!
//! Each run is a child process of this executable, so that memory and caches are its own;
//! the peers of a workload and size take turns, and the best of the rounds counts.

use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use benches::Workload;
use benches::allocator::Counting;
use benches::bars::Results;
use benches::measure::{Measurement, Mode, PEERS, Task};
use benches::report::{Context, NAME, differences, report, write_into};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the command line asks for.
#[derive(Debug)]
struct Options {
    max: usize,
    rounds: usize,
    workloads: Vec<Workload>,
    peers: Vec<String>,
    write: Option<PathBuf>,
    date: String,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("unknown argument `{0}`: expected {USAGE}")]
    Argument(String),
    #[error("`{0}` needs a value: expected {USAGE}")]
    Value(String),
    #[error("no peer `{0}`: expected one of {PEERS:?}")]
    Peer(String),
    #[error("the run of {0:?} failed")]
    Run(Task),
    #[error("the outputs of the peers differ: {0}")]
    Different(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

const USAGE: &str = "[--max N] [--rounds N] [--workload w1|w2|w3|whole]… [--peer NAME]… \
                     [--write FILE] [--date DATE]";

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [flag, task] if flag == "--child" => child(task),
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

/// Runs one task and writes its result to stdout.
fn child(task: &str) -> Result<(), Error> {
    let task: Task = serde_json::from_str(task)?;
    serde_json::to_writer(stdout(), &task.run())?;
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        // `cargo test` runs benchmarks without `--bench`: then see only that they work.
        let real = arguments.iter().any(|argument| argument == "--bench");
        let mut options = Self {
            max: if real { 100_000 } else { 1_000 },
            rounds: if real { 3 } else { 1 },
            workloads: Vec::new(),
            peers: Vec::new(),
            write: None,
            date: String::new(),
        };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            if flag == "--bench" {
                continue;
            }
            let missing = || Error::Value(flag.clone());
            let mut value = || rest.next().ok_or_else(missing);
            let number = |text: &String| text.parse().map_err(|_| missing());
            match flag.as_str() {
                "--max" => options.max = number(value()?)?,
                "--rounds" => options.rounds = number(value()?)?.max(1),
                "--workload" => {
                    let workload = Workload::by_name(value()?).ok_or_else(missing)?;
                    options.workloads.push(workload);
                }
                "--peer" => options.peers.push(value()?.clone()),
                "--write" => options.write = Some(value()?.into()),
                "--date" => options.date.clone_from(value()?),
                _ => return Err(Error::Argument(flag.clone())),
            }
        }
        options.complete()
    }

    /// Fills in what was not asked for.
    fn complete(mut self) -> Result<Self, Error> {
        if self.workloads.is_empty() {
            self.workloads.extend(Workload::ALL);
        }
        if self.peers.is_empty() {
            self.peers.extend(PEERS.map(str::to_owned));
        }
        match self.peers.iter().find(|peer| !PEERS.contains(&&***peer)) {
            Some(unknown) => Err(Error::Peer(unknown.clone())),
            None => Ok(self),
        }
    }

    fn run(&self, arguments: &[String]) -> Result<(), Error> {
        let results = self.measure()?;
        let context = Context::new("--bench ratios", arguments)
            .date(&self.date)
            .rounds(self.rounds);
        let text = report(&results, &context);
        stdout().write_all(text.as_bytes())?;
        if let Some(file) = &self.write {
            write_into(file, NAME, &text)?;
        }
        match differences(&results).as_slice() {
            [] => Ok(()),
            different => Err(Error::Different(different.join(", "))),
        }
    }

    fn measure(&self) -> Result<Results, Error> {
        let mut results = Results::new();
        for workload in &self.workloads {
            for count in SIZES.into_iter().filter(|count| *count <= self.max) {
                for round in 0..self.rounds {
                    for peer in &self.peers {
                        measure(*workload, count, peer, round, &mut results)?;
                    }
                }
            }
        }
        Ok(results)
    }
}

/// One round of one peer. The first one also measures memory and checks the output.
fn measure(
    workload: Workload,
    count: usize,
    peer: &str,
    round: usize,
    results: &mut Results,
) -> Result<(), Error> {
    let modes: &[Mode] = match round {
        0 => &[Mode::Check, Mode::Memory, Mode::Time],
        _ => &[Mode::Time],
    };
    for mode in modes {
        let task = Task {
            peer: peer.to_owned(),
            workload: workload.name().to_owned(),
            count,
            mode: *mode,
        };
        writeln!(stderr(), "{} {count} {peer} {mode:?}", workload.name())?;
        let Some(measurement) = spawn(&task)? else {
            return Ok(());
        };
        let key = (workload, count, peer.to_owned());
        let row = results.entry(key).or_default();
        row.add(measurement, round);
    }
    Ok(())
}

/// Runs a task in a child process; `None` if the peer does not do that workload.
fn spawn(task: &Task) -> Result<Option<Measurement>, Error> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--child", &serde_json::to_string(task)?])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(Error::Run(task.clone()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
