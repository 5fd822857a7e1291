//! Predicates: which updates of an object a source passes on to the pipeline.

use dataflow::fields::{Header, HeaderFields};
use document::{Location, Value};

use crate::problem::Problem;

/// A condition on an update. Creates and deletes always pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// `metadata.generation` changed.
    Generation,
    /// `metadata.resourceVersion` changed.
    ResourceVersion,
    /// The labels changed.
    Label,
    /// The annotations changed.
    Annotation,
    /// All predicates pass.
    And(Vec<Predicate>),
    /// At least one predicate passes.
    Or(Vec<Predicate>),
    /// The predicate does not pass.
    Not(Box<Predicate>),
}

const NAMES: [&str; 4] = [
    "GenerationChanged",
    "ResourceVersionChanged",
    "LabelChanged",
    "AnnotationChanged",
];

impl Predicate {
    /// Reads a predicate: a name, or `{And: […]}`, `{Or: […]}`, `{Not: […]}`.
    pub fn read(spec: &Value, at: &Location, problems: &mut Vec<Problem>) -> Option<Self> {
        if let Some(name) = spec.as_str() {
            return match name {
                "GenerationChanged" => Some(Self::Generation),
                "ResourceVersionChanged" => Some(Self::ResourceVersion),
                "LabelChanged" => Some(Self::Label),
                "AnnotationChanged" => Some(Self::Annotation),
                other => {
                    let problem =
                        Problem::error("bad-predicate", at, format!("unknown predicate {other}"));
                    problems.push(match expr::nearest(other, NAMES) {
                        Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
                        None => {
                            problem.with_help(format!("the predicates are {}", NAMES.join(", ")))
                        }
                    });
                    None
                }
            };
        }
        let Some([(operator, args)]) = spec.as_map().map(document::Map::entries) else {
            problems.push(Problem::error(
                "bad-predicate",
                at,
                "a predicate is a name, or a map with one of And, Or, Not",
            ));
            return None;
        };
        let at = at.key(operator.as_str());
        let args = args
            .as_list()
            .map_or_else(|| vec![args.clone()], document::ListRef::to_vec);
        let mut inner: Vec<Self> = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            inner.push(Self::read(arg, &at.index(i), problems)?);
        }
        match (operator.as_str(), inner.len()) {
            ("And" | "and", _) => Some(Self::And(inner)),
            ("Or" | "or", _) => Some(Self::Or(inner)),
            ("Not" | "not", 1) => inner.pop().map(|inner| Self::Not(Box::new(inner))),
            _ => {
                problems.push(Problem::error(
                    "bad-predicate",
                    &at,
                    "expected And or Or with a list of predicates, or Not with one",
                ));
                None
            }
        }
    }

    /// Whether an update passes.
    pub fn passes(&self, update: &Update<'_>) -> bool {
        let Update { old, new, whole } = update;
        match self {
            // A server counts a new generation when the content outside metadata and status
            // changes. Without a generation, that content is compared.
            Self::Generation if new.generation.is_null() => {
                whole.is_none_or(|(old, new)| content(old) != content(new))
            }
            Self::Generation => old.generation != new.generation,
            Self::ResourceVersion if new.resource_version.is_null() => {
                whole.is_none_or(|(old, new)| old != new)
            }
            Self::ResourceVersion => old.resource_version != new.resource_version,
            Self::Label => old.labels != new.labels,
            Self::Annotation => old.annotations != new.annotations,
            Self::And(all) => all.iter().all(|inner| inner.passes(update)),
            Self::Or(any) => any.iter().any(|inner| inner.passes(update)),
            Self::Not(inner) => !inner.passes(update),
        }
    }

    /// The header fields that it compares, besides versions.
    pub fn header(&self) -> HeaderFields {
        let mut fields = HeaderFields::default();
        match self {
            Self::Generation | Self::ResourceVersion => {}
            Self::Label => fields.labels = true,
            Self::Annotation => fields.annotations = true,
            Self::And(inner) | Self::Or(inner) => {
                let inner = inner.iter().map(Self::header);
                fields = inner.fold(fields, HeaderFields::or);
            }
            Self::Not(inner) => fields = inner.header(),
        }
        fields
    }
}

/// An update of an object.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The header before the update.
    pub old: &'a Header,
    /// The header after the update.
    pub new: &'a Header,
    /// The whole objects, old and new, if they are available. If not, an object without versions
    /// counts as changed.
    pub whole: Option<(&'a Value, &'a Value)>,
}

/// An object without metadata and status.
fn content(object: &Value) -> Option<Value> {
    Some(
        object
            .as_map()?
            .without("metadata")
            .without("status")
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(spec: &Value, old: &Value, new: &Value, expect: bool) {
        let mut problems = Vec::new();
        let predicate = Predicate::read(spec, &Location::root(), &mut problems).unwrap();
        let update = Update {
            old: &Header::of(old),
            new: &Header::of(new),
            whole: Some((old, new)),
        };
        assert_eq!(predicate.passes(&update), expect, "{spec}");
    }

    #[test]
    fn an_update_passes_if_the_named_field_changed() {
        let old = json!({"metadata": {"generation": 1, "labels": {"a": "1"}}, "spec": 1});
        let new = json!({"metadata": {"generation": 2, "labels": {"a": "1"}}, "spec": 2});
        check(&json!("GenerationChanged"), &old, &new, true);
        check(&json!("LabelChanged"), &old, &new, false);
        check(&json!({"Not": ["LabelChanged"]}), &old, &new, true);
        check(
            &json!({"And": ["LabelChanged", "GenerationChanged"]}),
            &old,
            &new,
            false,
        );
        check(
            &json!({"Or": ["LabelChanged", "GenerationChanged"]}),
            &old,
            &new,
            true,
        );
    }

    #[test]
    fn without_a_generation_the_content_is_compared() {
        let old = json!({"metadata": {"labels": {"a": "1"}}, "spec": 1, "status": 1});
        check(
            &json!("GenerationChanged"),
            &old,
            &json!({"metadata": {}, "spec": 1, "status": 2}),
            false,
        );
        check(
            &json!("GenerationChanged"),
            &old,
            &json!({"metadata": {}, "spec": 2}),
            true,
        );
    }

    #[test]
    fn an_unknown_predicate_gets_a_suggestion() {
        let mut problems = Vec::new();
        assert!(
            Predicate::read(&json!("GenerationChange"), &Location::root(), &mut problems).is_none()
        );
        assert_eq!(
            problems[0].help.as_deref(),
            Some("did you mean GenerationChanged?")
        );
    }
}
