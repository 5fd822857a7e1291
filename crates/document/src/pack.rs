//! A whole document in one allocation.

use crate::key::Key;
use crate::list::ListRef;
use crate::map::Map;
use crate::node::{Block, Node, node_size};
use crate::value::{Value, View};

/// Larger documents are left as they are: whoever keeps a small part of a packed document
/// keeps it all.
const LARGEST: usize = 16 << 10;

impl Value {
    /// The same document with all of its parts in one allocation, for one that is kept for
    /// long: it takes less memory and time to read and to free.
    #[must_use]
    pub fn packed(self) -> Self {
        match size(&self) {
            Some(bytes @ 1..=LARGEST) => {
                let mut block = Block::new(bytes);
                let packed = place(&self, &mut block);
                block.finish();
                packed
            }
            _ => self,
        }
    }
}

/// How many bytes the nodes of a value take in a block; `None` if it cannot stand in one.
fn size(value: &Value) -> Option<usize> {
    let (own, below) = match value.view() {
        View::Map(map) => {
            let mut below = 0;
            for (key, value) in map {
                // What stands in a block is not dropped.
                if !key.lasts() {
                    return None;
                }
                below += size(value)?;
            }
            (node_size::<(Key, Value)>(map.len()), below)
        }
        View::List(ListRef::Flat(items)) => {
            let mut below = 0;
            for item in items {
                below += size(item)?;
            }
            (node_size::<Value>(items.len()), below)
        }
        View::List(ListRef::Chunked(_)) => return None,
        View::Str(text) if value.is_inline() => return (text.len() <= LARGEST).then_some(0),
        View::Str(text) => (node_size::<u8>(text.len()), 0),
        View::Bytes(bytes) => (node_size::<u8>(bytes.len()), 0),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) => (0, 0),
    };
    Some(own + below).filter(|size| *size <= LARGEST)
}

/// Puts a value into a block.
fn place(value: &Value, block: &mut Block) -> Value {
    match value.view() {
        View::Map(map) => {
            let entries = map.entries();
            let node = block.node(entries.len(), |block, at| {
                let (key, value) = &entries[at];
                (key.clone(), place(value, block))
            });
            Map::from(node).into()
        }
        View::List(ListRef::Flat(items)) => block
            .node(items.len(), |block, at| place(&items[at], block))
            .into(),
        View::Str(text) if !value.is_inline() => {
            let bytes = text.as_bytes();
            Value::long(bytes_in(block, bytes))
        }
        View::Bytes(bytes) => Value::opaque(bytes_in(block, bytes)),
        View::List(ListRef::Chunked(_))
        | View::Str(_)
        | View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_) => value.clone(),
    }
}

fn bytes_in(block: &mut Block, bytes: &[u8]) -> Node<u8> {
    block.node(bytes.len(), |_, at| bytes[at])
}
