//! Fields of objects that several writers share.
//!
//! | item | meaning |
//! |---|---|
//! | [`FieldPath`] | the path of a field; list elements are identified by their merge keys |
//! | [`FieldSet`] | a set of fields, with union, difference and intersection, to and from `FieldsV1` |
//! | [`MergeKeys`] | the fields that identify the elements of a kind's lists |
//! | [`merge`] | the deep merge of a patch into an object |
//! | [`delta`] | the patch that turns one document into another |
//! | [`walk`], [`leaves`] | the fields of a document |
//! | [`Contest`] | which of several writers gets a field |
//! | [`compare`] | whether documents are equal for an API server, and where they differ |
//!
//! ```
//! use document::json;
//! use fieldset::{FieldSet, MergeKeys};
//!
//! let keys = MergeKeys::of_group("apps");
//! let ours = FieldSet::of(&json!({"spec": {"containers": [{"name": "a", "image": "x"}]}}), &keys);
//! let theirs = FieldSet::from_fields_v1(&json!({"f:spec": {"f:replicas": {}}})).unwrap();
//! assert!(ours.intersection(&theirs).is_empty());
//! assert_eq!(
//!     ours.to_fields_v1(),
//!     json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}}}}})
//! );
//! ```

mod append;
pub mod compare;
mod contest;
mod delta;
mod keys;
mod leaves;
mod merge;
mod path;
pub mod quantity;
mod removed;
mod set;
mod walk;

pub use append::{Placed, is_relative, placed};
pub use contest::Contest;
pub use delta::{Absence, delta};
pub use keys::{Identity, MergeKeys};
pub use leaves::LeafIndex;
pub use merge::{all_maps, merge, position_of};
pub use path::{FieldPath, PathElement};
pub use removed::{RemovedElement, element_before, put_back};
pub use set::{FieldSet, FieldsV1Error};
pub use walk::{concerns, leaves, located, walk};
