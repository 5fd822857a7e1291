//! The lines of test results.

use std::io::{self, Write};

use super::{BOLD_RED, DiffLine, GREEN, Output, paint};

/// The colour of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
}

impl Output {
    /// A line in the colour of the result, after some text.
    pub(crate) fn verdict(&mut self, verdict: Verdict, before: &str, line: &str) -> io::Result<()> {
        self.text(before)?;
        self.verdict_word(verdict, line)?;
        self.text("\n")
    }

    /// A word in the colour of the result.
    pub(crate) fn verdict_word(&mut self, verdict: Verdict, word: &str) -> io::Result<()> {
        let style = match verdict {
            Verdict::Passed => GREEN,
            Verdict::Failed => BOLD_RED,
        };
        let word = paint(word, style, self.colors.stdout);
        self.stdout.write_all(word.as_bytes())
    }

    /// A line of a diff behind spaces.
    pub(crate) fn indented_diff_line(
        &mut self,
        spaces: usize,
        line: DiffLine,
        text: &str,
    ) -> io::Result<()> {
        self.stdout.write_all(" ".repeat(spaces).as_bytes())?;
        self.diff_line(line, text)
    }
}
