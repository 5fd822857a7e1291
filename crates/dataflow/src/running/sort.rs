//! Sorts by origin, and can be interrupted.
//!
//! An origin may contain the key of a group, and a key may be a large document. Then a single
//! comparison is slow, and a sort of many items could run for minutes. The sort of the standard
//! library cannot stop early, so large keys use a merge sort that checks the interrupt at every
//! comparison.

use std::cmp::Ordering;

use super::StepContext;
use crate::origin::Origin;

/// Keys with more bytes are slow to compare.
const LARGE: u32 = 16 << 10;

/// Sorts by origin. If the step is interrupted, the order is undefined; its results are
/// discarded.
pub(crate) fn by_origin<T>(
    items: &mut Vec<T>,
    origin: impl Fn(&T) -> &Origin,
    cx: &mut StepContext<'_>,
) {
    let compare = |a: &T, b: &T| origin(a).cmp(origin(b));
    by(items, &origin, compare, || cx.goes_on());
}

/// Sorts with `compare`, which includes the origin, until `goes_on` returns false.
pub(crate) fn by<T>(
    items: &mut Vec<T>,
    origin: impl Fn(&T) -> &Origin,
    compare: impl Fn(&T, &T) -> Ordering,
    goes_on: impl FnMut() -> bool,
) {
    if items.iter().any(|item| origin(item).has_key_above(LARGE)) {
        *items = merged(std::mem::take(items), compare, goes_on);
    } else {
        items.sort_by(compare);
    }
}

/// A stable merge sort that can stop at any comparison.
fn merged<T>(
    items: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    mut goes_on: impl FnMut() -> bool,
) -> Vec<T> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut width = 1;
    while width < order.len() {
        let mut merged = Vec::with_capacity(order.len());
        for run in order.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let ([a, ..], [b, ..]) = (left, right) {
                if !goes_on() {
                    return items;
                }
                let side = match compare(&items[*a], &items[*b]) {
                    Ordering::Less | Ordering::Equal => &mut left,
                    Ordering::Greater => &mut right,
                };
                merged.extend(side.split_off_first());
            }
            merged.extend(left.iter().chain(right));
        }
        order = merged;
        width *= 2;
    }
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let sorted = order.into_iter().filter_map(|at| items[at].take());
    sorted.collect()
}

#[cfg(test)]
mod tests {
    use document::{Value, json};
    use expr::Env;

    use super::*;
    use crate::circuit::Budget;
    use crate::circuit::meter::Meter;
    use crate::running::times::Clock;

    fn sort(items: &mut Vec<(Origin, usize)>, env: &Env) -> Meter {
        let (mut errors, mut meter) = (Vec::new(), Meter::new(Budget::default(), 0));
        let mut cx = StepContext {
            env,
            branch: 0,
            stage: 0,
            clock: Clock::STOPPED,
            errors: &mut errors,
            meter: &mut meter,
            recording: None,
        };
        by_origin(items, |(origin, _)| origin, &mut cx);
        meter
    }

    fn large_keys(count: usize) -> Vec<(Origin, usize)> {
        let text = Value::from("t".repeat(LARGE as usize));
        let key = |i: usize| json!([(text.clone()), ((i * 7) % 5)]);
        (0..count).map(|i| (Origin::group(key(i)), i)).collect()
    }

    #[test]
    fn large_keys_are_sorted_like_small_ones() {
        for count in [0, 1, 2, 3, 17] {
            let mut items = large_keys(count);
            let mut expect = items.clone();
            expect.sort_by(|a, b| a.0.cmp(&b.0));
            sort(&mut items, &Env::default());
            assert_eq!(items, expect);
        }
    }

    #[test]
    fn sorting_large_keys_is_interrupted() {
        let mut items = large_keys(100);
        let mut env = Env::default();
        env.interrupt = expr::Interrupt::when(|| true);
        let meter = sort(&mut items, &env);
        assert!(!meter.goes_on());
        assert_eq!(items.len(), 100);
    }
}
