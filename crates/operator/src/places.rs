//! Where the parts of a manifest are in its file.

use std::fmt;
use std::sync::Arc;

use document::Location;

/// Finds the place of a location, such as `operator.yaml:12:7`. An Operator that was not read from a
/// file has no places.
#[derive(Clone, Default)]
pub struct Places(Option<Arc<Find>>);

type Find = dyn Fn(&Location) -> String + Send + Sync;

impl Places {
    /// The places that a function finds.
    pub fn new(find: impl Fn(&Location) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// The place of a location, if the manifest is in a file.
    pub fn find(&self, at: &Location) -> Option<String> {
        self.0.as_ref().map(|find| find(at))
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = if self.0.is_some() { "known" } else { "unknown" };
        write!(f, "Places({known})")
    }
}
