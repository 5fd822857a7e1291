//! Diagnostics: what is wrong, where, and what to do about it. They print as one line, or as a
//! report with the line of the source.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use document::one_line;

use crate::read::ReadError;
use crate::source::{Source, Span, floor};

/// A source line longer than this many bytes is not shown, because rendering takes memory for
/// each of its characters.
const MAX_SHOWN_LINE: usize = 16 * 1024;

/// How wide the source lines of a report are, unless the width of the terminal is known.
const WIDTH: usize = 140;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It does not work.
    Error,
    /// It works, but is probably not what was meant.
    Warning,
}

/// A message about a place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code, such as `duplicate-key`.
    pub code: String,
    /// What was found and what was expected.
    pub message: String,
    /// The source.
    pub source: Option<Arc<Source>>,
    /// The span in the source.
    pub span: Option<Span>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A report like those of `rustc`: the message, `file:line:column`, the line of the source
    /// with the span marked, and the help. It does not end with a newline.
    pub fn render(&self, color: bool) -> String {
        self.render_in(color, WIDTH)
    }

    /// The same, with source lines cut to a terminal of this width.
    pub fn render_in(&self, color: bool, width: usize) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let renderer = renderer.term_width(width);
        let mut elements: Vec<Element<'_>> = Vec::new();
        if let Some(source) = &self.source {
            elements.push(place(source, self.span));
        }
        if let Some(help) = &self.help {
            elements.push(Level::HELP.message(harmless(help)).into());
        }
        let title = level
            .primary_title(harmless(&self.message))
            .id(harmless(&self.code));
        renderer.render(&[title.elements(elements)])
    }

    /// One line: `file:line:column: error[code]: message`.
    pub fn short(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = match (&self.source, self.span) {
            (Some(source), Some(span)) => {
                format!("{}:{}:{}: ", source.name, span.line, span.column)
            }
            (Some(source), None) => format!("{}: ", source.name),
            (None, _) => String::new(),
        };
        let line = format!("{place}{severity}[{}]: {}", self.code, self.message);
        one_line(&line).into_owned()
    }
}

/// The source line with the span marked, or only the name of the source if there is no line to
/// show.
fn place(source: &Source, span: Option<Span>) -> Element<'_> {
    let Some(span) = span else {
        return Origin::path(harmless(&source.name)).into();
    };
    let line = line_around(&source.text, span.start);
    if line.len() > MAX_SHOWN_LINE {
        return Origin::path(harmless(&source.name))
            .line(span.line)
            .char_column(span.column)
            .into();
    }
    // Only the first line of a span is marked: a map may have hundreds of lines.
    let start = floor(&source.text, span.start).clamp(line.start, line.end);
    let end = floor(&source.text, span.end).clamp(start, line.end);
    Snippet::source(harmless(&source.text[line.clone()]))
        .line_start(span.line)
        .path(harmless(&source.name))
        .annotation(AnnotationKind::Primary.span(start - line.start..end - line.start))
        .into()
}

/// The text without characters that do something to a terminal. The renderer replaces most of them,
/// but not all. A replacement has as many bytes as the character, so that spans stay valid.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    for c in text.chars() {
        match c.len_utf8() {
            _ if !is_harmful(c) => harmless.push(c),
            1 => harmless.push('?'),
            2 => harmless.push('¿'),
            3 => harmless.push('\u{fffd}'),
            _ => harmless.push_str("¿¿"),
        }
    }
    Cow::Owned(harmless)
}

/// Whether a character must not be shown in a line of a source.
fn is_harmful(c: char) -> bool {
    document::is_harmful(c) && c != '\n' && c != '\t'
}

/// The bytes of the line around `offset`, without the line break and a byte order mark.
fn line_around(text: &str, offset: usize) -> Range<usize> {
    let offset = floor(text, offset);
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let shown = line.strip_prefix(crate::source::BOM).unwrap_or(line);
    start + line.len() - shown.len()..start + line.len()
}

impl fmt::Display for Diagnostic {
    /// Prints [`Diagnostic::short`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

impl std::error::Error for Diagnostic {}

impl From<ReadError> for Diagnostic {
    fn from(error: ReadError) -> Self {
        Self {
            severity: Severity::Error,
            code: error.code().to_owned(),
            message: error.to_string(),
            source: None,
            span: None,
            help: error.help(),
        }
    }
}
