//! Shared slices: what lists, maps and texts consist of.
//!
//! A [`SharedSlice`] is a pointer to elements that are counted and never change. It stands in an
//! allocation of its own, or with all lists and maps of a document in a block: then the
//! block is counted, freeing the document is one call, and reading it runs along the memory.
//! Texts are never in a block: names and keys are kept for long by others, who would keep
//! the whole document.
//!
//! A slice of values knows how large it is when it is written out ([`Measure`]). One of its own
//! is measured when it is first asked and notes the result in front of its head. A part of a
//! block is measured when the block is filled; the result takes bits of its head that nothing
//! else needs.
//!
//! This module and those below it are the only code that knows how slices lie in memory.
#![allow(unsafe_code)]

/// Lets tests make slices of other elements than values, which are dropped as they are.
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

pub(crate) use block::{Block, LARGEST_BLOCK, Room};
use block::{BlockHead, free_block};

/// What a slice consists of.
pub trait Element: Sized {
    /// Whether slices of them know their [`Measure`]: those of values do.
    const MEASURED: bool;

    /// What it adds to its slice, when that is written out.
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
pub struct SharedSlice<T: Element> {
    /// In front of the elements.
    head: NonNull<Head>,
    elements: PhantomData<T>,
}

/// What stands in front of the elements of a slice.
#[repr(C, align(8))]
struct Head {
    /// The references to a slice of its own, times [`ONE`]; or, with [`IN_BLOCK`], a [`block_word`]
    /// word, which never changes.
    word: AtomicU32,
    /// How many elements follow; above [`length_bits`] the depth of a measured part.
    len: u32,
    /// The memory of a slice of its own.
    access: Access,
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Head>() == 8 && size_of::<BlockHead>() == 8);

/// The bit of a slice that is a part of a block.
const IN_BLOCK: u32 = 1;
/// One reference.
const ONE: u32 = 2;
/// More references than this can only be a leak that runs in a circle.
const MOST: u32 = i32::MAX as u32;
/// Of all heads and elements.
pub(crate) const ALIGN: usize = align_of::<Head>();

/// How many elements a measured slice has at most; the bits above this are for the depth.
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

/// What stands in front of the head of a slice of its own: its measure, or 0.
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

/// How many bytes a slice takes; as many as there can be, if that is too many.
pub(crate) const fn slice_size<T: Element>(len: usize) -> usize {
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
    // A new reference is made from another one, so the last one remains the last.
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
    /// A slice of these elements; there must be as many as the iterator says.
    pub(crate) fn new(mut elements: impl ExactSizeIterator<Item = T>) -> Self {
        let len = elements.len();
        let most = length_bits::<T>() as usize;
        assert!(len <= most, "{len} elements are too many");
        let memory = allocate(slice_size::<T>(len).saturating_add(note_size::<T>()));
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

    /// Writes a slice, element by element.
    ///
    /// # Safety
    /// At `memory` there is room for [`slice_size`] bytes that nobody else uses, and the
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
            head.write(Head {
                word: AtomicU32::new(word),
                len: len as u32,
                access: Access::default(),
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
    pub(crate) fn is_in_block(&self) -> bool {
        self.head().word.load(Ordering::Relaxed) & IN_BLOCK != 0
    }

    /// Whether it stands in a block behind the first slice, and is a part of what that one
    /// holds.
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

    /// The memory is used now: that of the slice, or of the block that it stands in.
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

    /// The block that the slice stands in, by the word of its head.
    fn block(&self, word: u32) -> NonNull<BlockHead> {
        // SAFETY: so many bytes before this slice its block begins, in the same allocation.
        unsafe { self.head.cast::<u8>().sub(block_word::at(word)).cast() }
    }

    /// The slice as a pointer, which owns the reference.
    pub(crate) fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).head.cast()
    }

    /// The slice of a pointer.
    ///
    /// # Safety
    /// The pointer is from [`SharedSlice::into_raw`] of a slice with such elements, and the reference
    /// that it owns is not dropped twice.
    pub(crate) unsafe fn from_raw(pointer: NonNull<c_void>) -> Self {
        Self {
            head: pointer.cast(),
            elements: PhantomData,
        }
    }

    /// Whether a slice of its own has no other reference than this one.
    pub(crate) fn is_unique(&self) -> bool {
        self.head().word.load(Ordering::Acquire) == ONE
    }

    /// Gives the reference back. Whether this was the last one to a slice of its own, which is
    /// then to be freed.
    #[expect(
        clippy::inline_always,
        reason = "every drop of a slice runs it; a call of its own costs 0.6 % more instructions to build and drop documents"
    )]
    #[inline(always)]
    fn release(&self) -> bool {
        self.uses();
        let word = self.head().word.load(Ordering::Relaxed);
        if word & IN_BLOCK == 0 {
            return count_down(&self.head().word);
        }
        let block = self.block(word);
        // SAFETY: a block lives as long as there are references to its slices; this was the
        // last one if `count_down` says so.
        unsafe {
            if count_down(&block.as_ref().count) {
                free_block(block);
            }
        }
        false
    }

    /// Drops a slice inside of what is being dropped.
    #[inline]
    pub(crate) fn dismantle(self, depth: usize, later: &mut Vec<Value>) {
        let mut slice = ManuallyDrop::new(self);
        if slice.release() {
            // SAFETY: it was the last reference.
            unsafe { slice.dismantle_all(depth, later) };
        }
    }

    /// Frees a slice of its own with all that is in it, as far as it is not too deep.
    ///
    /// # Safety
    /// There are no references to it any more.
    #[inline(never)]
    unsafe fn dismantle_all(&mut self, depth: usize, later: &mut Vec<Value>) {
        // SAFETY: as the caller says.
        unsafe {
            self.dismantle_into(depth, later);
            self.free_memory();
        }
    }

    /// Frees a slice of its own with all that is in it.
    ///
    /// # Safety
    /// There are no references to it any more.
    #[inline(never)]
    unsafe fn free_all(&mut self) {
        // SAFETY: there are no references, so the elements are dropped once, here.
        unsafe {
            if T::MEASURED && !self.is_shallow() {
                self.dismantle_elements();
            } else {
                let first = self.head.add(1).cast::<T>();
                NonNull::slice_from_raw_parts(first, self.length()).drop_in_place();
            }
            self.free_memory();
        }
    }

    /// Whether it is known that what is in it can be dropped by recursion.
    fn is_shallow(&self) -> bool {
        let known = self.known_measure();
        known.is_some_and(|measure| (measure.depth as usize) < DEEP)
    }

    /// Drops the elements, without recursion below a depth.
    ///
    /// # Safety
    /// There are no references to the slice any more, and its elements are not used again.
    unsafe fn dismantle_elements(&mut self) {
        let mut later = Vec::new();
        // SAFETY: as the caller says.
        unsafe { self.dismantle_into(0, &mut later) };
        while let Some(value) = later.pop() {
            value.dismantle(0, &mut later);
        }
    }

    /// Drops the elements; those that are too deep are put off.
    ///
    /// # Safety
    /// There are no references to the slice any more, and its elements are not used again.
    #[inline]
    unsafe fn dismantle_into(&mut self, depth: usize, later: &mut Vec<Value>) {
        let len = self.length();
        // SAFETY: each element is taken out once.
        unsafe {
            let first = self.head.add(1).cast::<T>();
            for at in 0..len {
                first.add(at).read().dismantle(depth + 1, later);
            }
        }
    }

    /// Frees the memory of a slice of its own, whose elements are dropped.
    ///
    /// # Safety
    /// There are no references to it any more.
    unsafe fn free_memory(&mut self) {
        self.head().access.ends();
        let size = slice_size::<T>(self.length()) + note_size::<T>();
        // SAFETY: it was allocated in `new` with this size, and nobody else frees it.
        unsafe { free(self.head.cast::<u8>().sub(note_size::<T>()), size) };
    }
}

/// Whether a value at this depth of what is being dropped is put off.
pub(crate) fn is_deep(depth: usize) -> bool {
    depth >= DEEP
}

impl SharedSlice<u8> {
    /// A slice of these bytes.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Self::new(bytes.iter().copied())
    }
}

impl<T: Element> std::ops::Deref for SharedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.uses();
        // SAFETY: behind the head stand `len` elements, which live as long as the slice and
        // never change.
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

impl<T: Element> Drop for SharedSlice<T> {
    #[inline]
    fn drop(&mut self) {
        if self.release() {
            // SAFETY: it was the last reference.
            unsafe { self.free_all() };
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
