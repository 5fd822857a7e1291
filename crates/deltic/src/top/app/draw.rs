//! The lines of the screen.

use super::{App, Page};
use crate::live::format::{count, rate};
use crate::live::{ControllerNow, Snapshot};
use crate::top::frame::{Line, Tone, wrap};
use crate::top::table::{Row, Table};

/// The keys, in the order of their importance: as many are shown as fit.
const KEYS: &str = "q quit  enter open  s sort  r reverse  / filter  ? help  j/k select";
const KEYS_OF_PAGE: &str = "q quit  esc back  j/k scroll  s sort  r reverse  ? help";

const HELP: &[(&str, &str)] = &[
    ("up, down, j, k", "select an Operator, or scroll"),
    ("page up, page down, home, end", "the same, faster"),
    ("enter", "open the selected Operator"),
    ("esc", "go back, or remove the filter"),
    ("s, >, <", "sort by the next column, or by the one before"),
    ("r", "reverse the order"),
    (
        "/",
        "show only Operators whose name or reason contains a text",
    ),
    ("?", "show or leave this help"),
    ("q, Ctrl-C", "quit"),
    ("", ""),
    ("READY", "the reason of the condition Ready"),
    ("CTRL", "controllers"),
    ("OBJECTS", "objects of all sources"),
    ("DERIVED", "derived objects"),
    ("CHG/S", "changes of source objects per second"),
    ("WRITE/S", "writes to the cluster per second"),
    (
        "LATENCY",
        "the average time of a batch, of waiting in the queue and of a write together",
    ),
    ("P99-STEP, -WAIT, -WRITE", "what 99% of each do not exceed"),
    ("QUEUE", "objects that are due to be written"),
    ("ERRORS", "current errors"),
    ("ERR/S", "errors that occur per second"),
];

/// The columns before a row, where the selected one has a mark.
const MARGIN: usize = 2;

impl App {
    pub(super) fn draw(&mut self, width: usize, height: usize) -> Vec<Line> {
        let mut lines = self.heading(width);
        let body = height.saturating_sub(lines.len() + 1);
        lines.extend(match self.page.clone() {
            _ if self.help.is_some() => self.page(help(width), body),
            Page::Operators => self.list(width, body),
            Page::Operator { name, .. } => {
                let page = self.operator_page(&name, width);
                self.page(page, body)
            }
        });
        lines.resize(height.saturating_sub(1), Line::default());
        lines.push(self.footer());
        lines
    }

    /// What runs, where it was read, and what could not be read.
    fn heading(&self, width: usize) -> Vec<Line> {
        let mut lines = vec![
            summary(&self.snapshot),
            Line::new(Tone::Soft, self.origin.clone()),
        ];
        for note in &self.notes {
            let note = wrap(note, width).into_iter().take(MAX_NOTE_LINES);
            lines.extend(note.map(|line| Line::new(Tone::Bad, line)));
        }
        lines.push(Line::default());
        lines
    }

    fn footer(&self) -> Line {
        if self.types {
            return Line::new(Tone::Strong, format!("filter: {}_", self.filter));
        }
        if self.page != Page::Operators || self.help.is_some() {
            return Line::new(Tone::Soft, KEYS_OF_PAGE);
        }
        let filter = match self.filter.as_str() {
            "" => String::new(),
            filter => format!("filter: {filter} (esc removes it)  "),
        };
        Line::new(Tone::Strong, filter).with(Tone::Soft, KEYS)
    }

    /// The table of Operators.
    fn list(&mut self, width: usize, room: usize) -> Vec<Line> {
        let room = room.saturating_sub(1);
        let at = self.position();
        // The selected row is on the screen.
        let selected = at.unwrap_or(0);
        let count = self.rows().len();
        let first = self.first.min(count.saturating_sub(room));
        let first = first.min(selected);
        let first = first.max((selected + 1).saturating_sub(room));
        let rows = self.rows();
        let table = Table::fit(
            &rows,
            true,
            Some(self.order),
            Some(width.saturating_sub(MARGIN)),
        );
        let mut lines = vec![indented(table.header())];
        for (number, row) in rows.iter().enumerate().skip(first).take(room) {
            lines.push(marked(table.row(row), at == Some(number)));
        }
        if rows.is_empty() {
            let why = if self.filter.is_empty() {
                "there are no Operators"
            } else {
                "the filter admits no Operator"
            };
            lines.push(indented(Line::new(Tone::Soft, why)));
        }
        let columns = table.columns.iter().map(|(column, _)| *column).collect();
        (self.first, self.room, self.columns) = (first, room, columns);
        lines
    }

    /// The part of a page that is on the screen.
    fn page(&mut self, lines: Vec<Line>, room: usize) -> Vec<Line> {
        self.room = room;
        let last = lines.len().saturating_sub(room);
        let first = self.line().map_or(0, |line| {
            *line = last.min(*line);
            *line
        });
        lines.into_iter().skip(first).take(room).collect()
    }

    /// An Operator: its condition, its controllers, what they read and derive, its errors.
    fn operator_page(&mut self, name: &str, width: usize) -> Vec<Line> {
        let Some(operator) = self.operator(name) else {
            let gone = format!("Operator {name} does not exist any more");
            return vec![Line::new(Tone::Bad, gone)];
        };
        let mut lines = vec![Line::new(Tone::Strong, format!("Operator {name}"))];
        if let Some(ready) = &operator.ready {
            let tone = if ready.status == "True" {
                Tone::Good
            } else {
                Tone::Bad
            };
            let text = format!("{}: {}", ready.reason, ready.message);
            let text = wrap(&text, width).into_iter();
            lines.extend(text.map(|line| Line::new(tone, line)));
        }
        for (number, what) in [
            (operator.crashes, "crashes of its engine"),
            (
                operator.orphans,
                "objects that an earlier Operator of this name has left",
            ),
        ] {
            if number > 0.0 {
                let text = format!("{} {what}", count(Some(number)));
                lines.push(Line::new(Tone::Bad, text));
            }
        }
        lines.push(Line::default());
        let mut rows: Vec<Row<'_>> = operator.controllers.iter().map(Row::from).collect();
        self.order.sort(&mut rows);
        let table = Table::fit(&rows, false, Some(self.order), Some(width));
        lines.push(table.header());
        lines.extend(rows.iter().map(|row| table.row(row)));
        for controller in &operator.controllers {
            lines.extend(flow(controller, width));
        }
        lines.extend(errors(&operator.controllers, width));
        self.columns = table.columns.iter().map(|(column, _)| *column).collect();
        lines
    }
}

/// How many lines the reason why something cannot be read has at most.
const MAX_NOTE_LINES: usize = 3;

/// `deltic 0.1.0 leads: 3 Operators, 2 errors, 12 changes/s, 4 writes/s, 6 requests/s`
fn summary(snapshot: &Snapshot) -> Line {
    let mut line = Line::new(Tone::Strong, "deltic");
    if let Some(version) = &snapshot.version {
        line = line.with(Tone::Plain, format!(" {version}"));
    }
    match snapshot.leads {
        Some(true) => line = line.with(Tone::Good, " leads"),
        Some(false) => line = line.with(Tone::Waits, " stands by"),
        None => {}
    }
    let operators = snapshot.operators.len();
    let plural = if operators == 1 { "" } else { "s" };
    line = line.with(Tone::Plain, format!(": {operators} Operator{plural}"));
    let errors = snapshot.sum(|numbers| numbers.errors);
    if errors.is_some_and(|errors| errors > 0.0) {
        let text = count(errors);
        let plural = if text == "1" { "" } else { "s" };
        line = line.with(Tone::Bad, format!(", {text} error{plural}"));
    }
    for (number, what) in [
        (snapshot.sum(|numbers| numbers.changes), "changes/s"),
        (snapshot.sum(|numbers| numbers.writes), "writes/s"),
        (snapshot.requests, "requests/s"),
    ] {
        if number.is_some() {
            line = line.with(Tone::Plain, format!(", {} {what}", rate(number)));
        }
    }
    line
}

/// What a controller reads and derives.
fn flow(controller: &ControllerNow, width: usize) -> Vec<Line> {
    let sources = controller.sources.iter().map(|(name, (objects, synced))| {
        let wait = if *synced { "" } else { " (not synced)" };
        format!("{} {name}{wait}", count(Some(*objects)))
    });
    let targets = controller.targets.iter();
    let targets = targets.map(|(kind, objects)| format!("{} {kind}", count(Some(*objects))));
    let list = |parts: Vec<String>| parts.join(", ");
    let (sources, targets) = (list(sources.collect()), list(targets.collect()));
    if sources.is_empty() && targets.is_empty() {
        return Vec::new();
    }
    let text = format!("{}: reads {sources}; derives {targets}", controller.name);
    let mut lines = vec![Line::default()];
    let text = wrap(&text, width).into_iter();
    lines.extend(text.map(|line| Line::new(Tone::Plain, line)));
    lines
}

/// The errors of controllers, in full.
fn errors(controllers: &[ControllerNow], width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for controller in controllers {
        let all = controller.numbers.errors.unwrap_or_default();
        let known = controller.errors.len();
        if known == 0 && all <= 0.0 && controller.codes.is_empty() {
            continue;
        }
        lines.push(Line::default());
        let of = match known {
            0 => String::new(),
            known => format!(", the newest {known}"),
        };
        let title = format!("Errors of {}: {}{of}", controller.name, count(Some(all)));
        lines.push(Line::new(Tone::Strong, title));
        let codes = controller.codes.iter();
        let codes = codes.map(|(code, times)| format!("{code} {}", count(Some(*times))));
        let codes: Vec<String> = codes.collect();
        if !codes.is_empty() {
            let text = format!("since the start: {}", codes.join(", "));
            let text = wrap(&text, width).into_iter();
            lines.extend(text.map(|line| Line::new(Tone::Soft, line)));
        }
        for error in &controller.errors {
            for (number, text) in wrap(error, width.saturating_sub(2)).iter().enumerate() {
                let bullet = if number == 0 { "- " } else { "  " };
                lines.push(Line::new(Tone::Plain, format!("{bullet}{text}")));
            }
        }
    }
    lines
}

fn help(width: usize) -> Vec<Line> {
    let first = HELP.iter().map(|(key, _)| key.len()).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (key, what) in HELP {
        let mut key = *key;
        let wrapped = wrap(what, width.saturating_sub(first));
        if wrapped.is_empty() {
            lines.push(Line::default());
        }
        for text in wrapped {
            let line = Line::new(Tone::Strong, format!("{key:first$}"));
            lines.push(line.with(Tone::Plain, text));
            key = "";
        }
    }
    lines
}

fn indented(line: Line) -> Line {
    marked(line, false)
}

fn marked(line: Line, selected: bool) -> Line {
    let mark = if selected { "> " } else { "  " };
    let mut marked = Line::new(Tone::Strong, mark);
    marked.parts.extend(line.parts);
    marked.selected = selected;
    marked
}
