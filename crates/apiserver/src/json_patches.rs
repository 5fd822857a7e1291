//! Carries out JSON Patches within limits, so that a short patch cannot exhaust the memory, the
//! stack or the time of the process.
//!
//! ```text
//! copy /a to /a/b, again and again     doubles the object each time
//! move /a to /b/a, /b to /a, …         nests it deeper each time
//! add /list/0, again and again         shifts the whole list each time
//! ```

use document::MAX_DEPTH;
use json_patch::jsonptr::Pointer;
use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::status::StatusError;

/// How many operations a patch may have, as in kube-apiserver.
const MAX_OPERATIONS: usize = 10_000;
/// How much `copy` and `move` may carry, in bytes, all operations together.
const MAX_CARRIED: usize = 3 * 1024 * 1024;
/// How many elements of lists may be shifted, all operations together.
const MAX_SHIFTED: usize = 50_000_000;

/// Refuses a patch with too many operations.
pub(crate) fn check(patch: &Patch) -> Result<(), StatusError> {
    let operations = patch.0.len();
    if operations <= MAX_OPERATIONS {
        return Ok(());
    }
    let message = format!(
        "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {operations}"
    );
    Err(StatusError::new(413, "RequestEntityTooLarge", message))
}

/// Carries out the operations one by one.
pub(crate) fn carry_out(object: &mut Value, patch: &Patch) -> Result<(), StatusError> {
    let mut left = Left {
        bytes: MAX_CARRIED,
        elements: MAX_SHIFTED,
    };
    for (number, operation) in patch.0.iter().enumerate() {
        left.charge(object, operation)
            .map_err(|why| refused(&format!("operation '/{number}' failed: {why}")))?;
        json_patch::patch(object, std::slice::from_ref(operation)).map_err(|mut error| {
            error.operation = number;
            refused(&error.to_string())
        })?;
    }
    Ok(())
}

fn refused(why: &str) -> StatusError {
    let message = format!("the JSON patch cannot be applied: {why}");
    StatusError::new(422, "Invalid", message)
}

/// What the operations of a patch may still use.
struct Left {
    bytes: usize,
    elements: usize,
}

impl Left {
    /// Refuses an operation that exceeds a limit.
    fn charge(&mut self, object: &Value, operation: &PatchOperation) -> Result<(), String> {
        match operation {
            PatchOperation::Test(_) => Ok(()),
            PatchOperation::Remove(remove) => self.shift(object, &remove.path),
            PatchOperation::Add(add) => {
                self.shift(object, &add.path)?;
                placed(&add.path, Extent::of(&add.value, usize::MAX))
            }
            PatchOperation::Replace(replace) => {
                placed(&replace.path, Extent::of(&replace.value, usize::MAX))
            }
            PatchOperation::Move(carried) => {
                self.shift(object, &carried.from)?;
                self.shift(object, &carried.path)?;
                self.carry(object, &carried.from, &carried.path)
            }
            PatchOperation::Copy(carried) => {
                self.shift(object, &carried.path)?;
                self.carry(object, &carried.from, &carried.path)
            }
        }
    }

    fn carry(&mut self, object: &Value, from: &Pointer, to: &Pointer) -> Result<(), String> {
        // An operation on a value that does not exist fails later.
        let Some(value) = object.pointer(from.as_str()) else {
            return Ok(());
        };
        let extent = Extent::of(value, self.bytes);
        let left = self.bytes.checked_sub(extent.bytes);
        self.bytes = left.ok_or_else(|| {
            format!("what is copied and moved exceeds {MAX_CARRIED} bytes together")
        })?;
        placed(to, extent)
    }

    /// An element that is added or removed moves those after it.
    fn shift(&mut self, object: &Value, path: &Pointer) -> Result<(), String> {
        let parent = path.parent();
        let parent = parent.and_then(|parent| object.pointer(parent.as_str()));
        let length = parent.and_then(Value::as_array).map_or(0, Vec::len);
        let left = self.elements.checked_sub(length);
        self.elements = left.ok_or("it changes too many elements of long lists")?;
        Ok(())
    }
}

/// Refuses a value that would be nested too deeply at its place.
fn placed(path: &Pointer, extent: Extent) -> Result<(), String> {
    if path.count() + extent.depth > MAX_DEPTH {
        return Err(format!(
            "the object would be nested deeper than {MAX_DEPTH}"
        ));
    }
    Ok(())
}

/// The size of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    /// About as many bytes as its JSON has.
    bytes: usize,
    /// The levels of lists and maps.
    depth: usize,
}

impl Extent {
    /// Measures a value. Counting ends above `most` bytes. Without recursion: the depth is not
    /// known yet.
    fn of(value: &Value, most: usize) -> Self {
        let mut total = Self::default();
        let mut waiting = vec![(value, 0)];
        while let Some((value, depth)) = waiting.pop() {
            total.depth = total.depth.max(depth);
            total.bytes += match value {
                Value::Null | Value::Bool(_) => 4,
                Value::Number(_) => 8,
                Value::String(text) => text.len() + 2,
                Value::Array(items) => {
                    total.depth = total.depth.max(depth + 1);
                    waiting.extend(items.iter().map(|item| (item, depth + 1)));
                    2
                }
                Value::Object(fields) => {
                    total.depth = total.depth.max(depth + 1);
                    waiting.extend(fields.values().map(|field| (field, depth + 1)));
                    2 + fields.keys().map(|key| key.len() + 4).sum::<usize>()
                }
            };
            if total.bytes > most {
                break;
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(object: &Value, operations: Value) -> Result<Value, String> {
        let mut object = object.clone();
        let patch: Patch = serde_json::from_value(operations).unwrap();
        carry_out(&mut object, &patch).map_err(|error| error.message)?;
        Ok(object)
    }

    #[test]
    fn a_failure_names_its_operation() {
        let add = json!({"op": "add", "path": "/a", "value": 1});
        let remove = json!({"op": "remove", "path": "/none"});
        assert_eq!(
            patched(&json!({}), json!([add, remove])).unwrap_err(),
            "the JSON patch cannot be applied: operation '/1' failed at path '/none': path is \
             invalid"
        );
    }

    #[test]
    fn moves_cannot_nest_an_object_without_end() {
        let deeper = [
            json!({"op": "add", "path": "/b", "value": {}}),
            json!({"op": "move", "from": "/a", "path": "/b/a"}),
            json!({"op": "move", "from": "/b", "path": "/a"}),
        ];
        let deeper = |times: usize| Value::from(vec![deeper.clone(); times].concat());
        let object = json!({"a": {}});
        assert!(patched(&object, deeper(MAX_DEPTH - 2)).is_ok());
        let error = patched(&object, deeper(3_000)).unwrap_err();
        assert!(
            error.ends_with("the object would be nested deeper than 100"),
            "{error}"
        );
    }

    #[test]
    fn lists_cannot_be_shifted_without_end() {
        let object = json!({"list": vec![0; 100_000]});
        let add = json!({"op": "add", "path": "/list/0", "value": 1});
        let error = patched(&object, vec![add; 10_000].into()).unwrap_err();
        assert!(error.contains("too many elements"), "{error}");
    }
}
