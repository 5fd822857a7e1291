//! The output check, after the last stage of a branch that feeds a target: an output needs the
//! metadata of an object. It holds like any other stage:
//!
//! ```text
//! origin a  {metadata: {name: x}}  ─▶  the target x
//! origin a  {metadata: {}}         ─▶  an error; x stays as it is
//! origin a  is gone                ─▶  x is removed, and the error with it
//! ```

use document::{Location, Value};
use object::ObjectName;

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
    pub(crate) failing: FailingMap<Option<Keyed>>,
}

impl OutputCheck {
    pub(crate) fn new(at: Location) -> Self {
        Self {
            at,
            failing: FailingMap::default(),
        }
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
        Ok((apply::output_key(&self.at, &document)?, document))
    }

    /// The current output of an origin, given its current input.
    pub(crate) fn current(&self, input: Option<&Value>, origin: &Origin) -> Option<Keyed> {
        match self.failing.get(origin) {
            Some(failing) => failing.held.clone(),
            None => self.keyed(input?.clone()).ok(),
        }
    }
}
