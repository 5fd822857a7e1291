//! deltic as a plugin of kubectl.
//!
//! kubectl runs the program `kubectl-deltic` in `PATH` for `kubectl deltic`. It is deltic under
//! another name; only its help names it as the user calls it.

use std::path::Path;

/// The name of a plugin that kubectl runs for `kubectl deltic`.
const PLUGIN: &str = "kubectl-deltic";
const CALLED: &str = "kubectl deltic";

/// The command under the name that the user knows it by; `program` is the path of the program.
pub(crate) fn named(command: clap::Command, program: Option<&str>) -> clap::Command {
    let name = program.and_then(|program| Path::new(program).file_stem());
    if name.is_none_or(|name| name != PLUGIN) {
        return command;
    }
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    command
        .bin_name(CALLED)
        .mut_subcommands(|command| with_examples(command, &names))
}

/// The command with examples that call the plugin.
fn with_examples(command: clap::Command, names: &[String]) -> clap::Command {
    let Some(text) = command.get_after_help().map(ToString::to_string) else {
        return command;
    };
    let renamed = names.iter().fold(text, |text, name| {
        text.replace(&format!("deltic {name} "), &format!("{CALLED} {name} "))
            .replace(&format!("deltic {name}\n"), &format!("{CALLED} {name}\n"))
    });
    command.after_help(renamed)
}
