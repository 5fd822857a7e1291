//! Reads metrics in the text format of Prometheus and `OpenMetrics`. A line that is not in this
//! format is an error: numbers of half an answer would be wrong.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// The labels of a series, by name. A process may have 100,000 series, so this is small.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels(Vec<(String, String)>);

impl Labels {
    /// The value of a label.
    pub(crate) fn get(&self, name: &str) -> Option<&String> {
        let mut labels = self.0.iter();
        labels.find_map(|(found, value)| (found == name).then_some(value))
    }

    /// Adds a label. Returns false if there is one of this name.
    fn add(&mut self, name: String, value: String) -> bool {
        let at = self.0.binary_search_by(|(other, _)| other.cmp(&name));
        at.map_err(|at| self.0.insert(at, (name, value))).is_err()
    }
}

/// The series of a metric, with their values.
pub(crate) type Samples = BTreeMap<Labels, f64>;

/// All metrics at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scrape(BTreeMap<String, Samples>);

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("line {line} of the metrics is not in the text format: {why}")]
    Line { line: usize, why: &'static str },
    #[error("the metrics are cut off: there is no line # EOF at their end")]
    CutOff,
}

impl Scrape {
    /// Reads a text, which ends with `# EOF`.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        let mut scrape = Self::default();
        let mut ended = false;
        for (number, line) in text.lines().enumerate() {
            let at = |why| ParseError::Line {
                line: number + 1,
                why,
            };
            if ended {
                return Err(at("nothing may follow # EOF"));
            }
            if line == "# EOF" {
                ended = true;
            } else if !line.is_empty() && !line.starts_with('#') {
                scrape.add(line).map_err(at)?;
            }
        }
        if ended {
            Ok(scrape)
        } else {
            Err(ParseError::CutOff)
        }
    }

    /// Adds a line such as `name{label="value"} 1 1700000000 # {trace_id="x"} 0.5`.
    fn add(&mut self, line: &str) -> Result<(), &'static str> {
        let mut rest = line.chars().peekable();
        let name = name(&mut rest, true)?;
        let labels = if rest.peek() == Some(&'{') {
            labels(&mut rest)?
        } else {
            Labels::default()
        };
        let value = number(&mut rest)?;
        let rest: String = rest.collect();
        let (time, exemplar) = rest.split_once(" # ").unwrap_or((&rest, "{} 0"));
        if !time.trim().is_empty() {
            number(&mut time.chars().peekable())?;
        }
        let mut exemplar = exemplar.chars().peekable();
        labels_of_exemplar(&mut exemplar)?;
        match self.0.entry(name).or_default().insert(labels, value) {
            None => Ok(()),
            Some(_) => Err("the series occurs twice"),
        }
    }

    /// The series of a metric.
    pub(crate) fn samples<'a>(
        &'a self,
        name: &str,
    ) -> impl Iterator<Item = (&'a Labels, f64)> + use<'a> {
        let samples = self.0.get(name).into_iter().flatten();
        samples.map(|(labels, value)| (labels, *value))
    }

    /// The value of one series.
    pub(crate) fn value(&self, name: &str, labels: &Labels) -> Option<f64> {
        self.0.get(name)?.get(labels).copied()
    }
}

/// The name of a metric, or of a label, which has no colons.
fn name(rest: &mut Peekable<Chars<'_>>, colons: bool) -> Result<String, &'static str> {
    let mut name = String::new();
    while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || "_:".contains(*c)) {
        name.push(c);
    }
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || !starts_well || (name.contains(':') && !colons) {
        return Err("expected a name");
    }
    Ok(name)
}

/// Labels in braces.
fn labels(rest: &mut Peekable<Chars<'_>>) -> Result<Labels, &'static str> {
    let mut labels = Labels::default();
    rest.next();
    while rest.next_if_eq(&'}').is_none() {
        let name = name(rest, false)?;
        if rest.next() != Some('=') || rest.next() != Some('"') {
            return Err("expected =\" after the name of a label");
        }
        if !labels.add(name, quoted(rest)?) {
            return Err("a label occurs twice");
        }
        match rest.peek() {
            Some(',') => drop(rest.next()),
            Some('}') => {}
            _ => return Err("expected , or } after a label"),
        }
    }
    Ok(labels)
}

/// The value of a label, after its first quote.
fn quoted(rest: &mut Peekable<Chars<'_>>) -> Result<String, &'static str> {
    let mut text = String::new();
    loop {
        match rest.next() {
            Some('"') => return Ok(text),
            Some('\\') => text.push(match rest.next() {
                Some('n') => '\n',
                Some(c @ ('\\' | '"')) => c,
                _ => return Err("unknown escape in the value of a label"),
            }),
            Some(c) => text.push(c),
            None => return Err("the value of a label has no end"),
        }
    }
}

fn labels_of_exemplar(rest: &mut Peekable<Chars<'_>>) -> Result<(), &'static str> {
    if rest.peek() != Some(&'{') {
        return Err("expected the labels of an exemplar");
    }
    labels(rest)?;
    number(rest).map(drop)
}

/// A number after a space.
fn number(rest: &mut Peekable<Chars<'_>>) -> Result<f64, &'static str> {
    const EXPECTED: &str = "expected a number";
    let mut spaces = 0;
    while rest.next_if_eq(&' ').is_some() {
        spaces += 1;
    }
    let mut text = String::new();
    while let Some(c) = rest.next_if(|c| *c != ' ') {
        text.push(c);
    }
    let value = match text.as_str() {
        "NaN" => f64::NAN,
        "+Inf" | "Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        // Rust reads further spellings of infinity.
        other if other.contains(|c: char| c.is_alphabetic() && !"eE".contains(c)) => {
            return Err(EXPECTED);
        }
        other => other.parse().map_err(|_| EXPECTED)?,
    };
    if spaces == 0 {
        return Err("expected a space before a number");
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let mut labels = Labels::default();
        for (name, value) in pairs {
            assert!(labels.add((*name).to_owned(), (*value).to_owned()));
        }
        labels
    }

    #[test]
    fn samples_are_read() {
        let text = "# HELP a_total Some help.\n# TYPE a_total counter\n\
            a_total{x=\"1\",y=\"a \\\"b\\\" \\\\ \\n}\"} 12.5\n\
            a_total{x=\"2\",} 1e3 1700000000.5 # {trace=\"t\"} 0.25 1700000000\n\
            b +Inf\nc:d NaN\n# EOF\n";
        let scrape = Scrape::parse(text).unwrap();
        let first = labels(&[("x", "1"), ("y", "a \"b\" \\ \n}")]);
        assert_eq!(scrape.value("a_total", &first), Some(12.5));
        let second = labels(&[("x", "2")]);
        assert_eq!(scrape.value("a_total", &second), Some(1000.0));
        assert_eq!(scrape.value("b", &Labels::default()), Some(f64::INFINITY));
        assert!(scrape.value("c:d", &Labels::default()).unwrap().is_nan());
        assert_eq!(scrape.samples("none").count(), 0);
    }

    #[test]
    fn what_deltic_serves_is_read() {
        let metrics = metrics::Metrics::default();
        metrics.controller("op", "c").source("Pod", 7, true);
        let scrape = Scrape::parse(&metrics.encode()).unwrap();
        let source = labels(&[("operator", "op"), ("controller", "c"), ("source", "Pod")]);
        assert_eq!(scrape.value("deltic_source_objects", &source), Some(7.0));
    }

    #[test]
    fn other_text_is_refused() {
        for (line, expect) in [
            ("<html>", "expected a name"),
            ("1a 1", "expected a name"),
            ("a", "expected a number"),
            ("a ", "expected a number"),
            ("a x", "expected a number"),
            ("a infinity", "expected a number"),
            ("a{} 1 x", "expected a number"),
            ("a{}1", "expected a space before a number"),
            ("a{b:c=\"1\"} 1", "expected a name"),
            ("a{b='1'} 1", "expected =\" after the name of a label"),
            ("a{b=\"1\"c=\"2\"} 1", "expected , or } after a label"),
            ("a{b=\"1\",b=\"2\"} 1", "a label occurs twice"),
            ("a{b=\"1", "the value of a label has no end"),
            ("a{b=\"\\x\"} 1", "unknown escape in the value of a label"),
            ("a{", "expected a name"),
            ("a 1 # x", "expected the labels of an exemplar"),
            ("a 1 # {} y", "expected a number"),
            ("a 1\na 2", "the series occurs twice"),
            ("# EOF\na 1", "nothing may follow # EOF"),
        ] {
            let error = Scrape::parse(&format!("{line}\n# EOF\n")).unwrap_err();
            let found = error.to_string();
            assert!(found.ends_with(expect), "{line}: {found}");
        }
        assert_eq!(Scrape::parse("a 1\n"), Err(ParseError::CutOff));
        assert_eq!(Scrape::parse(""), Err(ParseError::CutOff));
    }
}
