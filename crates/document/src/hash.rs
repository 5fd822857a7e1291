//! Hashes that never change. The results of `@rnd` and the hashes in names and annotations on a
//! cluster must be the same in every process and after every upgrade. So the algorithm is
//! written out here instead of taken from a hash library.

/// Mixes two words.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(32) ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A hash of a text.
pub fn stable_hash(text: &str) -> u64 {
    text.as_bytes()
        .chunks(8)
        .fold(text.len() as u64, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix(hash, u64::from_le_bytes(word))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_earlier_versions() {
        assert_eq!(stable_hash(""), 0);
        assert_eq!(stable_hash("op/c"), 4_430_650_481_567_132_251);
        assert_eq!(mix(1, 2), 0xf86e_ded1_5a32_0b83);
    }
}
