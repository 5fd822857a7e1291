//! Hides what differs between any two runs: times, uids, versions, addresses, names of files.

use std::sync::LazyLock;

use regex::Regex;

/// Patterns and what they are replaced with, in order.
const MASKS: [(&str, &str); 15] = [
    // The time and place in the messages of kubectl itself.
    (
        r"(?m)^[EWI]\d{4} [0-9:.]+ +\d+ ([a-z_]+\.go):\d+\]",
        "LOG $1:",
    ),
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "UID",
    ),
    (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)",
        "TIME",
    ),
    (
        r#"((?i:resource ?version)\\*"?: *\\*"?)[0-9]+( \([0-9]+\))?"#,
        "${1}VERSION",
    ),
    (
        r"(RV|resourceVersion=|limit [0-9]+: |in record \()[0-9]+",
        "${1}VERSION",
    ),
    (r#"("continue": ?")[^"]+""#, r#"${1}TOKEN""#),
    (r"(\d{1,3}\.){3}\d{1,3}:\d+", "ADDRESS"),
    // The ages in tables, whose widths differ, too.
    (r"(?m) +AGE( +|$)", " AGE "),
    (r"(?m) +(\d+m)?\d+s( +|$)", " SECONDS "),
    (r"(?m) +<(unknown|invalid)>( +|$)", " <$1> "),
    (r"/tmp/[A-Za-z]+-[0-9]+", "FILE"),
    (r"/tmp/kubectl-edit-[0-9]+\.yaml", "FILE"),
    (
        r"\b(generated|Not_Valid)-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
        "$1-NAME",
    ),
    (r"[0-9.]+(µs|ms)\b", "DURATION"),
    (r"hash=[0-9A-F]+", "hash=HASH"),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let masks = MASKS.iter();
    masks
        .map(|(pattern, with)| (Regex::new(pattern).unwrap(), *with))
        .collect()
});

/// The text without what differs between runs, and without the name of the group.
pub(crate) fn mask(text: &str, group: &str) -> String {
    let text = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(mut value) if value.is_object() => {
            sort_managers(&mut value);
            serde_json::to_string_pretty(&value).unwrap()
        }
        Ok(_) | Err(_) => text.lines().map(sorted).collect::<Vec<_>>().join("\n"),
    };
    let text = text.replace(group, "GROUP");
    let masked = PATTERNS.iter().fold(text, |text, (pattern, with)| {
        pattern.replace_all(&text, *with).into_owned()
    });
    let lines = masked.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// Sorts the managers of objects by name. They are sorted by time, in whole seconds, so that their
/// order depends on when the seconds begin.
fn sort_managers(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                if let (true, Some(managers)) = (key == "managedFields", value.as_array_mut()) {
                    managers.sort_by_key(|manager| {
                        ["operation", "manager", "subresource"].map(|key| manager[key].to_string())
                    });
                }
                sort_managers(value);
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(sort_managers),
        _ => {}
    }
}

/// A line, with its fields in order if it is JSON: how servers order them has no meaning.
fn sorted(line: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut value) if value.is_object() => {
            sort_managers(&mut value);
            value.to_string()
        }
        Ok(_) | Err(_) => line.to_owned(),
    }
}

#[test]
fn only_what_differs_between_runs_is_hidden() {
    for (text, expect) in [
        (
            "NAME   READY   AGE   LABELS\nweb    3       12s   a=b\n",
            "NAME   READY AGE LABELS\nweb    3 SECONDS a=b\n",
        ),
        (
            "uid: 0a1b2c3d-0000-1111-2222-333344445555\nresourceVersion: \"12\"\n",
            "uid: UID\nresourceVersion: \"VERSION\"\n",
        ),
        (
            "too old resource version: 1 (44)\ngeneration: 2\n",
            "too old resource version: VERSION\ngeneration: 2\n",
        ),
        (
            "health.a.b/web at 127.0.0.1:8443",
            "health.GROUP/web at ADDRESS\n",
        ),
    ] {
        assert_eq!(mask(text, "a.b"), expect);
    }
}
