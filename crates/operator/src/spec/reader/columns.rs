//! Reads the columns in which a view is shown.

use document::path::Root;
use document::{Location, Path, Value};
use object::{Column, ColumnType, KindRef};

use super::SpecReader;
use crate::problem::Problem;

/// The columns that every table has.
const ALWAYS: [&str; 2] = ["Name", "Age"];
/// How many columns a target may name.
const MOST: usize = 16;

/// Types of other languages, with those that are meant.
const OTHER_TYPES: [(&str, ColumnType); 7] = [
    ("float", ColumnType::Number),
    ("double", ColumnType::Number),
    ("int", ColumnType::Integer),
    ("text", ColumnType::String),
    ("bool", ColumnType::Boolean),
    ("time", ColumnType::Date),
    ("timestamp", ColumnType::Date),
];

/// Fields of columns in definitions and other tools, with those that are meant.
const OTHER_FIELDS: [(&str, &str); 4] = [
    ("heading", "name"),
    ("header", "name"),
    ("title", "name"),
    ("jsonPath", "path"),
];

impl SpecReader<'_> {
    pub(super) fn columns(
        &mut self,
        list: &Value,
        resource: &KindRef,
        at: &Location,
    ) -> Vec<Column> {
        if list.is_null() {
            return Vec::new();
        }
        let Some(items) = list.as_list() else {
            let message = format!("expected a list of columns, found {}", list.kind());
            self.error("bad-field", at, message);
            return Vec::new();
        };
        if !resource.is_view() {
            let message = "only a view has columns: how other kinds are shown is decided by the \
                           server that has them";
            self.error("bad-field", at, message);
        }
        if items.len() > MOST {
            let message = format!("expected at most {MOST} columns, found {}", items.len());
            self.error("bad-field", at, message);
        }
        let mut columns: Vec<Column> = Vec::new();
        for (i, item) in items.iter().enumerate().take(MOST) {
            let at = at.index(i);
            let Some(column) = self.column(item, &at) else {
                continue;
            };
            let same = |name: &str| name.eq_ignore_ascii_case(&column.name);
            if ALWAYS.into_iter().any(same) {
                let message = "Name and Age are always shown and need no column";
                self.error("bad-field", &at.key("name"), message);
            } else if columns.iter().any(|other| same(&other.name)) {
                let message = format!("two columns have the name {}", column.name);
                self.error("bad-field", &at.key("name"), message);
            } else {
                columns.push(column);
            }
        }
        columns
    }

    fn column(&mut self, spec: &Value, at: &Location) -> Option<Column> {
        let before = self.problems.len();
        if !self.known(spec, &["name", "path", "type"], at) {
            return None;
        }
        for (other, meant) in OTHER_FIELDS {
            let at = at.key(other);
            let mut unknown = self.problems[before..].iter_mut();
            if let Some(problem) = unknown.find(|problem| problem.at == at) {
                problem.help = Some(format!("did you mean {meant}?"));
                self.misspelled
                    .extend(at.parent().map(|(column, _)| column.key(meant)));
            }
        }
        let name = self.text(spec.get("name"), &at.key("name"));
        let path = self.column_path(spec.get("path"), &at.key("path"));
        let names = ColumnType::ALL.map(ColumnType::name);
        let before = self.problems.len();
        let kind = self.choice(spec.get("type"), &names, &at.key("type"));
        if let (Some(problem), Some(text)) =
            (self.problems.get_mut(before), spec.get("type").as_str())
            && let Some((_, meant)) = OTHER_TYPES.iter().find(|(other, _)| *other == text)
        {
            problem.help = Some(format!("did you mean {}?", meant.name()));
        }
        Some(Column {
            name: name?,
            path: path?,
            kind: kind.map_or(ColumnType::String, |at| ColumnType::ALL[at]),
        })
    }

    /// A path of one value of an object.
    fn column_path(&mut self, value: &Value, at: &Location) -> Option<Path> {
        let text = self.text(value, at)?;
        let path = match Path::parse(&text) {
            Ok(path) => path,
            Err(error) => {
                let problem = Problem::error("bad-path", at, error.to_string());
                let meant = format!("$.{}", text.trim_start_matches(['.', '$']));
                self.problems.push(if Path::parse(&meant).is_ok() {
                    problem.with_help(format!("did you mean {meant}?"))
                } else {
                    problem
                });
                return None;
            }
        };
        let wrong = if path.root() == Root::Item {
            "a column starts at the object, with $."
        } else if path.is_root() || !path.is_singular() {
            "a column shows one value of an object, such as $.status.phase"
        } else {
            return Some(path);
        };
        self.error("bad-path", at, wrong);
        None
    }
}
