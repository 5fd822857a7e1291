//! The operations of RFC 6902 on one list or map, performed by the `json-patch` crate.
//!
//! The crate works on values of `serde_json`. Converting a list or map with all its contents to
//! change one member would take time in proportion to the document, and opaque bytes have no
//! equivalent there. So the crate changes a small model of the list or map, and the result is
//! built by following what happened to the model. In the model
//!
//! - an existing member is a number: its position in a list, 0 in a map;
//! - the value of the operation is `null`;
//! - a map has only the entry that the operation is about, if it exists;
//! - a list has all its elements, because they move.
//!
//! For example, `{"op": "add", "path": "/1", "value": "new"}`:
//!
//! ```text
//!           list                          model
//! before    ["a", {"b": [1]}, "c"]        [0, 1, 2]
//!                                         json-patch: add null at /1
//! after     ["a", "new", {"b": [1]}, "c"] [0, null, 1, 2]
//! ```
//!
//! The crate decides whether a place exists, where an element goes and what is an error. The
//! members are shared, not copied.

use json_patch::jsonptr::{PointerBuf, Token as JsonToken};
use json_patch::{
    AddOperation, PatchErrorKind, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation,
};
use serde_json::Value as Json;

use super::error::{Cause, Failure};
use super::pointer::{Pointer, Token};
use crate::key::Key;
use crate::list::ListRef;
use crate::map::Map;
use crate::value::Value;

/// A change of one list or map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change<'a> {
    Add(&'a Value),
    Replace(&'a Value),
    Remove,
}

/// The value of the operation in a model. Existing members are numbers.
const GIVEN: Json = Json::Null;

/// The document itself, changed.
pub(super) fn root(document: &Value, change: Change<'_>) -> Result<Value, Cause> {
    let mut model = Json::from(0);
    run(&mut model, change.operation(PointerBuf::root())).map_err(|_| Cause::Root)?;
    Ok(change.member(&model, |_| Some(document)))
}

/// A map with one entry changed.
pub(super) fn map(map: &Map, key: &Key, change: Change<'_>) -> Result<Map, Cause> {
    let mut entry = serde_json::Map::new();
    if map.get(key).is_some() {
        entry.insert(key.as_str().to_owned(), Json::from(0));
    }
    let mut model = Json::Object(entry);
    let pointer = PointerBuf::from_tokens([key.as_str()]);
    run(&mut model, change.operation(pointer)).map_err(|_| Cause::NotFound)?;
    Ok(match model.get(key.as_str()) {
        Some(model) => {
            let value = change.member(model, |_| map.get(key));
            set(map, key, value)
        }
        None => map.without(key.as_str()),
    })
}

/// A list with some positions changed: the last tokens of these pointers, which all lead to this
/// list and are in ascending order.
pub(super) fn list(
    list: ListRef<'_>,
    pointers: &[Pointer],
    change: Change<'_>,
) -> Result<Value, Failure> {
    let mut model: Json = (0..list.len()).map(Json::from).collect();
    // From the last position to the first, so that no change moves a later one. The elements
    // after a position are set aside, last first, before the crate changes the model: moving
    // them for every change would take quadratic time. To remove the positions 1 and 3 of
    // `[0, 1, 2, 3, 4]`:
    //
    //     model [0, 1, 2, 3]   aside [4]      then remove 3
    //     model [0, 1]         aside [4, 2]   then remove 1
    //     result [0] + [2, 4]
    let mut aside = Vec::new();
    for pointer in pointers.iter().rev() {
        if let (Some(Token::Index(index)), Json::Array(items)) =
            (pointer.tokens().last(), &mut model)
        {
            let end = match change {
                Change::Add(_) => *index,
                Change::Replace(_) | Change::Remove => index.saturating_add(1),
            };
            aside.extend(items.drain(end.min(items.len())..).rev());
        }
        let operation = change.operation(last(pointer));
        run(&mut model, operation).map_err(|_| {
            let length = list.len();
            Failure::new(pointer, Cause::OutOfBounds { length })
        })?;
    }
    let Json::Array(mut items) = model else {
        // Not reached: an operation inside a list leaves it a list.
        return Ok(list.iter().cloned().collect());
    };
    items.extend(aside.into_iter().rev());
    let member = |item: &Json| change.member(item, |index| list.get(index));
    Ok(Value::list(items.iter().map(member)))
}

/// Checks that there is a value, and that it is the expected one.
pub(super) fn test(value: Option<&Value>, expected: &Value) -> Result<(), Cause> {
    // Values compare numbers by value; the crate would distinguish 1 from 1.0.
    let same = |value: &Value| {
        if value == expected {
            GIVEN
        } else {
            Json::from(0)
        }
    };
    let mut model: Json = value.map(same).into_iter().collect();
    let operation = PatchOperation::Test(TestOperation {
        path: PointerBuf::from_tokens([0]),
        value: GIVEN,
    });
    run(&mut model, operation).map_err(|kind| match kind {
        PatchErrorKind::TestFailed => Cause::TestFailed,
        _ => Cause::NotFound,
    })
}

/// A map with an entry set.
pub(super) fn set(map: &Map, key: &Key, value: Value) -> Map {
    match map.get(key) {
        Some(_) => map.replace(&[(key, &value)]),
        None => map.with(key.clone(), value),
    }
}

impl Change<'_> {
    fn operation(self, path: PointerBuf) -> PatchOperation {
        let value = GIVEN;
        match self {
            Self::Add(_) => PatchOperation::Add(AddOperation { path, value }),
            Self::Replace(_) => PatchOperation::Replace(ReplaceOperation { path, value }),
            Self::Remove => PatchOperation::Remove(RemoveOperation { path }),
        }
    }

    /// The value of a member of the model. `before` returns the existing member of a number.
    fn member<'v>(self, model: &Json, before: impl Fn(usize) -> Option<&'v Value>) -> Value {
        let index = model.as_u64().and_then(|n| usize::try_from(n).ok());
        match (index, self) {
            (Some(index), _) => before(index).cloned().unwrap_or_default(),
            (None, Self::Add(value) | Self::Replace(value)) => value.clone(),
            (None, Self::Remove) => Value::NULL,
        }
    }
}

/// The last token alone, as a pointer from the list that it applies to.
fn last(pointer: &Pointer) -> PointerBuf {
    match pointer.tokens().last() {
        Some(Token::Key(key)) => PointerBuf::from_tokens([key.as_str()]),
        Some(Token::Index(index)) => PointerBuf::from_tokens([JsonToken::from(*index)]),
        Some(Token::End) => PointerBuf::from_tokens(["-"]),
        None => PointerBuf::root(),
    }
}

/// Performs one operation on a model. A model that fails is dropped, so nothing is undone.
fn run(model: &mut Json, operation: PatchOperation) -> Result<(), PatchErrorKind> {
    json_patch::patch_unsafe(model, &[operation]).map_err(|error| error.kind)
}
