//! Shared slices: the memory of lists, maps and texts.
//!
//! A [`SharedSlice`] is one pointer to a head with elements behind it. The elements never
//! change. There are two forms:
//!
//! ```text
//! separate     measure │ head: references, length │ element │ element │ …
//!
//! in a block   block head: references ┐
//!              ├ head: distance to the block head, length │ element │ …   the document
//!              ├ head: distance to the block head, length │ element │ …   a list or map in it
//!              └ references to the texts of the document
//! ```
//!
//! A separate slice is an allocation of its own that counts its references. A block contains
//! all lists and maps of a document and has one count for all of them. So a document is freed
//! in one call, and reading it walks along the memory. Texts are separate even then: names and
//! keys often outlive their document, and inside the block they would keep all of it alive.
//!
//! A slice of values knows how large it is when it is written out ([`Measure`]). A separate
//! slice is measured on first use and stores the result in front of its head. A slice in a
//! block is measured when the block is filled, and stores the result in unused bits of its
//! head.
//!
//! Only this module and its submodules know the memory layout.
#![allow(unsafe_code)]

/// Lets tests make slices of elements other than values. They are dropped in the plain way.
#[cfg(test)]
macro_rules! elements {
    ($($element:ty),* $(,)?) => {
        $(impl Element for $element {
            const MEASURED: bool = true;

            fn measure(&self) -> Measure {
                Measure::scalar(1)
            }

            fn dismantle(self, _: usize, _: &mut Vec<Value>) {}
        })*
    };
}

mod block;
mod block_word;
mod dismantle;
mod measured;
#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

use std::alloc::{Layout, handle_alloc_error};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::measure::Measure;
use crate::sync::{Access, AtomicU32, AtomicU64, alloc, dealloc, fence};
use crate::value::Value;

use block::BlockHead;
pub(crate) use block::{Block, LARGEST_BLOCK, Room};
pub(crate) use dismantle::is_deep;

/// An element of a slice.
pub trait Element: Sized {
    /// Whether slices of this type store their [`Measure`]. Slices of values do.
    const MEASURED: bool;

    /// How much this element adds to the written form of its slice.
    fn measure(&self) -> Measure;

    /// Drops this element, which is nested `depth` levels deep in the value that is being
    /// dropped. Values that are too deep for recursion are moved to `later`.
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
pub struct SharedSlice<T: Element> {
    /// The elements follow it in memory.
    head: NonNull<Head>,
    elements: PhantomData<T>,
}

/// The head of a slice, in front of its elements.
#[repr(C, align(8))]
struct Head {
    /// In a separate slice the number of references, times [`ONE`]. In a block, which
    /// [`IN_BLOCK`] marks, a [`block_word`], which never changes.
    word: AtomicU32,
    /// How many elements follow. In a block the bits above [`length_bits`] hold the depth.
    len: u32,
    /// Lets loom check the uses of a separate slice.
    access: Access,
}

impl Head {
    fn new(word: u32, len: usize) -> Self {
        Self {
            word: AtomicU32::new(word),
            len: len as u32,
            access: Access::default(),
        }
    }
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Head>() == 8 && size_of::<BlockHead>() == 8);

/// The bit that marks a slice in a block.
const IN_BLOCK: u32 = 1;
/// One reference.
const ONE: u32 = 2;
/// With more references than this the process is aborted, before the count overflows: a
/// program gets there only by leaking references in a loop.
const MOST: u32 = i32::MAX as u32;
/// The alignment of all heads and elements.
pub(crate) const ALIGN: usize = align_of::<Head>();

/// The most elements that a measured slice can have. The bits above hold the depth.
pub(crate) const LONGEST: usize = (1 << LENGTH) - 1;
const LENGTH: u32 = 25;

/// The bits of [`Head::len`] that hold the length.
const fn length_bits<T: Element>() -> u32 {
    if T::MEASURED {
        LONGEST as u32
    } else {
        u32::MAX
    }
}

/// How many bytes the measure takes, in front of the head of a separate slice. It is 0 until
/// the slice is measured.
const fn note_size<T: Element>() -> usize {
    if T::MEASURED {
        size_of::<AtomicU64>()
    } else {
        0
    }
}

/// How many bytes a slice takes, with its head; `usize::MAX` if that overflows.
pub(crate) const fn slice_size<T: Element>(len: usize) -> usize {
    const { assert!(align_of::<T>() <= ALIGN) };
    let size = len.saturating_mul(size_of::<T>());
    let size = size.saturating_add(size_of::<Head>());
    match size.checked_next_multiple_of(ALIGN) {
        Some(size) => size,
        None => usize::MAX,
    }
}

/// Allocates `size` bytes.
fn allocate(size: usize) -> NonNull<u8> {
    let layout = Layout::from_size_align(size, ALIGN).expect("a document fits into memory");
    // SAFETY: every size includes a head, so it is not zero.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees memory from [`allocate`].
///
/// # Safety
/// The memory is no longer used, and `size` is the size that it was allocated with.
unsafe fn free(memory: NonNull<u8>, size: usize) {
    // SAFETY: the same size and alignment were a valid layout in `allocate`.
    let layout = unsafe { Layout::from_size_align_unchecked(size, ALIGN) };
    // SAFETY: as the caller guarantees.
    unsafe { dealloc(memory.as_ptr(), layout) };
}

/// Adds a reference.
fn count_up(count: &AtomicU32) {
    if count.fetch_add(ONE, Ordering::Relaxed) > MOST {
        std::process::abort();
    }
}

/// Removes a reference. Returns whether it was the last.
fn count_down(count: &AtomicU32) -> bool {
    // A new reference is cloned from another one, so the last stays the last.
    if count.load(Ordering::Acquire) == ONE {
        return true;
    }
    let last = count.fetch_sub(ONE, Ordering::Release) == ONE;
    if last {
        fence(Ordering::Acquire);
    }
    last
}

impl<T: Element> SharedSlice<T> {
    /// A separate slice of these elements. The iterator must yield as many as its length says.
    pub(crate) fn new(mut elements: impl ExactSizeIterator<Item = T>) -> Self {
        let len = elements.len();
        let most = length_bits::<T>() as usize;
        assert!(len <= most, "{len} elements are too many");
        let memory = allocate(slice_size::<T>(len).saturating_add(note_size::<T>()));
        // SAFETY: the memory has room for the measure, the head and `len` elements, and `len`
        // fits the head.
        unsafe {
            if T::MEASURED {
                memory.cast::<AtomicU64>().write(AtomicU64::new(0));
            }
            let memory = memory.add(note_size::<T>());
            Self::fill(memory, ONE, len, |_| elements.next())
        }
    }

    /// Writes a slice, element by element.
    ///
    /// # Safety
    /// `memory` has room for [`slice_size`] bytes, which are not used otherwise, and the
    /// length fits the head.
    unsafe fn fill(
        memory: NonNull<u8>,
        word: u32,
        len: usize,
        mut element: impl FnMut(usize) -> Option<T>,
    ) -> Self {
        let head = memory.cast::<Head>();
        // SAFETY: there is room, and it is aligned as all slices are.
        let first = unsafe {
            head.write(Head::new(word, len));
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

    /// Whether this slice is in a block.
    pub(crate) fn is_in_block(&self) -> bool {
        self.head().word.load(Ordering::Relaxed) & IN_BLOCK != 0
    }

    /// Whether this slice is in a block and is not the first one there: then it is a part of
    /// the document that the block was made for.
    pub(crate) fn is_inner(&self) -> bool {
        let word = self.head().word.load(Ordering::Relaxed);
        word & IN_BLOCK != 0 && block_word::at(word) > size_of::<BlockHead>()
    }

    /// Whether both are the same slice.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.head == other.head
    }

    fn head(&self) -> &Head {
        // SAFETY: the head is alive as long as the reference that this slice holds.
        unsafe { self.head.as_ref() }
    }

    fn length(&self) -> usize {
        (self.head().len & length_bits::<T>()) as usize
    }

    /// Tells loom that the memory of this slice, or of its block, is used now.
    #[inline]
    fn uses(&self) {
        if !cfg!(all(test, loom)) {
            return;
        }
        let word = self.head().word.load(Ordering::Relaxed);
        if word & IN_BLOCK == 0 {
            self.head().access.uses();
        } else {
            // SAFETY: a block lives as long as there are references to its slices.
            unsafe { self.block(word).as_ref().access.uses() };
        }
    }

    /// The block of this slice, found by the word of its head.
    fn block(&self, word: u32) -> NonNull<BlockHead> {
        // SAFETY: the block begins that many bytes before this slice, in the same allocation.
        unsafe { self.head.cast::<u8>().sub(block_word::at(word)).cast() }
    }

    /// Turns this slice into a pointer, which owns the reference.
    pub(crate) fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).head.cast()
    }

    /// The slice that a pointer from [`SharedSlice::into_raw`] leads to.
    ///
    /// # Safety
    /// The pointer came from a slice with elements of this type, and the reference that it
    /// owns is dropped only once.
    pub(crate) unsafe fn from_raw(pointer: NonNull<c_void>) -> Self {
        Self {
            head: pointer.cast(),
            elements: PhantomData,
        }
    }

    /// Whether this is the only reference to a separate slice.
    pub(crate) fn is_unique(&self) -> bool {
        self.head().word.load(Ordering::Acquire) == ONE
    }
}

impl SharedSlice<u8> {
    /// A slice of these bytes. It is copied at once, not byte by byte.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        let len = bytes.len();
        assert!(u32::try_from(len).is_ok(), "{len} bytes are too many");
        let head = allocate(slice_size::<u8>(len)).cast::<Head>();
        // SAFETY: the memory is new and has room for the head and `len` bytes.
        unsafe {
            head.write(Head::new(ONE, len));
            let first = head.add(1).cast::<u8>();
            first.copy_from_nonoverlapping(NonNull::from(bytes).cast(), len);
        }
        Self {
            head,
            elements: PhantomData,
        }
    }
}

impl<T: Element> std::ops::Deref for SharedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.uses();
        // SAFETY: `len` elements follow the head. They live as long as the slice and never
        // change.
        unsafe { std::slice::from_raw_parts(self.head.as_ptr().add(1).cast(), self.length()) }
    }
}

impl<T: Element> Clone for SharedSlice<T> {
    #[inline]
    fn clone(&self) -> Self {
        self.uses();
        let word = self.head().word.load(Ordering::Relaxed);
        if word & IN_BLOCK == 0 {
            count_up(&self.head().word);
        } else {
            // SAFETY: a block lives as long as there are references to its slices.
            count_up(unsafe { &self.block(word).as_ref().count });
        }
        Self {
            head: self.head,
            elements: PhantomData,
        }
    }
}

// SAFETY: a slice is a shared reference that is counted atomically, as `Arc<[T]>` is.
unsafe impl<T: Element + Send + Sync> Send for SharedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Element + Send + Sync> Sync for SharedSlice<T> {}

impl<T: Element + PartialEq> PartialEq for SharedSlice<T> {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || **self == **other
    }
}

impl<T: Element + std::fmt::Debug> std::fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
