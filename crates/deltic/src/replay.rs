//! `deltic replay`: reads watch events and prints the watch events of the targets.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};

use document::{Value, json};
use manifest::Diagnostic;
use offline::Offline;
use offline::{Batch, Event, OfflineError};
use operator::Report;

use crate::cli::{self, EventFormat, Format};
use crate::exit::{Outcome, Stop};
use crate::output::Output;
use crate::run::Settings;
use crate::stream::{Documents, StreamError};
use crate::time::Time;
use crate::watch::WatchDocument;
use crate::{input, run, watch};

pub(crate) fn run(args: &cli::Replay, output: &mut Output) -> Result<Outcome, Stop> {
    let files = args.operator.files();
    input::stdin_once(files.names.iter().chain([&args.events]))?;
    let operators = input::read(&files, output)?.operators();
    let (operator, others) = operators.one(&files.names)?;
    if !others.is_empty() {
        output.complain(&ignored(others.len()));
    }
    let events: Box<dyn Read> = if args.events == "-" {
        output.waits_for(
            "watch events",
            "kubectl get … --watch --output-watch-events -o json",
        );
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.events).map_err(|error| unreadable(&args.events, &error))?)
    };
    let (mut offline, settings) = run::start(operator, &args.run);
    let clock = match args.run.time.now {
        Some(now) => {
            offline.start_at(now.get());
            Clock::Set(now)
        }
        None => Clock::Unused,
    };
    let replay = Replay {
        offline,
        settings,
        clock,
        format: args.output,
        file: (args.events != "-").then_some(args.events.as_str()),
        output,
        outcome: Outcome::Good,
    };
    replay.all(Documents::new(events, args.run.limits.document_bytes))
}

fn ignored(count: usize) -> String {
    format!("warning: {count} of the documents in -f are not Operators and are ignored")
}

fn unreadable(name: &str, error: &io::Error) -> Stop {
    let message = format!("cannot read {name}: {error}");
    Stop::Refused(vec![input::error("read", message)])
}

/// The time of a replay.
#[derive(Clone, Copy)]
enum Clock {
    /// No batch has needed it yet.
    Unused,
    /// The system clock; the time of the last batch.
    System(Time),
    /// `--now`, or the last TICK.
    Set(Time),
}

impl Clock {
    /// The time of a batch of events. It does not go back.
    fn read(&mut self) -> Time {
        let now = match *self {
            Self::Set(now) => return now,
            Self::System(last) => last.max(Time::now()),
            Self::Unused => Time::now(),
        };
        *self = Self::System(now);
        now
    }

    /// Sets the time by a TICK.
    fn set(&mut self, time: Time) -> Result<(), &'static str> {
        match *self {
            Self::System(_) => {
                return Err("a TICK after events needs --now, the time of these events");
            }
            Self::Set(last) if time < last => {
                return Err("the time of a TICK is before --now or the last TICK");
            }
            Self::Unused | Self::Set(_) => *self = Self::Set(time),
        }
        Ok(())
    }
}

struct Replay<'a> {
    offline: Offline,
    settings: Settings,
    clock: Clock,
    format: EventFormat,
    /// The file of the events; `None` for stdin.
    file: Option<&'a str>,
    output: &'a mut Output,
    outcome: Outcome,
}

impl Replay<'_> {
    fn all(mut self, documents: Documents<impl Read>) -> Result<Outcome, Stop> {
        for (i, document) in documents.enumerate() {
            let document = document.map_err(|error| self.unread(&error))?;
            match watch::read(&document).map_err(|error| self.bad_event(i + 1, &error))? {
                WatchDocument::Events(batch) => self.batch(&batch)?,
                WatchDocument::Tick(time) => {
                    let set = self.clock.set(time);
                    set.map_err(|why| {
                        failed(
                            "bad-tick",
                            self.placed(&format!("document {}: {why}", i + 1)),
                        )
                    })?;
                    let result = self.offline.tick(&self.settings.env_at(time));
                    self.done(result, &[])?;
                }
            }
            self.output
                .progress(|| format!("{} documents of the stream", i + 1));
        }
        self.output.progress_ends();
        // With jsonl errors are part of the output.
        Ok(match self.format {
            EventFormat::Jsonl => Outcome::Good,
            EventFormat::Text | EventFormat::Yaml | EventFormat::Json => self.outcome,
        })
    }

    /// A message about the events, with their file.
    fn placed(&self, message: &str) -> String {
        match self.file {
            Some(file) => format!("{file}: {message}"),
            None => message.to_owned(),
        }
    }

    fn unread(&self, error: &StreamError) -> Stop {
        let help = || format!("expected watch events, as JSON; {}", watch::OBJECTS);
        Stop::failed(Diagnostic {
            help: matches!(error, StreamError::Json { number: 1, .. }).then(help),
            ..input::error(error.code(), self.placed(&error.to_string()))
        })
    }

    fn bad_event(
        &self,
        number: usize,
        (position, error): &(Option<usize>, watch::WatchError),
    ) -> Stop {
        let place = match position {
            Some(position) => format!("document {number}, event {}", position + 1),
            None => format!("document {number}"),
        };
        Stop::failed(Diagnostic {
            help: error.help(),
            ..input::error(error.code(), self.placed(&format!("{place}: {error}")))
        })
    }

    fn batch(&mut self, batch: &watch::Batch) -> Result<(), Stop> {
        let env = self.settings.env_at(self.clock.read());
        let result = self.offline.batch(&batch.events, &env);
        self.done(result, &batch.nameless)
    }

    /// Prints the result of a batch, with other errors of it.
    fn done(&mut self, result: Result<Batch, OfflineError>, others: &[Report]) -> Result<(), Stop> {
        let (mut done, stop) = match result {
            Ok(done) => (done, None),
            Err(error) => {
                let mut done = Batch::default();
                if self.format == EventFormat::Jsonl {
                    done.errors.push(stopped(&error));
                }
                (done, Some(failed(error.code(), error.to_string())))
            }
        };
        done.errors.extend(others.iter().cloned());
        self.print(&done)?;
        stop.map_or(Ok(()), Err)
    }

    fn print(&mut self, batch: &Batch) -> io::Result<()> {
        if !batch.errors.is_empty() {
            self.outcome = Outcome::Failed;
        }
        if self.format == EventFormat::Jsonl {
            self.output.text(&line(batch))?;
            return self.output.flush();
        }
        for event in &batch.events {
            self.event(event)?;
        }
        for error in &batch.errors {
            self.output.report(error)?;
        }
        self.output.flush()
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let whole = || json!({"type": (event.kind.as_str()), "object": (event.object.clone())});
        match self.format {
            EventFormat::Text => self.output.event(event.kind, &event.object),
            EventFormat::Yaml => self.output.value(&whole(), Format::Yaml),
            EventFormat::Json | EventFormat::Jsonl => self.output.value(&whole(), Format::Json),
        }
    }
}

/// The error that ends the run, as an error of its last batch.
fn stopped(error: &OfflineError) -> Report {
    let (controller, message) = match error {
        OfflineError::Budget { controller, error } => (controller.clone(), error.to_string()),
        OfflineError::NoName(_) => (String::new(), error.to_string()),
    };
    Report {
        controller,
        stage: String::new(),
        origin: Value::list([]),
        code: error.code(),
        message,
    }
}

fn failed(code: &str, message: String) -> Stop {
    Stop::failed(input::error(code, message))
}

/// A batch as one line of JSON, with the keys in a readable order.
fn line(batch: &Batch) -> String {
    let events = batch.events.iter().map(|event| {
        format!(
            "{{\"type\":\"{}\",\"object\":{}}}",
            event.kind.as_str(),
            event.object
        )
    });
    let errors = batch.errors.iter().map(|error| {
        format!(
            "{{\"controller\":{},\"stage\":{},\"origin\":{},\"code\":\"{}\",\"message\":{}}}",
            Value::from(error.controller.as_str()),
            Value::from(error.stage.as_str()),
            error.origin,
            error.code,
            Value::from(error.message.as_str()),
        )
    });
    let mut line = String::from("{\"events\":[");
    join(&mut line, events);
    line.push_str("],\"errors\":[");
    join(&mut line, errors);
    line.push_str("]}\n");
    line
}

fn join(line: &mut String, parts: impl Iterator<Item = String>) {
    for (i, part) in parts.enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(line, "{}{part}", if i > 0 { "," } else { "" });
    }
}
