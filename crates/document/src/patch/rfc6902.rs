//! What RFC 6902 does to one list or map, left to the `json-patch` crate.
//!
//! In go a list or map and the places in it, out comes the list or map as it is after the
//! operation. The crate works on its own kind of values, so it is handed a stand-in: for
//! a map only the entry in question, for a list a number per element. What it has done to
//! the stand-in is then done to the real thing, whose members need not be converted.

use json_patch::jsonptr::{PointerBuf, Token as Part};
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

/// Stands for the value of the operation. Members that were there before are numbers.
const GIVEN: Json = Json::Null;

/// The document itself, changed.
pub(super) fn root(document: &Value, change: Change<'_>) -> Result<Value, Cause> {
    let mut stand_in = Json::from(0);
    run(&mut stand_in, change.operation(PointerBuf::root())).map_err(|_| Cause::Root)?;
    Ok(change.member(&stand_in, |_| Some(document)))
}

/// A map with one entry changed.
pub(super) fn map(map: &Map, key: &Key, change: Change<'_>) -> Result<Map, Cause> {
    let mut entry = serde_json::Map::new();
    if map.get(key).is_some() {
        entry.insert(key.as_str().to_owned(), Json::from(0));
    }
    let mut stand_in = Json::Object(entry);
    let pointer = PointerBuf::from_tokens([key.as_str()]);
    run(&mut stand_in, change.operation(pointer)).map_err(|_| Cause::NotFound)?;
    Ok(match stand_in.get(key.as_str()) {
        Some(stand_in) => {
            let value = change.member(stand_in, |_| map.get(key));
            set(map, key, value)
        }
        None => map.without(key.as_str()),
    })
}

/// A list with some places changed: the last tokens of these pointers, which are in
/// ascending order and lead to this list.
pub(super) fn list(
    list: ListRef<'_>,
    pointers: &[Pointer],
    change: Change<'_>,
) -> Result<Value, Failure> {
    let mut stand_in: Json = (0..list.len()).map(Json::from).collect();
    // From the last place to the first, so that no change moves a place still to come.
    // What stands behind a place is put aside (in reverse) before the crate sees the list:
    // shifting it again and again would take quadratic time.
    let mut aside = Vec::new();
    for pointer in pointers.iter().rev() {
        if let (Some(Token::Index(index)), Json::Array(items)) =
            (pointer.tokens().last(), &mut stand_in)
        {
            let end = match change {
                Change::Add(_) => *index,
                Change::Replace(_) | Change::Remove => index.saturating_add(1),
            };
            aside.extend(items.drain(end.min(items.len())..).rev());
        }
        let operation = change.operation(last(pointer));
        run(&mut stand_in, operation).map_err(|_| {
            let length = list.len();
            Failure::new(pointer, Cause::OutOfBounds { length })
        })?;
    }
    let Json::Array(mut items) = stand_in else {
        // No operation on a place inside a list makes something else of it.
        return Ok(list.iter().cloned().collect());
    };
    items.extend(aside.into_iter().rev());
    let member = |item: &Json| change.member(item, |index| list.get(index));
    Ok(Value::list(items.iter().map(member)))
}

/// Whether the value at a place, if there is one, is the expected one.
pub(super) fn test(value: Option<&Value>, expected: &Value) -> Result<(), Cause> {
    // Ours are equal where the crate would tell 1 from 1.0.
    let same = |value: &Value| {
        if value == expected {
            GIVEN
        } else {
            Json::from(0)
        }
    };
    let mut stand_in: Json = value.map(same).into_iter().collect();
    let operation = PatchOperation::Test(TestOperation {
        path: PointerBuf::from_tokens([0]),
        value: GIVEN,
    });
    run(&mut stand_in, operation).map_err(|kind| match kind {
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

    /// What a stand-in stands for.
    fn member<'v>(self, stand_in: &Json, before: impl Fn(usize) -> Option<&'v Value>) -> Value {
        let index = stand_in.as_u64().and_then(|n| usize::try_from(n).ok());
        match (index, self) {
            (Some(index), _) => before(index).cloned().unwrap_or_default(),
            (None, Self::Add(value) | Self::Replace(value)) => value.clone(),
            (None, Self::Remove) => Value::NULL,
        }
    }
}

/// The last step alone, from the list that it leads into.
fn last(pointer: &Pointer) -> PointerBuf {
    match pointer.tokens().last() {
        Some(Token::Key(key)) => PointerBuf::from_tokens([key.as_str()]),
        Some(Token::Index(index)) => PointerBuf::from_tokens([Part::from(*index)]),
        Some(Token::End) => PointerBuf::from_tokens(["-"]),
        None => PointerBuf::root(),
    }
}

/// One operation on a stand-in, which is dropped if it fails: nothing need be undone.
fn run(stand_in: &mut Json, operation: PatchOperation) -> Result<(), PatchErrorKind> {
    json_patch::patch_unsafe(stand_in, &[operation]).map_err(|error| error.kind)
}
