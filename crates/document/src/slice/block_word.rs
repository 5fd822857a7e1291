//! The word of a part: the lowest bit, then how many times [`ALIGN`] bytes before this the
//! block begins, then the bytes of its measure, or 0 if it must be measured again.

use super::{ALIGN, IN_BLOCK, LARGEST_BLOCK};

/// The bits of the place.
const PLACES: u32 = (LARGEST_BLOCK / ALIGN).trailing_zeros();
/// Where the bytes begin.
const BYTES_AT: u32 = 1 + PLACES;
const _: () = assert!(LARGEST_BLOCK.is_power_of_two() && ALIGN == 8);

/// The word of a part that stands so many bytes behind the beginning of its block.
pub(super) fn new(at: usize) -> u32 {
    IN_BLOCK | ((at / ALIGN) as u32 * 2)
}

/// How many bytes before the part its block begins.
pub(super) fn at(word: u32) -> usize {
    const MASK: u32 = (1 << PLACES) - 1;
    ((word >> 1) & MASK) as usize * ALIGN
}

/// The word with the bytes of its measure; the same if they do not fit.
pub(super) fn with_bytes(word: u32, bytes: u32) -> u32 {
    if bytes >> (32 - BYTES_AT) == 0 {
        word | (bytes << BYTES_AT)
    } else {
        word
    }
}

/// The bytes of its measure.
pub(super) fn bytes(word: u32) -> u32 {
    word >> BYTES_AT
}
