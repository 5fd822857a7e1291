//! Blocks: the slices of a document in one allocation, with one count.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::{Element, ONE, SharedSlice, allocate, block_word, count_up, free, slice_size};
use crate::sync::{Access, AtomicU32};

/// What stands in front of all slices of a block. Behind the slices stand the texts that the
/// block holds a reference to.
#[repr(C, align(8))]
pub(super) struct BlockHead {
    /// The references to its slices from outside, times [`ONE`].
    pub(super) count: AtomicU32,
    /// Where the texts begin.
    texts_at: u16,
    /// How many texts there are.
    texts: u16,
    pub(super) access: Access,
}

/// Frees a block. Its slices need no drop, and the texts in them are held by the block.
///
/// # Safety
/// There are no references to its slices any more.
pub(super) unsafe fn free_block(block: NonNull<BlockHead>) {
    // SAFETY: nobody else uses the block. Its texts were written when it was filled, and
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

/// What a block has to have room for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// Bytes of all slices, see [`slice_size`].
    pub(crate) slices: usize,
    /// How many texts.
    pub(crate) texts: usize,
}

impl Room {
    fn texts_at(self) -> usize {
        size_of::<BlockHead>() + self.slices
    }

    /// The bytes of the block.
    pub(crate) fn size(self) -> usize {
        self.texts_at() + self.texts * size_of::<SharedSlice<u8>>()
    }
}

/// A block that is being filled. Its first slice is the one that the caller holds in the end.
/// What is put into its slices is never dropped: it must need no drop, or be a slice or a text
/// of the same block.
pub(crate) struct Block {
    pub(super) memory: NonNull<u8>,
    room: Room,
    /// Where the next slice begins.
    used: usize,
    texts: usize,
}

impl Block {
    /// A block of [`LARGEST_BLOCK`] at most.
    pub(crate) fn new(room: Room) -> Self {
        assert!(room.size() <= LARGEST_BLOCK, "larger than a block may be");
        let memory = allocate(room.size());
        let head = BlockHead {
            // Held until the block is finished: before that nothing is freed.
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

    /// A slice in the block, element by element, each of which may be made of slices that
    /// are put into the block meanwhile.
    pub(crate) fn slice<T: Element>(
        &mut self,
        len: usize,
        mut element: impl FnMut(&mut Self, usize) -> T,
    ) -> SharedSlice<T> {
        let at = self.used;
        self.used += slice_size::<T>(len);
        assert!(self.used <= self.room.texts_at(), "there is room for all");
        // SAFETY: the block has room from `at` on, which `used` keeps for this slice alone,
        // and is far smaller than the greatest length.
        // The slice holds a reference, which is counted here.
        unsafe {
            count_up(&self.memory.cast::<BlockHead>().as_ref().count);
            let memory = self.memory.add(at);
            let mut slice = SharedSlice::fill(memory, block_word::new(at), len, |at| {
                Some(element(self, at))
            });
            slice.note_in_block();
            slice
        }
    }

    /// A text that the block holds a reference to: the one that is given back is to be put
    /// into a slice of the block.
    pub(crate) fn text(&mut self, text: &SharedSlice<u8>) -> SharedSlice<u8> {
        assert!(self.texts < self.room.texts, "there is room for all");
        let at = self.room.texts_at() + self.texts * size_of::<SharedSlice<u8>>();
        self.texts += 1;
        // SAFETY: the block has room for it, as was just seen.
        unsafe { self.memory.add(at).cast().write(text.clone()) };
        SharedSlice {
            head: text.head,
            elements: PhantomData,
        }
    }

    /// Ends the filling: all slices of the block but the first, which the caller holds, have
    /// been put into others of the block. Their references are not from outside.
    pub(crate) fn finish(self) {
        assert_eq!(self.used, self.room.texts_at(), "all slices are there");
        assert_eq!(self.texts, self.room.texts, "all texts are there");
        // SAFETY: the block is alive, because the caller holds one of its slices.
        let head = unsafe { self.memory.cast::<BlockHead>().as_ref() };
        head.count.store(ONE, Ordering::Release);
    }
}
