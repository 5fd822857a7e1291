//! Origins of rows: which part belongs to which input.

use smallvec::SmallVec;

use crate::origin::{Component, Origin};
use crate::running::join_table::JoinTable;

/// The inputs that rows have already, with their documents: to tell which part of a
/// row's origin belongs to which input.
pub(crate) struct Joined<'a> {
    /// In the order of the inputs.
    pub(crate) tables: Vec<(usize, &'a JoinTable)>,
}

impl Joined<'_> {
    /// The parts of a row's origin, by input.
    fn parts<'r>(&self, row: &'r Origin) -> Vec<(usize, &'r [Component])> {
        let mut rest = row.components();
        let mut parts = Vec::with_capacity(self.tables.len());
        for (input, table) in &self.tables {
            let known = |length: &usize| table.find(&Origin::of_slice(&rest[..*length])).is_some();
            let length = match rest.first() {
                // Sources, and what is absent, have one component.
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

    /// How many components belong to inputs before this one.
    pub(super) fn cut(&self, row: &Origin, input: usize) -> usize {
        let before = self
            .parts(row)
            .into_iter()
            .filter(|(other, _)| *other < input);
        before.map(|(_, part)| part.len()).sum()
    }

    /// The origin of a row's document of one input, if it is not absent.
    pub(super) fn part(&self, row: &Origin, input: usize) -> Option<Origin> {
        let mut parts = self.parts(row).into_iter();
        let (_, part) = parts.find(|(other, _)| *other == input)?;
        (!matches!(part, [Component::Absent] | [])).then(|| Origin::of_slice(part))
    }
}

/// An origin with more components in it.
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
