//! The measure of a node: where it is noted, and how it is found again.

use std::sync::atomic::Ordering;

use super::{Element, LENGTH, Node, PART, part};
use crate::measure::Measure;
use crate::sync::AtomicU64;

impl<T: Element> Node<T> {
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
    pub(super) unsafe fn note_in_part(&mut self) {
        let measure = Measure::of_all(self);
        if measure.depth >> (u32::BITS - LENGTH) != 0 {
            return;
        }
        // SAFETY: nobody else uses the head.
        let head = unsafe { self.head.as_mut() };
        let word = head.word.load(Ordering::Relaxed);
        let word = part::with_bytes(word, measure.bytes);
        head.word.store(word, Ordering::Relaxed);
        head.len |= measure.depth << LENGTH;
    }
}
