//! Objects as rows of a table, for `kubectl get`.

use document::{Value, json};
use jiff::Timestamp;
use object::ColumnType;
use object::metadata::KEYS;

use crate::query::IncludeObject;
use crate::resource::Resource;

/// How tables are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableForm {
    /// What the rows contain of the objects.
    pub(crate) include: IncludeObject,
    /// The time, in seconds since 1970, from which ages are counted.
    pub(crate) now: i64,
}

impl TableForm {
    /// A table of these objects. `metadata` is that of the list. A watch sends the columns once.
    pub(crate) fn table(
        self,
        resource: &Resource,
        objects: &[Value],
        metadata: Value,
        with_columns: bool,
    ) -> Value {
        let columns = if with_columns {
            columns(resource)
        } else {
            Value::NULL
        };
        let rows: Value = objects
            .iter()
            .map(|object| self.row(resource, object))
            .collect();
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": rows
        })
    }

    fn row(self, resource: &Resource, object: &Value) -> Value {
        let metadata = object.get_key(&KEYS.metadata);
        let name = metadata.get_key(&KEYS.name).clone();
        let own = resource.columns.iter().map(|column| {
            let value = column.path.first(object, object);
            value.map_or(Value::NULL, |value| self.cell(column.kind, value))
        });
        let created = metadata.get_key(&KEYS.creation_timestamp);
        let age = self.age(created.as_str());
        let cells: Value = [name].into_iter().chain(own).chain([age]).collect();
        let mut row = vec![(document::Key::new("cells"), cells)];
        let shown = match self.include {
            IncludeObject::None => None,
            IncludeObject::Metadata => Some(partial(object)),
            IncludeObject::Object => Some(object.clone()),
        };
        row.extend(shown.map(|object| (document::Key::new("object"), object)));
        document::Map::from_entries(row).into()
    }

    /// A value as it is shown. One of another type than the column is shown as text.
    fn cell(self, kind: ColumnType, value: &Value) -> Value {
        if value.is_null() {
            return Value::NULL;
        }
        let fits = match kind {
            ColumnType::Date => return self.age(value.as_str()),
            ColumnType::String => value.as_str().is_some(),
            ColumnType::Integer => value.as_int().is_some(),
            ColumnType::Number => value.as_number().is_some(),
            ColumnType::Boolean => value.as_bool().is_some(),
        };
        if fits {
            value.clone()
        } else {
            value.to_string().into()
        }
    }

    /// The time since a time.
    fn age(self, time: Option<&str>) -> Value {
        let then = time.and_then(|time| time.parse::<Timestamp>().ok());
        match then {
            Some(then) => human_duration(self.now - then.as_second()).into(),
            None => "<unknown>".into(),
        }
    }
}

/// The columns of a table.
fn columns(resource: &Resource) -> Value {
    let column = |name: &str, kind: &str, format: &str, description: &str| {
        json!({
            "name": name, "type": kind, "format": format, "description": description, "priority": 0
        })
    };
    let name = column(
        "Name",
        "string",
        "name",
        "Name must be unique within a namespace.",
    );
    let own = resource.columns.iter().map(|own| {
        let description = format!("The value of {}", own.path);
        column(&own.name, own.kind.name(), "", &description)
    });
    let age = column("Age", "date", "", "The time since the object was created.");
    [name].into_iter().chain(own).chain([age]).collect()
}

/// The metadata of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": (object.get_key(&KEYS.metadata).clone())
    })
}

/// A time span as kubectl shows it: two units where they matter, otherwise one.
pub(crate) fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_as_kubectl_shows_them() {
        for (seconds, expect) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_160, "3h6m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human_duration(seconds), expect, "{seconds}");
        }
    }
}
