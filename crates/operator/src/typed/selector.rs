//! Label selectors that are written in an expression.

use document::{Location, Value};
use expr::{Args, Call, Expr};

use super::inference::Inference;
use crate::problem::Problem;

/// The fields of a selector, which otherwise is a map of labels.
const FIELDS: [&str; 2] = ["matchLabels", "matchExpressions"];

impl Inference {
    /// Warns about labels of a written selector that are maps or lists: probably one of its fields is
    /// misspelled.
    pub(super) fn selector(&mut self, call: &Call) {
        let Args::Written(args) = &call.args else {
            return;
        };
        let at = call.at.index(0);
        let names: Vec<(&str, bool)> = match args.first() {
            Some(Expr::Literal(selector)) => {
                let entries = selector.as_map().into_iter().flatten();
                let entries = entries.map(|(name, value)| (name.as_str(), is_nested(value)));
                entries.collect()
            }
            Some(Expr::Map(map)) => {
                let entries = map.entries.iter();
                let entries = entries.map(|(name, value)| (name.as_str(), is_built(value)));
                entries.collect()
            }
            _ => return,
        };
        for (name, nested) in names {
            if nested && !FIELDS.contains(&name) {
                self.report(nested_label(name, &at));
            }
        }
    }
}

fn nested_label(name: &str, at: &Location) -> Problem {
    let message = format!("{name} is a label here, and a label is a string");
    let problem = Problem::warning("bad-selector", &at.key(name), message).at_key();
    problem.with_help(match expr::nearest(name, FIELDS) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "a selector has matchLabels and matchExpressions, or is a map of labels".to_owned(),
    })
}

fn is_nested(value: &Value) -> bool {
    value.as_map().is_some() || value.as_list().is_some()
}

fn is_built(expr: &Expr) -> bool {
    matches!(expr, Expr::Map(_) | Expr::List(..)) || expr.as_literal().is_some_and(is_nested)
}
