//! The rules for names, labels and other identifiers in metadata, with the messages of
//! kube-apiserver. Each function returns all rules that a text breaks.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
    used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with the name of an object.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    domain(text, "characters")
}

/// `unit` is the unit of lengths in messages, which is not the same for names and label keys.
fn domain(text: &str, unit: &str) -> Vec<String> {
    let mut wrong = too_long(text, 253, unit);
    if !text.split('.').all(is_dns_label) {
        wrong.push(SUBDOMAIN.to_owned());
    }
    wrong
}

/// What is wrong with the prefix of generated names. The characters that are added make up for a
/// dash at its end.
pub(crate) fn name_prefix(text: &str) -> Vec<String> {
    match text.strip_suffix('-') {
        Some(stem) => subdomain(&format!("{stem}a")),
        None => subdomain(text),
    }
}

/// What is wrong with the key of a label, an annotation (in lower case) or a finalizer.
pub(crate) fn label_key(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                let prefixed = |message| format!("prefix part {message}");
                wrong.extend(domain(prefix, "bytes").into_iter().map(prefixed));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    let named = |message: &str| format!("name part {message}");
    if name.is_empty() {
        wrong.push(named("must be non-empty"));
    }
    wrong.extend(
        too_long(name, 63, "bytes")
            .iter()
            .map(|message| named(message)),
    );
    if name.is_empty() || !is_word(name) {
        wrong.push(named(LABEL_KEY));
    }
    wrong
}

/// What is wrong with the value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "bytes");
    if !text.is_empty() && !is_word(text) {
        wrong.push(LABEL_VALUE.to_owned());
    }
    wrong
}

fn too_long(text: &str, most: usize, unit: &str) -> Vec<String> {
    let long = text.len() > most;
    long.then(|| format!("must be no more than {most} {unit}"))
        .into_iter()
        .collect()
}

fn is_dns_label(label: &str) -> bool {
    let inside = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !label.is_empty()
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether a text that is not empty has the characters of a label.
fn is_word(text: &str) -> bool {
    let inside = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    let end = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.iter().copied().all(inside) && end(bytes.first()) && end(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&str) -> Vec<String>, good: &[&str], bad: &[(&str, usize)]) {
        for text in good {
            assert_eq!(rule(text), Vec::<String>::new(), "{text}");
        }
        for (text, broken) in bad {
            assert_eq!(rule(text).len(), *broken, "{text}: {:?}", rule(text));
        }
    }

    #[test]
    fn names_follow_the_rules_of_kubernetes() {
        let (longest, too_long) = ("a".repeat(253), "a".repeat(254));
        let broken = [
            ("", 1),
            ("A", 1),
            ("a..b", 1),
            ("-a", 1),
            ("a-", 1),
            ("a_b", 1),
            (too_long.as_str(), 1),
        ];
        check(subdomain, &["a", "a.b-c", "1", &longest], &broken);
        check(
            name_prefix,
            &["a-", "a", "a.b-"],
            &[("A-", 1), ("-", 0), ("a_", 1)],
        );
    }

    #[test]
    fn labels_follow_the_rules_of_kubernetes() {
        let long = "a".repeat(64);
        check(
            label_key,
            &["app", "example.com/app", "A_b.c"],
            &[
                ("", 2),
                ("/app", 1),
                ("a/b/c", 1),
                ("-a", 1),
                (&long, 1),
                ("A/-", 2),
            ],
        );
        check(
            label_value,
            &["", "a", "a_b.c-d"],
            &[("a b", 1), ("-", 1), (&long, 1)],
        );
    }
}
