//! Suggests a command to somebody who knows it by another name, and `-f` to somebody who forgot it.

use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use explanation::Wanted;

use crate::cli::Cli;

/// The commands that need the feature `cluster`.
#[cfg(any(test, not(feature = "cluster")))]
const OF_A_CLUSTER: [&str; 9] = [
    "run",
    "top",
    "plan",
    "crd",
    "rbac",
    "install",
    "uninstall",
    "orphans",
    "kubeconfig",
];

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

/// Adds a suggestion to an error of these arguments.
pub(crate) fn improved(error: clap::Error, arguments: &[String]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => by_meaning(error),
        ErrorKind::UnknownArgument
        | ErrorKind::TooManyValues
        | ErrorKind::MissingRequiredArgument => with_files(error, arguments),
        _ => error,
    }
}

/// Adds a suggestion to the error about an unknown command.
fn by_meaning(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let name = name.to_lowercase();
    #[cfg(not(feature = "cluster"))]
    if let Some(message) = left_out(&name) {
        return Cli::command().error(ErrorKind::InvalidSubcommand, message);
    }
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

/// What to say about a command that a build without the feature `cluster` does not have.
#[cfg(any(test, not(feature = "cluster")))]
fn left_out(name: &str) -> Option<String> {
    OF_A_CLUSTER.contains(&name).then(|| {
        format!(
            "`{name}` is not in this build; `cargo install --path crates/deltic` builds everything"
        )
    })
}

/// Adds a suggestion to the error about a file that a command takes only with `-f`.
fn with_files(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.starts_with('-') && argument != "-",
        _ => false,
    };
    let mut pairs = arguments.windows(2).skip(1);
    // A file behind an option is its value.
    let file = pairs.any(|pair| !pair[0].starts_with('-') && is_file(&pair[1]));
    let command = Cli::command();
    let mut names = arguments.iter().skip(1);
    let command = names.find_map(|name| command.find_subcommand(name));
    let takes_files = command.is_some_and(|command| {
        let mut options = command.get_arguments();
        options.any(|one| one.get_long() == Some("filename"))
    });
    if file && takes_files && !option {
        let tip = ContextValue::StyledStrs(vec!["give files with -f".into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// Whether an argument is rather a file or a directory than an object.
pub(crate) fn is_file(argument: &str) -> bool {
    let path = Path::new(argument);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let manifest = extension.is_some_and(|text| ["yaml", "yml", "json"].contains(&text));
    if Wanted::parse(argument).is_ok() {
        return manifest && path.is_file();
    }
    argument == "-" || manifest || path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_the_whole_build_is_named() {
        let expect = "`plan` is not in this build; \
                      `cargo install --path crates/deltic` builds everything";
        assert_eq!(left_out("plan").as_deref(), Some(expect));
        assert_eq!(left_out("render"), None);
        let whole = cfg!(feature = "cluster");
        for name in OF_A_CLUSTER {
            assert_eq!(
                Cli::command().find_subcommand(name).is_some(),
                whole,
                "{name}"
            );
        }
    }

    #[test]
    fn only_a_file_without_its_option_leads_to_the_option() {
        for (line, expect) in [
            ("deltic trace operator.yaml objects.yaml", true),
            ("deltic trace -f operator.yaml pod/web objects.yaml", true),
            ("deltic trace -f operator.yaml --bogus", false),
            ("deltic trace -f operator.yaml pod/web pod/shop", false),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = Cli::command().try_get_matches_from(&arguments).unwrap_err();
            let text = improved(error, &arguments).to_string();
            assert_eq!(text.contains("give files with -f"), expect, "{text}");
        }
    }

    #[test]
    fn files_are_told_from_objects() {
        for (argument, expect) in [
            ("operator.yaml", true),
            ("-", true),
            ("src", true),
            ("Cargo.toml", true),
            ("pod/shop/web", false),
            ("pod/web.json", false),
            ("not", false),
        ] {
            assert_eq!(is_file(argument), expect, "{argument}");
        }
    }
}
