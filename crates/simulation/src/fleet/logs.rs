//! Captured log lines: none of them may contain a value of a Secret.

use std::cell::RefCell;
use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

use super::guard::has_secret;

thread_local! {
    /// The first line with a value of a Secret on this thread.
    static LEAKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on, checks the log lines of this thread, until the guard is dropped.
pub(super) fn watch() -> DefaultGuard {
    LEAKED.set(None);
    let subscriber = Registry::default().with(Lines.with_filter(LevelFilter::DEBUG));
    tracing::subscriber::set_default(subscriber)
}

/// The first line with a value of a Secret, if any.
pub(super) fn leaked() -> Option<String> {
    LEAKED.take()
}

struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        line.check();
    }

    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut line = Line::default();
        span.record(&mut line);
        line.check();
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        values.record(&mut line);
        line.check();
    }
}

/// All fields of an event or span.
#[derive(Default)]
struct Line(String);

impl Line {
    fn check(self) {
        if has_secret(&self.0) {
            LEAKED.with_borrow_mut(|leaked| leaked.get_or_insert(self.0).len());
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}
