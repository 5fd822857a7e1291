//! Finds the components of a row's origin that belong to each input.
//!
//! The origin of a row is the concatenation of the origins of its documents. The components of
//! the soft input must be inserted in the order of the inputs:
//!
//! ```text
//! inputs A, B (soft), C      row [a, c]      with b: [a, b, c]
//! ```
//!
//! A document that comes from a stream may have several components, so the lengths are found by
//! looking prefixes up in the tables of the inputs.

use smallvec::SmallVec;

use crate::origin::{Component, Origin};
use crate::running::join_table::JoinTable;

/// The inputs that rows already contain, with their tables.
pub(crate) struct Joined<'a> {
    /// In the order of the inputs.
    pub(crate) tables: Vec<(usize, &'a JoinTable)>,
}

impl Joined<'_> {
    /// The components of a row's origin, by input.
    fn parts<'r>(&self, row: &'r Origin) -> Vec<(usize, &'r [Component])> {
        let mut rest = row.components();
        let mut parts = Vec::with_capacity(self.tables.len());
        for (input, table) in &self.tables {
            let known = |length: &usize| table.find(&Origin::of_slice(&rest[..*length])).is_some();
            let length = match rest.first() {
                // Source objects and absent documents have one component.
                _ if row.components().len() == self.tables.len() => 1,
                Some(Component::Absent) => 1,
                _ => (1..=rest.len()).find(known).unwrap_or(1),
            };
            let (part, behind) = rest.split_at(length.min(rest.len()));
            parts.push((*input, part));
            rest = behind;
        }
        parts
    }

    /// The number of components that belong to inputs before this one.
    pub(super) fn cut(&self, row: &Origin, input: usize) -> usize {
        let before = self
            .parts(row)
            .into_iter()
            .filter(|(other, _)| *other < input);
        before.map(|(_, part)| part.len()).sum()
    }

    /// The origin of the row's document of one input; `None` if it is absent.
    pub(super) fn part(&self, row: &Origin, input: usize) -> Option<Origin> {
        let mut parts = self.parts(row).into_iter();
        let (_, part) = parts.find(|(other, _)| *other == input)?;
        (!matches!(part, [Component::Absent] | [])).then(|| Origin::of_slice(part))
    }
}

/// The origin with more components at a position.
pub(super) fn insert(origin: &Origin, cut: usize, components: &[Component]) -> Origin {
    let (before, behind) = origin
        .components()
        .split_at(cut.min(origin.components().len()));
    let all: SmallVec<[Component; 6]> = before
        .iter()
        .chain(components)
        .chain(behind)
        .cloned()
        .collect();
    Origin::of_slice(&all)
}
