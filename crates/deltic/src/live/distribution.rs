//! Durations of a histogram, and what follows from them.

/// How often something took how long.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Distribution {
    sum: f64,
    count: f64,
    /// Upper bounds in ascending order, each with the number of durations up to it.
    buckets: Vec<(f64, f64)>,
}

/// A part of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum HistogramPart {
    Sum,
    Count,
    /// The durations up to this one.
    UpTo(f64),
}

impl Distribution {
    /// Adds to a part.
    pub(crate) fn add(&mut self, part: HistogramPart, value: f64) {
        match part {
            HistogramPart::Sum => self.sum += value,
            HistogramPart::Count => self.count += value,
            HistogramPart::UpTo(bound) => {
                let found = self
                    .buckets
                    .binary_search_by(|(other, _)| other.total_cmp(&bound));
                match found {
                    Ok(at) => self.buckets[at].1 += value,
                    Err(at) => self.buckets.insert(at, (bound, value)),
                }
            }
        }
    }

    /// Adds another one with the same bounds.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.add(HistogramPart::Sum, other.sum);
        self.add(HistogramPart::Count, other.count);
        for (bound, value) in &other.buckets {
            self.add(HistogramPart::UpTo(*bound), *value);
        }
    }

    /// The average in seconds; `None` if nothing happened.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// The duration that this share of them does not exceed, in seconds. It is interpolated within a
    /// bucket, as Prometheus does; beyond the last bound it is that bound.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let total = self.buckets.last().map(|(_, count)| *count);
        let total = total.filter(|total| *total > 0.0)?;
        let rank = share * total;
        let (mut below, mut lower) = (0.0, 0.0);
        for (bound, count) in &self.buckets {
            if *count >= rank && *count > below {
                if bound.is_infinite() {
                    break;
                }
                let within = (rank - below) / (count - below);
                return Some(lower + (bound - lower) * within);
            }
            (below, lower) = (*count, if bound.is_infinite() { lower } else { *bound });
        }
        Some(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(buckets: &[(f64, f64)]) -> Distribution {
        let mut distribution = Distribution::default();
        for (bound, count) in buckets {
            distribution.add(HistogramPart::UpTo(*bound), *count);
        }
        distribution
    }

    fn is(found: Option<f64>, expect: f64) {
        assert!(
            found.is_some_and(|found| (found - expect).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn a_quantile_is_interpolated() {
        let durations = of(&[(1.0, 50.0), (2.0, 100.0), (f64::INFINITY, 100.0)]);
        is(durations.quantile(0.5), 1.0);
        is(durations.quantile(0.75), 1.5);
        is(durations.quantile(1.0), 2.0);
        is(of(&[(1.0, 0.0), (f64::INFINITY, 4.0)]).quantile(0.99), 1.0);
        is(of(&[(1.0, 4.0), (2.0, 4.0)]).quantile(0.0), 0.0);
        assert_eq!(of(&[]).quantile(0.5), None);
        assert_eq!(of(&[(1.0, 0.0)]).quantile(0.5), None);
    }

    #[test]
    fn distributions_are_added() {
        let mut one = of(&[(1.0, 1.0), (2.0, 2.0)]);
        one.merge(&of(&[(2.0, 2.0), (4.0, 4.0)]));
        assert_eq!(one, of(&[(1.0, 1.0), (2.0, 4.0), (4.0, 4.0)]));
        let mut sums = Distribution::default();
        assert_eq!(sums.mean(), None);
        sums.add(HistogramPart::Sum, 3.0);
        sums.add(HistogramPart::Count, 2.0);
        is(sums.mean(), 1.5);
    }
}
