//! The terminal: a screen of its own while it is used, and as it was afterwards.

use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{
    self, Clear, ClearType, DisableLineWrap, EnableLineWrap, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{execute, queue};
use tokio::sync::mpsc;
use unicode_width::UnicodeWidthStr;

use super::app::Key;
use super::frame::{Line, Tone};

/// A terminal whose screen is ours until this is dropped.
pub(super) struct Screen {
    out: Stdout,
    color: bool,
    /// The lines on the screen, so that only others are written.
    shown: Vec<Line>,
    size: (u16, u16),
}

impl Screen {
    /// Takes the screen. After a panic the terminal is restored first, so that the message stays.
    pub(super) fn enter(color: bool) -> io::Result<Self> {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |why| {
            restore();
            usual(why);
        }));
        terminal::enable_raw_mode()?;
        TAKEN.store(true, Ordering::Relaxed);
        // From here on it is restored when this is dropped.
        let mut screen = Self {
            out: io::stdout(),
            color,
            shown: Vec::new(),
            size: (0, 0),
        };
        execute!(screen.out, EnterAlternateScreen, DisableLineWrap, Hide)?;
        Ok(screen)
    }

    /// The width and the height.
    pub(super) fn size() -> io::Result<(u16, u16)> {
        let (width, height) = terminal::size()?;
        // A terminal that does not know its size says 0.
        Ok(match (width, height) {
            (0, _) | (_, 0) => (80, 24),
            size => size,
        })
    }

    /// Draws lines: those that have changed, or all of them on a screen of another size.
    pub(super) fn draw(&mut self, lines: Vec<Line>, size: (u16, u16)) -> io::Result<()> {
        let mut text = Vec::new();
        if self.size != size {
            queue!(text, Clear(ClearType::All))?;
            self.shown.clear();
            self.size = size;
        }
        for (number, line) in lines.iter().enumerate() {
            if self.shown.get(number) == Some(line) {
                continue;
            }
            let Ok(row) = u16::try_from(number) else {
                break;
            };
            queue!(text, MoveTo(0, row))?;
            write_line(&mut text, line, self.color)?;
            // In the last column the cursor stays on the last character, which must not be erased.
            if line.plain().width() < size.0.into() {
                queue!(text, Clear(ClearType::UntilNewLine))?;
            }
        }
        self.shown = lines;
        self.out.write_all(&text)?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the screen is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was, once: leaving the screen again would move the cursor over what
/// was printed since. Errors cannot be helped here.
fn restore() {
    if !TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    let _ = execute!(io::stdout(), Show, EnableLineWrap, LeaveAlternateScreen);
    let _ = terminal::disable_raw_mode();
}

fn write_line(text: &mut Vec<u8>, line: &Line, color: bool) -> io::Result<()> {
    for (tone, part) in &line.parts {
        let style = match tone {
            _ if line.selected => "7",
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Soft => "2",
            Tone::Good => "32",
            Tone::Waits => "33",
            Tone::Bad => "31",
        };
        if color && !style.is_empty() {
            write!(text, "\x1b[{style}m{part}\x1b[0m")?;
        } else {
            text.write_all(part.as_bytes())?;
        }
    }
    Ok(())
}

/// What the user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Key(Key),
    Resized,
    /// The terminal is gone.
    Closed,
}

/// Reads keys on a thread of its own, which ends with the process.
pub(super) fn inputs() -> mpsc::Receiver<Input> {
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        loop {
            let input = match event::read() {
                Ok(event) => input(&event),
                Err(_) => Some(Input::Closed),
            };
            let closed = input == Some(Input::Closed);
            if let Some(input) = input
                && (sender.blocking_send(input).is_err() || closed)
            {
                return;
            }
        }
    });
    receiver
}

fn input(event: &Event) -> Option<Input> {
    let key = match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        Event::Resize(..) => return Some(Input::Resized),
        _ => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let key = match key.code {
        KeyCode::Char('c' | 'd') if control => Key::Interrupt,
        KeyCode::Char('h') if control => Key::Backspace,
        KeyCode::Char('f') if control => Key::PageDown,
        KeyCode::Char('b') if control => Key::PageUp,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(c) => Key::Letter(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    };
    Some(Input::Key(key))
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn lines_have_colours_only_if_they_are_wanted() {
        let mut line = Line::new(Tone::Bad, "a\u{1b}b").with(Tone::Plain, "c");
        let written = |line: &Line, color| {
            let mut text = Vec::new();
            write_line(&mut text, line, color).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(written(&line, false), r"a\u{1b}bc");
        assert_eq!(written(&line, true), "\x1b[31ma\\u{1b}b\x1b[0mc");
        line.selected = true;
        assert_eq!(
            written(&line, true),
            "\x1b[7ma\\u{1b}b\x1b[0m\x1b[7mc\x1b[0m"
        );
    }

    #[test]
    fn keys_are_translated() {
        let press = |code, modifiers| input(&Event::Key(KeyEvent::new(code, modifiers)));
        let none = KeyModifiers::NONE;
        assert_eq!(
            press(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Input::Key(Key::Interrupt))
        );
        assert_eq!(press(KeyCode::Char('x'), KeyModifiers::CONTROL), None);
        assert_eq!(
            press(KeyCode::Char('<'), KeyModifiers::SHIFT),
            Some(Input::Key(Key::Letter('<')))
        );
        assert_eq!(press(KeyCode::Esc, none), Some(Input::Key(Key::Escape)));
        assert_eq!(press(KeyCode::F(1), none), None);
        assert_eq!(input(&Event::Resize(1, 1)), Some(Input::Resized));
        assert_eq!(input(&Event::FocusGained), None);
    }
}
