//! The outcomes of commands and their exit codes.

use std::io;
use std::process::ExitCode;

use manifest::Diagnostic;

use crate::input;
use crate::output::Output;

/// The outcome of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything succeeded.
    Good,
    /// Something failed, and the errors were printed.
    Failed,
    /// An Operator is invalid, and the errors were printed.
    Refused,
}

/// Why a command stopped before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Nothing was run: bad usage, or an input that is unreadable or invalid.
    Refused(Vec<Diagnostic>),
    /// The command failed while it ran.
    Failed(Vec<Diagnostic>),
    /// The output cannot be written.
    Output(io::Error),
}

impl Stop {
    /// An error while the command ran.
    pub(crate) fn failed(diagnostic: Diagnostic) -> Self {
        Self::Failed(vec![diagnostic])
    }

    /// Bad usage that clap does not detect.
    pub(crate) fn usage(message: &str) -> Self {
        Self::Refused(vec![input::error("usage", message.to_owned())])
    }

    /// Bad usage, and what to do instead.
    pub(crate) fn usage_with_help(message: &str, help: String) -> Self {
        Self::Refused(vec![Diagnostic {
            help: Some(help),
            ..input::error("usage", message.to_owned())
        }])
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Prints why a command stopped. Returns its exit code. If the command `judges` and nobody reads its
/// output any more, its outcome is not known, and it is not a success.
pub(crate) fn code(result: Result<Outcome, Stop>, judges: bool, output: &mut Output) -> ExitCode {
    let written = match &result {
        Ok(_) => output.flush(),
        Err(Stop::Refused(diagnostics) | Stop::Failed(diagnostics)) => {
            output.diagnostics(diagnostics)
        }
        Err(Stop::Output(_)) => Ok(()),
    };
    match (result, written) {
        (Err(Stop::Output(error)), _) if judges && is_closed(&error) => ExitCode::from(READER_GONE),
        (Err(Stop::Output(error)), _) => cannot_write(&error, output),
        (Ok(_), Err(error)) if !is_closed(&error) => cannot_write(&error, output),
        (Ok(Outcome::Good), _) => ExitCode::SUCCESS,
        (Ok(Outcome::Failed) | Err(Stop::Failed(_)), _) => ExitCode::from(1),
        (Ok(Outcome::Refused) | Err(Stop::Refused(_)), _) => ExitCode::from(2),
    }
}

/// The exit code of a program that SIGPIPE ends.
const READER_GONE: u8 = 128 + 13;

/// Whether the reader of a pipe has closed it, as `head` does.
fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Handles an error of the output. A pipe that its reader closes is no error.
fn cannot_write(error: &io::Error, output: &mut Output) -> ExitCode {
    if is_closed(error) {
        return ExitCode::SUCCESS;
    }
    output.complain(&format!("error: cannot write the output: {error}"));
    ExitCode::from(1)
}
