//! Lines that are not wider than the terminal.

/// Breaks lines that are too wide, after spaces and commas. A line goes on two columns further to
/// the right than it begins; the branches of a tree go on beside it.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        fit_line(line, width, &mut fitted);
        fitted.push_str(end);
    }
    fitted
}

fn fit_line(line: &str, width: usize, fitted: &mut String) {
    let content = line.trim_start_matches(is_margin);
    let margin = &line[..line.len() - content.len()];
    let next: String = margin.chars().map(below).chain("  ".chars()).collect();
    let start = margin.chars().count() + MORE;
    let mut column = margin.chars().count();
    fitted.push_str(margin);
    for part in content.split_inclusive([' ', ',']) {
        let wide = part.trim_end_matches(' ').chars().count();
        if column > start && column + wide > width {
            let kept = fitted.trim_end_matches(' ').len();
            fitted.truncate(kept);
            fitted.push('\n');
            fitted.push_str(&next);
            column = start;
        }
        // A line does not begin with the space after a comma.
        if part != " " || column > start {
            fitted.push_str(part);
            column += part.chars().count();
        }
    }
}

/// How much further to the right a line goes on.
const MORE: usize = 2;

/// Whether a character is part of the left margin: a space, or a branch of a tree.
fn is_margin(c: char) -> bool {
    matches!(c, ' ' | '│' | '├' | '└')
}

/// What is below a character of the margin.
fn below(c: char) -> char {
    match c {
        '│' | '├' => '│',
        _ => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_broken() {
        let text = "a\n  keeps aaa, bbb, ccc,ddd\n\n  eeeeeeeeeeeeeeee f\n";
        let expect = "a\n  keeps aaa,\n    bbb,\n    ccc,ddd\n\n  eeeeeeeeeeeeeeee\n    f\n";
        assert_eq!(fit(text, 12), expect);
        assert_eq!(fit(text, 100), text);
        // Nothing is lost, whatever the width.
        let words = |text: &str| text.replace(|c: char| c.is_whitespace(), "");
        for width in 0..40 {
            assert_eq!(words(&fit(text, width)), words(text));
        }
    }

    #[test]
    fn the_branches_of_a_tree_go_on() {
        let text = "├ one two three\n│ └ four five six\n└ seven eight\n";
        let expect = "├ one two\n│   three\n│ └ four\n│     five\n│     six\n└ seven\n    eight\n";
        assert_eq!(fit(text, 10), expect);
    }
}
