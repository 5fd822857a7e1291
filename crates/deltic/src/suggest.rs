//! Suggests a command to somebody who knows it by another name.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Other names of commands, by meaning, and what to run instead.
const MEANINGS: [(&[&str], &str); 12] = [
    (
        &["lint", "validate", "verify", "vet", "compile"],
        "`deltic check FILE` reports the errors and warnings of Operators",
    ),
    (
        &["apply", "create", "deploy"],
        "`deltic install` installs deltic on a cluster; Operators are applied with `kubectl apply -f FILE`",
    ),
    (
        &["delete", "remove"],
        "`deltic uninstall` removes deltic from a cluster; Operators are deleted with `kubectl delete -f FILE`",
    ),
    (
        &["template", "build", "generate"],
        "`deltic render FILE…` prints the objects that an Operator derives",
    ),
    (
        &["diff", "preview", "dry-run", "what-if"],
        "`deltic plan -f FILE` shows what an Operator would change on a cluster",
    ),
    (
        &["simulate", "play", "watch", "events", "trace"],
        "`deltic replay -f FILE EVENTS` feeds watch events to an Operator",
    ),
    (
        &["start", "serve", "server", "controller", "manager", "up"],
        "`deltic run` runs Operators on a cluster",
    ),
    (
        &["evaluate", "expr", "query", "jq", "get"],
        "`deltic eval EXPR FILE` evaluates an expression",
    ),
    (
        &["describe", "show", "inspect"],
        "`deltic explain FILE` prints how an Operator runs",
    ),
    (
        &["status", "monitor", "dashboard", "stats", "metrics"],
        "`deltic top` shows what a running deltic does",
    ),
    (
        &["docs", "reference", "man", "manual"],
        "`deltic doc NAME` prints the reference of a stage, operator, function or error",
    ),
    (
        &["completions"],
        "`deltic completion SHELL` prints a completion script",
    ),
];

/// Adds a suggestion to the error about an unknown command.
pub(crate) fn by_meaning(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let name = name.to_lowercase();
    let meaning = MEANINGS
        .iter()
        .find(|(names, _)| names.contains(&name.as_str()));
    if let Some((_, tip)) = meaning {
        error.remove(ContextKind::SuggestedSubcommand);
        let tip = ContextValue::StyledStrs(vec![(*tip).into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}
