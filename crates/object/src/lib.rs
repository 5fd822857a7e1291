//! The vocabulary of Kubernetes objects, shared by all crates.
//!
//! | word | meaning |
//! |---|---|
//! | [`ObjectName`] | namespace and name |
//! | [`GroupKind`] | API group and Kind; all versions of a kind are one kind |
//! | [`KindRef`] | a kind with the version that a user asked for, if any |
//! | [`ObjectKey`] | kind and name: identifies one object of a cluster |
//! | [`OperatorId`] | name and uid of an Operator |
//! | [`Placement`] | where objects of a kind may be |
//! | [`LabelSelector`] | which labels an object must have |
//! | [`Column`] | a column in which objects are shown |
//! | [`kind_names`] | how users name kinds: in plural, by a short name |
//! | [`Unreadable`] | why an object cannot be read |
//! | [`relist`] | what is gone when a collection is listed again |
//! | [`metadata`] | the names of metadata fields, as interned keys |
//! | [`marks`] | the labels and annotations that deltic leaves on objects |
//!
//! ```
//! use document::json;
//! use object::{LabelSelector, ObjectKey};
//!
//! let pod = json!({"metadata": {"namespace": "shop", "name": "web", "labels": {"app": "web"}}});
//! let key = ObjectKey::of_kind("", "Pod", &pod).unwrap();
//! assert_eq!(key.to_string(), "/Pod/shop/web");
//!
//! let selector = LabelSelector::from_query("app in (web, db),!old").unwrap();
//! assert!(selector.matches(pod.get("metadata").get("labels")));
//! ```

mod column;
mod key;
mod kind;
pub mod kind_names;
pub mod marks;
pub mod metadata;
mod name;
mod operator_id;
mod placement;
pub mod relist;
mod selector;
mod text;
mod unreadable;

pub use column::{Column, ColumnType};
pub use key::ObjectKey;
pub use kind::{GROUP, GroupKind, KindRef, VIEW_SUFFIX, VIEW_VERSION, group_of};
pub use name::ObjectName;
pub use operator_id::{OperatorId, Ownership, instance_of};
pub use placement::{Misplaced, NameRule, Placement, is_subdomain};
pub use selector::{KnownLabel, LabelSelector, SelectorError, label_text, same_text};
pub use text::{abridged, bounded};
pub use unreadable::{MAX_SIZE, Unreadable};
