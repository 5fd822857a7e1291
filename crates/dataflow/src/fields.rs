//! Which fields of a document are read: sources keep only these.
//!
//! [`Fields`] is a tree of names; [`needs`] walks a pipeline backwards from its outputs
//! to find what each source must keep.

mod keep;
mod needs;

use std::collections::BTreeMap;

use document::path::{Segment, Selector};
use document::{Key, Value};

pub(crate) use keep::Keep;
pub use keep::Reader;
pub use needs::needs;

/// A part of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Everything from here on.
    pub all: bool,
    /// Members by name.
    pub names: BTreeMap<Key, Fields>,
    /// Of every element of a list, and every value of a map.
    pub each: Option<Box<Fields>>,
}

impl Fields {
    /// The whole document.
    pub fn all() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    /// Whether nothing below is kept.
    pub fn is_empty(&self) -> bool {
        !self.all && self.names.is_empty() && self.each.is_none()
    }

    /// Adds another part.
    pub fn add(&mut self, other: &Self) {
        if self.all {
            return;
        }
        if other.all {
            *self = Self::all();
            return;
        }
        for (name, fields) in &other.names {
            self.names.entry(name.clone()).or_default().add(fields);
        }
        if let Some(each) = &other.each {
            self.each.get_or_insert_default().add(each);
        }
    }

    /// Adds `leaf` at the places that a path may reach.
    pub fn add_path(&mut self, segments: &[Segment], leaf: &Self) {
        if self.all {
            return;
        }
        let Some((segment, rest)) = segments.split_first() else {
            self.add(leaf);
            return;
        };
        match segment {
            Segment::Name(name) => self
                .names
                .entry(name.clone())
                .or_default()
                .add_path(rest, leaf),
            Segment::Index(_) => self.each.get_or_insert_default().add_path(rest, leaf),
            Segment::Several(selectors) => {
                for selector in selectors {
                    self.add_selector(selector, rest, leaf);
                }
            }
            Segment::Descendants(_) => *self = Self::all(),
        }
    }

    fn add_selector(&mut self, selector: &Selector, rest: &[Segment], leaf: &Self) {
        match selector {
            Selector::Name(name) => self
                .names
                .entry(name.clone())
                .or_default()
                .add_path(rest, leaf),
            Selector::Index(_) | Selector::Wildcard | Selector::Slice(_) => {
                self.each.get_or_insert_default().add_path(rest, leaf);
            }
            Selector::Filter(filter) => {
                let each = self.each.get_or_insert_default();
                for read in filter.element_reads() {
                    each.add_path(read, &Self::all());
                }
                each.add_path(rest, leaf);
            }
        }
    }

    /// The part below a name.
    #[must_use]
    pub fn below(&self, name: &Key) -> Self {
        if self.all {
            return Self::all();
        }
        let mut fields = self.names.get(name).cloned().unwrap_or_default();
        if let Some(each) = &self.each {
            fields.add(each);
        }
        fields
    }

    /// The part below every element.
    #[must_use]
    pub fn below_each(&self) -> Self {
        if self.all {
            return Self::all();
        }
        self.each.as_deref().cloned().unwrap_or_default()
    }

    /// The document with nothing else in it. What is kept whole is shared.
    pub fn prune(&self, value: &Value) -> Value {
        self.compile().prune(value, &Value::NULL)
    }

    /// Reads documents from JSON as [`Fields::prune`] leaves them.
    ///
    /// ```
    /// use dataflow::fields::Fields;
    /// use document::{Path, json};
    ///
    /// let mut fields = Fields::default();
    /// fields.add_path(Path::parse("$.spec.replicas")?.segments(), &Fields::all());
    /// let object = fields.reader().read(br#"{"spec": {"replicas": 3, "paused": true}, "status": {}}"#)?;
    /// assert_eq!(object, json!({"spec": {"replicas": 3}}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self) -> Reader {
        Reader::new(self.compile())
    }

    /// As a tree that is quick to walk.
    pub(crate) fn compile(&self) -> Keep {
        if self.all {
            return Keep::All;
        }
        Keep::Part {
            names: self
                .names
                .keys()
                .map(|name| (name.clone(), self.below(name).compile()))
                .collect(),
            each: self.each.as_ref().map(|each| Box::new(each.compile())),
        }
    }

    /// The kept fields as paths, for `explain`.
    pub fn describe(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect("$", &mut paths);
        paths
    }

    fn collect(&self, at: &str, paths: &mut Vec<String>) {
        if self.all || (self.names.is_empty() && self.each.is_none()) {
            paths.push(at.to_owned());
            return;
        }
        for (name, fields) in &self.names {
            let plain = !name.as_str().is_empty()
                && name
                    .as_str()
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            let next = if plain {
                format!("{at}.{name}")
            } else {
                format!("{at}['{name}']")
            };
            fields.collect(&next, paths);
        }
        if let Some(each) = &self.each {
            each.collect(&format!("{at}[*]"), paths);
        }
    }
}

#[cfg(test)]
mod tests {
    use document::{Path, json};

    use super::*;

    fn check(paths: &[&str], document: &Value, expect: &Value) {
        let mut fields = Fields::default();
        for path in paths {
            fields.add_path(Path::parse(path).unwrap().segments(), &Fields::all());
        }
        assert_eq!(fields.prune(document), *expect, "{paths:?}");
        let keep = fields.compile();
        let complete = document == expect;
        assert_eq!(keep.keeps_all_of(document), complete, "{paths:?}");
        assert!(keep.keeps_all_of(expect), "{paths:?}");
        let read = fields.reader().read(document.to_string().as_bytes());
        assert_eq!(read.unwrap(), *expect, "{paths:?}, read");
    }

    #[test]
    fn only_the_fields_that_are_read_stay() {
        let document = json!({"a": {"b": 1, "c": 2}, "l": [{"x": 1, "y": 2}, {"x": 3}], "s": "t"});
        check(&["$.a.b"], &document, &json!({"a": {"b": 1}}));
        check(
            &["$.l[0].x"],
            &document,
            &json!({"l": [{"x": 1}, {"x": 3}]}),
        );
        check(
            &["$.l[?(@.y==2)].x"],
            &document,
            &json!({"l": [{"x": 1, "y": 2}, {"x": 3}]}),
        );
        check(&["$.l.x", "$.s.t"], &document, &json!({"l": [], "s": "t"}));
        check(&["$..x"], &document, &document);
        check(&["$"], &document, &document);
        check(&["$.missing"], &document, &json!({}));
    }
}
