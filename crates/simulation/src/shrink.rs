//! Shortens a failing history for people who read it.

/// How many shorter histories are tried.
const MAX_TRIES: usize = 150;

/// The positions of the remaining steps, when no part of them can be left out any more, or
/// after enough tries.
pub fn shrink<S: Copy>(steps: &[S], fails: impl Fn(&[S]) -> bool) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..steps.len()).collect();
    let mut tries = MAX_TRIES;
    let mut size = kept.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < kept.len() && tries > 0 {
            let end = (at + size).min(kept.len());
            let rest: Vec<usize> = [&kept[..at], &kept[end..]].concat();
            tries -= 1;
            if fails(&chosen(steps, &rest)) {
                kept = rest;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    kept
}

/// The steps at these positions.
pub fn chosen<S: Copy>(steps: &[S], kept: &[usize]) -> Vec<S> {
    kept.iter()
        .filter_map(|at| steps.get(*at).copied())
        .collect()
}
