//! Shared slices: what lists, maps and texts consist of.
//!
//! A [`Node`] is a pointer to elements that are counted and never change. It stands in an
//! allocation of its own, or with all lists and maps of a document in a block: then the
//! block is counted, freeing the document is one call, and reading it runs along the memory.
//! Texts are never in a block: names and keys are kept for long by others, who would keep
//! the whole document.
//!
//! A node of values knows how large it is when it is written out ([`Measure`]). One of its own
//! is measured when it is first asked and notes the result in front of its head. A part of a
//! block is measured when the block is filled; the result takes bits of its head that nothing
//! else needs.
//!
//! This is the only code that knows how nodes lie in memory.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::measure::Measure;
use crate::value::Value;

/// What a node consists of.
pub trait Element: Sized {
    /// Whether nodes of them know their [`Measure`]: those of values do.
    const MEASURED: bool;

    /// What it adds to its node, when that is written out.
    fn measure(&self) -> Measure;

    /// Drops it, at this depth of what is being dropped. Values that stand too deep to be
    /// dropped here are put off.
    fn dismantle(self, depth: usize, later: &mut Vec<Value>);
}

impl Element for u8 {
    const MEASURED: bool = false;

    fn measure(&self) -> Measure {
        Measure::scalar(1)
    }

    fn dismantle(self, _: usize, _: &mut Vec<Value>) {}
}

/// A shared slice behind one word.
pub struct Node<T: Element> {
    /// In front of the elements.
    head: NonNull<Head>,
    elements: PhantomData<T>,
}

/// What stands in front of the elements of a node.
#[repr(C, align(8))]
struct Head {
    /// The references to a node of its own, times [`ONE`]; or, with [`PART`], a [`part`]
    /// word, which never changes.
    word: AtomicU32,
    /// How many elements follow; above [`length_bits`] the depth of a measured part.
    len: u32,
}

/// What stands in front of all nodes of a block. Behind the nodes stand the texts that the
/// block holds a reference to.
#[repr(C, align(8))]
struct BlockHead {
    /// The references to its nodes from outside, times [`ONE`].
    count: AtomicU32,
    /// Where the texts begin.
    texts_at: u16,
    /// How many texts there are.
    texts: u16,
}

/// The bit of a node that is a part of a block.
const PART: u32 = 1;
/// One reference.
const ONE: u32 = 2;
/// More references than this can only be a leak that runs in a circle.
const MOST: u32 = i32::MAX as u32;
/// Of all heads and elements.
const ALIGN: usize = align_of::<Head>();

/// The word of a part: the lowest bit, then how many times [`ALIGN`] bytes before this the
/// block begins, then the bytes of its measure, or 0 if it must be measured again.
mod part {
    use super::{ALIGN, LARGEST_BLOCK, PART};

    /// The bits of the place.
    const PLACES: u32 = (LARGEST_BLOCK / ALIGN).trailing_zeros();
    /// Where the bytes begin.
    const BYTES_AT: u32 = 1 + PLACES;
    const _: () = assert!(LARGEST_BLOCK.is_power_of_two() && ALIGN == 8);

    /// The word of a part that stands so many bytes behind the beginning of its block.
    pub(super) fn new(at: usize) -> u32 {
        PART | ((at / ALIGN) as u32 * 2)
    }

    /// How many bytes before the part its block begins.
    pub(super) fn at(word: u32) -> usize {
        const MASK: u32 = (1 << PLACES) - 1;
        ((word >> 1) & MASK) as usize * ALIGN
    }

    /// The word with the bytes of its measure; the same if they do not fit.
    pub(super) fn with_bytes(word: u32, bytes: u32) -> u32 {
        if bytes >> (32 - BYTES_AT) == 0 {
            word | (bytes << BYTES_AT)
        } else {
            word
        }
    }

    /// The bytes of its measure.
    pub(super) fn bytes(word: u32) -> u32 {
        word >> BYTES_AT
    }
}

/// How many elements a measured node has at most; the bits above this are for the depth.
pub(crate) const LONGEST: usize = (1 << LENGTH) - 1;
const LENGTH: u32 = 25;

/// The bits of [`Head::len`] that are the length.
const fn length_bits<T: Element>() -> u32 {
    if T::MEASURED {
        LONGEST as u32
    } else {
        u32::MAX
    }
}

/// What stands in front of the head of a node of its own: its measure, or 0.
const fn note_size<T: Element>() -> usize {
    if T::MEASURED {
        size_of::<AtomicU64>()
    } else {
        0
    }
}

/// How deep what is dropped may be nested before the rest of it is put off, so that no
/// value takes the stack away.
const DEEP: usize = 200;

/// How many bytes a node takes; as many as there can be, if that is too many.
pub(crate) const fn node_size<T: Element>(len: usize) -> usize {
    const { assert!(align_of::<T>() <= ALIGN) };
    let size = len.saturating_mul(size_of::<T>());
    let size = size.saturating_add(size_of::<Head>());
    match size.checked_next_multiple_of(ALIGN) {
        Some(size) => size,
        None => usize::MAX,
    }
}

/// Memory for so many bytes.
fn allocate(size: usize) -> NonNull<u8> {
    let layout = Layout::from_size_align(size, ALIGN).expect("a document fits into memory");
    // SAFETY: every size is that of a head at least, so it is not zero.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees what [`allocate`] gave for this size.
///
/// # Safety
/// Nobody uses the memory any more, and the size is the one that it was allocated with.
unsafe fn free(memory: NonNull<u8>, size: usize) {
    // SAFETY: the size was good when the memory was allocated with it.
    let layout = unsafe { Layout::from_size_align_unchecked(size, ALIGN) };
    // SAFETY: the caller says so.
    unsafe { dealloc(memory.as_ptr(), layout) };
}

/// Takes one more reference.
fn count_up(count: &AtomicU32) {
    if count.fetch_add(ONE, Ordering::Relaxed) > MOST {
        std::process::abort();
    }
}

/// Gives a reference back, and whether it was the last.
fn count_down(count: &AtomicU32) -> bool {
    // Who holds the last reference is alone with it: nobody can take another one.
    if count.load(Ordering::Acquire) == ONE {
        return true;
    }
    let last = count.fetch_sub(ONE, Ordering::Release) == ONE;
    if last {
        fence(Ordering::Acquire);
    }
    last
}

impl<T: Element> Node<T> {
    /// A node of these elements; there must be as many as the iterator says.
    pub(crate) fn new(mut elements: impl ExactSizeIterator<Item = T>) -> Self {
        let len = elements.len();
        let most = length_bits::<T>() as usize;
        assert!(len <= most, "{len} elements are too many");
        let memory = allocate(node_size::<T>(len).saturating_add(note_size::<T>()));
        // SAFETY: the memory is large enough for the note, the head and `len` elements, which
        // fit.
        unsafe {
            if T::MEASURED {
                memory.cast::<AtomicU64>().write(AtomicU64::new(0));
            }
            let memory = memory.add(note_size::<T>());
            Self::fill(memory, ONE, len, |_| elements.next())
        }
    }

    /// Writes a node, element by element.
    ///
    /// # Safety
    /// At `memory` there is room for [`node_size`] bytes that nobody else uses, and the
    /// length fits the head.
    unsafe fn fill(
        memory: NonNull<u8>,
        word: u32,
        len: usize,
        mut element: impl FnMut(usize) -> Option<T>,
    ) -> Self {
        let head = memory.cast::<Head>();
        // SAFETY: there is room, and it is aligned as all nodes are.
        let first = unsafe {
            head.write(Head {
                word: AtomicU32::new(word),
                len: len as u32,
            });
            head.add(1).cast::<T>()
        };
        for at in 0..len {
            let element = element(at).expect("an iterator knows its length");
            // SAFETY: `at` is below the length for which there is room.
            unsafe { first.add(at).write(element) };
        }
        Self {
            head,
            elements: PhantomData,
        }
    }

    /// Whether it stands in a block with others.
    pub(crate) fn is_part(&self) -> bool {
        self.head().word.load(Ordering::Relaxed) & PART != 0
    }

    /// Whether it stands in a block behind the first node, and is a part of what that one
    /// holds.
    pub(crate) fn is_inner(&self) -> bool {
        let word = self.head().word.load(Ordering::Relaxed);
        word & PART != 0 && part::at(word) > size_of::<BlockHead>()
    }

    /// Whether both are the same node.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.head == other.head
    }

    fn head(&self) -> &Head {
        // SAFETY: the head is alive as long as the reference that this node holds.
        unsafe { self.head.as_ref() }
    }

    fn length(&self) -> usize {
        (self.head().len & length_bits::<T>()) as usize
    }

    /// The block that the node stands in, by the word of its head.
    fn block(&self, word: u32) -> NonNull<BlockHead> {
        // SAFETY: so many bytes before this node its block begins, in the same allocation.
        unsafe { self.head.cast::<u8>().sub(part::at(word)).cast() }
    }

    /// How large the elements are when they are written out as a list or a map.
    pub(crate) fn measure(&self) -> Measure {
        let word = self.head().word.load(Ordering::Relaxed);
        if word & PART != 0 {
            let (bytes, depth) = (part::bytes(word), self.head().len >> LENGTH);
            return if bytes == 0 {
                Measure::of_all(self)
            } else {
                Measure { bytes, depth }
            };
        }
        let note = self.note();
        if let Some(known) = Measure::from_bits(note.load(Ordering::Relaxed)) {
            return known;
        }
        let measure = Measure::of_all(self);
        note.store(measure.to_bits(), Ordering::Relaxed);
        measure
    }

    /// Notes the measure of a node of its own.
    pub(crate) fn note_known(&self, measure: Measure) {
        debug_assert!(!self.is_part() && Measure::of_all(self) == measure);
        self.note().store(measure.to_bits(), Ordering::Relaxed);
    }

    /// What is noted in front of a node of its own.
    fn note(&self) -> &AtomicU64 {
        const { assert!(T::MEASURED) };
        // SAFETY: a node of its own of measured elements has it there, and it lives as long
        // as the node.
        unsafe { self.head.cast::<AtomicU64>().sub(1).as_ref() }
    }

    /// Notes the measure of a part that has just been filled, if there is room for it.
    ///
    /// # Safety
    /// Nobody else uses the node.
    unsafe fn note_in_part(&mut self) {
        let measure = Measure::of_all(self);
        if measure.depth >> (u32::BITS - LENGTH) != 0 {
            return;
        }
        // SAFETY: nobody else uses the head.
        let head = unsafe { self.head.as_mut() };
        *head.word.get_mut() = part::with_bytes(*head.word.get_mut(), measure.bytes);
        head.len |= measure.depth << LENGTH;
    }

    /// Gives the reference back. Whether this was the last one to a node of its own, which is
    /// then to be freed.
    #[inline]
    fn release(&self) -> bool {
        let word = self.head().word.load(Ordering::Relaxed);
        if word & PART == 0 {
            return count_down(&self.head().word);
        }
        let block = self.block(word);
        // SAFETY: a block lives as long as there are references to its nodes; this was the
        // last one if `count_down` says so.
        unsafe {
            if count_down(&block.as_ref().count) {
                free_block(block);
            }
        }
        false
    }

    /// Drops a node inside of what is being dropped.
    pub(crate) fn dismantle(self, depth: usize, later: &mut Vec<Value>) {
        let mut node = ManuallyDrop::new(self);
        if node.release() {
            // SAFETY: it was the last reference.
            unsafe { node.free(depth, later) };
        }
    }

    /// Frees a node of its own with all that is in it.
    #[inline(never)]
    fn free_all(&mut self) {
        let mut later = Vec::new();
        // SAFETY: the caller gave back the last reference.
        unsafe { self.free(0, &mut later) };
        while let Some(value) = later.pop() {
            value.dismantle(0, &mut later);
        }
    }

    /// Frees a node of its own with its elements.
    ///
    /// # Safety
    /// There are no references to it any more.
    unsafe fn free(&mut self, depth: usize, later: &mut Vec<Value>) {
        let len = self.length();
        // SAFETY: there are no references, so the elements are dropped and the memory is
        // freed once, by nobody else. It was allocated in `new` for this length.
        unsafe {
            if T::MEASURED {
                let first = self.head.add(1).cast::<T>();
                for at in 0..len {
                    first.add(at).read().dismantle(depth + 1, later);
                }
            }
            let memory = self.head.cast::<u8>().sub(note_size::<T>());
            free(memory, node_size::<T>(len) + note_size::<T>());
        }
    }
}

/// Whether a value at this depth of what is being dropped is put off.
pub(crate) fn is_deep(depth: usize) -> bool {
    depth >= DEEP
}

impl Node<u8> {
    /// A node of these bytes.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self::new(bytes.iter().copied())
    }
}

impl<T: Element> std::ops::Deref for Node<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: behind the head stand `len` elements, which live as long as the node and
        // never change.
        unsafe { std::slice::from_raw_parts(self.head.as_ptr().add(1).cast(), self.length()) }
    }
}

impl<T: Element> Clone for Node<T> {
    #[inline]
    fn clone(&self) -> Self {
        let word = self.head().word.load(Ordering::Relaxed);
        if word & PART == 0 {
            count_up(&self.head().word);
        } else {
            // SAFETY: a block lives as long as there are references to its nodes.
            count_up(unsafe { &self.block(word).as_ref().count });
        }
        Self {
            head: self.head,
            elements: PhantomData,
        }
    }
}

impl<T: Element> Drop for Node<T> {
    #[inline]
    fn drop(&mut self) {
        if self.release() {
            self.free_all();
        }
    }
}

// SAFETY: a node is a shared reference that is counted atomically, as `Arc<[T]>` is.
unsafe impl<T: Element + Send + Sync> Send for Node<T> {}
// SAFETY: as above.
unsafe impl<T: Element + Send + Sync> Sync for Node<T> {}

impl<T: Element + PartialEq> PartialEq for Node<T> {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || **self == **other
    }
}

impl<T: Element + std::fmt::Debug> std::fmt::Debug for Node<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// Frees a block. Its nodes need no drop, and the texts in them are held by the block.
///
/// # Safety
/// There are no references to its nodes any more.
unsafe fn free_block(block: NonNull<BlockHead>) {
    // SAFETY: nobody else uses the block. Its texts were written when it was filled, and
    // each is dropped once, here.
    unsafe {
        let (at, texts) = (
            block.as_ref().texts_at as usize,
            block.as_ref().texts as usize,
        );
        let first = block.cast::<u8>().add(at).cast::<Node<u8>>();
        NonNull::slice_from_raw_parts(first, texts).drop_in_place();
        free(block.cast(), at + texts * size_of::<Node<u8>>());
    }
}

/// The largest block, with its texts.
pub(crate) const LARGEST_BLOCK: usize = 32 << 10;

/// What a block has to have room for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Room {
    /// Bytes of all nodes, see [`node_size`].
    pub(crate) nodes: usize,
    /// How many texts.
    pub(crate) texts: usize,
}

impl Room {
    fn texts_at(self) -> usize {
        size_of::<BlockHead>() + self.nodes
    }

    /// The bytes of the block.
    pub(crate) fn size(self) -> usize {
        self.texts_at() + self.texts * size_of::<Node<u8>>()
    }
}

/// A block that is being filled. Its first node is the one that the caller holds in the end.
/// What is put into its nodes is never dropped: it must need no drop, or be a node or a text
/// of the same block.
pub(crate) struct Block {
    memory: NonNull<u8>,
    room: Room,
    /// Where the next node begins.
    used: usize,
    texts: usize,
}

impl Block {
    /// A block of [`LARGEST_BLOCK`] at most.
    pub(crate) fn new(room: Room) -> Self {
        assert!(room.size() <= LARGEST_BLOCK, "larger than a block may be");
        let memory = allocate(room.size());
        let head = BlockHead {
            count: AtomicU32::new(0),
            texts_at: room.texts_at() as u16,
            texts: room.texts as u16,
        };
        // SAFETY: the memory begins with room for the head, and is aligned for it.
        unsafe { memory.cast().write(head) };
        Self {
            memory,
            room,
            used: size_of::<BlockHead>(),
            texts: 0,
        }
    }

    /// A node in the block, element by element, each of which may be made of nodes that
    /// are put into the block meanwhile.
    pub(crate) fn node<T: Element>(
        &mut self,
        len: usize,
        mut element: impl FnMut(&mut Self, usize) -> T,
    ) -> Node<T> {
        let at = self.used;
        self.used += node_size::<T>(len);
        assert!(self.used <= self.room.texts_at(), "there is room for all");
        // SAFETY: the block has room from `at` on, which `used` keeps for this node alone,
        // and is far smaller than the greatest length.
        // The node holds a reference, which is counted here.
        unsafe {
            count_up(&self.memory.cast::<BlockHead>().as_ref().count);
            let memory = self.memory.add(at);
            let mut node = Node::fill(memory, part::new(at), len, |at| Some(element(self, at)));
            node.note_in_part();
            node
        }
    }

    /// A text that the block holds a reference to: the one that is given back is to be put
    /// into a node of the block.
    pub(crate) fn text(&mut self, text: &Node<u8>) -> Node<u8> {
        assert!(self.texts < self.room.texts, "there is room for all");
        let at = self.room.texts_at() + self.texts * size_of::<Node<u8>>();
        self.texts += 1;
        // SAFETY: the block has room for it, as was just seen.
        unsafe { self.memory.add(at).cast().write(text.clone()) };
        Node {
            head: text.head,
            elements: PhantomData,
        }
    }

    /// Ends the filling: all nodes of the block but the first, which the caller holds, have
    /// been put into others of the block. Their references are not from outside.
    pub(crate) fn finish(self) {
        assert_eq!(self.used, self.room.texts_at(), "all nodes are there");
        assert_eq!(self.texts, self.room.texts, "all texts are there");
        // SAFETY: the block is alive, because the caller holds one of its nodes.
        let head = unsafe { self.memory.cast::<BlockHead>().as_ref() };
        head.count.store(ONE, Ordering::Release);
    }
}
