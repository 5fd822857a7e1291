//! The arguments that name files.

use clap::Args;

use crate::exit::Stop;
use crate::input::Files;

/// Operators as arguments, with or without -f.
#[derive(Debug, Args)]
pub(crate) struct NamedOperators {
    /// The Operators: files, directories, or - for stdin
    #[arg(value_name = "FILE")]
    files: Vec<String>,

    /// The same as FILE
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<String>,

    #[command(flatten)]
    recursive: Recursive,
}

impl NamedOperators {
    /// Whether files are given.
    #[cfg(feature = "cluster")]
    pub(crate) fn are_given(&self) -> bool {
        !self.files.is_empty() || !self.filename.is_empty()
    }

    /// The files, of which there must be one at least.
    pub(crate) fn files(&self, command: &str) -> Result<Files, Stop> {
        let files = self.recursive.files(&self.filename, &self.files);
        if files.names.is_empty() {
            let help = format!(
                "name a file or a directory, as in `deltic {command} operator.yaml`; `-` reads stdin"
            );
            return Err(Stop::usage_with_help("no file is given", help));
        }
        Ok(files)
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Recursive {
    /// Read the subdirectories of directories, too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
}

impl Recursive {
    /// The files of `-f` and of arguments.
    pub(crate) fn files(self, flags: &[String], arguments: &[String]) -> Files {
        Files::new(&[flags, arguments].concat(), self.recursive)
    }
}

#[derive(Debug, Args)]
pub(crate) struct OperatorFiles {
    /// The Operator: a file, a directory, or - for stdin
    #[arg(short, long, value_name = "FILE", required = true)]
    filename: Vec<String>,

    #[command(flatten)]
    recursive: Recursive,
}

impl OperatorFiles {
    pub(crate) fn files(&self) -> Files {
        self.recursive.files(&self.filename, &[])
    }
}
