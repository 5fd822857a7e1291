//! Log lines on stderr: text on a terminal, JSON elsewhere.
//!
//! deltic and its libraries log through `tracing`; a [`Level`] filters the events.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use tracing::Level as TracingLevel;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, fmt};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere, as in a pod.
    #[default]
    Auto,
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The target of events that are logged at any level, such as the cluster that is used.
pub const ALWAYS: &str = "deltic::start";

/// Which events are logged: a level, or levels by module (`info,engine::writer=debug`).
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

/// A text is not a valid [`Level`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected error, warn, info, debug or trace, or levels by module such as info,kube=debug")]
pub struct BadLevel;

impl FromStr for Level {
    type Err = BadLevel;

    fn from_str(text: &str) -> Result<Self, BadLevel> {
        // `Targets` would take a word that is not a level for a module.
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
        let mut always = self.0.clone().with_target(ALWAYS, TracingLevel::INFO);
        // The audit log does not depend on the level, unless it is named.
        if !self.0.iter().any(|(target, _)| target == serving::AUDIT) {
            always = always.with_target(serving::AUDIT, TracingLevel::INFO);
        }
        // kube's client logs bodies that it cannot parse, which may be Secrets. Our own code logs
        // requests that fail.
        always.with_target("kube_client::client", LevelFilter::OFF)
    }
}

/// Whether this format is text, given what stderr is connected to.
pub fn is_text(format: Format) -> bool {
    match format {
        Format::Auto => io::stderr().is_terminal(),
        Format::Text => true,
        Format::Json => false,
    }
}

/// Logs the events of this process to stderr from now on.
pub fn init(format: Format, level: &Level, color: bool) -> Result<(), TryInitError> {
    init_with(format, level, color, Vec::new())
}

/// A further layer that receives spans and events.
pub type OtherLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// As [`init`], with further layers. They receive spans and events of all levels.
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
    fn json_is_one_object_per_line() {
        let lines = lines("info", Format::Json);
        assert_eq!(lines.len(), 2, "{lines:?}");
        let line: Value = lines[0].parse().unwrap();
        assert_eq!(line.get("level").as_str(), Some("INFO"));
        assert_eq!(line.get("message").as_str(), Some("synced"));
        assert_eq!(line.get("controller").as_str(), Some("c"));
        assert!(line.get("timestamp").as_str().is_some());
    }

    #[test]
    fn text_is_readable() {
        let lines = lines("info", Format::Text);
        assert!(
            lines[0].contains("INFO engine::x: synced controller=\"c\""),
            "{lines:?}"
        );
    }

    #[test]
    fn the_level_filters_events() {
        assert_eq!(lines("debug", Format::Text).len(), 3);
        assert_eq!(lines("error", Format::Text).len(), 1);
        assert_eq!(lines("error,engine=debug", Format::Text).len(), 3);
        for bad in ["loud", "info,loud", "", "info,"] {
            assert_eq!(bad.parse::<Level>(), Err(BadLevel), "{bad}");
        }
    }

    #[test]
    fn bodies_of_responses_are_never_logged() {
        for level in ["info", "trace", "kube_client::client=trace"] {
            let lines = lines(level, Format::Text);
            assert!(
                !lines.iter().any(|line| line.contains("secret")),
                "{lines:?}"
            );
        }
    }
}
