//! Indented JSON, with numbers in deltic's own format.

use document::{Value, View};

/// The value as indented JSON without a newline at its end.
pub(crate) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out
}

fn write(value: &Value, indent: usize, out: &mut String) {
    match value.view() {
        View::List(items) if !items.is_empty() => {
            let items = items.iter().map(|item| (None, item));
            block(('[', ']'), items, indent, out);
        }
        View::Map(map) if !map.is_empty() => {
            let members = map.iter().map(|(key, value)| (Some(key.as_str()), value));
            block(('{', '}'), members, indent, out);
        }
        _ => out.push_str(&value.to_string()),
    }
}

/// Prints the elements of a list or map, each on its own line.
fn block<'a>(
    brackets: (char, char),
    parts: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    indent: usize,
    out: &mut String,
) {
    out.push(brackets.0);
    for (i, (key, value)) in parts.enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        out.extend(std::iter::repeat_n(' ', indent + 2));
        if let Some(key) = key {
            out.push_str(&Value::from(key).to_string());
            out.push_str(": ");
        }
        write(value, indent + 2, out);
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(brackets.1);
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn every_element_is_on_its_own_line() {
        let value = json!({"a": [1, {"b": null}], "c": {}, "d": [], "e\"": "x\n"});
        let expect = r#"{
  "a": [
    1,
    {
      "b": null
    }
  ],
  "c": {},
  "d": [],
  "e\"": "x\n"
}"#;
        assert_eq!(pretty(&value), expect);
        assert_eq!(pretty(&value).parse::<Value>().unwrap(), value);
    }
}
