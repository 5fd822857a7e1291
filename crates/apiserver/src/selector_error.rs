//! What is wrong with a label selector, in the words of kube-apiserver.
//!
//! [`LabelSelector::from_query`](object::LabelSelector::from_query) decides whether a selector is
//! valid. For one that is not, this module finds the message that clients know, by reading it
//! the way kube-apiserver does.

use std::collections::BTreeSet;

use document::Value;

use crate::names;

/// A part of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(text) => text,
            Self::Symbol(text) => text,
            Self::End => "",
        }
    }

    fn is(&self, symbol: &str) -> bool {
        *self != Self::End && self.text() == symbol
    }

    fn ends_requirement(&self) -> bool {
        matches!(self, Self::End | Self::Symbol(","))
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ">", "<", ","];

/// The message for a selector that is not valid.
pub(crate) fn message(text: &str) -> String {
    let mut tokens = Tokens {
        all: tokens(text),
        at: 0,
    };
    let found = tokens.selector();
    found.unwrap_or_else(|| format!("unable to parse requirement: {text:?} is not a selector"))
}

fn tokens(mut text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    loop {
        text = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if text.is_empty() {
            tokens.push(Token::End);
            return tokens;
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            text = &text[symbol.len()..];
            continue;
        }
        let special = |c: char| " \t\r\n=!()<>,".contains(c);
        let (word, rest) = text.split_at(text.find(special).unwrap_or(text.len()));
        tokens.push(Token::Word(word.to_owned()));
        text = rest;
    }
}

struct Tokens {
    all: Vec<Token>,
    at: usize,
}

impl Tokens {
    fn peek(&self) -> Token {
        self.all.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// The first mistake; `None` if there is none.
    fn selector(&mut self) -> Option<String> {
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                Token::End => return None,
                Token::Symbol(text) => {
                    return Some(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            if let Err(wrong) = self.requirement() {
                return Some(format!("unable to parse requirement: {wrong}"));
            }
            match self.next() {
                Token::End => return None,
                Token::Symbol(",") => match self.peek() {
                    Token::Word(_) | Token::Symbol("!") => {}
                    other => {
                        let text = other.text();
                        return Some(format!("found '{text}', expected: identifier after ','"));
                    }
                },
                other => {
                    let text = other.text();
                    return Some(format!("found '{text}', expected: ',' or 'end of string'"));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<(), String> {
        let mut token = self.next();
        let negated = token.is("!");
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        let wrong = names::label_key(&key);
        if !wrong.is_empty() {
            return Err(invalid("<nil>", &key, &wrong));
        }
        if negated || self.peek().ends_requirement() {
            return Ok(());
        }
        let operator = self.next();
        let values = match operator.text() {
            "in" | "notin" => self.values()?,
            "=" | "==" | "!=" | ">" | "<" => self.value()?,
            other => {
                return Err(format!(
                    "found '{other}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        check(&key, operator.text(), &values)
    }

    fn value(&mut self) -> Result<BTreeSet<String>, String> {
        if self.peek().ends_requirement() {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            Token::Word(word) => Ok(BTreeSet::from([word])),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if !open.is("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.insert(word);
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => break,
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || self.peek().is(",") || self.peek().is(")") {
                        values.insert(String::new());
                    }
                    if self.peek().is(")") {
                        break;
                    }
                }
                Token::Symbol(")") if values.is_empty() => {
                    return Ok(BTreeSet::from([String::new()]));
                }
                other => {
                    let text = other.text();
                    return Err(if values.is_empty() {
                        format!("found '{text}', expected: ',', ')' or identifier")
                    } else {
                        format!("found '{text}', expected: ',', or identifier")
                    });
                }
            }
        }
        self.next();
        Ok(values)
    }
}

/// Checks the values of a requirement.
fn check(key: &str, operator: &str, values: &BTreeSet<String>) -> Result<(), String> {
    let mut causes = Vec::new();
    for (i, value) in values.iter().enumerate() {
        if matches!(operator, ">" | "<") && value.parse::<i64>().is_err() {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer".to_owned();
            causes.push(invalid(&format!("values[{i}]"), value, &[why]));
        }
    }
    for (i, value) in values.iter().enumerate() {
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            causes.push(invalid(&format!("values[{i}][{key}]"), value, &wrong));
        }
    }
    match causes.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn invalid(path: &str, value: &str, wrong: &[String]) -> String {
    let value = Value::from(value);
    format!("{path}: Invalid value: {value}: {}", wrong.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_kubernetes() {
        for (text, expect) in [
            (
                "a in",
                "unable to parse requirement: found '' expected: '('",
            ),
            (
                "=b",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                "a=!",
                "unable to parse requirement: found '!', expected: identifier",
            ),
            ("a=b,", "found '', expected: identifier after ','"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' \
                 operators, the value must be an integer",
            ),
        ] {
            assert_eq!(message(text), expect, "{text}");
            assert!(object::LabelSelector::from_query(text).is_err() || text == "a=b,");
        }
        assert!(message("_a").contains("<nil>: Invalid value: \"_a\": name part must"));
        assert!(message("a=-").contains("values[0][a]: Invalid value: \"-\": a valid label"));
    }
}
