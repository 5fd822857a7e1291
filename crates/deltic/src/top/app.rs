//! The state of the screen, and what keys do to it.

mod draw;

use super::frame::Line;
use super::table::{Column, Order, Row};
use crate::live::{OperatorNow, Snapshot};

/// A key, whatever the terminal calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Left,
    Right,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    Letter(char),
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Draw,
    Quit,
}

/// What is shown, and how.
#[derive(Debug)]
pub(super) struct App {
    pub(super) snapshot: Snapshot,
    /// Where the data comes from.
    pub(super) origin: String,
    /// What cannot be read.
    pub(super) notes: Vec<String>,
    order: Order,
    /// The name of the selected Operator, which stays selected when the order changes.
    selected: Option<String>,
    /// The first Operator on the screen.
    first: usize,
    /// How many Operators, or lines of a page, are on the screen.
    room: usize,
    /// The columns on the screen.
    columns: Vec<Column>,
    /// Only Operators whose name or reason contains this.
    filter: String,
    /// Whether the filter is being typed.
    types: bool,
    page: Page,
    /// The first line of the help, if it is shown.
    help: Option<usize>,
}

/// What the screen shows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Page {
    Operators,
    /// An Operator, from this line on.
    Operator {
        name: String,
        line: usize,
    },
}

impl App {
    pub(super) fn new(origin: String) -> Self {
        Self {
            snapshot: Snapshot::default(),
            origin,
            notes: Vec::new(),
            order: Order {
                column: Column::Name,
                descending: false,
            },
            selected: None,
            first: 0,
            room: 1,
            columns: vec![Column::Name],
            filter: String::new(),
            types: false,
            page: Page::Operators,
            help: None,
        }
    }

    /// Reacts to a key.
    pub(super) fn press(&mut self, key: Key) -> Next {
        if key == Key::Interrupt {
            return Next::Quit;
        }
        if self.types {
            self.type_filter(key);
            return Next::Draw;
        }
        match key {
            Key::Letter('q') => return Next::Quit,
            Key::Letter('?') => {
                self.help = match self.help {
                    Some(_) => None,
                    None => Some(0),
                }
            }
            Key::Escape | Key::Backspace | Key::Enter if self.help.is_some() => self.help = None,
            Key::Letter('s' | '>') | Key::Right => self.sort_by(1),
            Key::Letter('<') | Key::Left => self.sort_by(-1),
            Key::Letter('r') => self.order.descending = !self.order.descending,
            Key::Letter('/') => {
                self.page = Page::Operators;
                self.help = None;
                self.types = true;
            }
            Key::Enter => self.open(),
            Key::Escape if self.page == Page::Operators => self.filter.clear(),
            Key::Escape | Key::Backspace => self.page = Page::Operators,
            key => self.scroll(key),
        }
        Next::Draw
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.types = false,
            Key::Escape => {
                self.types = false;
                self.filter.clear();
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Letter(c) if !c.is_control() => self.filter.push(c),
            Key::Up | Key::Down => self.scroll(key),
            _ => {}
        }
    }

    /// Sorts by the next column on the screen, or by the one before.
    fn sort_by(&mut self, step: isize) {
        let columns: Vec<Column> = self.columns.clone();
        let at = columns
            .iter()
            .position(|column| *column == self.order.column);
        let count = columns.len().max(1);
        let next = match at {
            Some(at) => at.saturating_add_signed(step.rem_euclid(count.cast_signed())) % count,
            None => 0,
        };
        if let Some(column) = columns.get(next).copied() {
            self.order = Order {
                column,
                descending: column.descends(),
            };
        }
    }

    fn open(&mut self) {
        if self.page == Page::Operators
            && let Some(name) = self.position().and_then(|at| self.names().get(at).cloned())
        {
            self.page = Page::Operator { name, line: 0 };
        }
    }

    /// Moves the selection, or the lines of a page.
    fn scroll(&mut self, key: Key) {
        let (at, count) = match self.line() {
            // The page is cut to its last lines when it is drawn.
            Some(line) => (*line, usize::MAX),
            None => (self.position().unwrap_or(0), self.names().len()),
        };
        let page = self.room.max(1);
        let to = match key {
            Key::Up | Key::Letter('k') => at.saturating_sub(1),
            Key::Down | Key::Letter('j') => at.saturating_add(1),
            Key::PageUp => at.saturating_sub(page),
            Key::PageDown | Key::Letter(' ') => at.saturating_add(page),
            Key::Home | Key::Letter('g') => 0,
            Key::End | Key::Letter('G') => usize::MAX,
            _ => return,
        };
        let to = to.min(count.saturating_sub(1));
        match self.line() {
            Some(line) => *line = to,
            None => self.selected = self.names().get(to).cloned(),
        }
    }

    /// The first line of the page that is shown; `None` for the table.
    fn line(&mut self) -> Option<&mut usize> {
        match (&mut self.help, &mut self.page) {
            (Some(line), _) | (None, Page::Operator { line, .. }) => Some(line),
            (None, Page::Operators) => None,
        }
    }

    /// The Operators that the filter admits, in order.
    fn rows(&self) -> Vec<Row<'_>> {
        let wanted = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let admits =
            |row: &Row<'_>| has(row.name) || row.ready.is_some_and(|ready| has(&ready.reason));
        let rows = self.snapshot.operators.iter().map(Row::from);
        let mut rows: Vec<Row<'_>> = rows.filter(admits).collect();
        self.order.sort(&mut rows);
        rows
    }

    fn names(&self) -> Vec<String> {
        let rows = self.rows();
        rows.iter().map(|row| row.name.to_owned()).collect()
    }

    /// The position of the selected Operator; the first one, if it is gone.
    fn position(&self) -> Option<usize> {
        let rows = self.rows();
        let selected = self.selected.as_deref();
        let at = rows.iter().position(|row| Some(row.name) == selected);
        at.or((!rows.is_empty()).then_some(0))
    }

    fn operator(&self, name: &str) -> Option<&OperatorNow> {
        let mut operators = self.snapshot.operators.iter();
        operators.find(|operator| operator.name == name)
    }

    /// The lines of the screen. There are not more than its height, and none is wider.
    pub(super) fn frame(&mut self, width: usize, height: usize) -> Vec<Line> {
        let lines = self.draw(width, height);
        let lines = lines.into_iter().take(height);
        lines.map(|line| line.cut(width)).collect()
    }
}

#[cfg(test)]
mod tests;
