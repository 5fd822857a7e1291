//! The columns in which objects are shown as a table.

use document::Path;

/// A column of a table of objects.
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The path of the value in an object.
    pub path: Path,
    /// The type of the values.
    pub kind: ColumnType,
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        let path = |column: &Self| column.path.to_string();
        self.name == other.name && self.kind == other.kind && path(self) == path(other)
    }
}

/// The type of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A time, which is shown as the time since then.
    Date,
}

impl ColumnType {
    /// All types.
    pub const ALL: [Self; 5] = [
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Date,
    ];

    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }
}
