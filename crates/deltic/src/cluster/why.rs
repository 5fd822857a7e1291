//! `deltic why` of a running deltic.

use explanation::Explanation;
use manifest::Diagnostic;
use metrics::Metrics;
use remote::questions::{self, AskError};

use super::{block_on, find, no_cluster};
use crate::cli::{Why, WhyFormat};
use crate::exit::Stop;
use crate::input;
use crate::output::Output;
use crate::why::Question;

/// Asks the Operator that the arguments name, or else all Operators whose views are served. Returns
/// the answers of those that derive or read the object.
pub(crate) fn ask(
    args: &Why,
    question: &Question,
    output: &mut Output,
) -> Result<Vec<Explanation>, Stop> {
    let (answers, errors) = block_on(ask_all(args, question))?;
    if answers.is_empty() {
        let worst = errors.into_iter().max_by_key(AskError::weight);
        return Err(match worst {
            Some(AskError::NotDerived(message)) if args.operator.is_none() => {
                failed("not-found", message, Some(NOT_ASKED))
            }
            Some(error) => no_answer(&error),
            None => nobody(),
        });
    }
    for error in errors {
        // Most Operators have nothing to do with an object.
        if !matches!(error, AskError::NotDerived(_) | AskError::NotServed(_)) {
            output.complain(&format!("warning: {error}"));
        }
    }
    Ok(answers)
}

async fn ask_all(
    args: &Why,
    question: &Question,
) -> Result<(Vec<Explanation>, Vec<AskError>), Stop> {
    let connection = find(&args.connection).await?;
    let client = connection.client(&Metrics::default());
    let client = client.map_err(|error| no_cluster(&error))?;
    let operators = match &args.operator {
        Some(operator) => vec![operator.clone()],
        None => {
            let all = questions::operators(&client).await;
            all.map_err(|error| no_answer(&error))?
        }
    };
    let question = questions::Question {
        wanted: &question.wanted,
        not: question.not,
        members: args.members,
        documents: args.output == WhyFormat::Json,
    };
    let (mut answers, mut errors) = (Vec::new(), Vec::new());
    for operator in operators {
        match questions::ask(&client, &operator, &question).await {
            Ok(mut answer) => {
                questions::follow(&client, &mut answer, &question).await;
                answers.push(answer);
            }
            Err(error) => errors.push(error),
        }
    }
    Ok((answers, errors))
}

const NOT_ASKED: &str = "a source must admit the kind, namespace and labels of the object; Operators \
                         without views were not asked: on deltic's own port, name one with --operator";

fn nobody() -> Stop {
    failed(
        "no-answer",
        "no views of deltic are served here".to_owned(),
        Some(
            "deltic run serves them with --aggregate in the cluster's API, with --serve-addr on a \
             port of its own (then use --kubeconfig with the output of deltic kubeconfig, and name an \
             Operator without views with --operator); to explain objects in files, name them with -f",
        ),
    )
}

fn no_answer(error: &AskError) -> Stop {
    let (code, help) = match error {
        AskError::Unreachable(_) => ("no-answer", Some("is this the right --context?")),
        AskError::Login(_) => ("no-answer", Some("log in as kubectl does, and try again")),
        AskError::Forbidden(_) => (
            "forbidden",
            Some(
                "an explanation needs get of <kind>/why in the group of the Operator, and get or list of \
                 the objects that it shows; name the namespace, as in pod/shop/web, if you may read only \
                 one",
            ),
        ),
        AskError::NotServed(_) => (
            "no-answer",
            Some(
                "does it run? An Operator without views is served on deltic's own port (--serve-addr), \
                 not in the cluster's API",
            ),
        ),
        AskError::NotDerived(_) => (
            "not-found",
            Some("a source must admit the kind, namespace and labels of the object"),
        ),
        AskError::Unavailable(_) | AskError::Other(_) => ("no-answer", None),
    };
    failed(code, error.to_string(), help)
}

fn failed(code: &str, message: String, help: Option<&str>) -> Stop {
    Stop::failed(Diagnostic {
        help: help.map(str::to_owned),
        ..input::error(code, message)
    })
}
