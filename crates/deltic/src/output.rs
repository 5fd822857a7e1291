//! Prints results to stdout and diagnostics to stderr, in colour where that is wanted.

mod fit;
mod list;
mod pretty;
mod progress;
mod verdict;

use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};
use std::time::Instant;

use document::{Value, one_line};
use manifest::Diagnostic;
use offline::EventType;
use operator::{Report, describe_origin};
use terminal_size::{Height, Width, terminal_size_of};

use crate::cli::{Format, ObjectFormat, When};
use fit::fit;
pub(crate) use list::ObjectList;
pub(crate) use pretty::pretty;
use progress::Progress;
pub(crate) use verdict::Verdict;

/// The streams for results and diagnostics.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    stderr: Stderr,
    colors: Colors,
    /// Whether a YAML document was printed, so that the next one needs a `---` before it.
    separate: bool,
    /// When the command started.
    started: Instant,
    progress: Progress,
}

/// The kind of a line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// The header with the object.
    File,
    /// The header with the line numbers.
    Hunk,
    Removed,
    Added,
    Same,
}

/// Which streams get colours.
#[derive(Clone, Copy, Debug)]
struct Colors {
    stdout: bool,
    stderr: bool,
}

impl Output {
    pub(crate) fn new(when: When) -> Self {
        let wanted = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !no_color(),
        };
        Self {
            stdout: BufWriter::new(io::stdout()),
            stderr: io::stderr(),
            colors: Colors {
                stdout: wanted(io::stdout().is_terminal()),
                stderr: wanted(io::stderr().is_terminal()),
            },
            separate: false,
            started: Instant::now(),
            progress: Progress::default(),
        }
    }

    /// Whether messages get colours.
    #[cfg(feature = "cluster")]
    pub(crate) fn color(&self) -> bool {
        self.colors.stderr
    }

    /// How wide the lines of results may be: as wide as the terminal, or as `COLUMNS` says. `None`
    /// without either.
    pub(crate) fn width() -> Option<usize> {
        width_of(terminal_size_of(io::stdout()))
    }

    /// Whether results get colours.
    #[cfg(feature = "cluster")]
    pub(crate) fn paints(&self) -> bool {
        self.colors.stdout
    }

    /// A value as a YAML document, or as indented JSON.
    pub(crate) fn value(&mut self, value: &Value, format: Format) -> io::Result<()> {
        match format {
            Format::Yaml => {
                if std::mem::replace(&mut self.separate, true) {
                    self.stdout.write_all(b"---\n")?;
                }
                self.stdout.write_all(manifest::to_yaml(value).as_bytes())
            }
            Format::Json => writeln!(self.stdout, "{}", pretty(value)),
        }
    }

    /// Objects as YAML documents, as one JSON list in the way of kubectl, or as names.
    pub(crate) fn objects(&mut self, objects: &[Value], format: ObjectFormat) -> io::Result<()> {
        let mut list = ObjectList::new(format);
        for object in objects {
            list.add(object, self)?;
        }
        list.end(self)
    }

    /// A comment above the next YAML document.
    pub(crate) fn comment(&mut self, text: &str) -> io::Result<()> {
        if std::mem::take(&mut self.separate) {
            self.stdout.write_all(b"---\n")?;
        }
        writeln!(self.stdout, "# {text}")
    }

    /// Shows on a terminal how far the command is, if it takes long. Not while results are printed
    /// on the same terminal.
    pub(crate) fn progress(&mut self, line: impl FnOnce() -> String) {
        if !io::stdout().is_terminal() {
            self.working(line);
        }
    }

    /// The same for a command that prints nothing before its end.
    pub(crate) fn working(&mut self, line: impl FnOnce() -> String) {
        if self.stderr.is_terminal() && self.progress.is_due(self.started.elapsed()) {
            let _ = write!(self.stderr, "\r\x1b[K{}", one_line(&line()));
        }
    }

    /// Says what the command waits for, if a person at a terminal has to type it.
    pub(crate) fn waits_for(&mut self, what: &str, source: &str) {
        if io::stdin().is_terminal() {
            self.complain(&waiting(what, source));
        }
    }

    /// Removes the line of [`Output::progress`].
    pub(crate) fn progress_ends(&mut self) {
        if self.progress.end() {
            let _ = write!(self.stderr, "\r\x1b[K");
        }
    }

    /// A line of a diff, which may end with a newline.
    pub(crate) fn diff_line(&mut self, line: DiffLine, text: &str) -> io::Result<()> {
        let style = match line {
            DiffLine::File => BOLD,
            DiffLine::Hunk => CYAN,
            DiffLine::Removed => RED,
            DiffLine::Added => GREEN,
            DiffLine::Same => "",
        };
        let color = self.colors.stdout && line != DiffLine::Same;
        let text = one_line(text.trim_end_matches('\n'));
        writeln!(self.stdout, "{}", paint(&text, style, color))
    }

    /// Prints lines for people, not wider than the terminal.
    pub(crate) fn prose(&mut self, lines: &str) -> io::Result<()> {
        let lines = fitted(harmless(lines), Self::width());
        self.stdout.write_all(lines.as_bytes())
    }

    /// The same, behind so many columns that are printed already.
    pub(crate) fn prose_behind(&mut self, columns: usize, lines: &str) -> io::Result<()> {
        let lines = format!("{}{}", " ".repeat(columns), harmless(lines));
        let lines = fitted(lines, Self::width());
        self.stdout.write_all(&lines.as_bytes()[columns..])
    }

    /// Prints lines for people as long as they are. What is in them cannot control the terminal.
    pub(crate) fn say(&mut self, lines: &str) -> io::Result<()> {
        self.stdout.write_all(harmless(lines).as_bytes())
    }

    /// Prints text as it is, for programs.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.stdout.write_all(text.as_bytes())
    }

    /// One line for an event: `ADDED     service/default/web`.
    pub(crate) fn event(&mut self, kind: EventType, object: &Value) -> io::Result<()> {
        let style = match kind {
            EventType::Added => GREEN,
            EventType::Modified => YELLOW,
            EventType::Deleted => RED,
        };
        let word = paint(&format!("{:<9}", kind.as_str()), style, self.colors.stdout);
        writeln!(self.stdout, "{word} {}", name(object))
    }

    /// Flushes stdout.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    pub(crate) fn diagnostics(&mut self, diagnostics: &[Diagnostic]) -> io::Result<()> {
        diagnostics
            .iter()
            .try_for_each(|diagnostic| self.diagnostic(diagnostic))
    }

    /// A diagnostic with its line of the source, and an empty line after it.
    pub(crate) fn diagnostic(&mut self, diagnostic: &Diagnostic) -> io::Result<()> {
        // Keeps the order of results and diagnostics on a terminal.
        self.flush()?;
        let text = match width_of(terminal_size_of(io::stderr())) {
            Some(width) => {
                fitted_diagnostic(diagnostic, width).render_in(self.colors.stderr, width)
            }
            None => diagnostic.render(self.colors.stderr),
        };
        let several_lines = diagnostic.source.is_some() || diagnostic.help.is_some();
        let gap = if several_lines { "\n" } else { "" };
        self.write_to_stderr(&format!("{text}{gap}"));
        Ok(())
    }

    /// One line for an error of a controller: `error[code] controller/stage origin: …`.
    pub(crate) fn report(&mut self, report: &Report) -> io::Result<()> {
        self.flush()?;
        let code = format!("error[{}]", report.code);
        let place = [report.controller.as_str(), report.stage.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        let origin = describe_origin(&report.origin);
        let place = [place, origin]
            .into_iter()
            .filter(|part| !part.is_empty())
            .fold(String::new(), |text, part| text + " " + &part);
        let line = format!("{code}{place}: {}", report.message);
        let width = width_of(terminal_size_of(io::stderr()));
        let lines = fitted(one_line(&line).into_owned(), width);
        let painted = paint(&code, BOLD_RED, self.colors.stderr);
        self.write_to_stderr(&lines.replacen(&code, &painted, 1));
        Ok(())
    }

    /// Prints a line, or several, to stderr.
    pub(crate) fn complain(&mut self, lines: &str) {
        self.write_to_stderr(&fitted(
            harmless(lines),
            width_of(terminal_size_of(io::stderr())),
        ));
    }

    /// Prints lines to stderr as they are. If stderr is closed, they are lost.
    fn write_to_stderr(&mut self, lines: &str) {
        self.progress_ends();
        let _ = writeln!(self.stderr, "{lines}");
    }
}

/// How wide the lines of a stream may be: as wide as its terminal, or as `COLUMNS` says.
fn width_of(terminal: Option<(Width, Height)>) -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    let columns = columns.filter(|columns| *columns > 0);
    columns.or_else(|| {
        let (width, _) = terminal?;
        Some(width.0.into()).filter(|width| *width > 0)
    })
}

/// A diagnostic with a message and a help that fit into this width.
fn fitted_diagnostic(diagnostic: &Diagnostic, width: usize) -> Diagnostic {
    let before = |what: &str| what.chars().count();
    let title = before(&diagnostic.code) + before("warning[]: ");
    let room = |used: usize| width.saturating_sub(used).max(LEAST_ROOM);
    let help = diagnostic.help.as_ref();
    Diagnostic {
        message: fit(&diagnostic.message, room(title)),
        help: help.map(|help| fit(help, room(before("    = help: ")))),
        ..diagnostic.clone()
    }
}

/// The narrowest column of text.
const LEAST_ROOM: usize = 20;

/// Lines that are not wider than this.
fn fitted(lines: String, width: Option<usize>) -> String {
    match width {
        Some(width) => fit(&lines, width),
        None => lines,
    }
}

/// Lines in which nothing controls the terminal.
fn harmless(lines: &str) -> String {
    let lines: Vec<_> = lines.split('\n').map(one_line).collect();
    lines.join("\n")
}

/// What a command reads from a terminal.
fn waiting(what: &str, source: &str) -> String {
    format!(
        "reading {what} from the terminal, up to Ctrl-D; or pipe the output of `{source}` into the command, or name a file"
    )
}

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";
const BOLD: &str = "1";
const BOLD_RED: &str = "1;91";

fn paint(text: &str, style: &str, color: bool) -> String {
    if color {
        format!("\x1b[{style}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Whether the environment switches colours off; see no-color.org.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// `kind/namespace/name` as kubectl prints it, in one line.
pub(crate) fn name(object: &Value) -> String {
    let metadata = object.get("metadata");
    let kind = object.get("kind").as_str().unwrap_or_default();
    let mut name = kind.to_lowercase();
    for part in [metadata.get("namespace"), metadata.get("name")] {
        if let Some(part) = part.as_str().filter(|part| !part.is_empty()) {
            name.push('/');
            name.push_str(part);
        }
    }
    one_line(&name).into_owned()
}
