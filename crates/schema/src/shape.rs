//! The fields of maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Key;

use crate::table::{self, Definition};
use crate::types::Type;

/// The fields of a map: a definition of the table, which is read when it is needed, or a list of
/// fields.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A definition of the table.
    Defined(Definition),
    /// A list of fields.
    Listed(Arc<Fields>),
}

/// The fields of a map by name.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// The fields whose names are known.
    pub named: BTreeMap<Key, Type>,
    /// The type of all other fields; `None` if there are none.
    pub rest: Option<Type>,
    /// The fields that a server requires.
    pub(crate) required: Vec<Key>,
    depth: usize,
}

impl Fields {
    /// The fields of a map that has no others.
    pub fn closed(named: impl IntoIterator<Item = (Key, Type)>) -> Self {
        Self::new(named.into_iter().collect(), None)
    }

    /// The fields of a map with any keys.
    pub fn open(value: Type) -> Self {
        Self::new(BTreeMap::new(), Some(value))
    }

    /// These fields, and others of the type `rest`.
    pub fn new(named: BTreeMap<Key, Type>, rest: Option<Type>) -> Self {
        let inner = named.values().chain(&rest).map(Type::depth).max();
        Self {
            depth: inner.unwrap_or(0) + 1,
            named,
            rest,
            required: Vec::new(),
        }
    }

    /// The same fields, of which a server requires these.
    pub(crate) fn requiring(mut self, required: Vec<Key>) -> Self {
        self.required = required;
        self
    }
}

impl Fields {
    /// The type of a field; `None` if there is none. A field that the schema does not name may be
    /// missing.
    pub(crate) fn field(&self, name: &Key) -> Option<Type> {
        let rest = || self.rest.clone().map(Type::or_null);
        self.named.get(name).cloned().or_else(rest)
    }
}

impl From<Fields> for Shape {
    fn from(fields: Fields) -> Self {
        Self::Listed(Arc::new(fields))
    }
}

impl Shape {
    /// The type of a field; `None` if maps of this shape do not have it.
    pub fn field(&self, name: &Key) -> Option<Type> {
        match self {
            Self::Defined(definition) => definition.field(name.as_str()),
            Self::Listed(fields) => fields.field(name),
        }
    }

    /// All fields.
    pub fn fields(&self) -> Arc<Fields> {
        match self {
            Self::Defined(definition) => Arc::new(definition.fields()),
            Self::Listed(fields) => fields.clone(),
        }
    }

    /// The names of the fields, for suggestions.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Defined(definition) => definition.names().map(str::to_owned).collect(),
            Self::Listed(fields) => {
                let names = fields.named.keys();
                names.map(|name| name.as_str().to_owned()).collect()
            }
        }
    }

    /// The fields that a server requires.
    pub fn required(&self) -> Vec<Key> {
        match self {
            Self::Defined(definition) => definition.required().map(Key::new).collect(),
            Self::Listed(fields) => fields.required.clone(),
        }
    }

    /// The type of fields that are not named; `None` if there are none.
    pub fn rest(&self) -> Option<Type> {
        match self {
            Self::Defined(_) => None,
            Self::Listed(fields) => fields.rest.clone(),
        }
    }

    /// Whether both are the same definition or the same list.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Defined(a), Self::Defined(b)) => a == b,
            (Self::Listed(a), Self::Listed(b)) => Arc::ptr_eq(a, b),
            (Self::Defined(_), Self::Listed(_)) | (Self::Listed(_), Self::Defined(_)) => false,
        }
    }

    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Defined(_) => 1,
            Self::Listed(fields) => fields.depth,
        }
    }
}

impl Type {
    /// The type of a field: null if no value of this type has it, `None` if it has no maps.
    pub fn field(&self, name: &Key) -> Option<Type> {
        let mut field = self.map.as_ref()?.field(name).unwrap_or_else(Type::null);
        if let Some(origin) = &self.origin
            && field.origin.is_none()
        {
            field.origin = origin.field(name);
        }
        Some(field)
    }

    /// All fields, if it has maps.
    pub fn fields(&self) -> Option<Arc<Fields>> {
        let fields = self.map.as_ref()?.fields();
        let Some(origin) = self.origin.as_ref().filter(|origin| origin.exact) else {
            return Some(fields);
        };
        let mut named = fields.named.clone();
        for (name, field) in &mut named {
            field.origin = field.origin.take().or_else(|| origin.field(name));
        }
        Some(Arc::new(Fields::new(named, fields.rest.clone())))
    }

    /// The type of a definition of the table.
    pub fn defined(name: &str) -> Self {
        table::definition(name)
    }
}
