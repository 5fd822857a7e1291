//! The table of Operators or controllers: its columns, how they fit a width, and its order.

use std::cmp::Ordering;

use unicode_width::UnicodeWidthStr;

use super::frame::{Line, Tone, pad};
use crate::live::format::{UNKNOWN, count, duration, rate};
use crate::live::{Condition, ControllerNow, Numbers, OperatorNow};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Ready,
    Controllers,
    Objects,
    Derived,
    Changes,
    Writes,
    Latency,
    Step,
    Wait,
    Write,
    Queue,
    Errors,
    Failing,
    Message,
}

/// All columns from left to right.
const ALL: [Column; 15] = [
    Column::Name,
    Column::Ready,
    Column::Controllers,
    Column::Objects,
    Column::Derived,
    Column::Changes,
    Column::Writes,
    Column::Latency,
    Column::Step,
    Column::Wait,
    Column::Write,
    Column::Queue,
    Column::Errors,
    Column::Failing,
    Column::Message,
];

/// The columns that are left out if there is no room, the first one first.
const DROPPED: [Column; 13] = [
    Column::Message,
    Column::Failing,
    Column::Wait,
    Column::Step,
    Column::Write,
    Column::Controllers,
    Column::Writes,
    Column::Derived,
    Column::Queue,
    Column::Latency,
    Column::Objects,
    Column::Ready,
    Column::Changes,
];

/// How many of those are left out before names are cut.
const BEFORE_CUTS: usize = 6;
/// The room that a message needs.
const MESSAGE: usize = 24;
/// What names and reasons have at least, and at most.
const NAMES: (usize, usize) = (12, 48);
const REASONS: (usize, usize) = (8, 20);

/// A row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) ready: Option<&'a Condition>,
    controllers: Option<usize>,
    numbers: &'a Numbers,
}

impl<'a> From<&'a OperatorNow> for Row<'a> {
    fn from(operator: &'a OperatorNow) -> Self {
        Self {
            name: &operator.name,
            ready: operator.ready.as_ref(),
            controllers: Some(operator.controllers.len()),
            numbers: &operator.numbers,
        }
    }
}

impl<'a> From<&'a ControllerNow> for Row<'a> {
    fn from(controller: &'a ControllerNow) -> Self {
        Self {
            name: &controller.name,
            ready: controller.ready.as_ref(),
            controllers: None,
            numbers: &controller.numbers,
        }
    }
}

/// What a value is compared by.
enum SortKey<'a> {
    Text(&'a str),
    Number(Option<f64>),
}

impl Column {
    fn title(self, of_operators: bool) -> &'static str {
        match self {
            Self::Name if of_operators => "OPERATOR",
            Self::Name => "CONTROLLER",
            Self::Ready => "READY",
            Self::Controllers => "CTRL",
            Self::Objects => "OBJECTS",
            Self::Derived => "DERIVED",
            Self::Changes => "CHG/S",
            Self::Writes => "WRITE/S",
            Self::Latency => "LATENCY",
            Self::Step => "P99-STEP",
            Self::Wait => "P99-WAIT",
            Self::Write => "P99-WRITE",
            Self::Queue => "QUEUE",
            Self::Errors => "ERRORS",
            Self::Failing => "ERR/S",
            Self::Message => "MESSAGE",
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Name | Self::Ready | Self::Message)
    }

    /// Whether large values come first, if nothing else is said.
    pub(super) fn descends(self) -> bool {
        !self.is_text()
    }

    fn cell(self, row: &Row<'_>) -> String {
        let numbers = row.numbers;
        match self {
            Self::Name => row.name.to_owned(),
            Self::Ready => match row.ready {
                Some(ready) if !ready.reason.is_empty() => ready.reason.clone(),
                _ => UNKNOWN.to_owned(),
            },
            Self::Message => row
                .ready
                .map(|ready| ready.message.clone())
                .unwrap_or_default(),
            Self::Objects | Self::Derived | Self::Queue | Self::Errors | Self::Controllers => {
                count(self.number(row))
            }
            Self::Changes | Self::Writes | Self::Failing => rate(self.number(row)),
            Self::Latency => duration(numbers.latency.mean()),
            Self::Step | Self::Wait | Self::Write => duration(self.number(row)),
        }
    }

    fn number(self, row: &Row<'_>) -> Option<f64> {
        let numbers = row.numbers;
        match self {
            Self::Name | Self::Ready | Self::Message => None,
            Self::Controllers => row.controllers.map(|count| count as f64),
            Self::Objects => numbers.objects,
            Self::Derived => numbers.derived,
            Self::Changes => numbers.changes,
            Self::Writes => numbers.writes,
            Self::Latency => numbers.latency.mean(),
            Self::Step => numbers.latency.step(),
            Self::Wait => numbers.latency.wait(),
            Self::Write => numbers.latency.write(),
            Self::Queue => numbers.queue,
            Self::Errors => numbers.errors,
            Self::Failing => numbers.failing,
        }
    }

    fn key<'a>(self, row: &Row<'a>) -> SortKey<'a> {
        let ready = row.ready;
        match self {
            Self::Name => SortKey::Text(row.name),
            Self::Ready => SortKey::Text(ready.map_or("", |ready| &ready.reason)),
            Self::Message => SortKey::Text(ready.map_or("", |ready| &ready.message)),
            _ => SortKey::Number(self.number(row)),
        }
    }

    fn tone(self, row: &Row<'_>) -> Tone {
        let some = |number: Option<f64>| number.is_some_and(|number| number > 0.0);
        match self {
            Self::Ready => match row.ready {
                Some(ready) if ready.status == "True" => Tone::Good,
                Some(ready) if ready.reason == "Syncing" => Tone::Waits,
                Some(_) => Tone::Bad,
                None => Tone::Soft,
            },
            Self::Errors | Self::Failing if some(self.number(row)) => Tone::Bad,
            Self::Queue if some(row.numbers.queue) => Tone::Waits,
            Self::Message => Tone::Soft,
            _ => Tone::Plain,
        }
    }
}

/// The order of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: Column,
    pub(super) descending: bool,
}

impl Order {
    /// Sorts rows; equal ones by name, and what is not known comes last.
    pub(super) fn sort(self, rows: &mut [Row<'_>]) {
        rows.sort_by(|a, b| self.compare(a, b).then_with(|| a.name.cmp(b.name)));
    }

    fn compare(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        let directed = |order: Ordering| {
            if self.descending {
                order.reverse()
            } else {
                order
            }
        };
        match (self.column.key(a), self.column.key(b)) {
            (SortKey::Text(a), SortKey::Text(b)) => directed(a.cmp(b)),
            (SortKey::Number(Some(a)), SortKey::Number(Some(b))) => directed(a.total_cmp(&b)),
            (SortKey::Number(a), SortKey::Number(b)) => b.is_some().cmp(&a.is_some()),
            // A column has one kind of values.
            _ => Ordering::Equal,
        }
    }
}

/// The columns that fit, with their widths.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<(Column, usize)>,
    gap: usize,
    of_operators: bool,
    /// Shown as an arrow.
    order: Option<Order>,
}

impl Table {
    /// Chooses the columns for a width. Without one, all columns have the room that they need.
    pub(super) fn fit(
        rows: &[Row<'_>],
        of_operators: bool,
        order: Option<Order>,
        width: Option<usize>,
    ) -> Self {
        let mut table = Self {
            columns: Vec::new(),
            gap: 2,
            of_operators,
            order,
        };
        for dropped in 0..=DROPPED.len() {
            let shown = ALL.iter().copied().filter(|column| {
                let only_of_operators =
                    matches!(column, Column::Controllers | Column::Wait | Column::Queue);
                !DROPPED[..dropped].contains(column) && (of_operators || !only_of_operators)
            });
            let natural = |column| (column, table.natural(column, rows, width.is_none()));
            table.columns = shown.map(natural).collect();
            table.gap = 2;
            let Some(width) = width else {
                return table;
            };
            let cuts = dropped >= BEFORE_CUTS || dropped == DROPPED.len();
            if table.squeeze(width, cuts) {
                break;
            }
        }
        if let Some(width) = width {
            table.stretch(width);
        }
        table
    }

    /// The room that a column needs.
    fn natural(&self, column: Column, rows: &[Row<'_>], whole: bool) -> usize {
        let title = self.title(column).width();
        let widths = rows.iter().map(|row| column.cell(row).width());
        let widest = widths.max().unwrap_or(0).max(title);
        match column {
            _ if whole => widest,
            Column::Name => widest.min(NAMES.1),
            Column::Ready => widest.min(REASONS.1),
            Column::Message => MESSAGE,
            _ => widest,
        }
    }

    fn title(&self, column: Column) -> String {
        let title = column.title(self.of_operators);
        match self.order.filter(|order| order.column == column) {
            Some(Order {
                descending: true, ..
            }) => format!("{title}↓"),
            Some(_) => format!("{title}↑"),
            None => title.to_owned(),
        }
    }

    fn width(&self) -> usize {
        let gaps = self.gap * self.columns.len().saturating_sub(1);
        self.columns.iter().map(|(_, width)| width).sum::<usize>() + gaps
    }

    /// Makes the table fit, with narrower gaps and cut names if that is allowed. Returns whether it
    /// does.
    fn squeeze(&mut self, width: usize, cuts: bool) -> bool {
        if self.width() <= width || !cuts {
            return self.width() <= width;
        }
        self.gap = 1;
        let mut over = self.width().saturating_sub(width);
        // The reason first: it has an end that can be guessed.
        for (column, least) in [(Column::Ready, REASONS.0), (Column::Name, NAMES.0)] {
            let cell = self.columns.iter_mut().find(|(found, _)| *found == column);
            if let Some((_, room)) = cell {
                let less = over.min(room.saturating_sub(least));
                *room -= less;
                over -= less;
            }
        }
        if over > 0
            && self.columns.len() <= 2
            && let Some((_, room)) = self.columns.first_mut()
        {
            let less = over.min(*room);
            *room -= less;
            over -= less;
        }
        over == 0
    }

    /// Gives the rest of a width to the message.
    fn stretch(&mut self, width: usize) {
        let rest = width.saturating_sub(self.width());
        if let Some((Column::Message, room)) = self.columns.last_mut() {
            *room += rest;
        }
    }

    pub(super) fn header(&self) -> Line {
        let mut line = Line::default();
        for (number, (column, width)) in self.columns.iter().enumerate() {
            let text = pad(&self.title(*column), *width, !column.is_text());
            line = line.with(Tone::Strong, self.spaced(number, &text));
        }
        line
    }

    pub(super) fn row(&self, row: &Row<'_>) -> Line {
        let mut line = Line::default();
        for (number, (column, width)) in self.columns.iter().enumerate() {
            let text = pad(&column.cell(row), *width, !column.is_text());
            line = line.with(column.tone(row), self.spaced(number, &text));
        }
        line
    }

    fn spaced(&self, number: usize, text: &str) -> String {
        let gap = if number == 0 { 0 } else { self.gap };
        format!("{}{text}", " ".repeat(gap))
    }
}

#[cfg(test)]
mod tests;
