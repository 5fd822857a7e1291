//! What a step expects of the objects in the cluster, whether they are derived or not.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use operator::Operator;

use super::{contains, narrowed, target_kinds};
use crate::file::Placed;
use crate::mismatch::Mismatch;
use crate::object_ref::ObjectRef;

/// The expected objects of the cluster: those of the test, and those that controllers write.
#[derive(Clone, Debug, Default)]
pub struct ExpectedObjects {
    /// Objects that exist, complete.
    pub complete: Vec<Placed<CompleteObject>>,
    /// Objects that exist, with the fields that are named.
    pub contains: Vec<Placed<Value>>,
    /// Objects that do not exist.
    pub absent: Vec<Placed<ObjectRef>>,
}

/// An object that is compared as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct CompleteObject {
    /// The object.
    pub object: Value,
    /// Whether it is in a file. Files may be read by others, so that they are not updated.
    pub in_file: bool,
}

impl ExpectedObjects {
    pub(super) fn is_empty(&self) -> bool {
        self.complete.is_empty() && self.contains.is_empty() && self.absent.is_empty()
    }

    /// Everything in which the objects of the cluster differ.
    pub(super) fn compare(&self, found: &BTreeMap<ObjectRef, Value>) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        let missing = |at, expected: &Value| Mismatch::Missing {
            at,
            expected: expected.clone(),
            names: found.keys().map(ObjectRef::to_string).collect(),
        };
        let object = |expected: &Value| found.get(&ObjectRef::of(expected)?);
        for Placed { value, at } in &self.complete {
            let expected = &value.object;
            match object(expected) {
                Some(object) if object == expected => {}
                Some(object) => mismatches.push(Mismatch::Object {
                    at: at.clone(),
                    expected: expected.clone(),
                    found: object.clone(),
                    in_file: value.in_file,
                }),
                None => mismatches.push(missing(at.clone(), expected)),
            }
        }
        for Placed { value, at } in &self.contains {
            match object(value) {
                Some(object) if contains(object, value) => {}
                Some(object) => mismatches.push(Mismatch::Object {
                    at: at.clone(),
                    expected: value.clone(),
                    found: narrowed(object, value),
                    in_file: false,
                }),
                None => mismatches.push(missing(at.clone(), value)),
            }
        }
        let present = self.absent.iter().filter_map(|absent| {
            let object = found.get(&absent.value)?.clone();
            let at = absent.at.clone();
            Some(Mismatch::Present { at, object })
        });
        mismatches.extend(present);
        mismatches
    }

    /// The names in `absent` that test nothing: no controller writes objects of their kind, and the
    /// test had none of that name. `seen` are the objects that there have been so far.
    pub(crate) fn never_there(
        &self,
        operator: &Operator,
        seen: &BTreeSet<ObjectRef>,
    ) -> Vec<Mismatch> {
        let kinds = target_kinds(operator);
        let never = self.absent.iter().filter(|absent| {
            let name = &absent.value;
            !seen.contains(name) && !kinds.contains(name.kind())
        });
        let names: Vec<String> = seen.iter().map(ObjectRef::to_string).collect();
        never
            .map(|absent| {
                let text = absent.value.to_string();
                let nearest = expr::nearest(&text, names.iter().map(String::as_str));
                Mismatch::NeverThere {
                    at: absent.at.clone(),
                    name: absent.value.clone(),
                    nearest: nearest.map(str::to_owned),
                }
            })
            .collect()
    }
}
