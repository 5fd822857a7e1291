//! Setting the value at a path.
//!
//! Only the maps and lists around the places that are set are copied, each once. The rest is
//! shared with the old document.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::error::SetError;
use super::search::Search;
use super::segment::{self, Segment, Selector};
use super::{Found, MAX_PADDING, Path};
use crate::key::Key;
use crate::list::ListRef;
use crate::map::Map;
use crate::value::{Value, View};

impl Path {
    /// Checks that a value can be set at this path. A path with `..` can only be read, because
    /// its matches may be inside each other.
    pub fn check_settable(&self) -> Result<(), SetError> {
        let descends = |segment: &Segment| matches!(segment, Segment::Descendants(_));
        if self.segments.iter().any(descends) {
            let path = self.to_string();
            return Err(SetError::Descendants { path });
        }
        Ok(())
    }

    /// `target` with `value` set at this path. The path starts at `target`, whatever its root
    /// is; `$` in filters means `document`.
    ///
    /// Names and indexes create missing maps and lists; null counts as missing. A list is
    /// padded with at most [`MAX_PADDING`] nulls. A filter, wildcard, slice or union sets every
    /// match and creates nothing; it is an error if there is none. The path `$` replaces the
    /// whole target.
    pub fn set(&self, target: &Value, value: Value, document: &Value) -> Result<Value, SetError> {
        self.find_and_set(target, value, document).result
    }

    /// Like [`Path::set`], with the cost of finding the places.
    pub fn find_and_set(
        &self,
        target: &Value,
        value: Value,
        document: &Value,
    ) -> Found<Value, SetError> {
        let setter = Setter {
            path: self,
            value,
            search: Search::new(document),
            copied: Cell::new(0),
        };
        let changed = self.check_settable().and_then(|()| setter.put(0, target));
        let result = changed.and_then(|changed| {
            changed.ok_or_else(|| SetError::NoMatch {
                path: self.to_string(),
            })
        });
        let mut found = setter.search.found(result);
        found.steps += setter.copied.get();
        found
    }
}

/// Sets one value at all places of one path.
struct Setter<'a> {
    path: &'a Path,
    value: Value,
    search: Search<'a>,
    /// How many entries and elements were copied.
    copied: Cell<usize>,
}

/// The changed value below a segment; `None` if there was no match.
type Changed = Result<Option<Value>, SetError>;

impl Setter<'_> {
    /// `target`, to which the segment at `depth` applies, with the value set below.
    fn put(&self, depth: usize, target: &Value) -> Changed {
        match self.path.segments.get(depth) {
            None => Ok(Some(self.value.clone())),
            Some(Segment::Name(key)) => self.put_member(depth, key, target),
            Some(Segment::Index(index)) => self.put_element(depth, *index, target),
            Some(Segment::Several(selectors) | Segment::Descendants(selectors)) => {
                self.put_matches(depth, selectors, target)
            }
        }
    }

    fn put_member(&self, depth: usize, key: &Key, target: &Value) -> Changed {
        match target.view() {
            View::Null => {
                let child = self.put(depth + 1, &Value::NULL)?;
                Ok(child.map(|child| Map::from_sorted(vec![(key.clone(), child)]).into()))
            }
            View::Map(map) => {
                let Some(child) = self.put(depth + 1, target.get_key(key))? else {
                    return Ok(None);
                };
                self.copies(map.len());
                Ok(Some(match map.iter().position(|(k, _)| k == key) {
                    Some(at) => replace_one(target, at, child),
                    None => map.with(key.clone(), child).into(),
                }))
            }
            _ => Err(SetError::NotMap {
                path: self.path.to_string(),
                at: self.path.text_before(depth).to_owned(),
                found: target.kind(),
            }),
        }
    }

    fn copies(&self, count: usize) {
        self.copied.set(self.copied.get().saturating_add(count));
    }

    fn put_element(&self, depth: usize, index: i64, target: &Value) -> Changed {
        let length = match target.view() {
            View::Null => 0,
            View::List(list) => list.len(),
            _ => {
                return Err(SetError::NotList {
                    path: self.path.to_string(),
                    at: self.path.text_before(depth).to_owned(),
                    found: target.kind(),
                });
            }
        };
        let at = self.place_to_set(depth, index, length)?;
        let Some(child) = self.put(depth + 1, target.at(at))? else {
            return Ok(None);
        };
        self.copies(at.max(length));
        if at < length {
            return Ok(Some(replace_one(target, at, child)));
        }
        let mut items = target.as_list().map(ListRef::to_vec).unwrap_or_default();
        items.resize(at, Value::NULL);
        items.push(child);
        Ok(Some(items.into()))
    }

    /// The position of `index` in a list of `length` elements, or not too far after its end.
    fn place_to_set(&self, depth: usize, index: i64, length: usize) -> Result<usize, SetError> {
        if let Some(at) = segment::position(index, length) {
            return Ok(at);
        }
        let path = self.path.to_string();
        let at = self.path.text_before(depth).to_owned();
        let Ok(beyond) = usize::try_from(index) else {
            return Err(SetError::NoElement {
                path,
                at,
                length,
                index,
            });
        };
        if beyond - length > MAX_PADDING {
            return Err(SetError::TooFar {
                path,
                at,
                length,
                index,
            });
        }
        Ok(beyond)
    }

    fn put_matches(&self, depth: usize, selectors: &[Selector], target: &Value) -> Changed {
        if !matches!(target.view(), View::Null | View::Map(_) | View::List(_)) {
            return Err(SetError::Scalar {
                path: self.path.to_string(),
                at: self.path.text_before(depth).to_owned(),
                found: target.kind(),
            });
        }
        let mut changes = BTreeMap::new();
        for (at, child) in self.matches(selectors, target)? {
            if let Some(child) = self.put(depth + 1, child)? {
                changes.insert(at, child);
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        self.copies(match target.view() {
            View::Map(map) => map.len(),
            View::List(list) => list.len(),
            _ => 0,
        });
        Ok(Some(replace(target, |at| changes.remove(&at))))
    }

    /// The children that the selectors match, each once, by position.
    fn matches<'v>(
        &self,
        selectors: &[Selector],
        target: &'v Value,
    ) -> Result<BTreeMap<usize, &'v Value>, SetError> {
        let mut matches = BTreeMap::new();
        let _ = self.search.select(selectors, target, &mut |at, child| {
            matches.insert(at, child);
            ControlFlow::Continue(())
        });
        self.search
            .finish(matches)
            .map_err(|source| SetError::TooManyMatches {
                path: self.path.to_string(),
                source,
            })
    }
}

fn replace_one(target: &Value, place: usize, child: Value) -> Value {
    let mut child = Some(child);
    replace(target, |at| child.take_if(|_| at == place))
}

/// A list or map with the children replaced for which `change` returns a value.
fn replace(target: &Value, mut change: impl FnMut(usize) -> Option<Value>) -> Value {
    let child = |(at, old): (usize, &Value)| change(at).unwrap_or_else(|| old.clone());
    match target.view() {
        View::List(list) => Value::list(list.iter().enumerate().map(child)),
        View::Map(map) => {
            let keys = map.iter().map(|(key, _)| key.clone());
            Map::from_sorted_iter(keys.zip(map.values().enumerate().map(child))).into()
        }
        _ => target.clone(),
    }
}
