//! Mistakes that show in the text of a pipeline, but not after it is compiled: operators in maps of
//! several keys, and a misspelled `"@now"`.

use dataflow::pipeline::stages_of;
use document::{Location, Map, Value, View};

use super::inference::MAX_PROBLEMS;
use crate::problem::{Problem, Severity};

/// Finds such mistakes in a pipeline.
pub(super) fn check(pipeline: &Value, at: &Location, problems: &mut Vec<Problem>) {
    for (stage, at) in stages_of(pipeline, at) {
        operators_in_maps(&stage, &at, problems);
    }
}

/// Finds maps with several keys of which one starts with `@`: they are plain maps, not operators.
/// The problem is at the first such key, and replaces others at the map.
fn operators_in_maps(spec: &Value, at: &Location, problems: &mut Vec<Problem>) {
    match spec.view() {
        View::List(items) => {
            for (i, item) in items.iter().enumerate() {
                operators_in_maps(item, &at.index(i), problems);
            }
        }
        View::Map(map) => in_map(map, at, problems),
        View::Str(text) => now_as_text(text, at, problems),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {}
    }
}

/// Finds texts such as `"@nwo"`.
fn now_as_text(text: &str, at: &Location, problems: &mut Vec<Problem>) {
    let slip = text.starts_with('@') && expr::nearest(text, ["@now"]).is_some();
    if slip && text != "@now" && problems.len() < MAX_PROBLEMS {
        let message = format!("{text:?} is a text");
        let problem = Problem::warning(NOW_AS_TEXT, at, message);
        replace(problems, at, problem.with_help("the time is \"@now\""));
    }
}

/// The code of the warning about a text that is probably meant as the time.
pub(super) const NOW_AS_TEXT: &str = "now-as-text";

/// The code of the warning about an operator that is one of several keys.
pub(super) const OPERATOR_IN_MAP: &str = "operator-in-map";

fn in_map(map: &Map, at: &Location, problems: &mut Vec<Problem>) {
    if let [(name, argument)] = map.entries() {
        let at = at.key(name.as_str());
        return match (name.as_str(), argument.as_map()) {
            ("@literal" | "@cel", _) => {}
            ("@dict", Some(map)) => entries(map, &at, problems),
            _ => operators_in_maps(argument, &at, problems),
        };
    }
    let names = map.iter().map(|(name, _)| name.as_str());
    let operators: Vec<&str> = names.filter(|name| name.starts_with('@')).collect();
    if let [first, others @ ..] = operators.as_slice()
        && problems.len() < MAX_PROBLEMS
    {
        let message = if others.is_empty() {
            format!("{first} is one of several keys, so this is a plain map and not an operator")
        } else {
            let all = operators.join(", ");
            format!("{all} are keys of one map, so this is a plain map and not an operator")
        };
        let problem = Problem::warning(OPERATOR_IN_MAP, &at.key(*first), message).at_key();
        let problem = problem.with_help(
            "an operator is the only key of its map; use @and for several conditions, @dict for literal keys",
        );
        replace(problems, at, problem);
    }
    entries(map, at, problems);
}

/// Adds a problem instead of those at a location that it explains. If one of them is an error, every
/// evaluation fails, and the explanation is an error, too.
pub(super) fn replace(problems: &mut Vec<Problem>, at: &Location, mut explanation: Problem) {
    problems.retain(|problem| {
        let explained = problem.at == *at;
        if explained && problem.severity == Severity::Error {
            explanation.severity = Severity::Error;
        }
        !explained
    });
    problems.push(explanation);
}

fn entries(map: &Map, at: &Location, problems: &mut Vec<Problem>) {
    for (name, value) in map {
        operators_in_maps(value, &at.key(name.as_str()), problems);
    }
}
