//! Query strings of label selectors, in the syntax of the API server.
//!
//! ```text
//! app=web,tier in (a,b),zone!=z,!old,replicas>3
//! ```

use document::{Key, Map, Value, json};

use super::{Requirement, SelectorError, label_text};

/// Reads a query string into the map form of a selector.
pub(super) fn read(text: &str) -> Result<Value, SelectorError> {
    let mut scanner = Scanner { text, at: 0 };
    let mut expressions = Vec::new();
    let mut labels = Vec::new();
    scanner.space();
    while !scanner.is_done() {
        match scanner.requirement()? {
            Term::Equals(key, value) if !has(&labels, &key) => {
                labels.push((Key::new(&key), Value::from(value)));
            }
            // A second value for the same label: both requirements must hold.
            Term::Equals(key, value) => expressions.push(expression(&key, "In", &[value])),
            Term::Expression(expression) => expressions.push(expression),
        }
        scanner.space();
        if !scanner.is_done() {
            scanner.expect(',', "expected a comma or the end")?;
            scanner.space();
        }
    }
    Ok(json!({
        "matchLabels": (Map::from_entries(labels)),
        "matchExpressions": expressions,
    }))
}

fn has(labels: &[(Key, Value)], key: &str) -> bool {
    labels.iter().any(|(label, _)| label.as_str() == key)
}

/// Whether the key and values of a requirement are valid label names and values.
pub(super) fn is_valid(requirement: Requirement<'_>) -> bool {
    let all = |values: &Value| {
        let mut values = values.as_list().into_iter().flatten();
        values.all(|value| is_label_value(&label_text(value)))
    };
    match requirement {
        Requirement::Equals(key, value) => is_label_key(key) && is_label_value(&label_text(value)),
        Requirement::In(key, values) | Requirement::NotIn(key, values) => {
            is_label_key(key) && all(values)
        }
        Requirement::Exists(key)
        | Requirement::DoesNotExist(key)
        | Requirement::Greater(key, _)
        | Requirement::Less(key, _) => is_label_key(key),
    }
}

/// Whether a text is `[prefix/]name`, with a prefix of lower-case letters, digits, `-` and `.`.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_prefix = |prefix: &str| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
        !prefix.is_empty() && prefix.len() <= 253 && prefix.bytes().all(plain)
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_prefix)
}

/// Whether a text is empty, or at most 63 letters, digits, `-`, `_` and `.` that begin and end with
/// a letter or digit.
fn is_label_value(value: &str) -> bool {
    let ends_plain = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
    bytes.len() <= 63
        && bytes.iter().all(plain)
        && ends_plain(bytes.first())
        && ends_plain(bytes.last())
}

enum Term {
    Equals(String, String),
    Expression(Value),
}

fn expression(key: &str, operator: &str, values: &[String]) -> Value {
    let values: Vec<Value> = values.iter().map(|value| value.as_str().into()).collect();
    json!({"key": key, "operator": operator, "values": values})
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn is_done(&self) -> bool {
        self.rest().is_empty()
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, why: &'static str) -> SelectorError {
        SelectorError::Query { at: self.at, why }
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: char, why: &'static str) -> Result<(), SelectorError> {
        let found = self.rest().starts_with(token);
        if !found {
            return Err(self.error(why));
        }
        self.at += token.len_utf8();
        Ok(())
    }

    /// Reads the characters up to the next special one.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let special = |c: char| c.is_whitespace() || "=!<>(),".contains(c);
        let word = &rest[..rest.find(special).unwrap_or(rest.len())];
        let word = word.to_owned();
        self.at += word.len();
        word
    }

    fn key(&mut self) -> Result<String, SelectorError> {
        let at = self.at;
        let key = self.word();
        if is_label_key(&key) {
            return Ok(key);
        }
        let why = "expected the name of a label";
        Err(SelectorError::Query { at, why })
    }

    fn value(&mut self) -> Result<String, SelectorError> {
        self.space();
        let at = self.at;
        let value = self.word();
        if is_label_value(&value) {
            return Ok(value);
        }
        let why = "expected the value of a label";
        Err(SelectorError::Query { at, why })
    }

    fn requirement(&mut self) -> Result<Term, SelectorError> {
        if self.take("!") {
            self.space();
            return Ok(Term::Expression(expression(
                &self.key()?,
                "DoesNotExist",
                &[],
            )));
        }
        let key = self.key()?;
        self.space();
        if self.take("!=") {
            return Ok(Term::Expression(expression(
                &key,
                "NotIn",
                &[self.value()?],
            )));
        }
        if self.take("==") || self.take("=") {
            return Ok(Term::Equals(key, self.value()?));
        }
        for (token, operator) in [(">", "Gt"), ("<", "Lt")] {
            if self.take(token) {
                return self.bound(&key, operator);
            }
        }
        if self.is_done() || self.rest().starts_with(',') {
            return Ok(Term::Expression(expression(&key, "Exists", &[])));
        }
        let at = self.at;
        let operator = match self.word().as_str() {
            "in" => "In",
            "notin" => "NotIn",
            _ => {
                let why = "expected =, ==, !=, <, >, in, notin or a comma";
                return Err(SelectorError::Query { at, why });
            }
        };
        Ok(Term::Expression(expression(
            &key,
            operator,
            &self.values()?,
        )))
    }

    fn bound(&mut self, key: &str, operator: &str) -> Result<Term, SelectorError> {
        let at = self.at;
        let why = "expected an integer";
        let bound = self.value()?.parse::<i64>();
        let bound = bound.map_err(|_| SelectorError::Query { at, why })?;
        Ok(Term::Expression(
            json!({"key": key, "operator": operator, "values": [bound]}),
        ))
    }

    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        self.space();
        self.expect('(', "expected a list of values in parentheses")?;
        let mut values = vec![self.value()?];
        loop {
            self.space();
            if self.take(")") {
                return Ok(values);
            }
            self.expect(',', "expected a comma or a closing parenthesis")?;
            values.push(self.value()?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LabelSelector;
    use document::json;

    fn check(query: &str, printed: &str) {
        let selector = LabelSelector::from_query(query);
        let selector = selector.unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(selector.to_string(), printed, "{query}");
        let again = LabelSelector::from_query(printed).unwrap();
        assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn queries_are_read_as_by_the_api_server() {
        check("", "");
        check(" app = web , tier==a ", "app=web,tier=a");
        check("a in (x, y),b notin (z)", "a in (x,y),b notin (z)");
        check("a,!b, ! c", "a,!b,!c");
        check("a!=b", "a notin (b)");
        check("app.kubernetes.io/name=web", "app.kubernetes.io/name=web");
        check("a=", "a=");
        check("n>3,m<5", "n>3,m<5");
        check("a=1,a=2", "a=1,a in (2)");
    }

    #[test]
    fn a_contradiction_matches_nothing() {
        let selector = LabelSelector::from_query("a=1,a=2").unwrap();
        assert!(!selector.matches(&json!({"a": "1"})));
    }

    #[test]
    fn numbers_compare_as_numbers() {
        let selector = LabelSelector::from_query("n>3").unwrap();
        assert!(selector.matches(&json!({"n": "10"})));
        assert!(!selector.matches(&json!({"n": "3"})));
        assert!(!selector.matches(&json!({"n": "x"})));
    }

    #[test]
    fn errors_of_malformed_queries_name_the_position() {
        for (query, at) in [
            ("=a", 0),
            ("a b", 2),
            ("a in b", 5),
            ("a in (b", 7),
            ("a=b c", 4),
            ("a=b!", 3),
            ("a>x", 2),
            ("A_/b=c", 0),
            ("a=b,,c", 4),
            ("é", 0),
        ] {
            let error = LabelSelector::from_query(query).unwrap_err().to_string();
            let place = format!("at character {at}:");
            assert!(error.contains(&place), "{query}: {error}");
        }
    }
}
