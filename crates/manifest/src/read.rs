//! Reading files, directories and standard input: the only I/O of this crate.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::decode::decode;
use crate::diagnostic::Diagnostic;
use crate::source::{MAX_SIZE, Source};

/// How many bytes all files of a directory may have together.
pub const MAX_TOTAL_SIZE: usize = 4 * MAX_SIZE;

/// Which files of a directory are read.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Why a file or directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system returned an error.
    #[error("cannot read {name}: {source}")]
    Io {
        /// The file or directory.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// More bytes than allowed.
    #[error("{name} has more than {limit} bytes")]
    TooLarge {
        /// The file or directory.
        name: String,
        /// [`MAX_SIZE`], or for a directory [`MAX_TOTAL_SIZE`].
        limit: usize,
    },
    /// A directory without a manifest.
    #[error("directory {name} has no file that ends in .yaml, .yml or .json")]
    NoFiles {
        /// The directory.
        name: String,
    },
    /// A file is not UTF-8. The diagnostic shows where.
    #[error("{0}")]
    InvalidUtf8(Box<Diagnostic>),
}

impl ReadError {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } | Self::NoFiles { .. } => "read",
            Self::TooLarge { .. } => "too-large",
            Self::InvalidUtf8(_) => "invalid-utf8",
        }
    }
}

/// Reads `-` (standard input), a file, or the `*.yaml`, `*.yml` and `*.json` files of a
/// directory, in the order of their names and without its subdirectories.
///
/// A file may have [`MAX_SIZE`] bytes, and all files of a directory together
/// [`MAX_TOTAL_SIZE`].
pub fn read(path: &str) -> Result<Vec<Source>, ReadError> {
    if path == "-" {
        return Ok(vec![read_all("<stdin>", io::stdin().lock())?]);
    }
    let metadata = fs::metadata(path).map_err(|error| failed(path, error))?;
    if metadata.is_dir() {
        return read_directory(path);
    }
    Ok(vec![read_file(Path::new(path), path)?])
}

fn read_directory(name: &str) -> Result<Vec<Source>, ReadError> {
    let mut total = 0;
    let mut sources = Vec::new();
    for path in manifests_in(name).map_err(|error| failed(name, error))? {
        let source = read_file(&path, &path.to_string_lossy())?;
        total += source.text.len();
        if total > MAX_TOTAL_SIZE {
            return Err(ReadError::TooLarge {
                name: name.to_owned(),
                limit: MAX_TOTAL_SIZE,
            });
        }
        sources.push(source);
    }
    if sources.is_empty() {
        return Err(ReadError::NoFiles {
            name: name.to_owned(),
        });
    }
    Ok(sources)
}

/// The files to read, sorted. Links are followed, because a mounted `ConfigMap` consists of them.
fn manifests_in(directory: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let wanted = path
            .extension()
            .is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known));
        if wanted && fs::metadata(&path)?.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read_file(path: &Path, name: &str) -> Result<Source, ReadError> {
    let file = fs::File::open(path).map_err(|error| failed(name, error))?;
    read_all(name, file)
}

fn read_all(name: &str, reader: impl Read) -> Result<Source, ReadError> {
    let mut bytes = Vec::new();
    reader
        .take(MAX_SIZE as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(name, error))?;
    if bytes.len() > MAX_SIZE {
        return Err(ReadError::TooLarge {
            name: name.to_owned(),
            limit: MAX_SIZE,
        });
    }
    decode(name, bytes).map_err(|error| ReadError::InvalidUtf8(Box::new(error)))
}

fn failed(name: &str, source: io::Error) -> ReadError {
    ReadError::Io {
        name: name.to_owned(),
        source,
    }
}
