//! The metrics of the last minute: rates, and the durations of what happened.
//!
//! A counter that is smaller than before was reset, because deltic or an engine was started again: it
//! has counted from zero since then.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::distribution::{Distribution, HistogramPart};
use super::exposition::{Labels, Samples, Scrape};

/// How far back durations are measured.
const LENGTH: Duration = Duration::from_mins(1);
/// How far apart the scrapes are that are kept for that.
const APART: Duration = Duration::from_secs(15);

/// The last two scrapes, and some of the minute before, with their times.
#[derive(Debug, Default)]
pub(crate) struct Window(VecDeque<(Duration, Scrape)>);

impl Window {
    /// Adds a scrape.
    pub(crate) fn push(&mut self, at: Duration, scrape: Scrape) {
        let start = at.saturating_sub(LENGTH);
        // The last one is needed for a rate, however old it is.
        while self.0.len() > 1 && self.0[0].0 < start {
            self.0.pop_front();
        }
        if let [.., (a, _), (b, _), _] = self.0.make_contiguous()
            && b.saturating_sub(*a) < APART
        {
            self.0.remove(self.0.len() - 2);
        }
        self.0.push_back((at, scrape));
    }

    /// The last scrape.
    pub(crate) fn last(&self) -> Option<&Scrape> {
        self.0.back().map(|(_, scrape)| scrape)
    }

    /// How much the series of a counter grew per second, between the last two scrapes. Empty if there
    /// is only one.
    pub(crate) fn rates(&self, name: &str) -> Samples {
        let count = self.0.len();
        let Some(((before, old), (now, new))) = count
            .checked_sub(2)
            .map(|before| (&self.0[before], &self.0[before + 1]))
        else {
            return Samples::new();
        };
        let seconds = now.saturating_sub(*before).as_secs_f64().max(1e-3);
        let grown = growth(old, new, name).into_iter();
        grown
            .map(|(labels, growth)| (labels.clone(), growth / seconds))
            .collect()
    }

    /// The durations of a histogram for each value of `key`: of the last minute or, where nothing
    /// happened in it, since the start.
    pub(crate) fn durations<K: Ord>(
        &self,
        name: &str,
        key: impl Fn(&Labels) -> Option<K>,
    ) -> BTreeMap<K, Distribution> {
        let Some(last) = self.last() else {
            return BTreeMap::new();
        };
        let mut recent = BTreeMap::new();
        for (old, new) in self.0.iter().zip(self.0.iter().skip(1)) {
            collect(name, &key, |name| growth(&old.1, &new.1, name), &mut recent);
        }
        let mut all: BTreeMap<K, Distribution> = BTreeMap::new();
        collect(name, &key, |name| last.samples(name).collect(), &mut all);
        for (key, since_start) in all {
            let happened = recent.get(&key).and_then(Distribution::mean).is_some();
            if !happened {
                recent.insert(key, since_start);
            }
        }
        recent
    }
}

/// How much each series of a counter grew.
fn growth<'a>(old: &Scrape, new: &'a Scrape, name: &str) -> Vec<(&'a Labels, f64)> {
    let grown = new.samples(name).map(|(labels, now)| {
        let before = old.value(name, labels).unwrap_or(0.0);
        (labels, if before <= now { now - before } else { now })
    });
    grown.collect()
}

/// Adds the parts of a histogram.
fn collect<'a, K: Ord>(
    name: &str,
    key: impl Fn(&Labels) -> Option<K>,
    samples: impl Fn(&str) -> Vec<(&'a Labels, f64)>,
    into: &mut BTreeMap<K, Distribution>,
) {
    for suffix in ["_sum", "_count", "_bucket"] {
        for (labels, value) in samples(&format!("{name}{suffix}")) {
            let part = match suffix {
                "_sum" => Some(HistogramPart::Sum),
                "_count" => Some(HistogramPart::Count),
                _ => labels
                    .get("le")
                    .and_then(|bound| Some(HistogramPart::UpTo(bound.parse().ok()?))),
            };
            if let (Some(key), Some(part)) = (key(labels), part) {
                into.entry(key).or_default().add(part, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(scrapes: &[(u64, &str)]) -> Window {
        let mut window = Window::default();
        for (at, text) in scrapes {
            let scrape = Scrape::parse(&format!("{text}# EOF\n")).unwrap();
            window.push(Duration::from_secs(*at), scrape);
        }
        window
    }

    fn rate(window: &Window, name: &str) -> Option<f64> {
        let rates = window.rates(name);
        (!rates.is_empty()).then(|| rates.values().sum())
    }

    #[test]
    fn a_rate_is_measured_between_the_last_two_scrapes() {
        let counter = "a{x=\"1\"} 10\n";
        assert_eq!(rate(&window(&[]), "a"), None);
        assert_eq!(rate(&window(&[(0, counter)]), "a"), None);
        let grown = window(&[
            (0, "a{x=\"1\"} 0\n"),
            (10, counter),
            (12, "a{x=\"1\"} 16\n"),
        ]);
        assert_eq!(rate(&grown, "a"), Some(3.0));
        assert_eq!(rate(&grown, "b"), None);
    }

    #[test]
    fn a_series_that_appears_or_is_reset_counts_from_zero() {
        let appeared = window(&[(0, ""), (2, "a{x=\"1\"} 4\n")]);
        assert_eq!(rate(&appeared, "a"), Some(2.0));
        let reset = window(&[(0, "a{x=\"1\"} 100\n"), (2, "a{x=\"1\"} 6\n")]);
        assert_eq!(rate(&reset, "a"), Some(3.0));
    }

    #[test]
    fn durations_are_those_of_the_last_minute() {
        let histogram = |sum: u32, count: u32| {
            format!(
                "t_sum{{c=\"x\"}} {sum}\nt_count{{c=\"x\"}} {count}\n\
                 t_bucket{{c=\"x\",le=\"8.0\"}} {count}\nt_bucket{{c=\"x\",le=\"+Inf\"}} {count}\n"
            )
        };
        let mean = |scrapes: &[(u64, String)]| {
            let scrapes: Vec<_> = scrapes
                .iter()
                .map(|(at, text)| (*at, text.as_str()))
                .collect();
            let durations = window(&scrapes).durations("t", |labels| labels.get("c").cloned());
            durations.get("x").and_then(Distribution::mean)
        };
        // All of it, as long as there is one scrape.
        assert_eq!(mean(&[(0, histogram(10, 5))]), Some(2.0));
        assert_eq!(
            mean(&[(0, histogram(10, 5)), (1, histogram(30, 10))]),
            Some(4.0)
        );
        // Nothing happened.
        assert_eq!(
            mean(&[(0, histogram(10, 5)), (1, histogram(10, 5))]),
            Some(2.0)
        );
        // The first one is too old.
        let scrapes = [
            (0, histogram(10, 5)),
            (50, histogram(30, 10)),
            (100, histogram(36, 11)),
        ];
        assert_eq!(mean(&scrapes), Some(6.0));
        // A restart.
        assert_eq!(
            mean(&[(0, histogram(10, 5)), (1, histogram(3, 1))]),
            Some(3.0)
        );
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn a_window_is_bounded() {
        let mut window = Window::default();
        for at in 0..2000 {
            window.push(Duration::from_millis(200 * at), Scrape::default());
            assert!(window.0.len() <= 7, "{}", window.0.len());
            let times: Vec<Duration> = window.0.iter().map(|(at, _)| *at).collect();
            assert!(times.is_sorted(), "{times:?}");
        }
        let first = window.0.front().map(|(at, _)| at.as_secs());
        assert!(
            first.is_some_and(|first| (339..=355).contains(&first)),
            "{first:?}"
        );
        window.push(Duration::from_secs(1000), Scrape::default());
        assert_eq!(window.0.len(), 2);
    }
}
