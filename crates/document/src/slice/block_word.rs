//! The word in the head of a slice in a block.
//!
//! ```text
//! bit     31 … 13                       12 … 1                         0
//!         bytes of the measure,         distance to the block head,    IN_BLOCK
//!         0 if they do not fit          in units of ALIGN
//! ```

use super::{ALIGN, IN_BLOCK, LARGEST_BLOCK};

/// How many bits the distance takes.
const PLACES: u32 = (LARGEST_BLOCK / ALIGN).trailing_zeros();
/// The lowest bit of the measure.
const BYTES_AT: u32 = 1 + PLACES;
const _: () = assert!(LARGEST_BLOCK.is_power_of_two() && ALIGN == 8);

/// The word of a slice at this offset in its block.
pub(super) fn new(at: usize) -> u32 {
    IN_BLOCK | ((at / ALIGN) as u32 * 2)
}

/// The offset of the slice in its block, in bytes.
pub(super) fn at(word: u32) -> usize {
    const MASK: u32 = (1 << PLACES) - 1;
    ((word >> 1) & MASK) as usize * ALIGN
}

/// The word with the bytes of the measure; unchanged if they do not fit.
pub(super) fn with_bytes(word: u32, bytes: u32) -> u32 {
    if bytes >> (32 - BYTES_AT) == 0 {
        word | (bytes << BYTES_AT)
    } else {
        word
    }
}

/// The bytes of the measure, or 0.
pub(super) fn bytes(word: u32) -> u32 {
    word >> BYTES_AT
}
