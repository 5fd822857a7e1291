//! "Did you mean …?"

/// The candidate nearest to `name`, if it is close enough for `name` to be a typing error.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name
        .chars()
        .take(MAX_LENGTH)
        .flat_map(char::to_lowercase)
        .collect();
    let allowed = (wanted.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            let chars: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
            let prefix =
                wanted.len() > 3 && (wanted.starts_with(&chars) || chars.starts_with(&wanted));
            let distance = distance(&wanted, &chars);
            (
                if prefix {
                    distance.min(allowed)
                } else {
                    distance
                },
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Of longer names only this many characters are compared.
const MAX_LENGTH: usize = 64;

/// How many insertions, deletions, replacements and swaps of neighbours turn one into the
/// other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_word() {
        let words = ["@concat", "@cond", "@eq", "@exists"];
        assert_eq!(nearest("@concta", words), Some("@concat"));
        assert_eq!(nearest("@EQ", words), Some("@eq"));
        assert_eq!(nearest("@concatenate", words), Some("@concat"));
        assert_eq!(nearest("@nothing-like-it", words), None);
    }
}
