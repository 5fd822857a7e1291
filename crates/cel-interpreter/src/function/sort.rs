//! Sorting.

use super::Result;
use crate::infix::compare;
use crate::meter::{BYTES, Meter};
use crate::value::Val;

/// Sorts items by their keys, which must have one type, or be numbers: a document cannot contain
/// `2.0`. Items with equal keys keep their order.
pub(crate) fn by_key(
    name: &'static str,
    keyed: &mut [(Val, Val)],
    meter: &mut Meter,
) -> Result<()> {
    let rounds = u64::from(usize::BITS - keyed.len().leading_zeros());
    meter.charge(keyed.len() as u64 * rounds)?;
    let Some((first, _)) = keyed.first().cloned() else {
        return Ok(());
    };
    for (key, _) in &*keyed {
        let length = text_length(key) / BYTES;
        meter.charge(length as u64 * rounds)?;
        // If every key compares with the first, all keys compare with each other.
        compare(name, &first, key, meter)?;
    }
    // Charged for above, so the comparisons do not fail here.
    let mut free = Meter::new(u64::MAX);
    keyed.sort_by(|(a, _), (b, _)| {
        let order = compare(name, a, b, &mut free);
        order.unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(())
}

fn text_length(value: &Val) -> usize {
    let text = value.as_str().map(str::len);
    text.or_else(|| value.as_bytes().map(<[u8]>::len))
        .unwrap_or(0)
}
