//! Shared slices: what lists, maps and texts consist of.
//!
//! A [`Node`] is a pointer to elements that are counted and never change. It stands in an
//! allocation of its own, or with all lists and maps of a document in a block: then the
//! block is counted, freeing the document is one call, and reading it runs along the memory.
//! Texts are never in a block: names and keys are kept for long by others, who would keep
//! the whole document.
//!
//! This is the only code that knows how nodes lie in memory.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// A shared slice behind one word.
pub struct Node<T> {
    /// In front of the elements.
    head: NonNull<Head>,
    elements: PhantomData<T>,
}

/// What stands in front of the elements of a node.
#[repr(C, align(8))]
struct Head {
    /// The references to a node of its own, times [`ONE`]; or, with [`PART`], how many
    /// bytes before this the block begins, times [`ONE`], which never changes.
    word: AtomicU32,
    /// How many elements follow.
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
/// One reference, or one byte.
const ONE: u32 = 2;
/// More references than this can only be a leak that runs in a circle.
const MOST: u32 = i32::MAX as u32;
/// Of all heads and elements.
const ALIGN: usize = align_of::<Head>();

/// How many bytes a node takes; as many as there can be, if that is too many.
pub(crate) const fn node_size<T>(len: usize) -> usize {
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

impl<T> Node<T> {
    /// A node of these elements; there must be as many as the iterator says.
    pub(crate) fn new(mut elements: impl ExactSizeIterator<Item = T>) -> Self {
        let len = elements.len();
        assert!(u32::try_from(len).is_ok(), "{len} elements are too many");
        let memory = allocate(node_size::<T>(len));
        // SAFETY: the memory is large enough for the head and `len` elements, which fit.
        unsafe { Self::fill(memory, ONE, len, |_| elements.next()) }
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
        word & PART != 0 && (word / ONE) as usize > size_of::<BlockHead>()
    }

    /// Whether both are the same node.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.head == other.head
    }

    fn head(&self) -> &Head {
        // SAFETY: the head is alive as long as the reference that this node holds.
        unsafe { self.head.as_ref() }
    }

    /// The block that the node stands in, by the word of its head.
    fn block(&self, word: u32) -> NonNull<BlockHead> {
        // SAFETY: so many bytes before this node its block begins, in the same allocation.
        unsafe { self.head.cast::<u8>().sub((word / ONE) as usize).cast() }
    }

    /// Frees a node of its own with its elements.
    #[inline(never)]
    fn free(&mut self) {
        let len = self.head().len as usize;
        // SAFETY: this was the last reference, so the elements are dropped and the memory
        // is freed once, by nobody else. It was allocated in `new` for this length.
        unsafe {
            let first = self.head.add(1).cast::<T>();
            NonNull::slice_from_raw_parts(first, len).drop_in_place();
            free(self.head.cast(), node_size::<T>(len));
        }
    }
}

impl Node<u8> {
    /// A node of these bytes.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self::new(bytes.iter().copied())
    }
}

impl<T> std::ops::Deref for Node<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: behind the head stand `len` elements, which live as long as the node and
        // never change.
        unsafe {
            std::slice::from_raw_parts(self.head.as_ptr().add(1).cast(), self.head().len as usize)
        }
    }
}

impl<T> Clone for Node<T> {
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

impl<T> Drop for Node<T> {
    #[inline]
    fn drop(&mut self) {
        let word = self.head().word.load(Ordering::Relaxed);
        if word & PART == 0 {
            if count_down(&self.head().word) {
                self.free();
            }
            return;
        }
        let block = self.block(word);
        // SAFETY: a block lives as long as there are references to its nodes; this was the
        // last one if `count_down` says so.
        unsafe {
            if count_down(&block.as_ref().count) {
                free_block(block);
            }
        }
    }
}

// SAFETY: a node is a shared reference that is counted atomically, as `Arc<[T]>` is.
unsafe impl<T: Send + Sync> Send for Node<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Node<T> {}

impl<T: PartialEq> PartialEq for Node<T> {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || **self == **other
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Node<T> {
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
    pub(crate) fn node<T>(
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
            let word = (at as u32 * ONE) | PART;
            Node::fill(memory, word, len, |at| Some(element(self, at)))
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
