//! Lines of a screen: text with tones, cut and wrapped to a width.

use document::one_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a part of a line means, from which its colour follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    /// Titles.
    Strong,
    /// What matters less.
    Soft,
    Good,
    /// Not as it should be yet.
    Waits,
    Bad,
}

/// A line of a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) parts: Vec<(Tone, String)>,
    /// Whether it is the selected one.
    pub(super) selected: bool,
}

impl Line {
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().with(tone, text)
    }

    /// The line with a further part. Names come from metrics, which anybody may serve: what is in
    /// them cannot control the terminal.
    pub(super) fn with(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        self.parts.push((tone, one_line(&text).into_owned()));
        self
    }

    /// The line without tones.
    pub(super) fn plain(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The line, not wider than this.
    pub(super) fn cut(mut self, width: usize) -> Self {
        let mut left = width;
        for (_, text) in &mut self.parts {
            *text = cut(text, left);
            left = left.saturating_sub(text.width());
        }
        self
    }
}

/// A text, not wider than this; the end of a longer one is replaced by `…`.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = head(text, width.saturating_sub(1)).to_owned();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// As much of a text as fits.
fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

/// A text in a column of this width.
pub(super) fn pad(text: &str, width: usize, right: bool) -> String {
    let text = cut(&one_line(text), width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    if right {
        format!("{space}{text}")
    } else {
        format!("{text}{space}")
    }
}

/// The lines of a text. Lines end between words; a word that is longer than a line is divided.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    for mut word in text.split_whitespace() {
        if let Some(line) = lines.last_mut()
            && line.width() + 1 + word.width() <= width
        {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        while word.width() > width {
            let mut part = head(word, width);
            if part.is_empty() {
                // A character that is wider than the screen.
                part = word.chars().next().map_or("", |c| &word[..c.len_utf8()]);
            }
            lines.push(part.to_owned());
            word = &word[part.len()..];
        }
        if !word.is_empty() {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut() {
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcde", 4), "abc…");
        assert_eq!([cut("ab", 1), cut("ab", 0)], ["…", ""]);
        // Two columns each.
        assert_eq!(cut("漢字漢", 5), "漢字…");
        assert_eq!(cut("漢字漢", 4), "漢…");
        assert_eq!(pad("漢", 4, true), "  漢");
        assert_eq!(pad("abc", 5, false), "abc  ");
        let line = Line::new(Tone::Plain, "abc").with(Tone::Bad, "def");
        assert_eq!(line.clone().cut(5).plain(), "abcd…");
        assert_eq!(line.clone().cut(3).plain(), "abc");
        assert_eq!(line.cut(0).plain(), "");
    }

    #[test]
    fn texts_are_wrapped() {
        let wrapped = |text, width| wrap(text, width).join("|");
        assert_eq!(wrapped("a bc  def g", 4), "a bc|def|g");
        assert_eq!(wrapped("abcdefgh i", 3), "abc|def|gh|i");
        assert_eq!(wrapped("漢字 a", 1), "漢|字|a");
        assert_eq!(wrapped(" ", 3), "");
        assert_eq!(wrapped("ab", 0), "a|b");
    }
}
