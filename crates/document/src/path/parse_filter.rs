//! Parsing of filters.

use super::Root;
use super::cursor::{Cursor, error_at, is_blank};
use super::error::PathError;
use super::filter::{Comparison, Condition, Filter, Operand, Query};
use super::pattern::{Extent, Pattern};
use crate::value::Value;

/// A term, before the parser knows whether it is a condition or one side of a comparison.
enum Term {
    /// It can only be compared.
    Operand(Operand),
    /// It can be tested, and compared if it matches at most one place.
    Query(Query),
    /// It can only be tested.
    Test(Condition),
}

impl Term {
    /// This term, which begins at `start`, as one side of a comparison.
    fn into_operand(self, start: usize) -> Result<Operand, PathError> {
        match self {
            Self::Operand(operand) => Ok(operand),
            Self::Query(query) if query.is_singular() => Ok(Operand::Query(query)),
            Self::Query(_) => Err(error_at(
                start,
                "found a path that may match several places, expected one that matches at most one",
            )),
            Self::Test(_) => Err(error_at(start, "found a condition, expected a value")),
        }
    }

    /// This term, which begins at `start`, as a condition of its own.
    fn into_test(self, start: usize) -> Result<Condition, PathError> {
        match self {
            Self::Query(query) => Ok(Condition::Exists(query)),
            Self::Test(condition) => Ok(condition),
            Self::Operand(_) => Err(error_at(
                start,
                "found a value that is compared with nothing, expected a condition",
            )),
        }
    }
}

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Cursor<'_> {
    /// The condition after a `?`.
    pub(super) fn filter(&mut self) -> Result<Filter, PathError> {
        let outer = std::mem::replace(&mut self.in_filter, true);
        self.enter()?;
        self.blank();
        let condition = self.any_of()?;
        self.leave(1);
        self.in_filter = outer;
        Ok(Filter(Box::new(condition)))
    }

    fn any_of(&mut self) -> Result<Condition, PathError> {
        self.chain("||", Self::all_of, Condition::Any)
    }

    fn all_of(&mut self) -> Result<Condition, PathError> {
        self.chain("&&", Self::basic, Condition::All)
    }

    /// Conditions joined by `&&` or `||`. A single one stays as it is.
    fn chain(
        &mut self,
        operator: &str,
        part: fn(&mut Self) -> Result<Condition, PathError>,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Result<Condition, PathError> {
        let first = part(self)?;
        let mut more = Vec::new();
        loop {
            self.blank();
            if !self.eat(operator) {
                break;
            }
            self.blank();
            more.push(part(self)?);
        }
        if more.is_empty() {
            return Ok(first);
        }
        more.insert(0, first);
        Ok(join(more))
    }

    /// A condition without `&&` and `||` outside of parentheses.
    fn basic(&mut self) -> Result<Condition, PathError> {
        if self.eat("!") {
            self.blank();
            return self
                .group_or_test()
                .map(|condition| Condition::Not(Box::new(condition)));
        }
        if self.peek() == Some('(') {
            return self.group();
        }
        let start = self.at();
        let term = self.term()?;
        self.blank();
        self.after_term(start, term)
    }

    fn group(&mut self) -> Result<Condition, PathError> {
        self.enter()?;
        self.expect("(", "`(`")?;
        self.blank();
        let condition = self.any_of()?;
        self.blank();
        self.expect(")", "`)`, `&&` or `||`")?;
        self.leave(1);
        Ok(condition)
    }

    /// The operand of `!`.
    fn group_or_test(&mut self) -> Result<Condition, PathError> {
        if self.peek() == Some('(') {
            return self.group();
        }
        let start = self.at();
        let term = self.term()?;
        self.blank();
        if self.at_operator() {
            return Err(self.unexpected("parentheses around the comparison after `!`"));
        }
        term.into_test(start)
    }

    fn at_operator(&self) -> bool {
        let operators = COMPARISONS.iter().map(|(token, _)| *token);
        operators
            .chain(["=~"])
            .any(|token| self.rest().starts_with(token))
            || self.at_in()
    }

    fn at_in(&self) -> bool {
        self.rest()
            .strip_prefix("in")
            .is_some_and(|rest| rest.starts_with('[') || rest.starts_with(is_blank))
    }

    /// A comparison, if the term is followed by one; otherwise a test.
    fn after_term(&mut self, start: usize, term: Term) -> Result<Condition, PathError> {
        if self.eat("=~") {
            let left = term.into_operand(start)?;
            self.blank();
            return Ok(Condition::Matches(left, self.pattern_literal()?));
        }
        if self.at_in() {
            let left = term.into_operand(start)?;
            self.eat("in");
            self.blank();
            return Ok(Condition::In(left, self.operand_list()?));
        }
        let found = COMPARISONS.iter().find(|(token, _)| self.eat(token));
        let Some((_, comparison)) = found else {
            if self.peek() == Some('=') {
                return Err(self.unexpected("`==` or `=~`"));
            }
            return term.into_test(start);
        };
        let left = term.into_operand(start)?;
        self.blank();
        let right = self.operand()?;
        Ok(Condition::Compare(left, *comparison, right))
    }

    /// `[a, b, …]`, which may be empty.
    fn operand_list(&mut self) -> Result<Vec<Operand>, PathError> {
        self.expect("[", "`[`")?;
        let mut operands = Vec::new();
        self.blank();
        if self.eat("]") {
            return Ok(operands);
        }
        loop {
            self.blank();
            operands.push(self.operand()?);
            self.blank();
            if self.eat("]") {
                return Ok(operands);
            }
            self.expect(",", "`,` or `]`")?;
        }
    }

    fn operand(&mut self) -> Result<Operand, PathError> {
        let start = self.at();
        let term = self.term()?;
        term.into_operand(start)
    }

    fn term(&mut self) -> Result<Term, PathError> {
        match self.peek() {
            Some('@' | '$') => self.query().map(Term::Query),
            Some('\'' | '"') => Ok(literal(self.string()?)),
            Some('0'..='9' | '-') => Ok(literal(self.number()?)),
            Some('a'..='z' | 'A'..='Z') => self.word(),
            _ => Err(self.unexpected("`@`, `$`, a literal, a function, `(` or `!`")),
        }
    }

    fn query(&mut self) -> Result<Query, PathError> {
        let start = self.at();
        if self.eat("@") {
            let path = self.path_from(Root::Document, start)?;
            return Ok(Query::Element(path.segments));
        }
        self.expect("$", "`@` or `$`")?;
        if self.peek() == Some('$') {
            let message =
                "found `$$` in a filter, expected `$` (the document) or `@` (the element)";
            return Err(error_at(start, message));
        }
        self.path_from(Root::Document, start).map(Query::Document)
    }

    /// `true`, `false`, `null` or a function.
    fn word(&mut self) -> Result<Term, PathError> {
        let start = self.at();
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.peek() == Some('(') {
            return self.function(start, word);
        }
        match word {
            "true" => Ok(literal(true)),
            "false" => Ok(literal(false)),
            "null" => Ok(literal(Value::NULL)),
            _ => Err(error_at(
                start,
                format!("found `{word}`, expected `true`, `false`, `null` or a function"),
            )),
        }
    }

    fn function(&mut self, start: usize, name: &str) -> Result<Term, PathError> {
        self.enter()?;
        self.expect("(", "`(`")?;
        self.blank();
        let term = match name {
            "length" => Term::Operand(Operand::Length(Box::new(self.operand()?))),
            "count" => Term::Operand(Operand::Count(self.query()?)),
            "value" => Term::Operand(Operand::Value(self.query()?)),
            "match" => Term::Test(self.match_arguments(Extent::Whole)?),
            "search" => Term::Test(self.match_arguments(Extent::Part)?),
            _ => {
                let message = format!(
                    "found the function `{name}`, expected length, count, value, match or search"
                );
                return Err(error_at(start, message));
            }
        };
        self.blank();
        self.expect(")", "`)`")?;
        self.leave(1);
        Ok(term)
    }

    /// `text, pattern`
    fn match_arguments(&mut self, extent: Extent) -> Result<Condition, PathError> {
        let text = self.operand()?;
        self.blank();
        self.expect(",", "`,`")?;
        self.blank();
        let start = self.at();
        match self.operand()? {
            Operand::Literal(pattern) => {
                let source = pattern.as_str().ok_or_else(|| {
                    error_at(
                        start,
                        "found a literal that is not a string, expected a pattern",
                    )
                })?;
                let pattern = self.compile(start, source, extent, false)?;
                Ok(Condition::Matches(text, pattern))
            }
            pattern => Ok(Condition::MatchesComputed(text, pattern, extent)),
        }
    }

    /// `/re/` or `/re/i`. A slash in the pattern is written `\/`.
    fn pattern_literal(&mut self) -> Result<Pattern, PathError> {
        let start = self.at();
        self.expect("/", "a pattern between slashes")?;
        let mut source = String::new();
        loop {
            match self.next() {
                None => {
                    let message = "found a pattern without an end, expected a closing `/`";
                    return Err(error_at(start, message));
                }
                Some('/') => break,
                Some('\\') if self.eat("/") => source.push('/'),
                Some('\\') => {
                    source.push('\\');
                    source.extend(self.next());
                }
                Some(c) => source.push(c),
            }
        }
        let ignore_case = self.eat("i");
        if self.peek().is_some_and(char::is_alphanumeric) {
            return Err(self.unexpected("no flag but `i` after the pattern"));
        }
        self.compile(start, &source, Extent::Part, ignore_case)
    }

    fn compile(
        &mut self,
        start: usize,
        source: &str,
        extent: Extent,
        ignore_case: bool,
    ) -> Result<Pattern, PathError> {
        self.count_pattern()?;
        Pattern::new(source, extent, ignore_case).map_err(|reason| {
            let message =
                format!("found an invalid regular expression ({reason}), expected a valid one");
            error_at(start, message)
        })
    }
}

fn literal(value: impl Into<Value>) -> Term {
    Term::Operand(Operand::Literal(value.into()))
}
