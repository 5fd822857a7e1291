//! How much a patch adds to a document.
//!
//! Parts of documents are shared, so a few operations that put the document into itself
//! would make one that takes no room here, and all memory where it is written out.

use document::{ListRef, Map, Value, View};

/// How many bytes the operations of a patch may add together, all items of `forEach`
/// counted.
pub const MAX_GROWTH: usize = 64 << 20;

/// What may still be added.
#[derive(Debug)]
pub(crate) struct Growth(usize);

/// More was added than allowed.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl Growth {
    pub(crate) fn new() -> Self {
        Self(MAX_GROWTH)
    }

    /// Pays for what `new` has and `old`, the version before, has not in the same place.
    /// What both share is not looked at.
    pub(crate) fn charge(&mut self, old: &Value, new: &Value) -> Result<(), TooLarge> {
        if old.same(new) {
            return Ok(());
        }
        self.pay(size_of::<Value>())?;
        match (new.view(), old.view()) {
            (View::Map(map), View::Map(before)) => self.map(before, map),
            (View::Map(map), _) => self.map(&Map::from_sorted(Vec::new()), map),
            (View::List(items), View::List(before)) => self.list(before, items),
            (View::List(items), _) => self.list(ListRef::Flat(&[]), items),
            (View::Str(text), _) => self.pay(text.len()),
            (View::Bytes(bytes), _) => self.pay(bytes.len()),
            (View::Null | View::Bool(_) | View::Int(_) | View::Float(_), _) => Ok(()),
        }
    }

    fn pay(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.0 = self.0.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }

    fn map(&mut self, old: &Map, new: &Map) -> Result<(), TooLarge> {
        for (key, member) in new {
            match old.get(key) {
                Some(before) => self.charge(before, member)?,
                None => {
                    self.pay(key.as_str().len())?;
                    self.charge(&Value::NULL, member)?;
                }
            }
        }
        Ok(())
    }

    /// Elements that moved, because others were put in or taken out before them, are found
    /// from the end.
    fn list(&mut self, old: ListRef<'_>, new: ListRef<'_>) -> Result<(), TooLarge> {
        let same = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        };
        let shorter = old.len().min(new.len());
        let start = (0..shorter)
            .take_while(|i| same(old.get(*i), new.get(*i)))
            .count();
        let end = (0..shorter - start)
            .take_while(|i| {
                let last = |list: ListRef<'_>| list.len() - 1 - i;
                same(old.get(last(old)), new.get(last(new)))
            })
            .count();
        for i in start..new.len() - end {
            let before = old.get(i).unwrap_or(&Value::NULL);
            self.charge(before, new.get(i).unwrap_or(&Value::NULL))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(old: &Value, new: &Value, expect: usize) {
        let mut growth = Growth::new();
        growth.charge(old, new).unwrap();
        assert_eq!(MAX_GROWTH - growth.0, expect, "{old} to {new}");
    }

    #[test]
    fn only_what_is_new_is_paid_for() {
        let value = size_of::<Value>();
        let text = Value::from("a text that is long enough to be shared");
        let part = json!({"text": (text.clone())});
        check(&part, &part, 0);
        check(&json!(1), &json!(2), value);
        let old = json!({"a": (part.clone()), "b": 1});
        check(&old, &json!({"a": (part.clone()), "b": 2}), 2 * value);
        check(&old, &json!({"a": (part.clone())}), value);
        let new = json!({"a": (part.clone()), "b": 1, "c": (part.clone())});
        let whole = 2 * value + "c".len() + "text".len() + text.as_str().unwrap().len();
        check(&old, &new, value + whole);
        let old = json!([(part.clone()), (text.clone())]);
        check(&old, &json!([1, (part.clone()), (text.clone())]), 2 * value);
        check(&old, &json!([(part.clone())]), value);
    }

    #[test]
    fn a_document_cannot_double_for_ever() {
        let mut growth = Growth::new();
        let mut document = json!({"a": "x"});
        for _ in 0..100 {
            let next = json!({"a": (document.clone()), "b": (document.clone())});
            if growth.charge(&document, &next).is_err() {
                return;
            }
            document = next;
        }
        panic!("it has doubled a hundred times");
    }
}
