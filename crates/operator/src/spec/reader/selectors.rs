//! Reads which objects a source selects.

use document::{Location, Value};
use object::LabelSelector;

use super::SpecReader;
use crate::problem::Problem;

impl SpecReader<'_> {
    /// Says how one object is selected, for a source with the fields of other tools.
    pub(super) fn by_name(&mut self, spec: &Value, from: usize, at: &Location) {
        for field in ["name", "fieldSelector"].map(|field| at.key(field)) {
            let mut problems = self.problems[from..].iter_mut();
            if let Some(problem) = problems.find(|problem| problem.at == field) {
                let kind = spec.get("as").as_str().or(spec.get("kind").as_str());
                let kind = kind.unwrap_or("Kind");
                problem.help = Some(format!(
                    "a source selects by namespace and labels; select one object with {{\"@eq\": [\"$.metadata.name\", <name>]}} in @select, or \"$.{kind}.metadata.name\" in @join"
                ));
            }
        }
    }

    pub(super) fn selector(&mut self, value: &Value, at: &Location) -> Option<LabelSelector> {
        let before = self.problems.len();
        self.selector_fields(value, at);
        if self.problems.len() > before {
            return None;
        }
        let selector = LabelSelector::new(value);
        selector.unwrap_or_else(|error| {
            self.error("bad-selector", at, error.to_string());
            None
        })
    }

    /// Reports misspelled fields of a selector, which would be labels, and labels that no object can
    /// have.
    fn selector_fields(&mut self, value: &Value, at: &Location) {
        let Some(map) = value.as_map() else { return };
        let fields = ["matchLabels", "matchExpressions"];
        if fields.iter().any(|field| map.get_str(field).is_some()) {
            self.known(value, &fields, at);
            let (labels, expressions) = (value.get("matchLabels"), value.get("matchExpressions"));
            if labels.as_map().is_none() && !labels.is_null() {
                let message = format!("expected a map of labels, found {}", labels.kind());
                self.error("bad-selector", &at.key("matchLabels"), message);
            }
            if expressions.as_list().is_none() && !expressions.is_null() {
                let message = format!("expected a list, found {}", expressions.kind());
                self.error("bad-selector", &at.key("matchExpressions"), message);
            }
            return self.labels(labels, &at.key("matchLabels"), &[]);
        }
        self.labels(value, at, &fields);
    }

    fn labels(&mut self, value: &Value, at: &Location, fields: &[&str]) {
        for (key, label) in value.as_map().into_iter().flatten() {
            if label.as_map().is_none() && label.as_list().is_none() {
                continue;
            }
            let message = format!("the label {key} must be a string, found {}", label.kind());
            let problem = Problem::error("bad-selector", &at.key(key.as_str()), message).at_key();
            let nearest = expr::nearest(key.as_str(), fields.iter().copied());
            self.problems.push(match nearest {
                Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
                None => problem,
            });
        }
    }
}
