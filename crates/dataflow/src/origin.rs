//! Origins: the identity of derived documents.
//!
//! An origin lists where a document comes from: source objects, list positions, or the key of
//! a group.
//!
//! ```text
//! a source object                    [Pod a/web]
//! joined with a Node                 [Pod a/web, Node n1]
//! joined with no Node (soft)         [Pod a/web, absent]
//! an element of the unwound list     [Pod a/web, Node n1, index 0]
//! grouped by namespace               [key "a"]
//! ```
//!
//! At every point of a pipeline an origin has at most one document. So a change is (origin,
//! old, new), and a derived document is withdrawn by its origin: documents need no weights,
//! and none is hashed to be found again. Origins are ordered. The order decides the order of
//! the members of a group and of the output, and the first origin wins a conflict.

use std::cmp::Ordering;
use std::fmt::Write;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use document::{Value, json};
use object::ObjectName;
use smallvec::SmallVec;
use triomphe::{Arc, ThinArc};

/// One component of an [`Origin`].
#[derive(Clone, Debug)]
pub enum Component {
    /// A soft input without a partner. It is the first in the order.
    Absent,
    /// The branch that derived the document.
    Branch(u32),
    /// A source object.
    Object(Arc<SourceObject>),
    /// A position in a list.
    Index(u32),
    /// The key of a group, or the document of a `@distinct`.
    Key(Arc<Value>),
}

/// A source object as a component of an origin.
#[derive(Debug)]
pub struct SourceObject {
    /// The source of the controller, by position.
    pub source: u32,
    /// The object.
    pub name: ObjectName,
    /// A hash of both.
    hash: u64,
    /// The slot in the join table that last found this object. It is only a hint: the object
    /// may have another slot in another table.
    slot_hint: AtomicU32,
}

impl SourceObject {
    /// The hash of the name of an object in a source.
    pub(crate) fn hash_of(source: u32, name: &ObjectName) -> u64 {
        foldhash::fast::FixedState::default().hash_one((source, name))
    }
}

/// The identity of a document. It is cheap to clone, to hash and to compare for equality.
#[derive(Clone)]
pub struct Origin(OriginRepr);

#[derive(Clone)]
enum OriginRepr {
    /// A single source object, the most frequent origin. The object stores its hash, so no
    /// further allocation is needed.
    Object(Component),
    /// Any other components, with their hash.
    Several(ThinArc<u64, Component>),
}

const _: () = assert!(size_of::<Origin>() == 16, "an origin is two words");

/// The components of an origin that is being made. Few have more.
type Components = SmallVec<[Component; 4]>;

impl Origin {
    /// The origin with these components.
    pub fn new(components: impl IntoIterator<Item = Component>) -> Self {
        let mut components: Components = components.into_iter().collect();
        if let [Component::Object(_)] = components.as_slice()
            && let Some(object) = components.pop()
        {
            return Self(OriginRepr::Object(object));
        }
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        for component in &components {
            component.hash(&mut hasher);
        }
        let hash = hasher.finish();
        let several = ThinArc::from_header_and_iter(hash, components.into_iter());
        Self(OriginRepr::Several(several))
    }

    /// The origin of a source object.
    pub fn object(source: u32, name: ObjectName) -> Self {
        let hash = SourceObject::hash_of(source, &name);
        let object = SourceObject {
            source,
            name,
            hash,
            slot_hint: AtomicU32::new(u32::MAX),
        };
        Self(OriginRepr::Object(Component::Object(Arc::new(object))))
    }

    /// The origin of a group.
    pub fn group(key: Value) -> Self {
        Self::new([Component::Key(Arc::new(key))])
    }

    /// This origin with one more component.
    #[must_use]
    pub fn with(&self, component: Component) -> Self {
        Self::new(self.components().iter().cloned().chain([component]))
    }

    /// This origin with a component in front of it.
    #[must_use]
    pub fn behind(&self, component: Component) -> Self {
        let rest = self.components().iter().cloned();
        Self::new([component].into_iter().chain(rest))
    }

    /// The origin of a joined tuple.
    pub fn concat<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let parts = parts.into_iter();
        Self::new(parts.flat_map(|part| part.components().iter().cloned()))
    }

    /// The origin without its last component, and that component.
    pub fn split_last(&self) -> Option<(Self, &Component)> {
        let (last, rest) = self.components().split_last()?;
        Some((Self::of_slice(rest), last))
    }

    /// The origin with these components.
    pub fn of_slice(components: &[Component]) -> Self {
        Self::new(components.iter().cloned())
    }

    /// The components.
    pub fn components(&self) -> &[Component] {
        match &self.0 {
            OriginRepr::Object(object) => std::slice::from_ref(object),
            OriginRepr::Several(several) => &several.slice,
        }
    }

    /// The object, if this is the origin of a single source object.
    pub fn object_name(&self) -> Option<&ObjectName> {
        match self.components() {
            [Component::Object(object)] => Some(&object.name),
            _ => None,
        }
    }

    /// [`SourceObject::hash_of`] the object, if this is the origin of a single source object.
    pub(crate) fn object_hash(&self) -> Option<u64> {
        match &self.0 {
            OriginRepr::Object(object) => object.object_hash(),
            OriginRepr::Several(_) => None,
        }
    }

    /// The slot of the last [`Origin::remember_slot`], if this is the origin of a single source
    /// object.
    pub(crate) fn slot_hint(&self) -> Option<u32> {
        match self.components() {
            [Component::Object(object)] => Some(object.slot_hint.load(Relaxed)),
            _ => None,
        }
    }

    /// Remembers the slot of a join table in which the object was found.
    pub(crate) fn remember_slot(&self, slot_hint: u32) {
        if let [Component::Object(object)] = self.components() {
            object.slot_hint.store(slot_hint, Relaxed);
        }
    }

    /// Whether both are the same allocation.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (
                OriginRepr::Object(Component::Object(a)),
                OriginRepr::Object(Component::Object(b)),
            ) => Arc::ptr_eq(a, b),
            (OriginRepr::Several(a), OriginRepr::Several(b)) => {
                std::ptr::eq(a.as_ptr(), b.as_ptr())
            }
            _ => false,
        }
    }

    /// Whether it contains the key of a group that has more bytes than this as JSON.
    pub(crate) fn has_key_above(&self, bytes: u32) -> bool {
        let mut components = self.components().iter();
        components.any(|component| match component {
            Component::Key(key) => key.measure().bytes > bytes,
            Component::Absent
            | Component::Branch(_)
            | Component::Object(_)
            | Component::Index(_) => false,
        })
    }

    /// The stored hash. It is only meaningful within a process.
    pub fn quick_hash(&self) -> u64 {
        match &self.0 {
            OriginRepr::Object(object) => object.object_hash().unwrap_or_default(),
            OriginRepr::Several(several) => several.header.header,
        }
    }

    /// A hash for `@rnd`: the same in every process and every version.
    pub fn stable_hash(&self) -> u64 {
        let mut text = String::new();
        for component in self.components() {
            let _ = match component {
                Component::Absent => write!(text, "-;"),
                Component::Branch(branch) => write!(text, "b{branch};"),
                Component::Object(object) => write!(
                    text,
                    "{}{}{};",
                    object.source, object.name.namespace, object.name.name
                ),
                Component::Index(index) => write!(text, "i{index};"),
                Component::Key(key) => write!(text, "k{key};"),
            };
        }
        document::stable_hash(&text)
    }

    /// For messages: `[{"source": Kind, "namespace": …, "name": …}, …, {"index": 0}]`.
    pub fn describe(&self, sources: &[String]) -> Value {
        self.components()
            .iter()
            .filter_map(|component| match component {
                Component::Absent => Some(Value::NULL),
                Component::Branch(_) => None,
                Component::Index(index) => Some(json!({"index": (*index)})),
                Component::Key(key) => Some(json!({"key": (key.as_ref().clone())})),
                Component::Object(object) => {
                    let source = sources
                        .get(object.source as usize)
                        .map_or("", String::as_str);
                    let (namespace, name) = (&object.name.namespace, &object.name.name);
                    Some(if namespace.as_str() == Some("") {
                        json!({"source": source, "name": (name.clone())})
                    } else {
                        json!({"source": source, "namespace": (namespace.clone()), "name": (name.clone())})
                    })
                }
            })
            .collect()
    }
}

impl Component {
    fn object_hash(&self) -> Option<u64> {
        match self {
            Self::Object(object) => Some(object.hash),
            Self::Absent | Self::Branch(_) | Self::Index(_) | Self::Key(_) => None,
        }
    }

    /// The position of this kind of component in the order.
    fn rank(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Branch(_) => 1,
            Self::Object(_) => 2,
            Self::Index(_) => 3,
            Self::Key(_) => 4,
        }
    }
}

impl Hash for Component {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Absent => state.write_u8(0),
            Self::Branch(branch) => state.write_u32(*branch),
            Self::Object(object) => state.write_u64(object.hash),
            Self::Index(index) => state.write_u32(*index),
            Self::Key(key) => key.hash(state),
        }
    }
}

impl PartialEq for Component {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Branch(a), Self::Branch(b)) | (Self::Index(a), Self::Index(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => {
                Arc::ptr_eq(a, b) || (a.hash == b.hash && a.source == b.source && a.name == b.name)
            }
            (Self::Key(a), Self::Key(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Component {}

impl Ord for Component {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Branch(a), Self::Branch(b)) | (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (Self::Object(a), Self::Object(b)) => {
                if Arc::ptr_eq(a, b) {
                    return Ordering::Equal;
                }
                a.name.cmp(&b.name).then(a.source.cmp(&b.source))
            }
            (Self::Key(a), Self::Key(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for Component {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
            || (self.quick_hash() == other.quick_hash() && self.components() == other.components())
    }
}

impl Eq for Origin {}

impl Ord for Origin {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.same(other) {
            return Ordering::Equal;
        }
        self.components().cmp(other.components())
    }
}

impl PartialOrd for Origin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Origin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.quick_hash());
    }
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.describe(&[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_sort_component_by_component() {
        let object = |namespace, name| Origin::object(0, ObjectName::new(namespace, name));
        let ordered = [
            Origin::new([Component::Absent]),
            object("", "z"),
            object("a", "a"),
            object("a", "a").with(Component::Index(2)),
            object("a", "a").with(Component::Index(10)),
            object("a", "b"),
            object("b", "a"),
            Origin::group(json!(1)),
            Origin::group(json!("1")),
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a:?} and {b:?}");
                assert_eq!(a == b, i == j);
            }
        }
    }

    #[test]
    fn the_random_hash_of_an_origin_never_changes() {
        let origin = Origin::object(1, ObjectName::new("ns", "web")).with(Component::Index(3));
        assert_eq!(
            origin.stable_hash(),
            document::stable_hash(r#"1"ns""web";i3;"#)
        );
    }
}
