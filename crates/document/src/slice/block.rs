//! Blocks: all slices of a document in one allocation, with one reference count.
//!
//! The slices of a block refer to each other without being counted: a reference from inside
//! would keep the block alive forever. Only references from outside count.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::{Element, ONE, SharedSlice, allocate, block_word, free, slice_size};
use crate::sync::{Access, AtomicU32};

/// The head of a block. The slices follow it, and after them the references to the texts of the
/// document.
#[repr(C, align(8))]
pub(super) struct BlockHead {
    /// How many references to its slices there are from outside, times [`ONE`].
    pub(super) count: AtomicU32,
    /// The offset of the first text.
    texts_at: u16,
    /// How many texts there are.
    texts: u16,
    pub(super) access: Access,
}

/// Frees a block. Its slices need no drop: the block itself owns the references to their texts.
///
/// # Safety
/// There are no references to its slices left.
pub(super) unsafe fn free_block(block: NonNull<BlockHead>) {
    // SAFETY: the block is not used any longer. Its texts were written when it was filled, and
    // each is dropped once, here.
    unsafe {
        block.as_ref().access.ends();
        let (at, texts) = (
            block.as_ref().texts_at as usize,
            block.as_ref().texts as usize,
        );
        let first = block.cast::<u8>().add(at).cast::<SharedSlice<u8>>();
        NonNull::slice_from_raw_parts(first, texts).drop_in_place();
        free(block.cast(), at + texts * size_of::<SharedSlice<u8>>());
    }
}

/// The largest block, with its texts.
pub(crate) const LARGEST_BLOCK: usize = 32 << 10;

/// The room that a block needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// The bytes of all slices; see [`slice_size`].
    pub(crate) slices: usize,
    /// How many texts there are.
    pub(crate) texts: usize,
}

impl Room {
    fn texts_at(self) -> usize {
        size_of::<BlockHead>() + self.slices
    }

    /// How many bytes the block has.
    pub(crate) fn size(self) -> usize {
        self.texts_at() + self.texts * size_of::<SharedSlice<u8>>()
    }
}

/// A block that is being filled. The caller keeps its first slice, which is the document.
///
/// Elements of the slices are never dropped. So each must be a value that needs no drop, or a
/// slice or a text of the same block.
pub(crate) struct Block {
    pub(super) memory: NonNull<u8>,
    room: Room,
    /// The offset of the next slice.
    used: usize,
    texts: usize,
}

impl Block {
    /// A block with this room, which is at most [`LARGEST_BLOCK`].
    pub(crate) fn new(room: Room) -> Self {
        assert!(room.size() <= LARGEST_BLOCK, "larger than a block may be");
        let memory = allocate(room.size());
        let head = BlockHead {
            // This reference is released by `finish`: nothing is freed before.
            count: AtomicU32::new(ONE),
            texts_at: room.texts_at() as u16,
            texts: room.texts as u16,
            access: Access::default(),
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

    /// Adds a slice to the block, element by element. `element` may add the slices that its
    /// element consists of.
    pub(crate) fn slice<T: Element>(
        &mut self,
        len: usize,
        mut element: impl FnMut(&mut Self, usize) -> T,
    ) -> SharedSlice<T> {
        let at = self.used;
        self.used += slice_size::<T>(len);
        assert!(self.used <= self.room.texts_at(), "there is room for all");
        // SAFETY: the block has room from `at` on, which `used` reserves for this slice, and a
        // block is far smaller than the greatest length. The reference that the slice holds is
        // counted here; no other thread has one, so that takes no atomic addition.
        unsafe {
            let count = &self.memory.cast::<BlockHead>().as_ref().count;
            count.store(count.load(Ordering::Relaxed) + ONE, Ordering::Relaxed);
            let memory = self.memory.add(at);
            let mut slice = SharedSlice::fill(memory, block_word::new(at), len, |at| {
                Some(element(self, at))
            });
            slice.note_in_block();
            slice
        }
    }

    /// Adds a text. The returned reference is not counted and must be put into a slice of the
    /// block.
    pub(crate) fn text(&mut self, text: SharedSlice<u8>) -> SharedSlice<u8> {
        assert!(self.texts < self.room.texts, "there is room for all");
        let at = self.room.texts_at() + self.texts * size_of::<SharedSlice<u8>>();
        self.texts += 1;
        let in_slice = SharedSlice {
            head: text.head,
            elements: PhantomData,
        };
        // SAFETY: the block has room for it, as asserted above.
        unsafe { self.memory.add(at).cast().write(text) };
        in_slice
    }

    /// Finishes the block. Each of its slices is now inside another one, except the first,
    /// which the caller holds: that is the only reference from outside.
    pub(crate) fn finish(self) {
        assert_eq!(self.used, self.room.texts_at(), "all slices are filled");
        assert_eq!(self.texts, self.room.texts, "all texts are added");
        // SAFETY: the block is alive, because the caller holds one of its slices.
        let head = unsafe { self.memory.cast::<BlockHead>().as_ref() };
        head.count.store(ONE, Ordering::Release);
    }
}
