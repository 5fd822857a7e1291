//! Total order and hash of values. Their equality is beside their representation.
//!
//! null < false < true < numbers < strings < opaque bytes < lists < maps. Strings compare by
//! bytes, lists element by element, and maps as lists of their sorted entries.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::number::Number;
use crate::value::{Value, View};

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.same(other) {
            return Ordering::Equal;
        }
        match (self.view(), other.view()) {
            (View::Bool(a), View::Bool(b)) => a.cmp(&b),
            (View::Int(a), View::Int(b)) => a.cmp(&b),
            (View::Int(a), View::Float(b)) => Number::Int(a).cmp(&Number::Float(b)),
            (View::Float(a), View::Int(b)) => Number::Float(a).cmp(&Number::Int(b)),
            (View::Float(a), View::Float(b)) => Number::Float(a).cmp(&Number::Float(b)),
            (View::Str(a), View::Str(b)) => a.cmp(b),
            (View::Bytes(a), View::Bytes(b)) => a.cmp(b),
            (View::List(a), View::List(b)) => a.iter().cmp(b.iter()),
            (View::Map(a), View::Map(b)) => a.entries().cmp(b.entries()),
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }
}

/// The rank of a type in the total order.
fn rank(view: View<'_>) -> u8 {
    match view {
        View::Null => 0,
        View::Bool(false) => 1,
        View::Bool(true) => 2,
        View::Int(_) | View::Float(_) => 3,
        View::Str(_) => 4,
        View::Bytes(_) => 5,
        View::List(_) => 6,
        View::Map(_) => 7,
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let view = self.view();
        state.write_u8(rank(view));
        match view {
            View::Null | View::Bool(_) => {}
            View::Int(i) => state.write_i64(i),
            View::Float(f) => state.write_u64(f.to_bits()),
            View::Str(s) => {
                state.write_usize(s.len());
                state.write(s.as_bytes());
            }
            View::Bytes(bytes) => bytes.hash(state),
            View::List(items) => {
                state.write_usize(items.len());
                for item in items {
                    item.hash(state);
                }
            }
            View::Map(map) => {
                state.write_usize(map.len());
                for (key, value) in map {
                    key.hash(state);
                    value.hash(state);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::json;

    #[test]
    fn values_have_a_total_order() {
        let ordered = [
            json!(null),
            json!(false),
            json!(true),
            json!(-1),
            json!(0.5),
            json!(1),
            json!(1e300),
            json!(""),
            json!("a"),
            json!("a long string beyond the inline size"),
            json!("b"),
            json!([]),
            json!([1]),
            json!([1, 0]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
            json!({"a": 2}),
            json!({"b": 0}),
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
                assert_eq!(a == b, i == j, "{a} and {b}");
            }
        }
    }
}
