//! The ticks of Periodic sources.

use operator::spec::{Controller, SourceKind};

/// The Periodic sources of a controller.
#[derive(Debug)]
pub(crate) struct Ticks(Vec<Tick>);

#[derive(Debug)]
struct Tick {
    /// In seconds.
    period: i64,
    /// The Unix time of the last tick, or of the start.
    last: i64,
}

impl Ticks {
    /// The ticks of a controller that starts at a Unix time.
    pub(crate) fn new(controller: &Controller, start: i64) -> Self {
        let periods = controller.sources.iter().filter_map(|source| {
            let SourceKind::Periodic(period) = source.kind else {
                return None;
            };
            // The clock moves in whole seconds.
            let seconds = period.as_secs() + u64::from(period.subsec_nanos() > 0);
            Some(i64::try_from(seconds).unwrap_or(i64::MAX))
        });
        let tick = |period| Tick {
            period,
            last: start,
        };
        Self(periods.map(tick).collect())
    }

    /// Whether the period of a source has passed. The source ticks once, however often it has.
    pub(crate) fn pass(&mut self, now: i64) -> bool {
        let mut ticks = false;
        for tick in &mut self.0 {
            if now.saturating_sub(tick.last) >= tick.period {
                tick.last = now;
                ticks = true;
            }
        }
        ticks
    }
}
