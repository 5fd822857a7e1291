//! Applies the operations of a patch in order.

use super::edit::{Edit, find};
use super::error::{Cause, Error, Failure};
use super::growth::{Growth, check_depth};
use super::operation::Operation;
use super::path::PatchPath;
use super::pointer::Pointer;
use super::rfc6902::{self, Change};
use crate::value::{Kind, Value};

/// One application of a patch to a document.
#[derive(Debug)]
pub(super) struct PatchRun {
    strict: bool,
    growth: Growth,
}

/// Why an operation failed, and which of its paths caused it.
struct Fault<'o> {
    path: &'o PatchPath,
    pointer: Option<Pointer>,
    cause: Cause,
}

/// The document after an operation.
type Applied<'o> = Result<Value, Fault<'o>>;

impl PatchRun {
    pub(super) fn new(strict: bool) -> Self {
        Self {
            strict,
            growth: Growth::new(),
        }
    }

    /// The document after the operation at position `at`.
    pub(super) fn step(
        &mut self,
        at: usize,
        operation: &Operation,
        document: &Value,
    ) -> Result<Value, Error> {
        self.apply(operation, document).map_err(|fault| Error {
            operation: at,
            op: operation.name(),
            path: fault.path.to_string(),
            pointer: fault.pointer,
            cause: fault.cause,
        })
    }

    fn apply<'o>(&mut self, operation: &'o Operation, document: &Value) -> Applied<'o> {
        let (path, edit) = match operation {
            Operation::Test { path, value } => return self.test(path, value, document),
            Operation::Copy { from, path } => return self.copy(from, path, document),
            Operation::Move { from, path } => return self.relocate(from, path, document),
            Operation::Merge { path, value } if value.kind() != Kind::Map => {
                let found = value.kind();
                return Err(Fault::new(path, Cause::MergeValue { found }));
            }
            Operation::Merge { path, value } => (path, Edit::Merge(value)),
            Operation::Add { path, value } => (path, Edit::Change(Change::Add(value))),
            Operation::Replace { path, value } => (path, Edit::Change(Change::Replace(value))),
            Operation::Remove { path } => (path, Edit::Change(Change::Remove)),
        };
        let Some(pointers) = self.places(path, document)? else {
            return Ok(document.clone());
        };
        // At the first place the value is not a copy; at the others it is.
        let value = operation.value().unwrap_or(&Value::NULL);
        self.allow(path, value, &pointers, pointers.len() - 1)?;
        edit.apply(document, &pointers)
            .map_err(|failure| Fault::at(path, failure))
    }

    fn test<'o>(&self, path: &'o PatchPath, value: &Value, document: &Value) -> Applied<'o> {
        for pointer in self.places(path, document)?.unwrap_or_default() {
            rfc6902::test(find(document, &pointer), value).map_err(|cause| {
                let cause = match cause {
                    Cause::NotFound => missing(document, &pointer),
                    cause => cause,
                };
                Fault::at(path, Failure { pointer, cause })
            })?;
        }
        Ok(document.clone())
    }

    fn copy<'o>(
        &mut self,
        from: &'o PatchPath,
        path: &'o PatchPath,
        document: &Value,
    ) -> Applied<'o> {
        let (_, value) = source(from, document)?;
        let Some(pointers) = self.places(path, document)? else {
            return Ok(document.clone());
        };
        self.allow(path, value, &pointers, pointers.len())?;
        Edit::Put(value)
            .apply(document, &pointers)
            .map_err(|failure| Fault::at(path, failure))
    }

    /// `move`. As in RFC 6902 the value is removed first, and positions in a plain path are
    /// those after the removal. A path with filters is resolved before the removal, and its
    /// pointers follow the elements that move.
    fn relocate<'o>(
        &mut self,
        from: &'o PatchPath,
        path: &'o PatchPath,
        document: &Value,
    ) -> Applied<'o> {
        let (source, value) = source(from, document)?;
        let mut pointers = Vec::new();
        if path.has_filter() {
            match self.places(path, document)? {
                Some(places) => pointers = places,
                None => return Ok(document.clone()),
            }
        }
        let inside = |pointer: &Pointer| {
            pointer.tokens().len() > source.tokens().len()
                && pointer.tokens().starts_with(source.tokens())
        };
        if path.goes_into(&source) || pointers.iter().any(inside) {
            return Err(Fault::new(path, Cause::IntoItself));
        }
        let rest = Edit::Change(Change::Remove)
            .apply(document, std::slice::from_ref(&source))
            .map_err(|failure| Fault::at(from, failure))?;
        if path.has_filter() {
            let literal_end = !path.ends_with_filter();
            for pointer in &mut pointers {
                pointer.follow(&source, literal_end);
            }
        } else {
            pointers = self.places(path, &rest)?.unwrap_or_default();
        }
        self.allow(path, value, &pointers, pointers.len().saturating_sub(1))?;
        Edit::Put(value)
            .apply(&rest, &pointers)
            .map_err(|failure| Fault::at(path, failure))
    }

    /// The places of a path, at least one; `None` if the operation is to be skipped.
    fn places<'o>(
        &self,
        path: &'o PatchPath,
        document: &Value,
    ) -> Result<Option<Vec<Pointer>>, Fault<'o>> {
        let pointers = path
            .resolve(document)
            .map_err(|failure| Fault::at(path, failure))?;
        match (pointers.is_empty(), self.strict) {
            (false, _) => Ok(Some(pointers)),
            (true, false) => Ok(None),
            (true, true) => Err(Fault::new(path, Cause::NoMatch)),
        }
    }

    /// Checks that a value may be added at these places, and counts the copies.
    fn allow<'o>(
        &mut self,
        path: &'o PatchPath,
        value: &Value,
        pointers: &[Pointer],
        copies: usize,
    ) -> Result<(), Fault<'o>> {
        let Some(pointer) = pointers.first() else {
            return Ok(());
        };
        let measure = value.measure();
        check_depth(measure, pointer)
            .and_then(|()| self.growth.take(measure, copies))
            .map_err(|cause| Fault::at(path, Failure::new(pointer, cause)))
    }
}

/// The one place that `from` matches, and its value.
fn source<'o, 'v>(
    from: &'o PatchPath,
    document: &'v Value,
) -> Result<(Pointer, &'v Value), Fault<'o>> {
    let pointers = from
        .resolve(document)
        .map_err(|failure| Fault::at(from, failure))?;
    let [pointer] = pointers.as_slice() else {
        let found = pointers.len();
        return Err(Fault::new(from, Cause::FromMatches { found }));
    };
    match find(document, pointer) {
        Some(value) => Ok((pointer.clone(), value)),
        None => Err(Fault::at(
            from,
            Failure::new(pointer, missing(document, pointer)),
        )),
    }
}

/// Why there is nothing at a place.
fn missing(document: &Value, pointer: &Pointer) -> Cause {
    let parent = pointer.parent();
    let list = parent.and_then(|parent| find(document, &parent)?.as_list());
    match list {
        Some(list) => Cause::OutOfBounds { length: list.len() },
        None => Cause::NotFound,
    }
}

impl<'o> Fault<'o> {
    fn new(path: &'o PatchPath, cause: Cause) -> Self {
        Self {
            path,
            pointer: None,
            cause,
        }
    }

    fn at(path: &'o PatchPath, failure: Failure) -> Self {
        Self {
            path,
            pointer: Some(failure.pointer),
            cause: failure.cause,
        }
    }
}
