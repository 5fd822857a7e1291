//! `deltic man`: writes man pages, from the definition of the arguments.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: &crate::cli::Man, output: &mut Output) -> Result<Outcome, Stop> {
    let directory = &args.directory;
    let written = write_all(directory).map_err(|error| {
        let message = format!("cannot write to {}: {error}", directory.display());
        Stop::failed(input::error("write", message))
    })?;
    for name in written {
        output.text(&format!("{}\n", directory.join(name).display()))?;
    }
    Ok(Outcome::Good)
}

/// Writes a page for deltic and one for each command. Returns their names.
fn write_all(directory: &Path) -> io::Result<Vec<String>> {
    std::fs::create_dir_all(directory)?;
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let commands = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let commands = commands.cloned().collect::<Vec<_>>();
    let mut names = Vec::new();
    for command in std::iter::once(cli).chain(commands) {
        let page = Page::new(command);
        std::fs::write(directory.join(&page.name), page.render()?)?;
        names.push(page.name);
    }
    Ok(names)
}

/// The page of a command.
struct Page {
    name: String,
    man: Man,
    command: Command,
}

impl Page {
    fn new(command: Command) -> Self {
        let man = Man::new(command.clone())
            .source(concat!("deltic ", env!("CARGO_PKG_VERSION")))
            .manual("deltic");
        Self {
            name: man.get_filename(),
            man,
            command,
        }
    }

    fn render(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        self.man.render_title(&mut text)?;
        self.man.render_name_section(&mut text)?;
        self.man.render_synopsis_section(&mut text)?;
        self.man.render_description_section(&mut text)?;
        self.man.render_options_section(&mut text)?;
        if self.command.has_subcommands() {
            self.man.render_subcommands_section(&mut text)?;
        }
        if let Some(notes) = self.command.get_after_help() {
            text.extend(notes_section(&notes.to_string()).into_bytes());
        }
        Ok(text)
    }
}

/// The examples and notes after the help, with their lines as they are.
fn notes_section(notes: &str) -> String {
    let mut text = ".SH NOTES AND EXAMPLES\n.nf\n".to_owned();
    for line in notes.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A dot or an apostrophe at the start would be a request.
        let mark = if line.starts_with(['.', '\'']) {
            "\\&"
        } else {
            ""
        };
        text.push_str(mark);
        text.push_str(&line);
        text.push('\n');
    }
    text + ".fi\n"
}
