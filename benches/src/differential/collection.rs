//! What flows.

use differential_dataflow::VecCollection;
use document::Value;

/// A collection of documents (or of pairs with a key).
pub(super) type Collection<'scope, D = Value> = VecCollection<'scope, u64, D, isize>;
