//! Reads the part of `PromQL` that alerts and dashboards use, and finds the labels of the result.
//!
//! A query is wrong if it names a metric that does not exist, or a label that its operand does not
//! have: `sum by (operatr) (deltic_orphans)` is legal `PromQL`, and silently gives one series.

use std::collections::{BTreeMap, BTreeSet};

use crate::token::{Token, tokens};

/// The labels of a result.
pub(crate) type Labels = BTreeSet<String>;

/// The labels of each series.
pub(crate) type Series = BTreeMap<String, Labels>;

/// The labels that Prometheus adds to everything that it scrapes.
pub(crate) const SCRAPED: [&str; 4] = ["instance", "job", "namespace", "pod"];

const AGGREGATIONS: [&str; 5] = ["avg", "count", "max", "min", "sum"];
const FUNCTIONS: [&str; 6] = [
    "absent",
    "clamp_min",
    "histogram_quantile",
    "increase",
    "rate",
    "vector",
];
const OPERATORS: [&str; 14] = [
    "+", "-", "*", "/", "%", "^", "==", "!=", ">", "<", ">=", "<=", "and", "or",
];

/// The labels of the result of a query, or what is wrong with it.
pub(crate) fn labels(query: &str, series: &Series) -> Result<Labels, String> {
    let mut reader = Reader {
        tokens: tokens(query)?,
        at: 0,
        series,
    };
    let labels = reader.expression()?;
    match reader.peek() {
        None => Ok(labels),
        Some(token) => Err(format!("unexpected {token}")),
    }
}

struct Reader<'a> {
    tokens: Vec<Token>,
    at: usize,
    series: &'a Series,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Result<Token, String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token.ok_or_else(|| "unexpected end".to_owned())
    }

    fn is(&self, text: &str) -> bool {
        self.peek().is_some_and(|token| token.is(text))
    }

    /// Skips a token if it is this one.
    fn skip(&mut self, text: &str) -> bool {
        let found = self.is(text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.skip(text) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), Token::to_string);
        Err(format!("expected {text}, found {found}"))
    }

    fn expression(&mut self) -> Result<Labels, String> {
        let left = self.operand()?;
        while OPERATORS.iter().any(|operator| self.is(operator)) {
            self.next()?;
            let on = if self.skip("on") {
                self.names()?
            } else {
                Vec::new()
            };
            let right = self.operand()?;
            for name in on {
                has(&left, &name)?;
                has(&right, &name)?;
            }
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Labels, String> {
        match self.next()? {
            Token::Number => Ok(Labels::new()),
            Token::Sign("(") => {
                let labels = self.expression()?;
                self.expect(")")?;
                Ok(labels)
            }
            Token::Word(word) if AGGREGATIONS.contains(&word.as_str()) => self.aggregation(),
            Token::Word(word) if word == "label_values" => self.label_values(),
            Token::Word(word) if self.is("(") => self.call(&word),
            Token::Word(word) => self.selector(&word),
            token => Err(format!("unexpected {token}")),
        }
    }

    /// `by (a, b) (…)`, or only `(…)`.
    fn aggregation(&mut self) -> Result<Labels, String> {
        let by = if self.skip("by") {
            self.names()?
        } else {
            Vec::new()
        };
        let of = self.arguments()?.pop().unwrap_or_default();
        for name in &by {
            has(&of, name)?;
        }
        Ok(by.into_iter().collect())
    }

    /// `label_values(metric, label)`, of Grafana.
    fn label_values(&mut self) -> Result<Labels, String> {
        self.expect("(")?;
        let of = self.expression()?;
        self.expect(",")?;
        let label = self.word()?;
        self.expect(")")?;
        has(&of, &label)?;
        Ok([label].into())
    }

    fn call(&mut self, name: &str) -> Result<Labels, String> {
        if !FUNCTIONS.contains(&name) {
            return Err(format!("unknown function {name}"));
        }
        let mut of = self.arguments()?.pop().unwrap_or_default();
        if name == "histogram_quantile" {
            has(&of, "le")?;
            of.remove("le");
        }
        if name == "absent" {
            of.clear();
        }
        Ok(of)
    }

    fn arguments(&mut self) -> Result<Vec<Labels>, String> {
        self.expect("(")?;
        let mut arguments = vec![self.expression()?];
        while self.skip(",") {
            arguments.push(self.expression()?);
        }
        self.expect(")")?;
        Ok(arguments)
    }

    /// A metric with its matchers and its range.
    fn selector(&mut self, metric: &str) -> Result<Labels, String> {
        let known = self.series.get(metric);
        let labels = known.ok_or_else(|| format!("no metric {metric}"))?.clone();
        if self.skip("{") {
            while !self.skip("}") {
                let label = self.word()?;
                has(&labels, &label).map_err(|error| format!("{error} of {metric}"))?;
                let matches = ["=", "=~", "!=", "!~"].iter().any(|sign| self.skip(sign));
                if !matches || self.next()? != Token::Text {
                    return Err(format!("bad matcher for {label}"));
                }
                self.skip(",");
            }
        }
        self.skip("[]");
        Ok(labels)
    }

    /// A list of labels in parentheses.
    fn names(&mut self) -> Result<Vec<String>, String> {
        self.expect("(")?;
        let mut names = vec![self.word()?];
        while self.skip(",") {
            names.push(self.word()?);
        }
        self.expect(")")?;
        Ok(names)
    }

    fn word(&mut self) -> Result<String, String> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            token => Err(format!("expected a name, found {token}")),
        }
    }
}

fn has(labels: &Labels, name: &str) -> Result<(), String> {
    if labels.contains(name) {
        return Ok(());
    }
    Err(format!("no label {name} among {labels:?}"))
}
