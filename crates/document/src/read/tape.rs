//! The tape: a document while it is read.
//!
//! The values of the document are on the tape in the order in which they were read. A list or
//! map is followed by its members. When it ends, the tape notes how many there are, and sorts
//! them if they are the members of a map:
//!
//! ```text
//! {"b": [1, 2], "a": 3}         tape
//! … "b": [1, 2                  {…, […, 1, 2
//! … "b": [1, 2], "a": 3         {…, b: list of 2, 1, 2, a: 3
//! … "b": [1, 2], "a": 3}        map of 2, a: 3, b: list of 2, 1, 2
//! ```
//!
//! The tape also sums up the size of the block that the document needs. At the end the document is
//! built in one pass over the tape.

use std::cell::Cell;
use std::vec::Drain;

use serde::de;
use smallvec::SmallVec;

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
    /// The items that have been read.
    items: Vec<Item>,
    /// Memory to sort members in; empty in between.
    sorted: Vec<Item>,
    /// How many lists and maps have not ended yet, including those around the document.
    depth: usize,
    /// How many gaps are on the tape.
    gaps: usize,
    /// The room that the contents of the tape need in a block.
    room: Room,
    /// Whether the room is not known, or the contents cannot be stored in a block.
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
    /// A list. Its elements follow.
    List(Extent),
    /// A map. Its members follow.
    Map(Extent),
    /// Nothing: the item is left out, and so is an earlier one with the same key.
    Gap,
}

/// How much of the tape belongs to a list or map.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Its members.
    members: u32,
    /// All items that follow it: its members and their contents.
    items: u32,
}

/// Where a list or map begins on a tape. It ends there again, as one item.
#[derive(Clone, Copy, Debug)]
pub struct Start(usize);

/// The items of a member of a map: where they begin, and how many there are.
type MemberAt = (usize, usize);

/// The memory of `items` and of `sorted`.
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
        let (items, sorted) = SPARE.take();
        Self {
            items,
            sorted,
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
            let start = Start(self.items.len());
            // A placeholder, which `end` replaces.
            self.items.push(Item::taken());
            return Ok(Some(start));
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
        self.items.push(Item { key, content });
    }

    /// Ends the list that began at `start`, and adds it as the member `key`.
    pub fn end_list<E: de::Error>(&mut self, start: Start, key: Option<Key>) -> Result<(), E> {
        self.close_gaps(start);
        let extent = self.extent(start)?;
        self.count(extent.members as usize);
        self.room.slices += slice_size::<Value>(extent.members as usize);
        self.end(start, key, Content::List(extent));
        Ok(())
    }

    /// Ends the map that began at `start`, and adds it as the member `key`. If a key occurs
    /// several times in the map, the last value wins.
    pub fn end_map<E: de::Error>(&mut self, start: Start, key: Option<Key>) -> Result<(), E> {
        if !self.is_sorted(start) {
            self.sort(start);
        }
        self.close_gaps(start);
        let extent = self.extent(start)?;
        if extent.members as usize > LONGEST {
            return Err(E::custom(format_args!(
                "a map with more than {LONGEST} members"
            )));
        }
        self.room.slices += slice_size::<(Key, Value)>(extent.members as usize);
        self.end(start, key, Content::Map(extent));
        Ok(())
    }

    /// The members of the list or map that began at `start`.
    fn members(&self, start: Start) -> impl Iterator<Item = MemberAt> {
        let mut next = start.0 + 1;
        std::iter::from_fn(move || {
            let at = next;
            let len = self.items.get(at)?.len();
            next += len;
            Some((at, len))
        })
    }

    fn is_sorted(&self, start: Start) -> bool {
        let keys = self.members(start).map(|(at, _)| &self.items[at].key);
        keys.is_sorted_by(|a, b| a < b)
    }

    /// Sorts the members of a map by their keys. Of members with the same key, the last stays.
    fn sort(&mut self, start: Start) {
        let mut members: SmallVec<[MemberAt; 16]> = self.members(start).collect();
        let items = &mut self.items;
        members.sort_by(|a, b| items[a.0].key.cmp(&items[b.0].key));
        for (place, &(at, len)) in members.iter().enumerate() {
            let next = members.get(place + 1);
            if next.is_some_and(|next| items[next.0].key == items[at].key) {
                self.gaps -= usize::from(matches!(items[at].content, Content::Gap));
                // The room includes the members that are dropped.
                self.unfit = true;
                continue;
            }
            let taken = |item: &mut Item| std::mem::replace(item, Item::taken());
            self.sorted
                .extend(items[at..at + len].iter_mut().map(taken));
        }
        items.truncate(start.0 + 1);
        items.append(&mut self.sorted);
    }

    /// Drops the gaps of a list or a map.
    fn close_gaps(&mut self, start: Start) {
        if self.gaps == 0 {
            return;
        }
        let mut members = self.items.split_off(start.0 + 1);
        let all = members.len();
        members.retain(|member| !matches!(member.content, Content::Gap));
        self.gaps -= all - members.len();
        self.items.append(&mut members);
    }

    /// Ends the list or map that began at `start`, and drops it.
    pub fn forget(&mut self, start: Start) {
        self.depth -= 1;
        // The room includes its members.
        self.unfit |= self.items.len() > start.0 + 1;
        self.close_gaps(start);
        self.items.truncate(start.0);
    }

    fn extent<E: de::Error>(&self, start: Start) -> Result<Extent, E> {
        let number = |n: usize| u32::try_from(n).map_err(|_| E::custom("too many values"));
        Ok(Extent {
            members: number(self.members(start).count())?,
            items: number(self.items.len() - start.0 - 1)?,
        })
    }

    /// Ends the list or map that began at `start`.
    fn end(&mut self, start: Start, key: Option<Key>, content: Content) {
        self.depth -= 1;
        self.note(key.as_ref());
        self.items[start.0] = Item { key, content };
    }

    fn item(&mut self, key: Option<Key>, content: Content) {
        self.note(key.as_ref());
        self.items.push(Item { key, content });
    }

    fn note(&mut self, key: Option<&Key>) {
        if let Some(key) = key {
            self.count(key.as_str().len() + 1);
            // Elements of a block are never dropped, so a counted key would leak.
            self.unfit |= !key.lasts();
        }
    }

    /// The document that was read, with an allocation for each list and map.
    pub fn into_value(mut self) -> Value {
        let mut items = self.items.drain(..);
        match items.next() {
            Some(root) => build(root.content, &mut items),
            None => Value::NULL,
        }
    }

    /// The document that was read, packed as by [`Value::packed`].
    pub fn into_packed(mut self) -> Value {
        if self.unfit || self.room.slices == 0 || self.room.size() > LARGEST_BLOCK {
            return self.into_value().packed();
        }
        let mut items = self.items.drain(..);
        let Some(root) = items.next() else {
            return Value::NULL;
        };
        let mut block = Block::new(self.room);
        let packed = place(root.content, &mut items, &mut block);
        block.finish();
        packed
    }
}

impl Default for Tape<'static> {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps the memory for the next tape.
impl Drop for Tape<'_> {
    fn drop(&mut self) {
        if self.items.capacity().max(self.sorted.capacity()) > LONG {
            return;
        }
        self.items.clear();
        let memory = (
            std::mem::take(&mut self.items),
            std::mem::take(&mut self.sorted),
        );
        // This fails when the thread ends; then there is no next tape.
        let _ = SPARE.try_with(|spare| spare.set(memory));
    }
}

impl Item {
    /// The placeholder for an item that was moved or that has not ended yet.
    fn taken() -> Self {
        Self {
            key: None,
            content: Content::Value(Value::NULL),
        }
    }

    /// The number of items on the tape: itself and everything in it.
    fn len(&self) -> usize {
        match self.content {
            Content::List(extent) | Content::Map(extent) => 1 + extent.items as usize,
            Content::Value(_) | Content::Gap => 1,
        }
    }
}

/// The next item. It exists, because the list or map has further members.
fn next(items: &mut Drain<'_, Item>) -> Item {
    items
        .next()
        .expect("a list or map is followed by its members")
}

fn key(key: Option<Key>) -> Key {
    key.expect("the members of a map have keys")
}

/// The value of an item, in allocations of its own.
fn build(content: Content, items: &mut Drain<'_, Item>) -> Value {
    match content {
        Content::Value(value) => value,
        Content::Gap => Value::NULL,
        Content::List(extent) => {
            let elements = 0..extent.members as usize;
            Value::list(elements.map(|_| build(next(items).content, items)))
        }
        Content::Map(extent) => {
            let members = 0..extent.members as usize;
            Map::from_sorted_iter(members.map(|_| {
                let item = next(items);
                (key(item.key), build(item.content, items))
            }))
            .into()
        }
    }
}

/// The value of an item, in a block.
fn place(content: Content, items: &mut Drain<'_, Item>, block: &mut Block) -> Value {
    match content {
        Content::Value(value) => pack::place_owned(value, block),
        Content::Gap => Value::NULL,
        Content::List(extent) => block
            .slice(extent.members as usize, |block, _| {
                place(next(items).content, items, block)
            })
            .into(),
        Content::Map(extent) => Map::from(block.slice(extent.members as usize, |block, _| {
            let item = next(items);
            (key(item.key), place(item.content, items, block))
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
        let (items, sorted) = SPARE.take();
        assert!(items.is_empty() && sorted.is_empty() && items.capacity() > 0);
    }

    #[test]
    fn the_memory_of_a_long_tape_is_freed() {
        let long = format!("[{}0]", "0,".repeat(LONG));
        let _: Value = long.parse().unwrap();
        let (items, sorted) = SPARE.take();
        assert!(items.capacity() <= LONG && sorted.capacity() <= LONG);
    }
}
