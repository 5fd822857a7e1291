//! The way back: from a target object to the objects that it is derived from.

use document::Value;
use object::ObjectName;

use super::{NoSoftPartner, Point, Provenance, SourceName};
use crate::origin::Origin;

/// A document, and the documents that it is derived from.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// Where the document passes.
    pub at: Point,
    /// Its origin there.
    pub origin: Origin,
    /// The document; null if it is held because of an error.
    pub document: Value,
    /// The source object, if it is one.
    pub source: Option<SourceName>,
    /// The documents that it is derived from directly.
    pub from: Vec<Self>,
    /// How many more there are: of a large group only the first members are in `from`, and none if the
    /// way is too long.
    pub more: usize,
    /// The soft inputs of a join that have no partner.
    pub absent: Vec<NoSoftPartner>,
}

impl Provenance<'_> {
    /// How a target object was derived. Of each group at most `members` members are followed, and no
    /// way further back than this number of levels. If the environment is interrupted meanwhile, the
    /// result is not complete.
    pub fn way_back(
        &self,
        target: usize,
        name: &ObjectName,
        members: usize,
        levels: usize,
    ) -> Option<Derivation> {
        let (at, origin) = self.output(target, name)?;
        Some(self.derivation(at, &origin, members, levels))
    }

    /// The document that became a target object.
    pub fn output(&self, target: usize, name: &ObjectName) -> Option<(Point, Origin)> {
        let mut outputs = self.recording.outputs.iter();
        let output = outputs.find(|output| output.target == target && output.key == *name)?;
        let (branch, origin) = self.inside(&output.origin)?;
        Some((self.end_of(branch), origin))
    }

    fn derivation(&self, at: Point, origin: &Origin, members: usize, levels: usize) -> Derivation {
        // The caller discards the result then.
        let interrupted = self.env.is_interrupted();
        let parents = if interrupted {
            Vec::new()
        } else {
            self.parents(at, origin)
        };
        let groups = match at {
            Point::Stage { branch, stage } => {
                self.pipeline.branches[branch].stages[stage].kind.groups()
            }
            Point::Input { .. } => false,
        };
        let shown = if groups { members } else { usize::MAX };
        let (shown, levels) = match levels.checked_sub(1) {
            Some(levels) => (shown, levels),
            None => (0, 0),
        };
        let more = parents.len().saturating_sub(shown);
        let from = parents.iter().take(shown);
        Derivation {
            at,
            origin: origin.clone(),
            document: self.document(at, origin).cloned().unwrap_or_default(),
            source: self.source(at, origin),
            from: from
                .map(|(at, origin)| self.derivation(*at, origin, members, levels))
                .collect(),
            more,
            absent: self.without_soft_partner(at, origin),
        }
    }
}
