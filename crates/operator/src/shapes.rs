//! Shapes of views: what can be said about their objects before there are any, for those that
//! show and describe them.

use std::collections::BTreeMap;

use document::{Key, Path, Value};
use object::{Column, ColumnType, GroupKind, VIEW_SUFFIX};
use schema::{Numbers, Shape, Strings, Type};

use crate::spec::{Operator, SourceKind};
use crate::typed;

/// How many columns are made of inferred fields.
const MOST_COLUMNS: usize = 5;

/// The fields that every object has.
const COMMON: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What is known about the objects of a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewShape {
    /// The columns of a table between name and age.
    pub columns: Vec<Column>,
    /// The `OpenAPI` schemas of the fields by name, or null if nothing is known.
    pub properties: Value,
    /// Whether it is known that no object has a namespace.
    pub cluster_scoped: bool,
}

/// The shapes of the views of an Operator: of those that it writes, and of those that it only
/// reads, whose objects come from users.
pub fn view_shapes(operator: &Operator) -> BTreeMap<GroupKind, ViewShape> {
    let types = typed::view_types(operator);
    let group = format!("{}{VIEW_SUFFIX}", operator.name);
    let mut shapes: BTreeMap<GroupKind, ViewShape> = BTreeMap::new();
    for controller in &operator.controllers {
        let sources = controller.sources.iter();
        let sources = sources.filter(|source| source.kind == SourceKind::Watcher);
        let own = sources.filter(|source| source.resource.group == group);
        for source in own {
            shapes.entry(source.resource.group_kind()).or_default();
        }
        for target in controller.targets.iter().filter(|t| t.resource.is_view()) {
            let shape = shapes.entry(target.resource.group_kind()).or_default();
            // The first target that names columns decides.
            if shape.columns.is_empty() {
                shape.columns.clone_from(&target.columns);
            }
        }
    }
    for (kind, shape) in &mut shapes {
        let Some(view) = types.get(kind) else {
            continue;
        };
        shape.properties = properties(&view.objects);
        shape.cluster_scoped = view.cluster_scoped;
        if shape.columns.is_empty() {
            shape.columns = inferred_columns(&view.objects);
        }
    }
    shapes
}

/// The schemas of the fields that are special to the view.
fn properties(document: &Type) -> Value {
    let Some(fields) = document.fields() else {
        return Value::NULL;
    };
    let budget = schema::Budget::new(5_000);
    let own = fields.named.iter();
    let own = own.filter(|(name, field)| !COMMON.contains(&name.as_str()) && !field.any);
    let properties: Vec<(Key, Value)> = own
        .map(|(name, field)| (name.clone(), schema::to_openapi(field, &budget)))
        .collect();
    if properties.is_empty() {
        return Value::NULL;
    }
    document::Map::from_entries(properties).into()
}

/// Columns of the fields that are neither lists nor maps: first those of the object, then those of
/// the maps in it that the pipeline writes field by field.
fn inferred_columns(document: &Type) -> Vec<Column> {
    let mut columns = Vec::new();
    let Some(fields) = document.fields() else {
        return columns;
    };
    let own = || {
        let fields = fields.named.iter();
        fields.filter(|(name, _)| !COMMON.contains(&name.as_str()))
    };
    for (name, field) in own() {
        columns.extend(column(&[name], field));
    }
    for (name, field) in own() {
        let Some(Shape::Listed(inner)) = field.map.as_ref().filter(|_| !field.any) else {
            continue;
        };
        for (inner_name, field) in &inner.named {
            let new = column(&[name, inner_name], field);
            let known = |column: &Column| columns.iter().any(|other| other.name == column.name);
            columns.extend(new.filter(|column| !known(column)));
        }
    }
    columns.truncate(MOST_COLUMNS);
    columns
}

fn column(path: &[&Key], field: &Type) -> Option<Column> {
    let kind = column_type(field)?;
    let text = path.iter().fold("$".to_owned(), |text, key| {
        let key = key.as_str();
        let plain = key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !key.is_empty();
        if plain {
            format!("{text}.{key}")
        } else {
            format!("{text}[{}]", Value::from(key))
        }
    });
    let mut letters = path.last()?.as_str().chars();
    let first = letters.next()?.to_uppercase();
    let name: String = first.chain(letters).collect();
    let always = ["Name", "Age"].contains(&name.as_str());
    Some(Column {
        name: if always { text.clone() } else { name },
        path: Path::parse(&text).ok()?,
        kind,
    })
}

/// The type of a column for these values, unless they may be lists or maps.
fn column_type(field: &Type) -> Option<ColumnType> {
    if field.any || field.list.is_some() || field.map.is_some() {
        return None;
    }
    let number = field.number != Numbers::None;
    let string = field.string != Strings::None;
    match (field.boolean, number, string) {
        (false, false, false) => None,
        (true, false, false) => Some(ColumnType::Boolean),
        (false, true, false) if field.number == Numbers::Integers => Some(ColumnType::Integer),
        (false, true, false) => Some(ColumnType::Number),
        // Mixed values are shown as text.
        (_, _, _) => Some(ColumnType::String),
    }
}
