//! Numbers in a few characters.

/// What is not known.
pub(crate) const UNKNOWN: &str = "-";

/// A number of objects.
pub(crate) fn count(count: Option<f64>) -> String {
    match count {
        None => UNKNOWN.to_owned(),
        Some(count) if count < 100_000.0 => format!("{count:.0}"),
        Some(count) => large(count),
    }
}

/// A number per second.
pub(crate) fn rate(rate: Option<f64>) -> String {
    match rate {
        None => UNKNOWN.to_owned(),
        Some(rate) if rate <= 0.0 => "0".to_owned(),
        Some(rate) if rate < 0.05 => "<0.1".to_owned(),
        Some(rate) if rate < 99.95 => format!("{rate:.1}"),
        Some(rate) if rate < 9999.5 => format!("{rate:.0}"),
        Some(rate) => large(rate),
    }
}

/// A duration in seconds.
pub(crate) fn duration(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return UNKNOWN.to_owned();
    };
    let units = [(1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (100.0, 1.0, "s")];
    for (below, factor, unit) in units {
        let value = seconds * factor;
        // Also what is rounded up to the next unit is below it.
        if seconds < below * 0.9995 {
            return if value < 9.95 {
                format!("{value:.1}{unit}")
            } else {
                format!("{value:.0}{unit}")
            };
        }
    }
    format!("{:.0}m", seconds / 60.0)
}

fn large(number: f64) -> String {
    for (unit, name) in [(1e3, "k"), (1e6, "M"), (1e9, "G")] {
        let value = number / unit;
        if value < 99.95 {
            return format!("{value:.1}{name}");
        }
        if value < 999.5 {
            return format!("{value:.0}{name}");
        }
    }
    format!("{number:.0e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [0.0, 99_999.0, 100_000.0, 1_234_567.0, 999_700.0, 3e9];
        let counts = counts.map(|number| count(Some(number)));
        assert_eq!(counts, ["0", "99999", "100k", "1.2M", "1.0M", "3.0G"]);
        let rates = [0.0, 0.001, 0.25, 99.9, 99.97, 1234.0, 12_345.0];
        let rates = rates.map(|number| rate(Some(number)));
        assert_eq!(rates, ["0", "<0.1", "0.2", "99.9", "100", "1234", "12.3k"]);
        assert_eq!([count(None), rate(None), duration(None)], ["-"; 3]);
        assert_eq!(count(Some(1e30)), "1e30");
    }

    #[test]
    fn durations_have_their_unit() {
        let durations = [
            0.0,
            0.000_008_2,
            0.000_25,
            0.000_999_9,
            0.0123,
            0.5,
            0.9999,
            1.5,
            75.0,
            600.0,
        ];
        let durations = durations.map(|seconds| duration(Some(seconds)));
        let expect = [
            "0.0µs", "8.2µs", "250µs", "1.0ms", "12ms", "500ms", "1.0s", "1.5s", "75s", "10m",
        ];
        assert_eq!(durations, expect);
    }
}
