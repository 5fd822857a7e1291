//! Finding and opening files, directories and standard input: the only I/O of this crate.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::documents::Documents;

/// The name of standard input in messages.
pub const STDIN: &str = "<stdin>";

/// Which files of a directory are read.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// How deep directories are searched. A link to a directory above it would lead around in circles;
/// Linux follows 40 links in a path.
const MAX_DIRECTORIES: usize = 30;

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
pub fn files(path: &str, recursive: bool) -> Result<Vec<InputFile>, ReadError> {
    if path == "-" {
        return Ok(vec![InputFile {
            name: STDIN.to_owned(),
            size: None,
            found: false,
            path: None,
        }]);
    }
    let metadata = fs::metadata(path).map_err(|error| failed(path, error))?;
    if !metadata.is_dir() {
        return Ok(vec![InputFile::new(path.into(), false)?]);
    }
    let mut search = Search {
        wanted: |path| is_manifest(path) && !is_test(path),
        recursive,
        files: Vec::new(),
        nested: false,
    };
    search.directory(Path::new(path), 0)?;
    if search.files.is_empty() {
        return Err(ReadError::NoFiles {
            name: path.to_owned(),
            nested: search.nested && !recursive,
        });
    }
    Ok(search.files)
}

/// The tests of a path: a file, or the `*.test.yaml` and `*.test.yml` files of a directory and its
/// subdirectories, in the order of their names.
pub fn test_files(path: &str) -> Result<Vec<PathBuf>, ReadError> {
    let metadata = fs::metadata(path).map_err(|error| failed(path, error))?;
    if !metadata.is_dir() {
        return Ok(vec![path.into()]);
    }
    let mut search = Search {
        wanted: is_test,
        recursive: true,
        files: Vec::new(),
        nested: false,
    };
    search.directory(Path::new(path), 0)?;
    Ok(search
        .files
        .into_iter()
        .filter_map(|file| file.path)
        .collect())
}

/// The search for files in a directory.
struct Search {
    /// Which files are searched for.
    wanted: fn(&Path) -> bool,
    recursive: bool,
    files: Vec<InputFile>,
    /// Whether there is a subdirectory.
    nested: bool,
}

impl Search {
    /// Adds the files of a directory, sorted. Links are followed, because a mounted `ConfigMap`
    /// consists of them.
    fn directory(&mut self, directory: &Path, depth: usize) -> Result<(), ReadError> {
        let failed = |error| failed(&directory.to_string_lossy(), error);
        let mut paths = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        paths.sort();
        for path in paths {
            let is_dir = fs::metadata(&path).map_err(failed)?.is_dir();
            if is_dir && self.recursive && depth < MAX_DIRECTORIES && !is_hidden(&path) {
                self.directory(&path, depth + 1)?;
            }
            self.nested |= is_dir;
            if !is_dir && (self.wanted)(&path) {
                self.files.push(InputFile::new(path, true)?);
            }
        }
        Ok(())
    }
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
