//! Locations inside a document. Messages show them, and `manifest` turns them into a line and a
//! column.

use std::fmt;

use triomphe::Arc;

/// A location inside a document, such as `spec.controllers[0].pipeline[2].@project`. Cheap
/// to clone and to extend.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Location(Option<Arc<LocationLink>>);

#[derive(PartialEq, Eq)]
struct LocationLink {
    parent: Location,
    step: LocationStep,
}

/// One step of a [`Location`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocationStep {
    /// Into a map.
    Key(String),
    /// Into a list.
    Index(usize),
}

impl Location {
    /// The document itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// The member `key` of the value at this location.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.step(LocationStep::Key(key.into()))
    }

    /// The element `index` of the value at this location.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(LocationStep::Index(index))
    }

    /// The steps from the root to here.
    pub fn steps(&self) -> Vec<&LocationStep> {
        let mut steps = Vec::new();
        let mut here = self;
        while let Some(link) = &here.0 {
            steps.push(&link.step);
            here = &link.parent;
        }
        steps.reverse();
        steps
    }

    /// The location that this one is a member or an element of, and the last step.
    pub fn parent(&self) -> Option<(&Self, &LocationStep)> {
        let link = self.0.as_ref()?;
        Some((&link.parent, &link.step))
    }

    /// Whether this is `other` or a part of it.
    pub fn is_in(&self, other: &Self) -> bool {
        let mut here = Some(self);
        while let Some(location) = here {
            if location == other {
                return true;
            }
            here = location.parent().map(|(parent, _)| parent);
        }
        false
    }

    fn step(&self, step: LocationStep) -> Self {
        Self(Some(Arc::new(LocationLink {
            parent: self.clone(),
            step,
        })))
    }
}

/// Quotes keys that would be ambiguous: empty ones, and those with a dot, bracket or space.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps().into_iter().enumerate() {
            match step {
                LocationStep::Index(index) => write!(f, "[{index}]")?,
                LocationStep::Key(key) if key.is_empty() || key.contains(['.', '[', ']', ' ']) => {
                    write!(f, "[{key:?}]")?;
                }
                LocationStep::Key(key) if i == 0 => f.write_str(key)?,
                LocationStep::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_reads_like_a_path() {
        let stage = Location::root()
            .key("spec")
            .key("controllers")
            .index(0)
            .key("pipeline")
            .index(2);
        let at = stage.key("@project").key("metadata").key("a.b/c");
        assert_eq!(
            at.to_string(),
            r#"spec.controllers[0].pipeline[2].@project.metadata["a.b/c"]"#
        );
    }
}
