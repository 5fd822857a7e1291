//! Reads the requeue time of an [`Action`], which kube-runtime keeps private.
//!
//! Reconcilers return kube's own `Action`, so that they also run on kube's own controller. An
//! action can be made, compared and printed, but not read. So its time is parsed from its `Debug`
//! text, `Action { requeue_after: Some(300s) }`, and used only if the action made from the result
//! equals the original.

use std::time::Duration;

use kube::runtime::controller::Action;

/// The time that is used if that of an action cannot be read. A test checks that all times can be
/// read with the current version of kube.
const UNREADABLE: Duration = Duration::from_mins(1);

/// The time after which an action requests another run; `None` if it waits for a change.
pub fn requeue_after(action: &Action) -> Option<Duration> {
    if *action == Action::await_change() {
        return None;
    }
    let text = format!("{action:?}");
    let read = text
        .split_once("Some(")
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(duration, _)| parse(duration))
        .filter(|duration| Action::requeue(*duration) == *action);
    if read.is_none() {
        tracing::warn!("cannot read the time of a requeue: using one minute");
    }
    Some(read.unwrap_or(UNREADABLE))
}

/// Reads a duration as its `Debug` prints it: `300s`, `1.5ms`, `20µs`.
fn parse(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let places: usize = match unit {
        "s" => 9,
        "ms" => 6,
        "µs" => 3,
        "ns" => 0,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > places {
        return None;
    }
    // The digits of the nanoseconds: the fraction is padded with zeros.
    let nanos: u128 = format!("{whole}{fraction:0<places$}").parse().ok()?;
    let secs = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(secs, (nanos % 1_000_000_000) as u32))
}

#[cfg(test)]
mod tests {
    use seeded::Random;

    use super::*;

    fn check(duration: Duration) {
        assert_eq!(requeue_after(&Action::requeue(duration)), Some(duration));
    }

    #[test]
    fn every_time_is_read_exactly() {
        check(Duration::ZERO);
        check(Duration::MAX);
        for power in 0..19 {
            let nanos = 10_u64.pow(power);
            for nanos in [nanos, nanos + 1, nanos * 3 / 2, nanos - 1] {
                check(Duration::from_nanos(nanos));
                check(Duration::from_micros(nanos));
                check(Duration::new(nanos, 999_999_999));
            }
        }
        let mut random = Random::new(42);
        for _ in 0..10_000 {
            check(Duration::new(
                random.bits() >> random.below(64),
                random.below(1_000_000_000) as u32,
            ));
        }
    }

    #[test]
    fn waiting_for_a_change_has_no_time() {
        assert_eq!(requeue_after(&Action::await_change()), None);
    }

    #[test]
    fn other_texts_are_not_durations() {
        for text in [
            "",
            "s",
            "5",
            "5m",
            "1.2.3s",
            "1.0000000001s",
            "1.1ns",
            "-1s",
            "99999999999999999999999999999s",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
