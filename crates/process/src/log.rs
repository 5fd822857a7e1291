//! Log lines: JSON for machines, readable ones on a terminal.
//!
//! Everything goes to stderr. What deltic and its libraries say comes in through
//! `tracing`; a [`Level`] says how much of it shows.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use tracing::Level as TracingLevel;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, fmt};

/// What log lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere, as in a pod.
    #[default]
    Auto,
    /// For people.
    Text,
    /// One object per line.
    Json,
}

/// The target of events that always show, such as which cluster is used.
pub const ALWAYS: &str = "deltic::start";

/// How much is said: a level, or levels by module (`info,engine::writer=debug`).
///
/// ```
/// use process::log::Level;
///
/// assert!("debug".parse::<Level>().is_ok());
/// assert!("warn,kube_runtime=debug".parse::<Level>().is_ok());
/// assert!("loud".parse::<Level>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Level(Targets);

impl Default for Level {
    fn default() -> Self {
        Self(Targets::new().with_default(TracingLevel::INFO))
    }
}

/// What a [`Level`] must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected error, warn, info, debug or trace, or levels by module such as info,kube=debug")]
pub struct BadLevel;

impl FromStr for Level {
    type Err = BadLevel;

    fn from_str(text: &str) -> Result<Self, BadLevel> {
        // A word that is no level would be taken for a module.
        let meant = |part: &str| part.contains('=') || LevelFilter::from_str(part).is_ok();
        if text.split(',').all(|part| !part.is_empty() && meant(part)) {
            text.parse().map(Self).map_err(|_| BadLevel)
        } else {
            Err(BadLevel)
        }
    }
}

impl Level {
    fn filter(&self) -> Targets {
        let always = self.0.clone().with_target(ALWAYS, TracingLevel::INFO);
        // The client prints bodies that it cannot read, and they may be Secrets. What goes
        // wrong is told by those who sent the request.
        always.with_target("kube_client::client", LevelFilter::OFF)
    }
}

/// Whether lines of this format are text where stderr is.
pub fn is_text(format: Format) -> bool {
    match format {
        Format::Auto => io::stderr().is_terminal(),
        Format::Text => true,
        Format::Json => false,
    }
}

/// Sends all events of this process to stderr from now on.
pub fn init(format: Format, level: &Level, color: bool) -> Result<(), TryInitError> {
    init_with(format, level, color, Vec::new())
}

/// A layer that takes spans and events, too.
pub type OtherLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// As [`init`], with others that take spans and events, whatever their level.
pub fn init_with(
    format: Format,
    level: &Level,
    color: bool,
    others: Vec<OtherLayer>,
) -> Result<(), TryInitError> {
    let lines: OtherLayer = if is_text(format) {
        Box::new(text(io::stderr, color))
    } else {
        Box::new(json(io::stderr))
    };
    let mut layers = others;
    layers.push(Box::new(lines.with_filter(level.filter())));
    tracing_subscriber::registry().with(layers).try_init()
}

fn text<W>(writer: W, color: bool) -> impl Layer<Registry> + Send + Sync
where
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    fmt::layer().with_writer(writer).with_ansi(color)
}

fn json<W>(writer: W) -> impl Layer<Registry> + Send + Sync
where
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = fmt::layer().json().with_writer(writer);
    layer.flatten_event(true).with_span_list(false)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use document::Value;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(level: &str, format: Format) -> Vec<String> {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let writer = move || writer.clone();
        let layer: Box<dyn Layer<Registry> + Send + Sync> = match format {
            Format::Json => Box::new(json(writer)),
            _ => Box::new(text(writer, false)),
        };
        let level: Level = level.parse().unwrap();
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(level.filter()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "engine::x", controller = "c", "synced");
            tracing::debug!(target: "engine::x", "step");
            tracing::warn!(target: "kube_client::client", "a body with a secret");
            tracing::info!(target: ALWAYS, "context");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn machines_get_one_object_per_line() {
        let lines = lines("info", Format::Json);
        assert_eq!(lines.len(), 2, "{lines:?}");
        let line: Value = lines[0].parse().unwrap();
        assert_eq!(line.get("level").as_str(), Some("INFO"));
        assert_eq!(line.get("message").as_str(), Some("synced"));
        assert_eq!(line.get("controller").as_str(), Some("c"));
        assert!(line.get("timestamp").as_str().is_some());
    }

    #[test]
    fn people_get_text() {
        let lines = lines("info", Format::Text);
        assert!(
            lines[0].contains("INFO engine::x: synced controller=\"c\""),
            "{lines:?}"
        );
    }

    #[test]
    fn the_level_decides_what_shows() {
        assert_eq!(lines("debug", Format::Text).len(), 3);
        assert_eq!(lines("error", Format::Text).len(), 1);
        assert_eq!(lines("error,engine=debug", Format::Text).len(), 3);
        for bad in ["loud", "info,loud", "", "info,"] {
            assert_eq!(bad.parse::<Level>(), Err(BadLevel), "{bad}");
        }
    }

    #[test]
    fn bodies_of_answers_never_show() {
        for level in ["info", "trace", "kube_client::client=trace"] {
            let lines = lines(level, Format::Text);
            assert!(
                !lines.iter().any(|line| line.contains("secret")),
                "{lines:?}"
            );
        }
    }
}
