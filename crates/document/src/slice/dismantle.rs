//! Dropping of slices.
//!
//! Plain recursion over a deeply nested value would overflow the stack. So a drop recurses down to
//! [`DEEP`] levels and collects the lists and maps below in a vector, which a loop then drops in
//! the same way:
//!
//! ```text
//! drop [[[… 1,000 levels …]]]      recurses to level 200, later = [level 200]
//! drop level 200                   recurses to level 400, later = [level 400]
//! …
//! ```
//!
//! A slice whose measure is known to be shallow is dropped by plain recursion.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::block::free_block;
use super::{Element, IN_BLOCK, SharedSlice, count_down, free, note_size, slice_size};
use crate::value::Value;

/// How deep a drop may recurse. Values below that are dropped later, from a loop, so that no
/// value overflows the stack.
const DEEP: usize = 200;

/// Whether a value at this depth is too deep to be dropped by recursion.
pub(crate) fn is_deep(depth: usize) -> bool {
    depth >= DEEP
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

impl<T: Element> SharedSlice<T> {
    /// Removes this reference. Returns whether it was the last one to a separate slice, which
    /// the caller then frees. A block is freed here.
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

    /// Drops this slice as a part of a value that is being dropped; see [`Element::dismantle`].
    #[inline]
    pub(crate) fn dismantle(self, depth: usize, later: &mut Vec<Value>) {
        let mut slice = ManuallyDrop::new(self);
        if slice.release() {
            // SAFETY: it was the last reference.
            unsafe { slice.dismantle_all(depth, later) };
        }
    }

    /// Frees a separate slice and its elements; those that are too deep are moved to `later`.
    ///
    /// # Safety
    /// There are no references to it left.
    #[inline(never)]
    unsafe fn dismantle_all(&mut self, depth: usize, later: &mut Vec<Value>) {
        // SAFETY: as the caller guarantees.
        unsafe {
            self.dismantle_into(depth, later);
            self.free_memory();
        }
    }

    /// Frees a separate slice and its elements.
    ///
    /// # Safety
    /// There are no references to it left.
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

    /// Whether the elements are known to be shallow enough to be dropped by recursion.
    fn is_shallow(&self) -> bool {
        let known = self.known_measure();
        known.is_some_and(|measure| (measure.depth as usize) < DEEP)
    }

    /// Drops the elements with bounded recursion: those that are too deep follow from a loop.
    ///
    /// # Safety
    /// There are no references to the slice left, and its elements are not used again.
    unsafe fn dismantle_elements(&mut self) {
        let mut later = Vec::new();
        // SAFETY: as the caller guarantees.
        unsafe { self.dismantle_into(0, &mut later) };
        while let Some(value) = later.pop() {
            value.dismantle(0, &mut later);
        }
    }

    /// Drops the elements; those that are too deep are moved to `later`.
    ///
    /// # Safety
    /// There are no references to the slice left, and its elements are not used again.
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

    /// Frees the memory of a separate slice whose elements have been dropped.
    ///
    /// # Safety
    /// There are no references to it left.
    unsafe fn free_memory(&mut self) {
        self.head().access.ends();
        let size = slice_size::<T>(self.length()) + note_size::<T>();
        // SAFETY: it was allocated in `new` with this size, and is freed only here.
        unsafe { free(self.head.cast::<u8>().sub(note_size::<T>()), size) };
    }
}
