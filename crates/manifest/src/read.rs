//! Finding and opening files, directories and standard input: the only I/O of this crate.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::documents::Documents;

/// The name of standard input in messages.
pub const STDIN: &str = "<stdin>";

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
    /// A directory without a manifest.
    #[error("directory {name} has no file that ends in .yaml, .yml or .json")]
    NoFiles {
        /// The directory.
        name: String,
        /// Whether one of its subdirectories may have some.
        nested: bool,
    },
}

impl ReadError {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } | Self::NoFiles { .. } => "read",
        }
    }

    pub(crate) fn help(&self) -> Option<String> {
        let nested = matches!(self, Self::NoFiles { nested: true, .. });
        nested.then(|| "-R also reads its subdirectories".to_owned())
    }
}

/// The files of a path.
#[derive(Debug, Default)]
pub struct Found {
    /// The files, in the order of their names.
    pub files: Vec<InputFile>,
    /// The links in directories that lead nowhere. They are skipped.
    pub broken_links: Vec<String>,
}

/// A file, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The name in messages.
    pub name: String,
    /// Its size in bytes; `None` for standard input.
    pub size: Option<u64>,
    /// Whether it was found in a directory, and not named itself.
    pub found: bool,
    /// `None` for standard input.
    path: Option<PathBuf>,
}

impl InputFile {
    fn new(path: PathBuf, found: bool) -> Result<Self, ReadError> {
        let name = path.to_string_lossy().into_owned();
        let metadata = fs::metadata(&path).map_err(|error| failed(&name, error))?;
        Ok(Self {
            name,
            size: Some(metadata.len()),
            found,
            path: Some(path),
        })
    }

    /// Where it is; `None` for standard input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Opens the file. Each of its documents may have this many bytes.
    pub fn documents(&self, max_bytes: usize) -> Result<Documents<Box<dyn Read>>, ReadError> {
        let reader: Box<dyn Read> = match &self.path {
            Some(path) => {
                Box::new(fs::File::open(path).map_err(|error| failed(&self.name, error))?)
            }
            None => Box::new(io::stdin().lock()),
        };
        Ok(Documents::new(&self.name, reader, max_bytes))
    }
}

/// The files of a path: `-` (standard input), a file, or the `*.yaml`, `*.yml` and `*.json` files
/// of a directory, in the order of their names, without tests. `recursive` adds those of its
/// subdirectories.
pub fn files(path: &str, recursive: bool) -> Result<Found, ReadError> {
    if path == "-" {
        let stdin = InputFile {
            name: STDIN.to_owned(),
            size: None,
            found: false,
            path: None,
        };
        return Ok(Found {
            files: vec![stdin],
            ..Found::default()
        });
    }
    let wanted = |path: &Path| is_manifest(path) && !is_test(path);
    let search = Search::start(path, recursive, wanted)?;
    if search.found.files.is_empty() {
        return Err(ReadError::NoFiles {
            name: path.to_owned(),
            nested: search.nested && !recursive,
        });
    }
    Ok(search.found)
}

/// The tests of a path: a file, or the `*.test.yaml` and `*.test.yml` files of a directory and its
/// subdirectories, in the order of their names.
pub fn test_files(path: &str) -> Result<Found, ReadError> {
    Ok(Search::start(path, true, is_test)?.found)
}

/// The search for files in a directory.
struct Search {
    /// Which files are searched for.
    wanted: fn(&Path) -> bool,
    recursive: bool,
    found: Found,
    /// Whether there is a subdirectory.
    nested: bool,
    /// The directories that were read, without links in their paths: links may lead to the same
    /// directory several times, or in circles.
    read: BTreeSet<PathBuf>,
}

impl Search {
    /// Finds the files of a directory, or a file that is named itself.
    fn start(path: &str, recursive: bool, wanted: fn(&Path) -> bool) -> Result<Self, ReadError> {
        let mut search = Self {
            wanted,
            recursive,
            found: Found::default(),
            nested: false,
            read: BTreeSet::new(),
        };
        let metadata = fs::metadata(path).map_err(|error| failed(path, error))?;
        if metadata.is_dir() {
            search.directory(Path::new(path))?;
        } else {
            search.found.files.push(InputFile::new(path.into(), false)?);
        }
        Ok(search)
    }

    /// Adds the files of a directory, sorted. Links are followed, because a mounted `ConfigMap`
    /// consists of them.
    fn directory(&mut self, directory: &Path) -> Result<(), ReadError> {
        let failed = |error| failed(&directory.to_string_lossy(), error);
        if !self
            .read
            .insert(fs::canonicalize(directory).map_err(failed)?)
        {
            return Ok(());
        }
        let mut paths = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        paths.sort();
        for path in paths {
            self.entry(path)?;
        }
        Ok(())
    }

    /// Adds an entry of a directory: a file, or the files of a subdirectory. Pipes and devices are
    /// skipped: reading one may wait for ever.
    fn entry(&mut self, path: PathBuf) -> Result<(), ReadError> {
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if leads_nowhere(&path, &error) => {
                if (self.wanted)(&path) || (self.recursive && !is_hidden(&path)) {
                    let name = path.to_string_lossy().into_owned();
                    self.found.broken_links.push(name);
                }
                return Ok(());
            }
            Err(error) => return Err(failed(&path.to_string_lossy(), error)),
        };
        let is_dir = metadata.is_dir();
        self.nested |= is_dir;
        if is_dir && self.recursive && !is_hidden(&path) {
            self.directory(&path)?;
        } else if metadata.is_file() && (self.wanted)(&path) {
            self.found.files.push(InputFile::new(path, true)?);
        }
        Ok(())
    }
}

/// Whether this is the error of a link to nothing, or to itself. That a file may not be read is an
/// error of the file.
fn leads_nowhere(path: &Path, error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::PermissionDenied && path.is_symlink()
}

fn is_manifest(path: &Path) -> bool {
    path.extension()
        .is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known))
}

/// Whether a file has tests of an Operator.
fn is_test(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.ends_with(".test.yaml") || name.ends_with(".test.yml"))
}

/// Whether a directory is hidden: `.git`, or the `..data` of a mounted `ConfigMap`, whose files
/// are linked from the directory around it.
fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn failed(name: &str, source: io::Error) -> ReadError {
    ReadError::Io {
        name: name.to_owned(),
        source,
    }
}
