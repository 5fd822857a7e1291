//! One operation, and how it is read.

use super::path::PatchPath;
use crate::path::PathError;
use crate::suggest::nearest;
use crate::value::{Kind, Value};

/// One operation of a patch.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Adds a value to a map, or to a list before the element at that position. Missing maps
    /// along the path are created, and by `-` also the list.
    Add {
        /// The path.
        path: PatchPath,
        /// The value.
        value: Value,
    },
    /// Replaces a value.
    Replace {
        /// The path.
        path: PatchPath,
        /// The value.
        value: Value,
    },
    /// Removes a value.
    Remove {
        /// The path.
        path: PatchPath,
    },
    /// Compares a value. The patch fails if it differs.
    Test {
        /// The path.
        path: PatchPath,
        /// The expected value.
        value: Value,
    },
    /// Adds the value that is at another place.
    Copy {
        /// Where the value is; exactly one place.
        from: PatchPath,
        /// Where it is added.
        path: PatchPath,
    },
    /// Removes a value and adds it elsewhere.
    Move {
        /// Where the value is; exactly one place.
        from: PatchPath,
        /// Where it is added.
        path: PatchPath,
    },
    /// Merges a map deeply into another; see [`merge`](crate::merge()). Missing maps along the
    /// path are created.
    Merge {
        /// The path.
        path: PatchPath,
        /// The map that is merged.
        value: Value,
    },
}

/// The names of all operations.
pub const OPERATIONS: [&str; 7] = ["add", "replace", "remove", "test", "copy", "move", "merge"];

impl Operation {
    /// Reads `{"op": …, "path": …, "value": …}`. All fields of the operation are required.
    /// Other fields are ignored, as RFC 6902 demands.
    pub fn read(value: &Value) -> Result<Self, ReadError> {
        let reader = OperationReader(value);
        Ok(match reader.op()? {
            "add" => Self::Add {
                path: reader.path("path")?,
                value: reader.value()?,
            },
            "replace" => Self::Replace {
                path: reader.path("path")?,
                value: reader.value()?,
            },
            "remove" => Self::Remove {
                path: reader.path("path")?,
            },
            "test" => Self::Test {
                path: reader.path("path")?,
                value: reader.value()?,
            },
            "copy" => Self::Copy {
                from: reader.path("from")?,
                path: reader.path("path")?,
            },
            "move" => Self::Move {
                from: reader.path("from")?,
                path: reader.path("path")?,
            },
            "merge" => Self::Merge {
                path: reader.path("path")?,
                value: reader.map()?,
            },
            other => return Err(ReadCause::unknown(other).into()),
        })
    }

    /// The path of the places that are changed or tested.
    pub fn path(&self) -> &PatchPath {
        match self {
            Self::Add { path, .. }
            | Self::Replace { path, .. }
            | Self::Remove { path }
            | Self::Test { path, .. }
            | Self::Copy { path, .. }
            | Self::Move { path, .. }
            | Self::Merge { path, .. } => path,
        }
    }

    /// The name of the operation.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Replace { .. } => "replace",
            Self::Remove { .. } => "remove",
            Self::Test { .. } => "test",
            Self::Copy { .. } => "copy",
            Self::Move { .. } => "move",
            Self::Merge { .. } => "merge",
        }
    }

    /// The value of the operation, if it has one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Add { value, .. }
            | Self::Replace { value, .. }
            | Self::Test { value, .. }
            | Self::Merge { value, .. } => Some(value),
            Self::Remove { .. } | Self::Copy { .. } | Self::Move { .. } => None,
        }
    }
}

/// An operation that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{cause}", self.place())]
pub struct ReadError {
    /// The position of the operation, from 0; unknown if it was read alone.
    pub operation: Option<usize>,
    /// What is wrong with it.
    pub cause: ReadCause,
}

impl ReadError {
    /// A name for the kind of error that never changes.
    pub fn code(&self) -> &'static str {
        self.cause.code()
    }

    fn place(&self) -> String {
        match self.operation {
            Some(operation) => format!("operation {operation}: "),
            None => String::new(),
        }
    }
}

impl From<ReadCause> for ReadError {
    fn from(cause: ReadCause) -> Self {
        Self {
            operation: None,
            cause,
        }
    }
}

/// What is wrong with an operation as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadCause {
    /// A patch is a list.
    #[error("the patch is {found}, expected a list of operations")]
    NotList {
        /// What it is.
        found: Kind,
    },
    /// An operation is a map.
    #[error("the operation is {found}, expected a map")]
    NotMap {
        /// What it is.
        found: Kind,
    },
    /// A field is missing.
    #[error("no field `{field}`{}", found_instead(.instead.as_deref()))]
    Missing {
        /// Which.
        field: &'static str,
        /// A field that is there and may be a slip of it.
        instead: Option<String>,
    },
    /// A field has the wrong type.
    #[error("`{field}` is {found}, expected {expected}")]
    Type {
        /// Which.
        field: &'static str,
        /// What it is.
        found: Kind,
        /// What it must be.
        expected: &'static str,
    },
    /// There is no such operation.
    #[error("unknown operation `{found}`{}", did_you_mean(*.nearest))]
    UnknownOperation {
        /// What was written.
        found: String,
        /// The operation of the nearest name.
        nearest: Option<&'static str>,
    },
    /// A path is invalid.
    #[error("`{field}` is not a path: {source}")]
    Path {
        /// `path` or `from`.
        field: &'static str,
        /// What was written.
        text: String,
        /// What is wrong with it.
        source: PathError,
    },
}

impl ReadCause {
    /// A name for the kind of error that never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotList { .. } | Self::NotMap { .. } | Self::Type { .. } => "patch-type",
            Self::Missing { .. } => "patch-missing-field",
            Self::UnknownOperation { .. } => "patch-unknown-operation",
            Self::Path { .. } => "patch-path",
        }
    }

    /// The field of the operation that caused the error, if it was a single field.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::NotList { .. } | Self::NotMap { .. } | Self::Missing { .. } => None,
            Self::Type { field, .. } | Self::Path { field, .. } => Some(field),
            Self::UnknownOperation { .. } => Some("op"),
        }
    }

    /// The error for an unknown operation.
    pub fn unknown(name: &str) -> Self {
        Self::UnknownOperation {
            found: name.chars().take(MAX_NAME).collect(),
            nearest: nearest(name, OPERATIONS)
                .and_then(|near| OPERATIONS.into_iter().find(|name| *name == near)),
        }
    }
}

/// How much of an unknown name is shown.
const MAX_NAME: usize = 64;

fn found_instead(instead: Option<&str>) -> String {
    match instead {
        Some(instead) => format!(", found `{instead}`"),
        None => String::new(),
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!(", did you mean `{nearest}`?"),
        None => format!(", expected one of {}", OPERATIONS.join(", ")),
    }
}

/// Reads the fields of one operation.
struct OperationReader<'a>(&'a Value);

impl<'a> OperationReader<'a> {
    fn op(&self) -> Result<&'a str, ReadCause> {
        self.text("op")
    }

    fn path(&self, field: &'static str) -> Result<PatchPath, ReadCause> {
        let text = self.text(field)?;
        PatchPath::parse(text).map_err(|source| ReadCause::Path {
            field,
            text: text.to_owned(),
            source,
        })
    }

    fn value(&self) -> Result<Value, ReadCause> {
        self.field("value").cloned()
    }

    fn map(&self) -> Result<Value, ReadCause> {
        let value = self.value()?;
        match value.kind() {
            Kind::Map => Ok(value),
            found => Err(ReadCause::Type {
                field: "value",
                found,
                expected: "a map to merge",
            }),
        }
    }

    fn text(&self, field: &'static str) -> Result<&'a str, ReadCause> {
        let value = self.field(field)?;
        value.as_str().ok_or_else(|| ReadCause::Type {
            field,
            found: value.kind(),
            expected: "a string",
        })
    }

    fn field(&self, field: &'static str) -> Result<&'a Value, ReadCause> {
        let Some(map) = self.0.as_map() else {
            let found = self.0.kind();
            return Err(ReadCause::NotMap { found });
        };
        map.get_str(field).ok_or_else(|| {
            let others = map.iter().map(|(key, _)| key.as_str());
            let unknown = others.filter(|name| {
                name.len() <= MAX_NAME && !["op", "path", "from", "value"].contains(name)
            });
            let instead = nearest(field, unknown).map(str::to_owned);
            ReadCause::Missing { field, instead }
        })
    }
}
