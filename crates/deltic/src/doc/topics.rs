//! The words of a spec that are neither stages nor operators: `@now`, and the types of sources and
//! targets.

/// A word of a spec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// What kind of word it is.
    pub(crate) what: &'static str,
    /// A sentence.
    pub(crate) summary: &'static str,
    /// The rest. Lines that start with `|` are examples.
    pub(crate) text: &'static str,
}

pub(crate) const TOPICS: &[Topic] = &[
    Topic {
        name: "@now",
        aliases: &["now"],
        what: "the time",
        summary: "The string \"@now\" is the current time in UTC: 2026-01-02T03:04:05Z. In CEL it is the timestamp `now`.",
        text: r#"
It is a string, not an operator: it has no argument.

A comparison with a time sets a deadline: it is evaluated again when its outcome changes.
|  "@select": {"@gt": ["@now", {"@timeAdd": [$.metadata.creationTimestamp, "24h"]}]}

Where the time is computed with, it moves on when the input changes and with a source of
type Periodic. Offline, --now sets it. See docs/time.md.
"#,
    },
    Topic {
        name: "Watcher",
        aliases: &["Lister"],
        what: "type of a source",
        summary: "All objects of a kind, and their changes. It is the default; Lister is the same.",
        text: r#"
|  sources:
|  - {apiGroup: "", kind: Pod}
"#,
    },
    Topic {
        name: "OneShot",
        aliases: &[],
        what: "type of a source",
        summary: "One object, named one-shot-trigger, when the Operator starts.",
        text: "
|  sources:
|  - {kind: Start, type: OneShot}
",
    },
    Topic {
        name: "Periodic",
        aliases: &[],
        what: "type of a source",
        summary: "No objects: every period \"@now\" moves on, and targets are compared and repaired.",
        text: "
|  sources:
|  - {apiGroup: cert-manager.io, kind: Certificate}
|  - {kind: Hourly, type: Periodic, parameters: {period: 1h}}

It is no input of the pipeline, so it needs no @join. The default period is 5m.
",
    },
    Topic {
        name: "Updater",
        aliases: &["Setter"],
        what: "type of a target",
        summary: "Creates objects, and replaces all fields but the metadata. It is the default; Setter is the same.",
        text: r#"
Labels and annotations are merged. Objects that are no longer derived are deleted, unless
they existed before.
|  target: {apiGroup: "", kind: ConfigMap}
"#,
    },
    Topic {
        name: "Patcher",
        aliases: &[],
        what: "type of a target",
        summary: "Merges into objects that exist, and takes back what it has set when it is no longer derived.",
        text: "
A null that is written in the pipeline removes a field. A controller that reads the kind which
it patches does not see its own patch. See docs/patch.md.
|  target: {apiGroup: apps, kind: Deployment, type: Patcher}
",
    },
    Topic {
        name: "Applier",
        aliases: &[],
        what: "type of a target",
        summary: "Server-side apply: owns the fields that it sets.",
        text: "
A first conflict with another manager is reported, unless `force: true`.
|  target: {apiGroup: apps, kind: Deployment, type: Applier}
",
    },
];
