//! Packing: a whole document in one allocation, except for its long texts.
//!
//! A reference to any list or map of a packed document keeps all of it in memory. So a part that
//! outlives its document is detached first:
//!
//! ```text
//! document ──▶ [ block: metadata │ spec │ containers ]
//! containers.clone()    ──▶ the whole block stays
//! containers.detached() ──▶ a small block of its own
//! ```

use crate::key::Key;
use crate::map::Map;
use crate::slice::{Block, LARGEST_BLOCK, Room, slice_size};
use crate::value::{Holder, Value};

impl Value {
    /// The same document with all lists and maps in one allocation. It takes less memory, and
    /// less time to read and to free, so this pays off for documents that are stored. A
    /// reference to one of its lists or maps keeps all of them in memory. Large documents are
    /// returned as they are.
    #[must_use]
    pub fn packed(self) -> Self {
        pack(&self).unwrap_or(self)
    }

    /// The same value, without a reference to the larger document that it is a part of. It is
    /// packed into one allocation if it fits; otherwise each list and map is copied.
    ///
    /// Chunked lists are not copied, because they share their chunks with earlier versions.
    #[must_use]
    pub fn detached(&self) -> Self {
        if !pins(self) {
            return self.clone();
        }
        pack(self).unwrap_or_else(|| match self.holder() {
            Holder::List(items) => Self::list(items.iter().map(Self::detached)),
            Holder::Map(map) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| (key.clone(), value.detached()));
                Map::from_sorted_iter(entries).into()
            }
            Holder::Itself | Holder::Text | Holder::Chunks => self.clone(),
        })
    }
}

/// A copy of a value in a block; `None` if it does not fit, or has no list or map.
fn pack(value: &Value) -> Option<Value> {
    let mut room = Room::default();
    measure(value, &mut room)?;
    if room.slices == 0 {
        return None;
    }
    let mut block = Block::new(room);
    let packed = place(value, &mut block);
    block.finish();
    Some(packed)
}

/// Adds the room that a value needs in a block; `None` if it cannot be in one.
pub(crate) fn measure(value: &Value, room: &mut Room) -> Option<()> {
    match value.holder() {
        Holder::Itself => return Some(()),
        Holder::Text => room.texts += 1,
        Holder::List(items) => {
            room.slices += slice_size::<Value>(items.len());
            items.iter().try_for_each(|item| measure(item, room))?;
        }
        Holder::Map(map) => {
            room.slices += slice_size::<(Key, Value)>(map.len());
            for (key, value) in map {
                // Elements of a block are never dropped, so a counted key would leak.
                if !key.lasts() {
                    return None;
                }
                measure(value, room)?;
            }
        }
        Holder::Chunks => return None,
    }
    (room.size() <= LARGEST_BLOCK).then_some(())
}

/// Copies a value into a block.
pub(crate) fn place(value: &Value, block: &mut Block) -> Value {
    match value.holder() {
        Holder::List(items) => block
            .slice(items.len(), |block, at| place(&items[at], block))
            .into(),
        Holder::Map(map) => {
            let entries = map.entries();
            let slice = block.slice(entries.len(), |block, at| {
                let (key, value) = &entries[at];
                (key.clone(), place(value, block))
            });
            Map::from(slice).into()
        }
        Holder::Itself | Holder::Text | Holder::Chunks => value.clone().text_in(block),
    }
}

/// Moves a value into a block. Lists and maps are copied.
pub(crate) fn place_owned(value: Value, block: &mut Block) -> Value {
    match value.holder() {
        Holder::List(_) | Holder::Map(_) => place(&value, block),
        Holder::Itself | Holder::Text | Holder::Chunks => value.text_in(block),
    }
}

/// Whether a value keeps memory alive that is not part of it. A packed document does not: the
/// first slice of a block is the whole document.
fn pins(value: &Value) -> bool {
    match value.holder() {
        Holder::Itself | Holder::Text | Holder::Chunks => false,
        Holder::List(items) => items.is_inner() || (!items.is_in_block() && items.iter().any(pins)),
        Holder::Map(map) => map.is_inner() || (!map.is_in_block() && map.values().any(pins)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Chunks;
    use crate::{View, json};

    /// Whether a value or a part of it is in a block.
    fn has_parts(value: &Value) -> bool {
        match value.holder() {
            Holder::Itself | Holder::Text | Holder::Chunks => false,
            Holder::List(items) => items.is_in_block() || items.iter().any(has_parts),
            Holder::Map(map) => map.is_in_block() || map.values().any(has_parts),
        }
    }

    fn document() -> Value {
        json!({
            "metadata": {"name": "a name that is longer than a value", "namespace": "ns"},
            "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": []}, {}],
            "numbers": [1, 2.5, true, null],
            "text": "another text with its own allocation"
        })
    }

    #[test]
    fn a_packed_document_is_the_same_document() {
        let packed = document().packed();
        assert!(has_parts(&packed) && !has_parts(&document()));
        assert_eq!(packed, document());
        assert_eq!(packed.to_string(), document().to_string());
        assert_eq!(packed.clone().packed(), document());
        for small in [json!(1), json!("text"), json!([]), json!({})] {
            assert_eq!(small.clone().packed(), small);
        }
    }

    #[test]
    fn parts_outlive_the_document() {
        let packed = document().packed();
        let (list, text) = (packed.get("endpoints").clone(), packed.get("text").clone());
        let copies: Vec<Value> = (0..10).map(|_| packed.get("metadata").clone()).collect();
        drop(packed);
        assert_eq!(list.at(0).get("addresses").at(0), &json!("10.0.0.1"));
        assert_eq!(text.as_str(), Some("another text with its own allocation"));
        drop(list);
        assert_eq!(copies[9], *document().get("metadata"));
    }

    #[test]
    fn what_is_detached_has_no_parts_of_the_document() {
        let packed = document().packed();
        let part = packed.get("endpoints").at(0);
        let mixed = json!({"list": (part.clone()), "n": 1});
        assert!(has_parts(&mixed));
        for (value, expect) in [(part, part), (&mixed, &mixed)] {
            let detached = value.detached();
            assert_eq!(detached, *expect);
            let (View::Map(a), View::Map(b)) = (detached.view(), value.view()) else {
                panic!("both are maps");
            };
            assert!(!a.same(b));
            assert!(pins(value) && !pins(&detached));
        }
        assert!(packed.detached().same(&packed), "it is the whole document");
        let text = packed.get("text");
        assert!(text.detached().same(text), "texts are separate");
    }

    #[test]
    fn what_does_not_fit_into_a_block_is_detached_as_well() {
        let packed = document().packed();
        let part = packed.get("endpoints").at(0);
        let long_key = Key::new(&"k".repeat(1000));
        assert!(!long_key.lasts());
        let chunked = Value::chunked(Chunks::new([Chunks::chunk([json!(1)].into_iter())]));
        let large: Value = (0..10_000_i64).map(Value::from).collect();
        for other in [
            chunked,
            large,
            Map::from_sorted(vec![(long_key, json!(1))]).into(),
        ] {
            let value = json!({"other": (other.clone()), "list": [{"part": (part.clone())}]});
            assert!(value.clone().packed().same(&value), "it does not fit");
            let detached = value.detached();
            assert_eq!(detached, value);
            assert!(!detached.get("list").at(0).get("part").same(part));
            assert!(detached.get("other").same(&other), "it is not copied");
            assert!(pins(&value) && !pins(&detached));
        }
    }

    #[test]
    fn what_does_not_fit_is_left_as_it_is() {
        let large: Value = (0..10_000_i64).map(Value::from).collect();
        assert!(!has_parts(&large.clone().packed()));
        let chunked = Value::chunked(Chunks::new([Chunks::chunk([json!(1)].into_iter())]));
        let with_chunks = json!({"list": (chunked)});
        assert!(!has_parts(&with_chunks.clone().packed()));
        let bytes = Value::bytes(&[0, 159, 146, 150]);
        let with_bytes = json!({"data": (bytes)});
        assert_eq!(with_bytes.clone().packed(), with_bytes);
    }

    #[test]
    fn documents_are_dropped_by_many_threads() {
        let packed = document().packed();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let packed = packed.clone();
                std::thread::spawn(move || {
                    let parts: Vec<Value> = (0..1000)
                        .map(|i| packed.get("endpoints").at(i % 3).clone())
                        .collect();
                    drop(packed);
                    parts
                        .iter()
                        .filter(|part| !part.get("addresses").is_null())
                        .count()
                })
            })
            .collect();
        drop(packed);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 667);
        }
    }
}
