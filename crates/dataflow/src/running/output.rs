//! The last stage of a branch that feeds a target: the check of the output's metadata.

use document::{Location, Value};
use object::ObjectName;

use super::{Change, Detach, Failing, FailingMap, StepContext, release};
use crate::apply;
use crate::failure::Failure;
use crate::origin::Origin;

/// A document under its target key; the object is made of it when it is needed.
pub(crate) type Keyed = (ObjectName, Value);

impl Detach for Keyed {
    fn detach(self) -> Self {
        (self.0, self.1.detach())
    }
}

/// A change of what an origin puts out to a target.
#[derive(Clone, Debug)]
pub(crate) struct OutputChange {
    pub(crate) origin: Origin,
    pub(crate) old: Option<Keyed>,
    pub(crate) new: Option<Keyed>,
}

/// The check of a branch's outputs.
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
            // Mostly the key is what it was.
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
        // Whether they differ is seen where their keys are compared.
        Some(OutputChange {
            origin: change.origin,
            old,
            new,
        })
    }

    fn keyed(&self, document: Value) -> Result<Keyed, Failure> {
        Ok((apply::output_key(&self.at, &document)?, document))
    }

    /// What an origin puts out now, given the document that reaches this stage.
    pub(crate) fn current(&self, input: Option<&Value>, origin: &Origin) -> Option<Keyed> {
        match self.failing.get(origin) {
            Some(failing) => failing.held.clone(),
            None => self.keyed(input?.clone()).ok(),
        }
    }
}
