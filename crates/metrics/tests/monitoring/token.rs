//! The tokens of a query.

use std::fmt;

/// A token. Texts and numbers are all alike here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    Text,
    Number,
    Sign(&'static str),
}

/// The longer ones first. `[]` is a range, whatever it contains.
const SIGNS: [&str; 20] = [
    "=~", "!~", "==", "!=", ">=", "<=", "=", ">", "<", "+", "-", "*", "/", "%", "^", "(", ")", "{",
    "}", ",",
];

impl Token {
    pub(crate) fn is(&self, text: &str) -> bool {
        match self {
            Self::Word(word) => word == text,
            Self::Sign(sign) => *sign == text,
            Self::Text | Self::Number => false,
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Sign(sign) => f.write_str(sign),
            Self::Text => f.write_str("a text"),
            Self::Number => f.write_str("a number"),
        }
    }
}

/// The tokens of a query.
pub(crate) fn tokens(query: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = token(first, rest)?;
        found.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

/// The first token of a text, and its length.
fn token(first: char, rest: &str) -> Result<(Token, usize), String> {
    let until = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    match first {
        '"' => {
            let end = rest[1..].find('"').ok_or("a text does not end")?;
            Ok((Token::Text, end + 2))
        }
        '[' => {
            let end = rest.find(']').ok_or("a range does not end")?;
            Ok((Token::Sign("[]"), end + 1))
        }
        '0'..='9' => Ok((Token::Number, until(|c| c.is_ascii_digit() || c == '.'))),
        _ if is_word(first) => {
            let end = until(is_word);
            Ok((Token::Word(rest[..end].to_owned()), end))
        }
        _ => {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| format!("unexpected {first}"))?;
            Ok((Token::Sign(sign), sign.len()))
        }
    }
}
