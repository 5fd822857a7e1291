//! `deltic why`: the way back from a derived object to its sources, stage by stage, across
//! controllers and views; `deltic why not`: where a source object ends.
//!
//! Both are asked about objects in files, or, without files, of a running deltic (`cluster::why`).

use std::sync::Arc;

use document::Value;
use explanation::{Content, Detail, Explanation, Recorded, Wanted};
use operator::Report;

use crate::cli;
use crate::exit::{Outcome, Stop};
use crate::input::{self, Files};
use crate::loaded::Loaded;
use crate::output::Output;

/// An Operator with the objects of files, run and evaluated again.
pub(crate) struct Evaluated {
    pub(crate) loaded: Loaded,
    /// The errors of the run.
    pub(crate) errors: Vec<Report>,
    pub(crate) recorded: Recorded,
}

impl Evaluated {
    pub(crate) fn read(files: Files, args: &cli::Run, output: &mut Output) -> Result<Self, Stop> {
        let mut loaded = Loaded::read(files, args, output)?;
        let errors = loaded.run()?;
        output.diagnostics(&loaded.nameless)?;
        let offline = &loaded.offline;
        let operator = Arc::new(offline.operator().clone());
        let snapshots = offline.snapshots().map(Some);
        let recorded = Recorded::new(operator, snapshots, |_| true, loaded.settings.env());
        let recorded = recorded
            .map_err(|error| Stop::failed(input::error(error.error.code(), error.to_string())))?;
        Ok(Self {
            loaded,
            errors,
            recorded,
        })
    }
}

/// A question.
pub(crate) struct Question {
    pub(crate) wanted: Wanted,
    /// Whether it is asked where the object ends.
    pub(crate) not: bool,
}

impl Question {
    fn of(args: &cli::Why) -> Result<Self, Stop> {
        let (not, object) = match args.object.as_slice() {
            [object] => (false, object),
            [not, object] if not == "not" => (true, object),
            _ => {
                return Err(Stop::usage(
                    "expected one object: deltic why KIND/NAME, or deltic why not KIND/NAME",
                ));
            }
        };
        let wanted = parse(object)?;
        Ok(Self { wanted, not })
    }
}

pub(crate) fn parse(object: &str) -> Result<Wanted, Stop> {
    Wanted::parse(object).map_err(|error| Stop::usage(&error.to_string()))
}

pub(crate) fn run(args: &cli::Why, output: &mut Output) -> Result<Outcome, Stop> {
    let question = Question::of(args)?;
    #[cfg(feature = "cluster")]
    if args.filename.is_empty() {
        let answers = crate::cluster::why::ask(args, &question, output)?;
        print(&question, &answers, args.output, output)?;
        return Ok(Outcome::Good);
    }
    let files = args.recursive.files(&args.filename, &[]);
    let evaluated = Evaluated::read(files, &args.run, output)?;
    let story = evaluated.recorded.story();
    let detail = Detail {
        members: args.members,
        documents: args.output == cli::WhyFormat::Json,
        whole: &|_| true,
        bytes: u64::MAX,
    };
    let told = story.explain(&question.wanted, question.not, &detail);
    let told = told.map_err(|error| Stop::failed(input::error("too-large", error.to_string())))?;
    let Some(told) = told else {
        return Err(not_found(&question.wanted, question.not));
    };
    let ends = matches!(told.explanation.content, Content::Ends(_));
    print(&question, &[told.explanation], args.output, output)?;
    if ends {
        for report in &evaluated.errors {
            output.report(report)?;
        }
    }
    Ok(Outcome::Good)
}

/// Prints the answers of one or more Operators.
fn print(
    question: &Question,
    answers: &[Explanation],
    format: cli::WhyFormat,
    output: &mut Output,
) -> Result<(), Stop> {
    let is_read = |answer: &Explanation| matches!(answer.content, Content::Ends(_));
    if !question.not && answers.iter().any(is_read) {
        let wanted = &question.wanted;
        output.complain(&format!(
            "{wanted} is not derived by a controller, but read: this is what becomes of it"
        ));
    }
    match format {
        cli::WhyFormat::Text => {
            for answer in answers {
                if answers.len() > 1 {
                    output.text(&format!("Operator {}\n", answer.operator))?;
                }
                output.text(&answer.text())?;
            }
        }
        cli::WhyFormat::Json => {
            let lists: Vec<Value> = answers.iter().map(Explanation::json).collect();
            let entries = lists.iter().filter_map(Value::as_list).flatten();
            output.value(&entries.cloned().collect(), cli::Format::Json)?;
        }
        cli::WhyFormat::Mermaid => match Explanation::mermaid(answers.iter()) {
            Some(diagram) => output.text(&diagram)?,
            None => {
                return Err(Stop::usage(
                    "-o mermaid draws the way back of a derived object; use text or json",
                ));
            }
        },
    }
    Ok(())
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
