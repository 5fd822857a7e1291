//! `deltic why`: the way back from a derived object to its sources, stage by stage, across
//! controllers and views; `deltic why not`: where a source object ends.
//!
//! Both are asked about objects in files, or, without files, of a running deltic (`cluster::why`).

mod meant;

use std::collections::BTreeSet;
use std::iter;

use document::Value;
use explanation::{Content, Detail, Explanation, Recorded, Story, Wanted};
use operator::Report;
use operator::secrets::HIDDEN;

use crate::cli;
use crate::evaluated::evaluated;
use crate::exit::{Outcome, Stop};
use crate::input::{self, Files};
use crate::loaded::Loaded;
use crate::output::Output;
use crate::suggest;

/// An Operator with the objects of files, run and evaluated again.
pub(crate) struct Evaluated {
    pub(crate) loaded: Loaded,
    /// The errors of the run.
    pub(crate) errors: Vec<Report>,
    pub(crate) recorded: Recorded,
}

impl Evaluated {
    /// Reads the files. `asked` is the object that a question is about.
    pub(crate) fn read(
        files: Files,
        asked: Option<&Wanted>,
        args: &cli::Run,
        output: &mut Output,
    ) -> Result<Self, Stop> {
        let mut loaded = Loaded::read(files, asked, args, output)?;
        let errors = loaded.run()?;
        output.diagnostics(&loaded.nameless)?;
        let recorded = evaluated(&loaded.offline, loaded.settings.env())?;
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
                let message =
                    "expected one object: deltic why KIND/NAME, or deltic why not KIND/NAME";
                return Err(if args.object.iter().any(|one| suggest::is_file(one)) {
                    Stop::usage_with_help(message, WITH_FILES.to_owned())
                } else {
                    Stop::usage(message)
                });
            }
        };
        let wanted = parse(object)?;
        Ok(Self { wanted, not })
    }
}

const WITH_FILES: &str = "give files with -f";

/// Reads the name of an object.
pub(crate) fn parse(object: &str) -> Result<Wanted, Stop> {
    let file = suggest::is_file(object);
    match Wanted::parse(object) {
        Ok(_) if file => Err(Stop::usage_with_help(
            &format!("expected an object, found the file {object:?}"),
            WITH_FILES.to_owned(),
        )),
        Ok(wanted) => Ok(wanted),
        Err(error) if file => Err(Stop::usage_with_help(
            &error.to_string(),
            WITH_FILES.to_owned(),
        )),
        Err(error) => Err(Stop::usage(&error.to_string())),
    }
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
    let evaluated = Evaluated::read(files, Some(&question.wanted), &args.run, output)?;
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
        return Err(not_found(&evaluated, &question.wanted, question.not));
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
                    output.say(&format!("Operator {}\n", answer.operator))?;
                }
                output.prose(&answer.text())?;
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

pub(crate) fn not_found(evaluated: &Evaluated, wanted: &Wanted, not: bool) -> Stop {
    let story = &evaluated.recorded.story();
    let message = if not {
        format!("no controller reads {wanted}")
    } else {
        format!("no controller derives or reads {wanted}")
    };
    let mut error = input::error("not-found", message);
    let help = if story.targets(wanted).is_empty() {
        from_files(story, &evaluated.loaded.asked, wanted)
            .or_else(|| meant::suggestion(story, wanted))
            .or_else(|| from_sources(story, wanted))
            .or_else(|| meant::other_kinds(story, wanted))
    } else {
        let derived = format!("it is derived: `deltic why {wanted}` shows what from");
        let excluded = story.excluded(wanted, None).into_iter();
        Some(
            iter::once(derived)
                .chain(excluded)
                .collect::<Vec<_>>()
                .join("; "),
        )
    };
    error.help = Some(help.unwrap_or_else(|| {
        "the object must be among the files, and a source must admit its kind, namespace and labels; `deltic trace` lists what each source reads".to_owned()
    }));
    Stop::failed(error)
}

/// Why no source reads the object, if it is among the files.
fn from_files(story: &Story<'_>, asked: &[Value], wanted: &Wanted) -> Option<String> {
    let reasons: BTreeSet<String> = (asked.iter())
        .flat_map(|object| story.excluded(wanted, Some(object)))
        .collect();
    let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
    Some(reasons).filter(|reasons| !reasons.is_empty())
}

/// Where to start instead, if the object has the kind of a target: at the sources of its controllers.
fn from_sources(story: &Story<'_>, wanted: &Wanted) -> Option<String> {
    let controllers = story.operator.controllers.iter().enumerate();
    let writers = controllers.filter(|(_, controller)| {
        let mut targets = controller.targets.iter();
        targets.any(|target| wanted.is_of(&target.resource.group_kind()))
    });
    let starts: Vec<String> = writers
        .map(|(number, controller)| {
            let kinds: BTreeSet<&str> = (controller.sources.iter())
                .map(|source| source.resource.kind.as_str())
                .collect();
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(" and ");
            let start = likely_source(story, number, wanted)
                .map(|source| format!("; try `deltic why not {source}`"));
            let start = start.unwrap_or_default();
            format!("controller {} reads {kinds}{start}", controller.name)
        })
        .collect();
    let starts = Some(starts.join("; ")).filter(|starts| !starts.is_empty())?;
    Some(format!("`why not` starts at a source: {starts}"))
}

/// An object that a controller reads and that a target of this name may be derived from: one with the
/// same name, or the one that the namespace is named after.
fn likely_source(story: &Story<'_>, controller: usize, wanted: &Wanted) -> Option<String> {
    let sources = &story.controller(controller).sources;
    let found = |namespace: Option<&str>, name: &str| {
        sources.iter().find_map(|source| {
            let kind = source.resource.group_kind().to_string();
            let found = story.sources(&Wanted::at(&kind, namespace, name));
            found.into_iter().find(|one| one.controller == controller)
        })
    };
    let places = wanted.places().into_iter();
    let object = places
        .flat_map(|(namespace, name)| [(namespace, name), (Some(""), namespace.unwrap_or(name))])
        .find_map(|(namespace, name)| found(namespace, name))?;
    Some(story.source_name(&object)).filter(|name| !name.contains(HIDDEN))
}
