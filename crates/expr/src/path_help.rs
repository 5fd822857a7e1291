//! What to write instead of a text that starts with `$` and is no path.

use document::Path;

/// A suggestion for a bad path, if there is one.
pub(crate) fn path_help(path: &str) -> Option<String> {
    let name = path.strip_prefix('$')?;
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Some(format!("did you mean $.{name}?"));
    }
    // Templates belong to patches; in expressions there are paths and CEL.
    if let Some(inner) = path.strip_prefix("${") {
        let inner = inner.strip_suffix('}')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '[' | ']');
        return Some(if inner.chars().all(plain) {
            format!("write the path $.{inner}, or CEL: {}", cel(inner))
        } else {
            format!("write {}", cel(inner))
        });
    }
    computation(path)
}

fn cel(text: &str) -> String {
    format!("{{\"@cel\": \"{}\"}}", text.replace('"', "'"))
}

/// `$.a >= 2` is `{"@gte": ["$.a", 2]}`.
fn computation(text: &str) -> Option<String> {
    let (first, rest) = text.split_once(' ')?;
    Path::parse(first).ok()?;
    let (operator, operand) = rest.trim_start().split_once(' ')?;
    let operand = operand.trim();
    let number = document::Number::parse(operand).is_some();
    let name = match operator {
        "==" | "=" => "@eq",
        "!=" => "@ne",
        "<" => "@lt",
        "<=" => "@lte",
        ">" => "@gt",
        ">=" => "@gte",
        "+" if number => "@add",
        "+" => "@concat",
        "-" => "@sub",
        "*" => "@mul",
        "/" => "@div",
        "&&" | "||" | "?" | "in" => return Some(in_cel(text)),
        _ => return None,
    };
    if operand.contains(' ') {
        return Some(in_cel(text));
    }
    let operand = operand.trim_matches(['\'', '"']);
    let operand = if number || matches!(operand, "true" | "false" | "null") {
        operand.to_owned()
    } else {
        format!("{operand:?}")
    };
    Some(format!(
        "a path has no operators: write {{\"{name}\": [\"{first}\", {operand}]}}"
    ))
}

fn in_cel(text: &str) -> String {
    let text = text.replace("$.", "");
    format!(
        "a path has no operators: use those of expressions, or CEL, {}",
        cel(&text)
    )
}
