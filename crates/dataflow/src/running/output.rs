//! The output check, after the last stage of a branch that feeds a target: an output needs the
//! metadata of an object, which says where the object is, and the object has to be able to be there.
//! It holds like any other stage:
//!
//! ```text
//! origin a  {metadata: {name: x}}  ─▶  the target x
//! origin a  {metadata: {}}         ─▶  an error; x stays as it is
//! origin a  is gone                ─▶  x is removed, and the error with it
//! ```

use document::{Location, Value};
use object::{ObjectName, Placement};

use super::{Change, Detach, Failing, FailingMap, StepContext, release};
use crate::apply;
use crate::failure::Failure;
use crate::origin::Origin;

/// A document with the name of its target object. The object is built later, if it is needed.
pub(crate) type Keyed = (ObjectName, Value);

impl Detach for Keyed {
    fn detach(self) -> Self {
        (self.0, self.1.detach())
    }
}

/// A change of the output of an origin to a target.
#[derive(Clone, Debug)]
pub(crate) struct OutputChange {
    pub(crate) origin: Origin,
    pub(crate) old: Option<Keyed>,
    pub(crate) new: Option<Keyed>,
}

/// A running output check.
#[derive(Debug)]
pub(crate) struct OutputCheck {
    at: Location,
    /// Where the objects of the target may be; `None` for everywhere.
    placement: Option<Placement>,
    pub(crate) failing: FailingMap<Option<Keyed>>,
    /// How many of these are misplaced.
    misplaced: usize,
}

impl OutputCheck {
    pub(crate) fn new(at: Location, placement: Option<Placement>) -> Self {
        Self {
            at,
            placement,
            failing: FailingMap::default(),
            misplaced: 0,
        }
    }

    /// Sets where the objects of the target may be. No current output and no current failure may
    /// be affected.
    pub(crate) fn place(&mut self, placement: &Placement) {
        self.placement = Some(placement.clone());
    }

    /// How many origins yield objects that cannot be where they are derived.
    pub(crate) fn misplaced(&self) -> usize {
        self.misplaced
    }

    pub(crate) fn step(
        &mut self,
        changes: Vec<Change>,
        cx: &mut StepContext<'_>,
    ) -> Vec<OutputChange> {
        let mut out = Vec::with_capacity(changes.len());
        for change in changes {
            if !cx.goes_on() {
                break;
            }
            if let Some(change) = self.change(change, cx) {
                out.push(change);
            }
        }
        out
    }

    fn change(&mut self, change: Change, cx: &mut StepContext<'_>) -> Option<OutputChange> {
        let held = release(&mut self.failing, &change.origin);
        let was_misplaced = held
            .as_ref()
            .is_some_and(|held| held.failure.is_misplaced());
        self.misplaced -= usize::from(was_misplaced);
        let old = match held {
            Some(failing) => failing.held,
            None => change.old.and_then(|document| self.keyed(document).ok()),
        };
        let new = change.new.map(|document| match &old {
            // In most changes the metadata, and so the name, stays the same.
            Some((key, before)) if apply::same_metadata(before, &document) => {
                Ok((key.clone(), document))
            }
            _ => self.keyed(document),
        });
        let new = match new {
            None => None,
            Some(Ok(new)) => Some(new),
            Some(Err(failure)) => {
                cx.report(&change.origin, &failure);
                self.misplaced += usize::from(failure.is_misplaced());
                let held = old;
                self.failing
                    .insert(change.origin, Failing::new(held, failure));
                return None;
            }
        };
        // The target compares both documents.
        Some(OutputChange {
            origin: change.origin,
            old,
            new,
        })
    }

    fn keyed(&self, document: Value) -> Result<Keyed, Failure> {
        let placement = self.placement.as_ref();
        Ok((apply::output_key(placement, &self.at, &document)?, document))
    }

    /// The current output of an origin, given its current input.
    pub(crate) fn current(&self, input: Option<&Value>, origin: &Origin) -> Option<Keyed> {
        match self.failing.get(origin) {
            Some(failing) => failing.held.clone(),
            None => self.keyed(input?.clone()).ok(),
        }
    }
}
