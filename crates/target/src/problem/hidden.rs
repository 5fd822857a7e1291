//! Fields without the values that identify list elements, which may be values of Secrets.
//!
//! ```text
//! .spec.users[name="hunter2"].role   ─▶ .spec.users[name=***].role
//! ```

use operator::secrets::HIDDEN;

use super::{Cause, Conflict};

impl Cause {
    /// Hides the values of key fields in the fields that it names.
    pub fn hide_key_values(&mut self) {
        let hide = |field: &mut String| *field = without_key_values(field);
        match self {
            Self::Conflict(Conflict::Field { field, .. } | Conflict::Record { field, .. })
            | Self::NotKept { field } => hide(field),
            Self::Conflict(Conflict::Managers(fields)) => {
                for owned in fields {
                    hide(&mut owned.field);
                }
            }
            Self::Fighting { fields, .. } => fields.iter_mut().for_each(hide),
            Self::Conflict(
                Conflict::Object { .. } | Conflict::Operator { .. } | Conflict::Existing,
            )
            | Self::Refused { .. }
            | Self::Forbidden { .. }
            | Self::DeletionHeld
            | Self::Cycle
            | Self::OwnerDropped { .. }
            | Self::Misplaced(_)
            | Self::RecordTooLarge { .. }
            | Self::NoNamespace { .. }
            | Self::NoKind
            | Self::Unreadable(_)
            | Self::Unavailable(_) => {}
        }
    }
}

/// A field, in the notation of Kubernetes, without the values of the key fields in it. What cannot
/// be told from such a value is hidden, too.
pub fn without_key_values(field: &str) -> String {
    let mut shown = String::new();
    let mut rest = field;
    while let Some((before, inside)) = rest.split_once('[') {
        let (keys, after) = split_keys(inside);
        let keys: Vec<String> = keys.into_iter().map(without_value).collect();
        shown.extend([before, "[", &keys.join(","), "]"]);
        rest = after;
    }
    shown + rest
}

/// The parts of an element's identification, which are separated by commas, and the text after it.
/// Values are in JSON.
fn split_keys(text: &str) -> (Vec<&str>, &str) {
    let (mut keys, mut start) = (Vec::new(), 0);
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        if quoted {
            quoted = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => quoted = true,
            '[' | '{' => depth += 1,
            ']' if depth == 0 => {
                keys.push(&text[start..at]);
                return (keys, &text[at + 1..]);
            }
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                keys.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    keys.push(&text[start..]);
    (keys, "")
}

/// A key field without its value. A position stays.
fn without_value(key: &str) -> String {
    match key.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None if key.bytes().all(|byte| byte.is_ascii_digit()) => key.to_owned(),
        None => HIDDEN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use document::json;
    use fieldset::{FieldPath, PathElement};

    use super::*;

    #[test]
    fn values_of_key_fields_are_hidden() {
        let check = |field: &str, expect: &str| assert_eq!(without_key_values(field), expect);
        check(".spec.replicas", ".spec.replicas");
        check(".spec.l[0].a", ".spec.l[0].a");
        check(r#".l[name="pw"].image"#, ".l[name=***].image");
        check(
            r#".ports[port=80,protocol="TCP"].x[a="b"]"#,
            ".ports[port=***,protocol=***].x[a=***]",
        );
        check(r#".f[="pw"]"#, ".f[=***]");
        check(r#".l[name="p]w,\"x"].a"#, ".l[name=***].a");
        check(r#".l[={"a":["pw"]}].a"#, ".l[=***].a");
        check(r#".l[name="pw"#, ".l[name=***]");
    }

    #[test]
    fn no_value_of_a_path_is_shown() {
        for value in ["pw", "p\"w", "p\\", "[p]", "a=b,c=pw", "]", "{"] {
            let path = FieldPath(vec![
                PathElement::Field("l".into()),
                PathElement::Element(json!({"name": value})),
                PathElement::Field("f".into()),
            ]);
            assert_eq!(without_key_values(&path.to_string()), ".l[name=***].f");
        }
    }
}
