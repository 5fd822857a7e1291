//! Types: sets of values.

use std::fmt;
use std::sync::Arc;

use document::{Key, Location, Value, View};

use crate::shape::{Fields, Shape};

/// A set of values, with at most one part for each kind of value. The default is the empty set: the
/// type of the elements of an empty list, for example.
#[derive(Clone, Debug, Default)]
pub struct Type {
    /// Whether nothing is known: all values.
    pub any: bool,
    /// Whether it contains null, or the field may be missing.
    pub null: bool,
    /// Whether it contains booleans.
    pub boolean: bool,
    /// The numbers that it contains.
    pub number: Numbers,
    /// The strings that it contains.
    pub string: Strings,
    /// The type of the elements, if it contains lists.
    pub list: Option<Arc<Type>>,
    /// The fields, if it contains maps.
    pub map: Option<Shape>,
    /// The part of a source object that it is, or that it was before fields were set.
    pub origin: Option<Origin>,
    /// Where the value is written in the spec.
    pub at: Option<Location>,
}

/// The numbers of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Numbers {
    /// None.
    #[default]
    None,
    /// Integers.
    Integers,
    /// All numbers.
    All,
}

/// The strings of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Strings {
    /// None.
    #[default]
    None,
    /// These strings, sorted.
    Known(Arc<[Box<str>]>),
    /// All strings.
    All,
}

/// A part of a source object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The source, by position.
    pub source: usize,
    /// The path in the source object.
    pub path: Arc<[Key]>,
    /// Whether it is unchanged. Otherwise fields of it were set.
    pub exact: bool,
}

impl Origin {
    /// A whole source object.
    pub fn of_source(source: usize) -> Self {
        Self {
            source,
            path: Arc::new([]),
            exact: true,
        }
    }

    /// A field of this part. Only fields of the object and of its metadata are tracked.
    pub fn field(&self, name: &Key) -> Option<Self> {
        let tracked = match &*self.path {
            [] => true,
            [first] => first.as_str() == "metadata",
            _ => false,
        };
        (tracked && self.exact).then(|| Self {
            source: self.source,
            path: self.path.iter().cloned().chain([name.clone()]).collect(),
            exact: true,
        })
    }

    /// The same part, with fields set.
    #[must_use]
    pub fn changed(&self) -> Self {
        Self {
            exact: false,
            ..self.clone()
        }
    }

    /// Whether this is the unchanged field at these names.
    pub fn is(&self, path: &[&str]) -> bool {
        self.exact && self.path.iter().map(Key::as_str).eq(path.iter().copied())
    }
}

/// More known strings than these count as all strings.
const MAX_KNOWN: usize = 64;

impl Strings {
    /// These strings; all strings if there are too many.
    pub fn known<'a>(strings: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<Box<str>> = strings.into_iter().map(Box::from).collect();
        known.sort();
        known.dedup();
        if known.len() > MAX_KNOWN {
            return Self::All;
        }
        Self::Known(known.into())
    }

    /// Whether there is a string in both.
    pub fn overlap(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => false,
            (Self::All, Self::All | Self::Known(_)) | (Self::Known(_), Self::All) => true,
            (Self::Known(a), Self::Known(b)) => {
                a.iter().any(|string| b.binary_search(string).is_ok())
            }
        }
    }

    /// The strings, if they are known.
    pub fn as_known(&self) -> Option<&[Box<str>]> {
        match self {
            Self::Known(known) => Some(known),
            Self::None | Self::All => None,
        }
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::None, strings) | (strings, Self::None) => strings.clone(),
            (Self::All, Self::All | Self::Known(_)) | (Self::Known(_), Self::All) => Self::All,
            (Self::Known(a), Self::Known(b)) => {
                Self::known(a.iter().chain(b.iter()).map(AsRef::as_ref))
            }
        }
    }
}

impl Type {
    /// All values.
    pub fn any() -> Self {
        Self {
            any: true,
            ..Self::default()
        }
    }

    /// Null only.
    pub fn null() -> Self {
        Self {
            null: true,
            ..Self::default()
        }
    }

    /// Booleans.
    pub fn boolean() -> Self {
        Self {
            boolean: true,
            ..Self::default()
        }
    }

    /// Integers.
    pub fn integer() -> Self {
        Self {
            number: Numbers::Integers,
            ..Self::default()
        }
    }

    /// Numbers.
    pub fn number() -> Self {
        Self {
            number: Numbers::All,
            ..Self::default()
        }
    }

    /// Strings.
    pub fn string() -> Self {
        Self {
            string: Strings::All,
            ..Self::default()
        }
    }

    /// Lists of elements of this type.
    pub fn list(element: Self) -> Self {
        if element.depth() >= document::MAX_DEPTH {
            return Self::any();
        }
        Self {
            list: Some(Arc::new(element)),
            ..Self::default()
        }
    }

    /// Maps of this shape.
    pub fn map(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        if shape.depth() >= document::MAX_DEPTH {
            return Self::any();
        }
        Self {
            map: Some(shape),
            ..Self::default()
        }
    }

    /// Maps with any keys, whose values have this type.
    pub fn map_of(value: Self) -> Self {
        Self::map(Fields::open(value))
    }

    /// A value.
    pub fn of(value: &Value) -> Self {
        match value.view() {
            View::Null => Self::null(),
            View::Bool(_) => Self::boolean(),
            View::Int(_) => Self::integer(),
            View::Float(_) => Self::number(),
            View::Str(text) => Self {
                string: Strings::known([text]),
                ..Self::default()
            },
            View::Bytes(_) => Self::any(),
            View::List(items) => {
                let elements = items.iter().map(Self::of);
                let budget = crate::Budget::default();
                Self::list(elements.fold(Self::default(), |all, item| all.union(&item, &budget)))
            }
            View::Map(map) => Self::map(Fields::closed(
                map.iter()
                    .map(|(key, value)| (key.clone(), Self::of(value))),
            )),
        }
    }

    /// The same type, or null.
    #[must_use]
    pub fn or_null(mut self) -> Self {
        self.null = true;
        self
    }

    /// The same type, without null.
    #[must_use]
    pub fn without_null(mut self) -> Self {
        self.null = false;
        self
    }

    /// The same type, written at this location.
    #[must_use]
    pub fn written_at(mut self, at: &Location) -> Self {
        self.at = Some(at.clone());
        self
    }

    /// Whether it contains no value.
    pub fn is_never(&self) -> bool {
        !self.null && self.is_null_or_never()
    }

    /// Whether it contains null and nothing else.
    pub fn is_null(&self) -> bool {
        self.null && self.is_null_or_never()
    }

    fn is_null_or_never(&self) -> bool {
        !self.any
            && !self.boolean
            && self.number == Numbers::None
            && self.string == Strings::None
            && self.list.is_none()
            && self.map.is_none()
    }

    /// Whether a value other than null is in both. The parts of lists and maps are not compared.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.any
            || other.any
            || (self.boolean && other.boolean)
            || (self.number != Numbers::None && other.number != Numbers::None)
            || self.string.overlap(&other.string)
            || (self.list.is_some() && other.list.is_some())
            || (self.map.is_some() && other.map.is_some())
    }

    /// How deep lists and maps are nested. A definition of the table counts as one level.
    pub(crate) fn depth(&self) -> usize {
        let list = self.list.as_ref().map_or(0, |element| element.depth() + 1);
        list.max(self.map.as_ref().map_or(0, Shape::depth))
    }
}

/// `a string or null`
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.any {
            return f.write_str("anything");
        }
        let parts = [
            (self.boolean, "a boolean"),
            (self.number == Numbers::Integers, "an integer"),
            (self.number == Numbers::All, "a number"),
            (self.string != Strings::None, "a string"),
            (self.list.is_some(), "a list"),
            (self.map.is_some(), "a map"),
            (self.null, "null"),
        ];
        let parts: Vec<&str> = parts.iter().filter(|part| part.0).map(|p| p.1).collect();
        match parts.split_last() {
            None => f.write_str("nothing"),
            Some((last, [])) => f.write_str(last),
            Some((last, rest)) => write!(f, "{} or {last}", rest.join(", ")),
        }
    }
}
