//! Paths that may match several values, where only the first one is used.

use document::path::{Filter, Segment, Selector};
use document::{Location, Path};

use super::inference::Inference;
use crate::problem::Problem;

/// The code of the warning about a path of which only the first match is used.
const FIRST_MATCH: &str = "first-match";

impl Inference {
    /// Warns about a path with several matches that is used as a value.
    pub(super) fn first_match(&mut self, path: &Path, at: &Location) {
        if path.segments().iter().all(has_one_match) {
            return;
        }
        let message = format!("{path} may match several values, and this is the first of them");
        let problem = Problem::warning(FIRST_MATCH, at, message);
        let path = path.to_string();
        self.report(problem.with_help(format!(
            "the list of all matches is {{\"@query\": {path:?}}}; for one of them use an index, or a filter such as [?(@.name == 'app')]"
        )));
    }
}

/// Adds what to do about several matches to the wrong types that they explain.
pub(super) fn explain_wrong_types(problems: &mut Vec<Problem>) {
    let is = |problem: &Problem, code: &str| problem.code == code;
    let found: Vec<Problem> = problems
        .extract_if(.., |problem| is(problem, FIRST_MATCH))
        .collect();
    for first in found {
        let mut others = problems.iter_mut();
        match others.find(|other| is(other, "wrong-type") && other.at == first.at) {
            Some(wrong) => wrong.help = first.help,
            None => problems.push(first),
        }
    }
}

/// Whether a segment usually has one match: a name, an index, or a filter on a key field.
fn has_one_match(segment: &Segment) -> bool {
    match segment {
        Segment::Name(_) | Segment::Index(_) => true,
        Segment::Several(selectors) => match &**selectors {
            [Selector::Filter(filter)] => is_for_key(filter),
            _ => false,
        },
        Segment::Descendants(_) => false,
    }
}

fn is_for_key(filter: &Filter) -> bool {
    let comparisons = filter.comparisons();
    let mut comparisons = comparisons.iter();
    comparisons.any(|comparison| !comparison.ordered && !comparison.negated)
        || filter.document_reads().next().is_some()
}
