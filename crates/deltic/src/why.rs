//! `deltic why`: the way back from a derived object to its sources, stage by stage, across
//! controllers and views; `deltic why not`: where a source object ends.

mod ends;
mod mermaid;
mod tree;

pub(crate) use ends::{StagePlace, reason};

use document::Value;

use crate::cli;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;
use crate::story::{Recorded, Wanted};

pub(crate) fn run(args: &cli::Why, output: &mut Output) -> Result<Outcome, Stop> {
    let (not, object) = match args.object.as_slice() {
        [object] => (false, object),
        [not, object] if not == "not" => (true, object),
        _ => {
            return Err(Stop::usage(
                "expected one object: deltic why KIND/NAME, or deltic why not KIND/NAME",
            ));
        }
    };
    let wanted = Wanted::parse(object)?;
    let files = args.recursive.files(&args.filename, &[]);
    let recorded = Recorded::read(files, &args.run, output)?;
    let story = recorded.story();
    let derived = story.targets(&wanted);
    let read = story.sources(&wanted);
    if !not && !derived.is_empty() {
        let trees: Vec<tree::Node> = derived
            .iter()
            .filter_map(|object| tree::of_target(&story, object, args.members))
            .collect();
        return print(&trees, args.output, output);
    }
    if read.is_empty() {
        return Err(not_found(&wanted, not));
    }
    if !not {
        output.complain(&format!(
            "{wanted} is not derived by a controller, but read: this is what becomes of it"
        ));
    }
    match args.output {
        cli::WhyFormat::Text => output.text(&ends::text(&story, &read))?,
        cli::WhyFormat::Json => {
            output.value(&ends::json(&story, &read), cli::Format::Json)?;
        }
        cli::WhyFormat::Mermaid => {
            return Err(Stop::usage(
                "-o mermaid draws the way back of a derived object; use text or json",
            ));
        }
    }
    for report in &recorded.errors {
        output.report(report)?;
    }
    Ok(Outcome::Good)
}

fn print(
    trees: &[tree::Node],
    format: cli::WhyFormat,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    match format {
        cli::WhyFormat::Text => {
            for tree in trees {
                output.text(&tree.text())?;
            }
        }
        cli::WhyFormat::Json => {
            let all: Value = trees.iter().map(tree::Node::json).collect();
            output.value(&all, cli::Format::Json)?;
        }
        cli::WhyFormat::Mermaid => output.text(&mermaid::diagram(trees))?,
    }
    Ok(Outcome::Good)
}

pub(crate) fn not_found(wanted: &Wanted, not: bool) -> Stop {
    let message = if not {
        format!("no controller reads {wanted}")
    } else {
        format!("no controller derives or reads {wanted}")
    };
    let mut error = input::error("not-found", message);
    error.help = Some(
        "the object must be among the files, and a source must admit its kind, namespace and labels; `deltic trace` lists what each source reads".to_owned(),
    );
    Stop::failed(error)
}
