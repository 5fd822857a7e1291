//! Paths of fields in objects: printing and parsing them, and getting, setting and removing the
//! field.
//!
//! A list element is identified by its merge keys if these are known, otherwise by its
//! position.

use std::fmt;

use document::{Key, ListRef, MAX_DEPTH, Map, Value, View};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a map.
    Field(Key),
    /// The list element with these key fields (a map).
    Element(Value),
    /// The list element at this position.
    Index(usize),
    /// The element of a set-like list with this value.
    Value(Value),
}

/// The path of a field in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<PathElement>);

impl FieldPath {
    /// A path that leads through maps only.
    pub fn of(fields: &[&str]) -> Self {
        Self(
            fields
                .iter()
                .map(|f| PathElement::Field(Key::new(f)))
                .collect(),
        )
    }

    /// Whether this path equals `other`, is inside it, or contains it.
    pub fn overlaps(&self, other: &Self) -> bool {
        let both = self.0.len().min(other.0.len());
        self.0[..both] == other.0[..both]
    }

    /// Whether this path equals `other` or is inside it.
    pub fn within(&self, other: &Self) -> bool {
        self.0.len() >= other.0.len() && self.overlaps(other)
    }

    /// The first field of the path.
    pub fn top(&self) -> &str {
        match self.0.first() {
            Some(PathElement::Field(field)) => field.as_str(),
            _ => "",
        }
    }

    /// The value at this path; null if there is none.
    pub fn get<'a>(&self, object: &'a Value) -> &'a Value {
        self.0.iter().fold(object, |value, step| match step {
            PathElement::Field(field) => value.get_key(field),
            PathElement::Index(index) => value.at(*index),
            PathElement::Element(keys) => match value.as_list().and_then(|list| find(list, keys)) {
                Some(at) => value.at(at),
                // No list is this long, so that the result is null.
                None => value.at(usize::MAX),
            },
            PathElement::Value(wanted) => {
                let items = value.as_list();
                let at = items.and_then(|items| items.iter().position(|item| item == wanted));
                value.at(at.unwrap_or(usize::MAX))
            }
        })
    }

    /// Whether one of these fields is at this path or inside it. The names have the form that a
    /// server uses in its messages, with elements by position.
    pub fn holds_any(&self, object: &Value, fields: &[String]) -> bool {
        if fields.is_empty() {
            return false;
        }
        let mut here = object;
        let mut name = String::new();
        for step in &self.0 {
            if let PathElement::Field(field) = step {
                here = here.get_key(field);
                let dot = if name.is_empty() { "" } else { "." };
                name.extend([dot, field.as_str()]);
                continue;
            }
            let Some(at) = here.as_list().and_then(|list| position(list, step)) else {
                return false;
            };
            here = here.at(at);
            name.extend(["[", &at.to_string(), "]"]);
        }
        let inside = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        let mut rests = fields.iter().filter_map(|field| field.strip_prefix(&name));
        rests.any(inside)
    }

    /// The object with another value at this path. Missing maps on the way are created, missing
    /// list elements are not.
    pub fn set(&self, object: &Value, value: &Value) -> Value {
        set(object, &self.0, value)
    }

    /// The object without the value at this path, and without the maps that this leaves empty. An
    /// element that is found by its position stays, as an empty map.
    pub fn remove(&self, object: &Value) -> Value {
        remove(object, &self.0, true).unwrap_or_else(Value::empty_map)
    }

    /// The object without the value at this path. Maps that this leaves empty stay, except for
    /// those of the metadata, which a server drops; an empty list goes.
    #[must_use]
    pub fn take(&self, object: &Value) -> Value {
        let prunes = self.top() == "metadata";
        remove(object, &self.0, prunes).unwrap_or_else(Value::empty_map)
    }

    /// The patch without its value at this path. Other list elements keep their positions.
    #[must_use]
    pub fn strike(&self, patch: &Value) -> Value {
        // Removing an element would shift those after it; an empty map stays instead.
        if self.is_by_position() {
            return strike(patch, &self.0);
        }
        self.remove(patch)
    }

    /// Whether the path contains a position in a list.
    pub fn is_by_position(&self) -> bool {
        self.0
            .iter()
            .any(|step| matches!(step, PathElement::Index(_)))
    }

    /// This path, or that of the list without key fields that it is in: such a list has one owner,
    /// so to a server it is one value. [`MergeKeys::atomic`](crate::MergeKeys::atomic) also knows
    /// such lists with key fields.
    #[must_use]
    pub fn atomic(&self) -> Self {
        let steps = self.0.iter();
        let steps = steps.take_while(|step| !matches!(step, PathElement::Index(_)));
        Self(steps.cloned().collect())
    }

    /// The position of the element that this is the path of, if it is an element of this list.
    pub fn position_in(&self, list: &Self) -> Option<usize> {
        match self.0.split_last() {
            Some((PathElement::Index(at), outer)) if outer == list.0 => Some(*at),
            _ => None,
        }
    }

    /// The position of the list element that it is the path of, if it is found by that.
    pub fn index(&self) -> Option<usize> {
        match self.0.last() {
            Some(PathElement::Index(at)) => Some(*at),
            _ => None,
        }
    }

    /// Whether it is the path of a list element that is found by its position.
    pub fn is_indexed_element(&self) -> bool {
        self.index().is_some()
    }

    /// The path after a list element that is found by its position was removed; `None` if it was
    /// inside this element.
    pub fn after_removal(&self, element: &Self) -> Option<Self> {
        let Some((PathElement::Index(gone), list)) = element.0.split_last() else {
            return Some(self.clone());
        };
        let mut place = self.clone();
        if self.0.starts_with(list)
            && let Some(PathElement::Index(at)) = place.0.get_mut(list.len())
        {
            if *at == *gone {
                return None;
            }
            *at -= usize::from(*at > *gone);
        }
        Some(place)
    }

    /// The path of the value that this is the path of a field or an element of.
    #[must_use]
    pub fn outer(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// The path of the element with these key fields of the list at this path.
    #[must_use]
    pub fn element(&self, keys: &Value) -> Self {
        let element = PathElement::Element(keys.clone());
        Self(self.0.iter().cloned().chain([element]).collect())
    }

    /// The key fields of the list element that it is the path of, if it is found by these.
    pub fn key_fields(&self) -> Option<&Value> {
        match self.0.last() {
            Some(PathElement::Element(keys)) => Some(keys),
            _ => None,
        }
    }

    /// Whether both are paths of elements of one list, which are found by their key fields.
    pub fn is_beside(&self, other: &Self) -> bool {
        match (self.0.split_last(), other.0.split_last()) {
            (Some((PathElement::Element(_), list)), Some((PathElement::Element(_), other))) => {
                list == other
            }
            _ => false,
        }
    }

    /// Whether it is the path of a list element, by its key fields or its position.
    pub fn is_element(&self) -> bool {
        matches!(
            self.0.last(),
            Some(PathElement::Element(_) | PathElement::Index(_))
        )
    }

    /// Whether a field is one of the key fields in the last step of this path.
    pub fn is_named_by(&self, field: &Key) -> bool {
        let keys = self.key_fields();
        keys.is_some_and(|keys| !keys.get_key(field).is_null())
    }

    /// The text form for annotations: `/spec/containers/[{"name":"a"}]/image`.
    pub fn pointer(&self) -> String {
        let escape = |text: &str| {
            let text = text.replace('~', "~0").replace('/', "~1");
            text.replace('[', "~2")
        };
        let mut text = String::new();
        for step in &self.0 {
            text.push('/');
            match step {
                PathElement::Field(field) => text.push_str(&escape(field.as_str())),
                PathElement::Index(index) => text.extend(["[", &index.to_string(), "]"]),
                PathElement::Element(keys) => text.extend(["[", &escape(&keys.to_string()), "]"]),
                PathElement::Value(value) => text.extend(["[=", &escape(&value.to_string()), "]"]),
            }
        }
        text
    }

    /// Parses the result of [`FieldPath::pointer`]. A path that is deeper than any object is none:
    /// setting its value would create all maps on the way.
    pub fn parse(text: &str) -> Option<Self> {
        if text.matches('/').count() > MAX_DEPTH {
            return None;
        }
        let unescape = |text: &str| {
            let text = text.replace("~2", "[").replace("~1", "/");
            text.replace("~0", "~")
        };
        let steps = text.strip_prefix('/')?.split('/').map(|part| {
            let inner = part
                .strip_prefix('[')
                .and_then(|part| part.strip_suffix(']'));
            match inner {
                None => Some(PathElement::Field(Key::new(&unescape(part)))),
                Some(index) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some(PathElement::Index(index.parse().ok()?))
                }
                Some(inner) => match inner.strip_prefix('=') {
                    Some(value) => Some(PathElement::Value(unescape(value).parse().ok()?)),
                    None => {
                        let keys: Value = unescape(inner).parse().ok()?;
                        keys.as_map()?;
                        Some(PathElement::Element(keys))
                    }
                },
            }
        });
        Some(Self(steps.collect::<Option<_>>()?))
    }
}

/// The form that Kubernetes uses: `.spec.containers[name="a"].image`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                PathElement::Field(field) => write!(f, ".{field}")?,
                PathElement::Index(index) => write!(f, "[{index}]")?,
                PathElement::Element(keys) => {
                    let pairs = keys.as_map().into_iter().flatten();
                    let pairs: Vec<String> =
                        pairs.map(|(key, value)| format!("{key}={value}")).collect();
                    write!(f, "[{}]", pairs.join(","))?;
                }
                PathElement::Value(value) => write!(f, "[={value}]")?,
            }
        }
        Ok(())
    }
}

/// The position of the element with these key fields.
pub(crate) fn find(list: ListRef<'_>, keys: &Value) -> Option<usize> {
    let keys = keys.as_map()?;
    list.iter().position(|element| {
        let mut fields = keys.iter();
        fields.all(|(key, value)| key_field(element, key) == *value)
    })
}

/// The fields of an element with these names; `None` if it lacks one.
pub(crate) fn key_fields(element: &Value, names: &Map) -> Option<Value> {
    let fields = names.iter().map(|(key, _)| {
        let value = key_field(element, key);
        (!value.is_null()).then(|| (key.clone(), value))
    });
    Some(fields.collect::<Option<Map>>()?.into())
}

/// The value of a key field. A port without a protocol is TCP.
fn key_field(element: &Value, key: &Key) -> Value {
    let given = element.get_key(key);
    if given.is_null() && key.as_str() == "protocol" {
        return Value::from("TCP");
    }
    given.clone()
}

fn position(list: ListRef<'_>, step: &PathElement) -> Option<usize> {
    match step {
        PathElement::Index(index) => Some(*index).filter(|index| *index < list.len()),
        PathElement::Element(keys) => find(list, keys),
        PathElement::Value(value) => list.iter().position(|item| item == value),
        PathElement::Field(_) => None,
    }
}

fn set(object: &Value, steps: &[PathElement], value: &Value) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return value.clone();
    };
    match (step, object.view()) {
        (PathElement::Field(field), View::Map(map)) => {
            let inner = map.get(field).cloned().unwrap_or_default();
            map.with(field.clone(), set(&inner, rest, value)).into()
        }
        (PathElement::Field(_), View::Null) => set(&Value::empty_map(), steps, value),
        (step, View::List(list)) => match position(list, step) {
            Some(at) => {
                let mut items = list.to_vec();
                items[at] = set(&items[at], rest, value);
                items.into()
            }
            None => object.clone(),
        },
        _ => object.clone(),
    }
}

/// The object without the value; `None` if nothing is left. `prunes` says whether maps that become
/// empty go, too.
fn remove(object: &Value, steps: &[PathElement], prunes: bool) -> Option<Value> {
    let (step, rest) = steps.split_first()?;
    match (step, object.view()) {
        (PathElement::Field(field), View::Map(map)) => {
            let Some(inner) = map.get(field) else {
                return Some(object.clone());
            };
            let map = match remove(inner, rest, prunes) {
                Some(left) => map.with(field.clone(), left),
                None => map.without(field.as_str()),
            };
            (!prunes || !map.is_empty()).then(|| map.into())
        }
        (step, View::List(list)) => {
            let Some(at) = position(list, step) else {
                return Some(object.clone());
            };
            let mut items = list.to_vec();
            match remove(&items[at], rest, prunes) {
                Some(left) => items[at] = left,
                // Without the element, those after it would be at other positions.
                None if matches!(step, PathElement::Index(_)) && !rest.is_empty() => {
                    items[at] = Value::empty_map();
                }
                None => {
                    items.remove(at);
                }
            }
            (!items.is_empty()).then(|| items.into())
        }
        _ => Some(object.clone()),
    }
}

/// Removes the value; maps that this leaves empty stay.
fn strike(patch: &Value, steps: &[PathElement]) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return patch.clone();
    };
    match (step, patch.view()) {
        (PathElement::Field(field), View::Map(map)) if rest.is_empty() => {
            map.without(field.as_str()).into()
        }
        (PathElement::Field(field), View::Map(map)) => match map.get(field) {
            Some(inner) => map.with(field.clone(), strike(inner, rest)).into(),
            None => patch.clone(),
        },
        (step, View::List(list)) => match position(list, step) {
            Some(at) => {
                let mut items = list.to_vec();
                items[at] = strike(&items[at], rest);
                items.into()
            }
            None => patch.clone(),
        },
        _ => patch.clone(),
    }
}

#[cfg(test)]
mod tests;
