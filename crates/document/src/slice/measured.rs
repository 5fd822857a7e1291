//! The measure of a slice: where it is stored, and how it is read.

use std::sync::atomic::Ordering;

use super::{Element, IN_BLOCK, LENGTH, SharedSlice, block_word};
use crate::measure::Measure;
use crate::sync::AtomicU64;

impl<T: Element> SharedSlice<T> {
    /// How large this list or map is when it is written out.
    #[inline]
    pub(crate) fn measure(&self) -> Measure {
        match self.known_measure() {
            Some(known) => known,
            None => self.measure_and_note(),
        }
    }

    /// The measure, if it is stored.
    #[inline]
    pub(crate) fn known_measure(&self) -> Option<Measure> {
        let word = self.head().word.load(Ordering::Relaxed);
        if word & IN_BLOCK == 0 {
            return Measure::from_bits(self.note().load(Ordering::Relaxed));
        }
        let (bytes, depth) = (block_word::bytes(word), self.head().len >> LENGTH);
        (bytes != 0).then_some(Measure { bytes, depth })
    }

    #[cold]
    fn measure_and_note(&self) -> Measure {
        let measure = Measure::of_all(self);
        if !self.is_in_block() {
            self.note().store(measure.to_bits(), Ordering::Relaxed);
        }
        measure
    }

    /// Stores the measure of a separate slice.
    pub(crate) fn note_known(&self, measure: Measure) {
        debug_assert!(!self.is_in_block() && Measure::of_all(self) == measure);
        self.note().store(measure.to_bits(), Ordering::Relaxed);
    }

    /// The measure in front of a separate slice, or 0.
    fn note(&self) -> &AtomicU64 {
        debug_assert!(T::MEASURED, "only measured slices have a note");
        // SAFETY: a separate slice of measured elements has its measure there, which lives as
        // long as the slice.
        unsafe { self.head.cast::<AtomicU64>().sub(1).as_ref() }
    }

    /// Stores the measure of a slice in a block that has just been filled, if it fits.
    ///
    /// # Safety
    /// There is no other reference to the slice.
    pub(super) unsafe fn note_in_block(&mut self) {
        let measure = Measure::of_all(self);
        if measure.depth >> (u32::BITS - LENGTH) != 0 {
            return;
        }
        // SAFETY: there is no other reference to the head.
        let head = unsafe { self.head.as_mut() };
        let word = head.word.load(Ordering::Relaxed);
        let word = block_word::with_bytes(word, measure.bytes);
        head.word.store(word, Ordering::Relaxed);
        head.len |= measure.depth << LENGTH;
    }
}
