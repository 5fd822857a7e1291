//! The `deltic` command: reads arguments, calls the libraries, prints results.
//!
//! [`cli`] defines the arguments, and each command has its own module. They share [`input`],
//! [`output`] and [`exit`], which has the exit codes.

// Diagnostics are rare, so their size does not matter.
#![allow(clippy::result_large_err)]

mod allow;
mod check;
mod cli;
#[cfg(feature = "cluster")]
mod cluster;
mod diff;
mod doc;
mod eval;
mod evaluated;
mod exit;
mod explain;
mod graph;
mod init;
mod input;
mod json_schema;
mod lines;
#[cfg(feature = "cluster")]
mod live;
mod loaded;
mod man;
mod output;
mod patch;
mod plugin;
mod render;
mod replay;
mod run;
mod stream;
mod suggest;
mod test;
mod time;
#[cfg(feature = "cluster")]
mod top;
mod trace;
mod version;
mod watch;
mod why;
mod xml;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::cli::{Cli, Command};
use crate::exit::{Outcome, Stop};
use crate::output::Output;

/// Documents make many small allocations, which dominate the profile with the system allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = parse();
    let mut output = Output::new(cli.color);
    let result = match &cli.command {
        Command::Eval(args) => eval::run(args, &mut output),
        Command::Replay(args) => replay::run(args, &mut output),
        Command::Render(args) => render::run(args, &mut output),
        Command::Trace(args) => trace::run(args, &mut output),
        Command::Why(args) => why::run(args, &mut output),
        Command::Patch(args) => patch::run(args, &mut output),
        Command::Check(args) => check::run(args, &mut output),
        Command::Explain(args) => explain::run(args, &mut output),
        Command::Graph(args) => graph::run(args, &mut output),
        Command::Test(args) => test::run(args, &mut output),
        Command::Init(args) => init::run(args, &mut output),
        Command::Schema(args) => json_schema::run(args, &mut output),
        Command::Doc(args) => doc::run(args, &mut output),
        Command::Version(args) => version::run(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Run(args) => cluster::run::run(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Top(args) => top::run(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Crd(args) => cluster::crd::run(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Rbac(args) => cluster::rbac::run(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Install(args) => cluster::install::install(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Uninstall(args) => cluster::install::uninstall(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Plan(args) => cluster::plan::run(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Orphans(args) => cluster::orphans::orphans(args, &mut output),
        #[cfg(feature = "cluster")]
        Command::Kubeconfig(args) => cluster::kubeconfig::run(args, &mut output),
        Command::Completion { shell } => completion(*shell, &mut output),
        Command::Man(args) => man::run(args, &mut output),
    };
    exit::code(result, cli.command.judges(), &mut output)
}

/// Reads the arguments; help and bad usage end the process here. They respect `--color` as well,
/// which is searched for by hand, because the arguments may be invalid.
fn parse() -> Cli {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let says = |when: &str| {
        let joined = format!("--color={when}");
        arguments.contains(&joined) || arguments.windows(2).any(|pair| pair == ["--color", when])
    };
    let color = if says("always") {
        clap::ColorChoice::Always
    } else if says("never") {
        clap::ColorChoice::Never
    } else {
        clap::ColorChoice::Auto
    };
    let command = plugin::named(Cli::command(), arguments.first().map(String::as_str));
    let matches = command.color(color).try_get_matches();
    matches
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .unwrap_or_else(|error| suggest::improved(error, &arguments).exit())
}

fn completion(shell: clap_complete::Shell, output: &mut Output) -> Result<Outcome, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "deltic", &mut script);
    output.text(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Good)
}
