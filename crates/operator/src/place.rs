//! Places in objects: how written fields are named, found, set and taken out again.
//!
//! Elements of lists are named by their merge keys where these are known, otherwise by
//! position.

use std::fmt;

use crate::patch::{Identity, MergeKeys, all_maps};
use document::{Key, ListRef, Path, Value, View};

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into a map.
    Field(Key),
    /// Into a list, to the element with these key fields (a map).
    Element(Value),
    /// Into a list, by position.
    Index(usize),
}

/// A place in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub Vec<Step>);

impl Place {
    /// A place that is reached through maps alone.
    pub fn of(fields: &[&str]) -> Self {
        Self(fields.iter().map(|f| Step::Field(Key::new(f))).collect())
    }

    /// Whether this place is `other`, inside it, or around it.
    pub fn overlaps(&self, other: &Self) -> bool {
        let both = self.0.len().min(other.0.len());
        self.0[..both] == other.0[..both]
    }

    /// Whether this place is `other` or inside it.
    pub fn within(&self, other: &Self) -> bool {
        self.0.len() >= other.0.len() && self.overlaps(other)
    }

    /// The field of the object that it stands in.
    pub fn top(&self) -> &str {
        match self.0.first() {
            Some(Step::Field(field)) => field.as_str(),
            _ => "",
        }
    }

    /// The value at this place; null where there is none.
    pub fn get<'a>(&self, object: &'a Value) -> &'a Value {
        self.0.iter().fold(object, |value, step| match step {
            Step::Field(field) => value.get_key(field),
            Step::Index(index) => value.at(*index),
            Step::Element(keys) => match value.as_list().and_then(|list| find(list, keys)) {
                Some(at) => value.at(at),
                // No list is that long: this reads as null.
                None => value.at(usize::MAX),
            },
        })
    }

    /// Whether one of these fields is this place or inside it, as the server names the
    /// fields of an object: elements by position.
    pub fn holds_any(&self, object: &Value, fields: &[String]) -> bool {
        if fields.is_empty() {
            return false;
        }
        let mut here = object;
        let mut name = String::new();
        for step in &self.0 {
            if let Step::Field(field) = step {
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

    /// The object with another value at this place. Maps on the way are created, elements
    /// of lists are not.
    pub fn set(&self, object: &Value, value: &Value) -> Value {
        set(object, &self.0, value)
    }

    /// The object without this place; maps that this empties go too.
    pub fn remove(&self, object: &Value) -> Value {
        remove(object, &self.0).unwrap_or_else(Value::empty_map)
    }

    /// A patch that says nothing of this place any more.
    #[must_use]
    pub fn strike(&self, patch: &Value) -> Value {
        // An element that goes would move those behind it to other positions.
        if self.is_by_position() {
            return strike(patch, &self.0);
        }
        self.remove(patch)
    }

    /// Whether a position in a list leads to it.
    pub fn is_by_position(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Index(_)))
    }

    /// Whether it is an element of a list that is named by its key fields.
    pub fn is_element(&self) -> bool {
        matches!(self.0.last(), Some(Step::Element(_)))
    }

    /// Whether a field is one of those that name this element.
    pub fn is_named_by(&self, field: &Key) -> bool {
        match self.0.last() {
            Some(Step::Element(keys)) => !keys.get_key(field).is_null(),
            _ => false,
        }
    }

    /// As it is written in annotations: `/spec/containers/[{"name":"a"}]/image`.
    pub fn pointer(&self) -> String {
        let escape = |text: &str| {
            let text = text.replace('~', "~0").replace('/', "~1");
            text.replace('[', "~2")
        };
        let mut text = String::new();
        for step in &self.0 {
            text.push('/');
            match step {
                Step::Field(field) => text.push_str(&escape(field.as_str())),
                Step::Index(index) => text.extend(["[", &index.to_string(), "]"]),
                Step::Element(keys) => text.extend(["[", &escape(&keys.to_string()), "]"]),
            }
        }
        text
    }

    /// Reads what [`Place::pointer`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let unescape = |text: &str| {
            let text = text.replace("~2", "[").replace("~1", "/");
            text.replace("~0", "~")
        };
        let steps = text.strip_prefix('/')?.split('/').map(|part| {
            let inner = part
                .strip_prefix('[')
                .and_then(|part| part.strip_suffix(']'));
            match inner {
                None => Some(Step::Field(Key::new(&unescape(part)))),
                Some(index) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some(Step::Index(index.parse().ok()?))
                }
                Some(keys) => {
                    let keys: Value = unescape(keys).parse().ok()?;
                    keys.as_map()?;
                    Some(Step::Element(keys))
                }
            }
        });
        Some(Self(steps.collect::<Option<_>>()?))
    }
}

/// As Kubernetes writes the paths of fields: `.spec.containers[name="a"].image`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Field(field) => write!(f, ".{field}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Element(keys) => {
                    let pairs = keys.as_map().into_iter().flatten();
                    let pairs: Vec<String> =
                        pairs.map(|(key, value)| format!("{key}={value}")).collect();
                    write!(f, "[{}]", pairs.join(","))?;
                }
            }
        }
        Ok(())
    }
}

/// The position of the element with these key fields. A port without a protocol is TCP.
fn find(list: ListRef<'_>, keys: &Value) -> Option<usize> {
    let keys = keys.as_map()?;
    list.iter().position(|element| {
        keys.iter().all(|(key, value)| {
            let found = element.get_key(key);
            let default = found.is_null() && key.as_str() == "protocol";
            found == value || (default && value.as_str() == Some("TCP"))
        })
    })
}

fn position(list: ListRef<'_>, step: &Step) -> Option<usize> {
    match step {
        Step::Index(index) => Some(*index).filter(|index| *index < list.len()),
        Step::Element(keys) => find(list, keys),
        Step::Field(_) => None,
    }
}

fn set(object: &Value, steps: &[Step], value: &Value) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return value.clone();
    };
    match (step, object.view()) {
        (Step::Field(field), View::Map(map)) => {
            let inner = map.get(field).cloned().unwrap_or_default();
            map.with(field.clone(), set(&inner, rest, value)).into()
        }
        (Step::Field(_), View::Null) => set(&Value::empty_map(), steps, value),
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

/// `None` if nothing is left.
fn remove(object: &Value, steps: &[Step]) -> Option<Value> {
    let (step, rest) = steps.split_first()?;
    match (step, object.view()) {
        (Step::Field(field), View::Map(map)) => {
            let Some(inner) = map.get(field) else {
                return Some(object.clone());
            };
            let map = match remove(inner, rest) {
                Some(left) => map.with(field.clone(), left),
                None => map.without(field.as_str()),
            };
            (!map.is_empty()).then(|| map.into())
        }
        (step, View::List(list)) => {
            let Some(at) = position(list, step) else {
                return Some(object.clone());
            };
            let mut items = list.to_vec();
            match remove(&items[at], rest) {
                Some(left) => items[at] = left,
                None => {
                    items.remove(at);
                }
            }
            (!items.is_empty()).then(|| items.into())
        }
        _ => Some(object.clone()),
    }
}

/// Removes a place; maps that this empties stay.
fn strike(patch: &Value, steps: &[Step]) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return patch.clone();
    };
    match (step, patch.view()) {
        (Step::Field(field), View::Map(map)) if rest.is_empty() => {
            map.without(field.as_str()).into()
        }
        (Step::Field(field), View::Map(map)) => match map.get(field) {
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

/// Visits a document, maps before what is in them, elements by their merge keys. `leaf`
/// says that nothing inside is visited: a scalar, an empty map, a list that is replaced
/// as a whole, an element that has only its key fields.
pub fn walk(document: &Value, keys: &MergeKeys, visit: &mut impl FnMut(&Place, &Value, bool)) {
    let mut walker = Walker {
        keys,
        fields: Vec::new(),
        place: Place::default(),
        visit,
    };
    walker.value(document, None);
}

struct Walker<'a, F> {
    keys: &'a MergeKeys,
    fields: Vec<Key>,
    place: Place,
    visit: &'a mut F,
}

impl<F: FnMut(&Place, &Value, bool)> Walker<'_, F> {
    /// The fields that tell elements apart are not visited.
    fn value(&mut self, value: &Value, identity: Option<&Identity>) {
        let skip = |key: &Key| identity.is_some_and(|identity| identity.has(key));
        match value.view() {
            View::Map(map) if map.iter().any(|(key, _)| !skip(key)) => {
                (self.visit)(&self.place, value, false);
                for (key, value) in map.iter().filter(|(key, _)| !skip(key)) {
                    self.fields.push(key.clone());
                    self.place.0.push(Step::Field(key.clone()));
                    self.value(value, None);
                    self.place.0.pop();
                    self.fields.pop();
                }
            }
            View::List(list) if all_maps(list) => self.list(list),
            View::Map(_)
            | View::List(_)
            | View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => (self.visit)(&self.place, value, true),
        }
    }

    fn list(&mut self, list: ListRef<'_>) {
        let identity = self.keys.of(&self.fields, &[list]);
        for (i, item) in list.iter().enumerate() {
            self.place.0.push(match &identity {
                Some(identity) => Step::Element(identity.of(item).into()),
                None => Step::Index(i),
            });
            self.value(item, identity.as_ref());
            self.place.0.pop();
        }
    }
}

/// Whether writing a leaf also writes what is at another place: it is the same place, one
/// inside the other, and not only an empty map, which takes in whatever others add.
pub fn concerns((leaf, value): &(Place, Value), place: &Place) -> bool {
    leaf.within(place) || (place.within(leaf) && value.as_map().is_none())
}

/// Whether two leaves cannot both be written.
fn clash(a: &(Place, Value), b: &(Place, Value)) -> bool {
    if a.0 == b.0 {
        return a.1 != b.1;
    }
    concerns(a, &b.0) && concerns(b, &a.0)
}

/// Takes out of a patch the leaves that others have taken, and takes the rest. `by` says who
/// takes; with the lost places comes who has them.
pub fn contest<T: Copy>(
    patch: &mut Value,
    by: T,
    taken: &mut Vec<((Place, Value), T)>,
    keys: &MergeKeys,
) -> Vec<(Place, T)> {
    let mut lost = Vec::new();
    loop {
        let own = leaves(patch, keys);
        let winner = |leaf: &(Place, Value)| {
            let other = taken.iter().find(|(other, _)| clash(other, leaf));
            other.map(|(_, winner)| *winner)
        };
        let found: Vec<_> = own
            .iter()
            .filter_map(|leaf| Some((leaf, winner(leaf)?)))
            .collect();
        if found.is_empty() {
            taken.extend(own.into_iter().map(|leaf| (leaf, by)));
            return lost;
        }
        // From the end, so that positions stay right. What is left of an element, the fields
        // that name it, is a leaf of the next turn.
        for ((place, value), _) in found.iter().rev() {
            *patch = match value.as_map() {
                Some(_) => place.remove(patch),
                None => place.strike(patch),
            };
        }
        let found = found.into_iter();
        lost.extend(found.map(|((place, _), winner)| (place.clone(), winner)));
    }
}

/// The leaves of a document.
pub fn leaves(document: &Value, keys: &MergeKeys) -> Vec<(Place, Value)> {
    let mut leaves = Vec::new();
    walk(document, keys, &mut |place, value, leaf| {
        if leaf {
            leaves.push((place.clone(), value.clone()));
        }
    });
    leaves
}

/// The places of an object that a path matches; none for a path that matches too much.
pub fn located(path: &Path, object: &Value) -> Vec<Place> {
    let matches = path.all(object, &Value::NULL).unwrap_or_default();
    let mut places = Vec::new();
    if !matches.is_empty() {
        locate(object, &matches, &mut Place::default(), &mut places);
    }
    places
}

/// Matches are places in the tree of the object, so they are found by their address.
fn locate(value: &Value, matches: &[&Value], here: &mut Place, places: &mut Vec<Place>) {
    if matches.iter().any(|found| std::ptr::eq(*found, value)) {
        places.push(here.clone());
        return;
    }
    match value.view() {
        View::Map(map) => {
            for (key, value) in map {
                here.0.push(Step::Field(key.clone()));
                locate(value, matches, here, places);
                here.0.pop();
            }
        }
        View::List(list) => {
            for (i, value) in list.iter().enumerate() {
                here.0.push(Step::Index(i));
                locate(value, matches, here, places);
                here.0.pop();
            }
        }
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn deployment() -> Value {
        json!({"metadata": {"labels": {"a.b/c[0]": "x"}}, "spec": {
            "replicas": 1,
            "containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "ports": [{"containerPort": 80}]}],
            "empty": {},
        }})
    }

    #[test]
    fn leaves_are_named_by_merge_keys() {
        let leaves = leaves(&deployment(), &MergeKeys::of_group("apps"));
        let texts: Vec<String> = leaves.iter().map(|(place, _)| place.to_string()).collect();
        assert_eq!(
            texts,
            [
                r".metadata.labels.a.b/c[0]",
                r#".spec.containers[name="a"].args"#,
                r#".spec.containers[name="a"].image"#,
                r#".spec.containers[name="b"].ports[containerPort=80,protocol="TCP"]"#,
                ".spec.empty",
                ".spec.replicas",
            ]
        );
        for (place, value) in &leaves {
            assert_eq!(place.get(&deployment()), value, "{place}");
            assert_eq!(Place::parse(&place.pointer()).as_ref(), Some(place));
        }
    }

    #[test]
    fn a_place_is_set_and_removed_with_the_maps_that_it_empties() {
        let place = Place::parse(r#"/spec/containers/[{"name":"a"}]/image"#).unwrap();
        let changed = place.set(&deployment(), &json!("2"));
        assert_eq!(place.get(&changed), &json!("2"));
        assert_eq!(place.get(&place.remove(&changed)), &Value::NULL);
        let label = Place::of(&["metadata", "labels", "a.b/c[0]"]);
        assert_eq!(label.remove(&deployment()).get("metadata"), &Value::NULL);
        let element = Place::parse(r#"/spec/containers/[{"name":"b"}]"#).unwrap();
        assert_eq!(
            element
                .remove(&deployment())
                .get("spec")
                .get("containers")
                .at(1),
            &Value::NULL
        );
        let missing = Place::parse(r#"/spec/containers/[{"name":"z"}]/image"#).unwrap();
        assert_eq!(missing.set(&deployment(), &json!("2")), deployment());
        assert_eq!(missing.remove(&deployment()), deployment());
    }

    #[test]
    fn the_fields_of_the_server_are_found() {
        let image = Place::parse(r#"/spec/containers/[{"name":"b"}]/image"#).unwrap();
        let has = |place: &Place, field: &str| place.holds_any(&deployment(), &[field.to_owned()]);
        assert!(has(&image, "spec.containers[1].image"));
        assert!(!has(&image, "spec.containers[0].image"));
        assert!(!has(&image, "spec.containers[1].imagePullPolicy"));
        let element = Place::parse(r#"/spec/containers/[{"name":"b"}]"#).unwrap();
        assert!(has(&element, "spec.containers[1].image"));
        assert!(!image.holds_any(&deployment(), &[]));
    }

    #[test]
    fn what_was_not_written_by_us_is_no_place() {
        for text in ["", "a", "/[x]/b", "/[{]", "/[\"a\"]"] {
            assert_eq!(Place::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_leaf_is_had_by_the_first_who_takes_it() {
        let keys = MergeKeys::of_group("apps");
        let check = |first: &Value, second: Value, left: &Value, lost: &[&str]| {
            let (mut taken, mut second) = (Vec::new(), second);
            contest(&mut first.clone(), 1, &mut taken, &keys);
            let found = contest(&mut second, 2, &mut taken, &keys);
            let found: Vec<String> = found.iter().map(|(place, _)| place.pointer()).collect();
            assert_eq!(
                (&second, found),
                (left, lost.iter().map(ToString::to_string).collect())
            );
        };
        let first = json!({"a": 1, "same": 1, "m": {"x": 1}, "l": [{"k": 1}]});
        check(
            &first,
            json!({"a": 2, "same": 1, "m": {"x": 2, "y": 2}, "l": [{"k": 2}, {"k": 2}]}),
            &json!({"same": 1, "m": {"y": 2}, "l": [{}, {"k": 2}]}),
            &["/a", "/l/[0]/k", "/m/x"],
        );
        let list = |value: Value| json!({"containers": value, "b": 1});
        let image = r#"/containers/[{"name":"a"}]/image"#;
        check(
            &list(json!([{"name": "a", "image": "1"}])),
            list(json!([{"name": "a", "image": "2"}])),
            &list(json!([{"name": "a"}])),
            &[image],
        );
        // Nothing is left of elements where the whole list is removed.
        check(
            &list(Value::NULL),
            list(json!([{"name": "a", "image": "2"}])),
            &json!({"b": 1}),
            &[image, r#"/containers/[{"name":"a"}]"#],
        );
        check(
            &json!({"l": null}),
            json!({"l": [{"k": 1}, {"k": 2}], "b": 1}),
            &json!({"b": 1}),
            &["/l/[0]/k", "/l/[1]/k", "/l/[0]", "/l/[1]"],
        );
    }

    #[test]
    fn paths_are_located() {
        let path = Path::parse("$.spec.containers[*].image").unwrap();
        let places = located(&path, &deployment());
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].to_string(), ".spec.containers[0].image");
        let none = Path::parse("$.spec.nothing").unwrap();
        assert_eq!(located(&none, &deployment()), []);
    }
}
