//! The tape: a document while it is read.
//!
//! A tape has two stacks. `open` holds the members of the lists and maps that have not ended
//! yet, innermost last. When a list or map ends, its members move to `closed` as one run, and a
//! reference to that run replaces them on `open`:
//!
//! ```text
//! {"b": [1, 2], "a": 3}         open              closed
//! … "b": [1, 2                  1, 2
//! … "b": [1, 2]                 b: 0..2           1, 2
//! … "b": [1, 2], "a": 3         b: 0..2, a: 3     1, 2
//! … "b": [1, 2], "a": 3}        2..4              1, 2, a: 3, b: 0..2
//! ```
//!
//! Meanwhile the tape sums up how large a block for all of it must be. At the end the document
//! is built from the root down, because the length of each run is known then.

use std::cell::Cell;

use serde::de;

use super::seed::{PartSeed, ValueSeed};
use super::{DocumentPart, Whole};
use crate::excess::Excess;
use crate::json::MAX_DEPTH;
use crate::key::Key;
use crate::map::Map;
use crate::pack;
use crate::slice::{Block, LARGEST_BLOCK, LONGEST, Room, slice_size};
use crate::value::Value;

/// A document that is being read; see the [module](super).
#[derive(Debug)]
pub struct Tape<'a> {
    /// The members of the lists and maps that have not ended yet.
    open: Vec<Item>,
    /// The members of those that have ended, each in one run.
    closed: Vec<Item>,
    /// How many lists and maps have not ended yet, including those around the document.
    depth: usize,
    /// How many gaps are on `open`.
    gaps: usize,
    /// The room that the contents of the tape need in a block.
    room: Room,
    /// Whether the room is unknown, or the contents cannot be in a block.
    unfit: bool,
    /// Records that a document exceeds the limits; without it, that is an error.
    excess: Option<&'a Excess>,
}

#[derive(Debug)]
struct Item {
    /// Its key, if it is the member of a map.
    key: Option<Key>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// A value that is complete.
    Value(Value),
    /// The list of a run.
    List(Run),
    /// The map of a run.
    Map(Run),
    /// Nothing: the item is left out, and so is an earlier one with the same key.
    Gap,
}

/// A run of items on `closed`.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u32,
    len: u32,
}

/// Where a list or map begins on a tape.
#[derive(Clone, Copy, Debug)]
pub struct Start(usize);

/// The memory of `open` and of `closed`.
type Buffers = (Vec<Item>, Vec<Item>);

thread_local! {
    /// The memory of the last tape of this thread, for the next one.
    static SPARE: Cell<Buffers> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// A tape with a capacity above this is freed and not reused.
const LONG: usize = 4096;

impl Tape<'static> {
    /// An empty tape. A document that is nested too deep is an error.
    pub fn new() -> Self {
        Self::at(0, None)
    }
}

impl<'a> Tape<'a> {
    /// An empty tape for a document that is read to its end; see [`PartSeed::noting`].
    pub fn noting(excess: &'a Excess) -> Self {
        Self::at(0, Some(excess))
    }

    /// An empty tape for a document that is nested in `depth` lists and maps.
    pub(super) fn at(depth: usize, excess: Option<&'a Excess>) -> Self {
        let (open, closed) = SPARE.take();
        Self {
            open,
            closed,
            depth,
            gaps: 0,
            room: Room::default(),
            unfit: false,
            excess,
        }
    }

    /// Begins a list or map; `None` if it is nested too deep and must stay empty.
    pub fn begin<E: de::Error>(&mut self) -> Result<Option<Start>, E> {
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            return Ok(Some(Start(self.open.len())));
        }
        let Some(excess) = self.excess else {
            return Err(E::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        };
        excess.too_deep();
        Ok(None)
    }

    fn count(&self, bytes: usize) {
        if let Some(excess) = self.excess {
            excess.count(bytes);
        }
    }

    /// A seed that reads a value onto the tape: the member `key` of a map, or an element of a
    /// list.
    pub fn value<P: DocumentPart>(&mut self, key: Option<Key>, part: P) -> ValueSeed<'_, 'a, P> {
        ValueSeed::new(self, key, part)
    }

    /// A seed that reads a value under the same limits, but not onto the tape.
    pub fn beside(&self) -> PartSeed<'a, Whole> {
        self.seed(Whole)
    }

    pub(super) fn seed<P: DocumentPart>(&self, part: P) -> PartSeed<'a, P> {
        PartSeed::at(part, self.depth, self.excess)
    }

    /// Puts a value on the tape.
    pub fn push(&mut self, key: Option<Key>, value: Value) {
        if !self.unfit {
            self.unfit = pack::measure(&value, &mut self.room).is_none();
        }
        self.item(key, Content::Value(value));
    }

    /// Leaves a member out, together with earlier ones of the same key.
    pub fn leave_out(&mut self, key: Option<Key>) {
        self.gaps += 1;
        let content = Content::Gap;
        self.open.push(Item { key, content });
    }

    /// Ends the list that began at `start`, and adds it as the member `key`.
    pub fn end_list<E: de::Error>(&mut self, start: Start, key: Option<Key>) -> Result<(), E> {
        self.close_gaps(start);
        let run = self.close(start)?;
        self.count(run.len as usize);
        self.room.slices += slice_size::<Value>(run.len as usize);
        self.item(key, Content::List(run));
        Ok(())
    }

    /// Ends the map that began at `start`, and adds it as the member `key`. If a key occurs
    /// several times in the map, the last value wins.
    pub fn end_map<E: de::Error>(&mut self, start: Start, key: Option<Key>) -> Result<(), E> {
        let members = &mut self.open[start.0..];
        if !members.is_sorted_by(|a, b| a.key < b.key) {
            members.sort_by(|a, b| a.key.cmp(&b.key));
            self.drop_equal(start);
        }
        self.close_gaps(start);
        let run = self.close(start)?;
        if run.len as usize > LONGEST {
            return Err(E::custom(format_args!(
                "a map with more than {LONGEST} members"
            )));
        }
        self.room.slices += slice_size::<(Key, Value)>(run.len as usize);
        self.item(key, Content::Map(run));
        Ok(())
    }

    /// Drops all members with the same key but the last one.
    fn drop_equal(&mut self, start: Start) {
        let mut members = self.open.split_off(start.0);
        let all = members.len();
        members.reverse();
        members.dedup_by(|earlier, later| {
            let equal = earlier.key == later.key;
            self.gaps -= usize::from(equal && matches!(earlier.content, Content::Gap));
            equal
        });
        members.reverse();
        // The room includes the members that were dropped.
        self.unfit |= members.len() < all;
        self.open.append(&mut members);
    }

    /// Drops the gaps of a list or a map.
    fn close_gaps(&mut self, start: Start) {
        if self.gaps == 0 {
            return;
        }
        let mut members = self.open.split_off(start.0);
        let all = members.len();
        members.retain(|member| !matches!(member.content, Content::Gap));
        self.gaps -= all - members.len();
        self.open.append(&mut members);
    }

    /// Ends the list or map that began at `start`, and drops it.
    pub fn forget(&mut self, start: Start) {
        self.depth -= 1;
        // The room includes its members.
        self.unfit |= self.open.len() > start.0;
        self.close_gaps(start);
        self.open.truncate(start.0);
    }

    /// Moves the members since `start` to `closed`.
    fn close<E: de::Error>(&mut self, start: Start) -> Result<Run, E> {
        self.depth -= 1;
        let first = self.closed.len();
        self.closed.extend(self.open.drain(start.0..));
        let number = |n: usize| u32::try_from(n).map_err(|_| E::custom("too many values"));
        Ok(Run {
            start: number(first)?,
            len: number(self.closed.len() - first)?,
        })
    }

    fn item(&mut self, key: Option<Key>, content: Content) {
        if let Some(key) = &key {
            self.count(key.as_str().len() + 1);
            // Elements of a block are never dropped, so a counted key would leak.
            self.unfit |= !key.lasts();
        }
        self.unfit |= self.room.size() > LARGEST_BLOCK;
        self.open.push(Item { key, content });
    }

    /// The document that was read, with an allocation for each list and map.
    pub fn into_value(mut self) -> Value {
        match self.open.pop() {
            Some(root) => build(&mut self.closed, root.content),
            None => Value::NULL,
        }
    }

    /// The document that was read, packed as by [`Value::packed`].
    pub fn into_packed(mut self) -> Value {
        if self.unfit || self.room.slices == 0 {
            return self.into_value().packed();
        }
        let Some(root) = self.open.pop() else {
            return Value::NULL;
        };
        let mut block = Block::new(self.room);
        let packed = place(&mut self.closed, root.content, &mut block);
        block.finish();
        packed
    }
}

impl Default for Tape<'static> {
    fn default() -> Self {
        Self::new()
    }
}

/// Leaves the memory to the next tape.
impl Drop for Tape<'_> {
    fn drop(&mut self) {
        if self.open.capacity().max(self.closed.capacity()) > LONG {
            return;
        }
        self.open.clear();
        self.closed.clear();
        let memory = (
            std::mem::take(&mut self.open),
            std::mem::take(&mut self.closed),
        );
        // This fails when the thread ends; then there is no next tape.
        let _ = SPARE.try_with(|spare| spare.set(memory));
    }
}

impl Run {
    fn range(self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }
}

/// Takes an item off the tape. Each item is in one list or map only, so it is taken once.
fn take(closed: &mut [Item], at: usize) -> (Option<Key>, Content) {
    let item = &mut closed[at];
    let content = std::mem::replace(&mut item.content, Content::Value(Value::NULL));
    (item.key.take(), content)
}

fn key(key: Option<Key>) -> Key {
    key.expect("the members of a map have keys")
}

/// The value of an item, in allocations of its own.
fn build(closed: &mut [Item], content: Content) -> Value {
    match content {
        Content::Value(value) => value,
        Content::Gap => Value::NULL,
        Content::List(run) => Value::list(run.range().map(|at| {
            let (_, content) = take(closed, at);
            build(closed, content)
        })),
        Content::Map(run) => Map::from_sorted_iter(run.range().map(|at| {
            let (name, content) = take(closed, at);
            (key(name), build(closed, content))
        }))
        .into(),
    }
}

/// The value of an item, in a block.
fn place(closed: &mut [Item], content: Content, block: &mut Block) -> Value {
    match content {
        Content::Value(value) => pack::place(&value, block),
        Content::Gap => Value::NULL,
        Content::List(run) => block
            .slice(run.len as usize, |block, at| {
                let (_, content) = take(closed, run.start as usize + at);
                place(closed, content, block)
            })
            .into(),
        Content::Map(run) => Map::from(block.slice(run.len as usize, |block, at| {
            let (name, content) = take(closed, run.start as usize + at);
            (key(name), place(closed, content, block))
        }))
        .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_ends_early_leaves_nothing_behind() {
        let early: Result<Value, _> = r#"{"a": [1, {"b": 2"#.parse();
        assert!(early.is_err());
        let next: Value = "[1]".parse().unwrap();
        assert_eq!(next, crate::json!([1]));
        let (open, closed) = SPARE.take();
        assert!(open.is_empty() && closed.is_empty() && closed.capacity() > 0);
    }

    #[test]
    fn the_memory_of_a_long_tape_is_freed() {
        let long = format!("[{}0]", "0,".repeat(LONG));
        let _: Value = long.parse().unwrap();
        let (open, closed) = SPARE.take();
        assert!(open.capacity() <= LONG && closed.capacity() <= LONG);
    }
}
