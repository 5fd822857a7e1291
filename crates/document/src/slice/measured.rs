//! The measure of a slice: where it is noted, and how it is found again.

use std::sync::atomic::Ordering;

use super::{Element, IN_BLOCK, LENGTH, SharedSlice, block_word};
use crate::measure::Measure;
use crate::sync::AtomicU64;

impl<T: Element> SharedSlice<T> {
    /// How large the elements are when they are written out as a list or a map.
    #[inline]
    pub(crate) fn measure(&self) -> Measure {
        match self.known_measure() {
            Some(known) => known,
            None => self.measure_and_note(),
        }
    }

    /// The measure, if it is noted.
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

    /// Notes the measure of a slice of its own.
    pub(crate) fn note_known(&self, measure: Measure) {
        debug_assert!(!self.is_in_block() && Measure::of_all(self) == measure);
        self.note().store(measure.to_bits(), Ordering::Relaxed);
    }

    /// What is noted in front of a slice of its own.
    fn note(&self) -> &AtomicU64 {
        debug_assert!(T::MEASURED, "others have no note");
        // SAFETY: a slice of its own of measured elements has it there, and it lives as long
        // as the slice.
        unsafe { self.head.cast::<AtomicU64>().sub(1).as_ref() }
    }

    /// Notes the measure of a part that has just been filled, if there is room for it.
    ///
    /// # Safety
    /// Nobody else uses the slice.
    pub(super) unsafe fn note_in_block(&mut self) {
        let measure = Measure::of_all(self);
        if measure.depth >> (u32::BITS - LENGTH) != 0 {
            return;
        }
        // SAFETY: nobody else uses the head.
        let head = unsafe { self.head.as_mut() };
        let word = head.word.load(Ordering::Relaxed);
        let word = block_word::with_bytes(word, measure.bytes);
        head.word.store(word, Ordering::Relaxed);
        head.len |= measure.depth << LENGTH;
    }
}
