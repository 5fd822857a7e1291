//! Pruning: sources keep only the fields that the pipeline reads.
//!
//! Most objects are much larger than the part of them that a pipeline reads. Pruning saves
//! memory, and an update that changes no kept field ends at the source.
//!
//! [`needs`] walks the pipeline backwards from its outputs and finds the [`Fields`] of each
//! source, a tree of names:
//!
//! ```text
//! source Pod
//! @select: {"@eq": ["$.spec.node", "n1"]}             reads spec.node
//! @project: {metadata: "$.metadata", ip: "$.status.ip"}   reads metadata, status.ip
//!
//! Fields: metadata (all), spec.node, status.ip
//! ```
//!
//! [`Keep`] compiles the fields of a source together with the fields that no pipeline may see
//! ([`Intake`]). [`ObjectReader`] applies it while JSON is parsed, so the rest of an object is
//! never in memory.
//!
//! A tree can become far larger than the pipeline. So the work is bounded: if it takes too much,
//! all fields are kept.

mod header;
mod intake;
mod keep;
mod needs;
mod object;

use std::collections::BTreeMap;

use document::path::{Segment, Selector};
use document::{Key, MAX_DEPTH};

pub use header::{Header, HeaderFields};
pub use intake::{Intake, Versions};
pub use keep::{Keep, Kept};
pub use needs::{needs, used};
pub use object::ObjectReader;

/// A set of fields of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// All fields below.
    pub all: bool,
    /// The members of a map, by name.
    pub names: BTreeMap<Key, Fields>,
    /// The fields of every element of a list, and of every value of a map.
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

    /// Whether it has no fields.
    pub fn is_empty(&self) -> bool {
        !self.all && self.names.is_empty() && self.each.is_none()
    }

    /// Adds other fields.
    pub fn add(&mut self, other: &Self) {
        self.add_at(0, other, &mut Work::unbounded());
    }

    /// Adds other fields at a depth of the document.
    fn add_at(&mut self, depth: usize, other: &Self, work: &mut Work) {
        if self.all {
            return;
        }
        if other.all || !work.goes_on(depth) {
            *self = Self::all();
            return;
        }
        for (name, fields) in &other.names {
            let member = self.names.entry(name.clone()).or_default();
            member.add_at(depth + 1, fields, work);
        }
        if let Some(each) = &other.each {
            let own = self.each.get_or_insert_default();
            own.add_at(depth + 1, each, work);
        }
    }

    /// Adds `leaf` at everything that a path may match.
    pub fn add_path(&mut self, segments: &[Segment], leaf: &Self) {
        self.add_path_at(0, segments, leaf, &mut Work::unbounded());
    }

    fn add_path_at(&mut self, depth: usize, segments: &[Segment], leaf: &Self, work: &mut Work) {
        if self.all {
            return;
        }
        let Some((segment, rest)) = segments.split_first() else {
            self.add_at(depth, leaf, work);
            return;
        };
        if !work.goes_on(depth) {
            *self = Self::all();
            return;
        }
        match segment {
            Segment::Name(name) => {
                let member = self.names.entry(name.clone()).or_default();
                member.add_path_at(depth + 1, rest, leaf, work);
            }
            Segment::Index(_) => {
                let each = self.each.get_or_insert_default();
                each.add_path_at(depth + 1, rest, leaf, work);
            }
            Segment::Several(selectors) => {
                for selector in selectors {
                    self.add_selector(depth, selector, rest, leaf, work);
                }
            }
            Segment::Descendants(_) => *self = Self::all(),
        }
    }

    fn add_selector(
        &mut self,
        depth: usize,
        selector: &Selector,
        rest: &[Segment],
        leaf: &Self,
        work: &mut Work,
    ) {
        match selector {
            Selector::Name(name) => {
                let member = self.names.entry(name.clone()).or_default();
                member.add_path_at(depth + 1, rest, leaf, work);
            }
            Selector::Index(_) | Selector::Wildcard | Selector::Slice(_) => {
                let each = self.each.get_or_insert_default();
                each.add_path_at(depth + 1, rest, leaf, work);
            }
            Selector::Filter(filter) => {
                let each = self.each.get_or_insert_default();
                for read in filter.element_reads() {
                    each.add_path_at(depth + 1, read, &Self::all(), work);
                }
                each.add_path_at(depth + 1, rest, leaf, work);
            }
        }
    }

    /// The fields below a name.
    fn below(&self, name: &Key, work: &mut Work) -> Self {
        let mut fields = self.below_each(work);
        if let Some(member) = self.names.get(name) {
            fields.add_at(0, member, work);
        }
        fields
    }

    /// The fields below every element.
    fn below_each(&self, work: &mut Work) -> Self {
        let mut fields = Self {
            all: self.all,
            ..Self::default()
        };
        if let Some(each) = &self.each {
            fields.add_at(0, each, work);
        }
        fields
    }

    /// The fields as paths, for `explain`.
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

/// The remaining work for finding the fields of a pipeline.
#[derive(Debug)]
struct Work {
    left: usize,
}

impl Work {
    /// The number of tree nodes that may be visited. A pipeline of a hundred stages takes a few
    /// thousand.
    const MOST: usize = 200_000;

    fn new() -> Self {
        Self { left: Self::MOST }
    }

    fn unbounded() -> Self {
        Self { left: usize::MAX }
    }

    /// Counts a tree node at a depth. If it returns false, everything below is kept. Documents are
    /// not nested deeper than [`MAX_DEPTH`].
    fn goes_on(&mut self, depth: usize) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0 && depth < MAX_DEPTH
    }

    /// Whether the limit was reached. Then the fields that were found are incomplete.
    fn is_done(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use document::{Path, Value, json};

    use super::*;

    fn check(paths: &[&str], document: &Value, expect: &Value) {
        let mut fields = Fields::default();
        for path in paths {
            fields.add_path(Path::parse(path).unwrap().segments(), &Fields::all());
        }
        let keep = Keep::fields(&fields);
        assert_eq!(keep.of(document).document(), expect, "{paths:?}");
        assert!(keep.of(expect).document().same(expect), "{paths:?}");
        let read = keep.read(document.to_string().as_bytes()).unwrap();
        assert_eq!(read.document(), expect, "{paths:?}, read");
    }

    #[test]
    fn only_fields_that_are_read_are_kept() {
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

    #[test]
    fn a_tree_that_doubles_with_every_level_keeps_all() {
        let mut fields = Fields::default();
        for levels in 0..60 {
            let path = format!("${}.a.b", "[0]".repeat(levels));
            fields.add_path(Path::parse(&path).unwrap().segments(), &Fields::all());
        }
        let document = json!({"a": {"a": 1, "b": 2}, "c": 3});
        assert!(
            Keep::fields(&fields)
                .of(&document)
                .document()
                .same(&document)
        );
    }

    #[test]
    fn fields_deeper_than_any_document_are_not_tracked() {
        let mut fields = Fields::all();
        let path = format!("${}", ".a".repeat(60));
        for _ in 0..1_000 {
            let mut around = Fields::default();
            around.add_path(Path::parse(&path).unwrap().segments(), &fields);
            fields = around;
        }
        assert_eq!(fields.describe(), [format!("${}", ".a".repeat(MAX_DEPTH))]);
    }
}
