//! Label selectors: one type for the maps in manifests, the query strings of the API server, and
//! matching.
//!
//! A selector stores the value that it was read from. The value is validated once and then matched
//! in place, so that a join that evaluates `@selector` for many pairs of documents allocates
//! nothing.

mod query;

use std::borrow::Cow;
use std::fmt;

use document::{Key, Kind, Map, Value};

/// Which labels an object must have.
///
/// ```
/// use document::json;
/// use object::LabelSelector;
///
/// let map = json!({"matchLabels": {"app": "web"}, "matchExpressions": [
///     {"key": "tier", "operator": "In", "values": ["a", "b"]},
/// ]});
/// let selector = LabelSelector::new(&map)?.expect("only null matches nothing");
/// assert_eq!(selector.to_string(), "app=web,tier in (a,b)");
/// assert!(selector.matches(&json!({"app": "web", "tier": "a"})));
/// assert!(!selector.matches(&json!({"app": "web"})));
/// # Ok::<(), object::SelectorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    /// Invariant: if it has `matchLabels` or `matchExpressions`, these are well-formed.
    value: Value,
    /// Whether the value has `matchLabels` and `matchExpressions`; otherwise it is a map of labels.
    structured: bool,
}

/// Why a value is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The value has another type.
    #[error("expected a map, found {0}")]
    NotAMap(Kind),
    /// A requirement is malformed.
    #[error("{0}")]
    Requirement(&'static str),
    /// A query string is malformed.
    #[error("cannot read the label selector at character {at}: {why}")]
    Query {
        /// The position in bytes, from 0.
        at: usize,
        /// What was expected.
        why: &'static str,
    },
}

/// What is known about a label of objects that do not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownLabel {
    /// Nothing.
    Nothing,
    /// All of them have it.
    Present,
    /// It has one of these values; `None` if it is missing.
    OneOf(Vec<Option<Value>>),
}

/// A requirement on one label.
#[derive(Clone, Copy, Debug)]
enum Requirement<'a> {
    Equals(&'a str, &'a Value),
    In(&'a str, &'a Value),
    NotIn(&'a str, &'a Value),
    Exists(&'a str),
    DoesNotExist(&'a str),
    Greater(&'a str, i64),
    Less(&'a str, i64),
}

impl LabelSelector {
    /// Reads a map of labels, or one with `matchLabels` and `matchExpressions`. Null
    /// gives `None`, which matches nothing; an empty map matches everything.
    pub fn new(value: &Value) -> Result<Option<Self>, SelectorError> {
        if value.is_null() {
            return Ok(None);
        }
        let Some(fields) = value.as_map() else {
            return Err(SelectorError::NotAMap(value.kind()));
        };
        let structured = is_structured(fields);
        if structured {
            for expression in expressions(value) {
                let requirement = requirement(expression)?;
                if matches!(
                    requirement,
                    Requirement::Greater(..) | Requirement::Less(..)
                ) {
                    return Err(UNKNOWN_OPERATOR);
                }
            }
        }
        Ok(Some(Self {
            value: value.clone(),
            structured,
        }))
    }

    /// Reads a query string such as `app=web,tier in (a,b),!old`.
    pub fn from_query(text: &str) -> Result<Self, SelectorError> {
        Ok(Self {
            value: query::read(text)?,
            structured: true,
        })
    }

    /// Whether it matches every object that may have labels.
    pub fn is_empty(&self) -> bool {
        self.requirements().next().is_none()
    }

    /// The first label that must have one value. Indexes use it as the key of the selector.
    pub fn first_pair(&self) -> Option<(&Key, &Value)> {
        let mut pairs = self.labels().into_iter().flatten();
        pairs.next().map(|(key, value)| (key, value))
    }

    /// Whether these labels match; null matches nothing. Values compare by their text.
    pub fn matches(&self, labels: &Value) -> bool {
        labels.as_map().is_some_and(|labels| {
            let mut requirements = self.requirements();
            requirements.all(|requirement| requirement.holds(labels))
        })
    }

    /// Whether the labels of an object match. An empty selector matches an object without labels.
    pub fn admits(&self, object: &Value) -> bool {
        self.admits_labels(crate::metadata::labels(object))
    }

    /// As [`LabelSelector::admits`], given `metadata.labels`.
    pub fn admits_labels(&self, labels: &Value) -> bool {
        if labels.is_null() {
            return self.matches(&Value::empty_map());
        }
        self.matches(labels)
    }

    /// The requirements that the labels of an object do not meet: the label, and the requirement as in
    /// a query string.
    pub fn unmet(&self, labels: &Value) -> Vec<(String, String)> {
        let none = Map::default();
        let labels = labels.as_map().unwrap_or(&none);
        let requirements = self.requirements();
        let unmet = requirements.filter(|requirement| !requirement.holds(labels));
        unmet
            .map(|requirement| (requirement.key().to_owned(), requirement.to_string()))
            .collect()
    }

    /// Whether it matches no object of which this is known.
    pub fn excludes(&self, known: impl Fn(&str) -> KnownLabel) -> bool {
        let mut requirements = self.requirements();
        requirements.any(|requirement| match known(requirement.key()) {
            KnownLabel::Nothing => false,
            KnownLabel::Present => matches!(requirement, Requirement::DoesNotExist(_)),
            KnownLabel::OneOf(values) => values.into_iter().all(|value| {
                let label = value.map(|value| (Key::new(requirement.key()), value));
                !requirement.holds(&label.into_iter().collect())
            }),
        })
    }

    /// The query string for an API server; `None` if the selector admits everything. Requirements
    /// that a server would refuse are left out, so the caller must check the objects itself.
    pub fn to_query(&self) -> Option<String> {
        let requirements = self.requirements();
        let sent = requirements.filter(|requirement| query::is_valid(*requirement));
        let texts: Vec<String> = sent.map(|requirement| requirement.to_string()).collect();
        (!texts.is_empty()).then(|| texts.join(","))
    }

    fn labels(&self) -> Option<&Map> {
        if self.structured {
            return self.value.get("matchLabels").as_map();
        }
        self.value.as_map()
    }

    fn requirements(&self) -> impl Iterator<Item = Requirement<'_>> {
        let labels = self.labels().into_iter().flatten();
        let equal = labels.map(|(key, value)| Requirement::Equals(key.as_str(), value));
        let expressions = self.structured.then(|| expressions(&self.value));
        let expressions = expressions.into_iter().flatten();
        // Expressions are valid: they were checked when the selector was made.
        equal.chain(expressions.filter_map(|expression| requirement(expression).ok()))
    }
}

/// Whether a map has only `matchLabels` and `matchExpressions`, of the right types. Every other map
/// is a map of labels.
fn is_structured(fields: &Map) -> bool {
    let well_typed = |(key, value): &(Key, Value)| match key.as_str() {
        "matchLabels" => value.as_map().is_some() || value.is_null(),
        "matchExpressions" => value.as_list().is_some() || value.is_null(),
        _ => false,
    };
    !fields.is_empty() && fields.iter().all(well_typed)
}

fn expressions(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value.get("matchExpressions").as_list();
    list.into_iter().flatten()
}

const UNKNOWN_OPERATOR: SelectorError =
    SelectorError::Requirement("the operator must be In, NotIn, Exists or DoesNotExist");

fn requirement(expression: &Value) -> Result<Requirement<'_>, SelectorError> {
    let key = expression.get("key").as_str();
    let key = key.ok_or(SelectorError::Requirement("an expression needs a key"))?;
    let values = expression.get("values");
    let some_values = || match values.as_list() {
        Some(list) if !list.is_empty() => Ok(values),
        _ => Err(SelectorError::Requirement("In and NotIn need values")),
    };
    let number = || {
        let number = values.at(0).as_int();
        number.ok_or(SelectorError::Requirement("Gt and Lt need an integer"))
    };
    match expression.get("operator").as_str() {
        Some("In") => Ok(Requirement::In(key, some_values()?)),
        Some("NotIn") => Ok(Requirement::NotIn(key, some_values()?)),
        Some("Exists") => Ok(Requirement::Exists(key)),
        Some("DoesNotExist") => Ok(Requirement::DoesNotExist(key)),
        Some("Gt") => Ok(Requirement::Greater(key, number()?)),
        Some("Lt") => Ok(Requirement::Less(key, number()?)),
        _ => Err(UNKNOWN_OPERATOR),
    }
}

impl<'a> Requirement<'a> {
    fn key(self) -> &'a str {
        match self {
            Self::Equals(key, _)
            | Self::In(key, _)
            | Self::NotIn(key, _)
            | Self::Exists(key)
            | Self::DoesNotExist(key)
            | Self::Greater(key, _)
            | Self::Less(key, _) => key,
        }
    }

    fn holds(self, labels: &Map) -> bool {
        let one_of = |key: &str, values: &Value| {
            let values = values.as_list().into_iter().flatten();
            let label = labels.get_str(key);
            label.is_some_and(|label| values.into_iter().any(|value| same_text(value, label)))
        };
        let number = |key: &str| label_text(labels.get_str(key)?).parse::<i64>().ok();
        match self {
            Self::Equals(key, value) => {
                let label = labels.get_str(key);
                label.is_some_and(|label| same_text(label, value))
            }
            Self::In(key, values) => one_of(key, values),
            Self::NotIn(key, values) => !one_of(key, values),
            Self::Exists(key) => labels.get_str(key).is_some(),
            Self::DoesNotExist(key) => labels.get_str(key).is_none(),
            Self::Greater(key, bound) => number(key).is_some_and(|number| number > bound),
            Self::Less(key, bound) => number(key).is_some_and(|number| number < bound),
        }
    }
}

/// Whether two label values have the same text.
pub fn same_text(a: &Value, b: &Value) -> bool {
    a == b || label_text(a) == label_text(b)
}

/// The text of a label value. Null has one too, so that it equals itself.
pub fn label_text(value: &Value) -> Cow<'_, str> {
    match value.as_str() {
        Some(text) => text.into(),
        None => value.to_string().into(),
    }
}

/// As a query string.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |values: &Value| {
            let values = values.as_list().into_iter().flatten();
            values.map(label_text).collect::<Vec<_>>().join(",")
        };
        match self {
            Self::Equals(key, value) => write!(f, "{key}={}", label_text(value)),
            Self::In(key, values) => write!(f, "{key} in ({})", listed(values)),
            Self::NotIn(key, values) => write!(f, "{key} notin ({})", listed(values)),
            Self::Exists(key) => f.write_str(key),
            Self::DoesNotExist(key) => write!(f, "!{key}"),
            Self::Greater(key, bound) => write!(f, "{key}>{bound}"),
            Self::Less(key, bound) => write!(f, "{key}<{bound}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn selector(value: &Value) -> LabelSelector {
        LabelSelector::new(value).unwrap().unwrap()
    }

    #[test]
    fn maps_print_as_query_strings() {
        let full = selector(&json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]},
                {"key": "old", "operator": "DoesNotExist"},
                {"key": "x", "operator": "Exists"},
                {"key": "y", "operator": "NotIn", "values": ["z"]}
            ]
        }));
        let text = "app=web,tier in (a,b),!old,x,y notin (z)";
        assert_eq!(full.to_query().as_deref(), Some(text));
        assert_eq!(LabelSelector::from_query(text).unwrap().to_string(), text);
        assert_eq!(selector(&json!({})).to_query(), None);
        assert_eq!(
            selector(&json!({"n": 1})).to_query().as_deref(),
            Some("n=1")
        );
    }

    #[test]
    fn what_is_known_may_exclude_all_objects() {
        let [a, b] = ["a", "b"].map(|text| Some(Value::from(text)));
        for (query, known, expect) in [
            ("x=a", KnownLabel::Nothing, false),
            ("x=a", KnownLabel::Present, false),
            ("x=a", KnownLabel::OneOf(vec![None]), true),
            ("x=a", KnownLabel::OneOf(vec![None, b.clone()]), true),
            ("x=a", KnownLabel::OneOf(vec![a.clone(), b.clone()]), false),
            ("x", KnownLabel::OneOf(vec![None]), true),
            ("!x", KnownLabel::Present, true),
            ("!x", KnownLabel::OneOf(vec![None, a.clone()]), false),
            ("x notin (a,b)", KnownLabel::OneOf(vec![a, b]), true),
            ("y,x notin (a,b)", KnownLabel::OneOf(vec![None]), false),
        ] {
            let selector = LabelSelector::from_query(query).unwrap();
            let of_x = |key: &str| match key {
                "x" => known.clone(),
                _ => KnownLabel::Nothing,
            };
            assert_eq!(selector.excludes(of_x), expect, "{query} {known:?}");
        }
    }

    #[test]
    fn invalid_labels_are_not_sent_but_checked() {
        let odd = selector(&json!({"app": "web", "b": "not a label", "c d": "x"}));
        assert_eq!(odd.to_query().as_deref(), Some("app=web"));
        assert!(!odd.matches(&json!({"app": "web"})));
    }

    #[test]
    fn a_missing_label_matches_only_notin_and_missing() {
        let labels = json!({"app": "web"});
        for (query, expect) in [
            ("app in (web,db)", true),
            ("tier in (web,db)", false),
            ("app notin (web,db)", false),
            ("tier notin (web,db)", true),
            ("app", true),
            ("tier", false),
            ("!app", false),
            ("!tier", true),
            ("app!=web", false),
            ("tier!=web", true),
        ] {
            let selector = LabelSelector::from_query(query).unwrap();
            assert_eq!(selector.matches(&labels), expect, "{query}");
        }
    }

    #[test]
    fn null_labels_match_nothing_and_an_object_without_labels_has_none() {
        let all = selector(&json!({}));
        assert!(!all.matches(&Value::NULL));
        assert!(all.matches(&json!({})));
        assert!(all.admits(&json!({"metadata": {"name": "a"}})));
        assert_eq!(LabelSelector::new(&Value::NULL), Ok(None));
    }

    #[test]
    fn malformed_maps_are_refused() {
        let expression = |expression: Value| json!({"matchExpressions": [expression]});
        for (value, message) in [
            (json!("app"), "expected a map, found a string"),
            (
                expression(json!({"operator": "In"})),
                "an expression needs a key",
            ),
            (
                expression(json!({"key": "a", "operator": "In", "values": []})),
                "In and NotIn need values",
            ),
            (
                expression(json!({"key": "a", "operator": "Gt", "values": [1]})),
                "the operator must be In, NotIn, Exists or DoesNotExist",
            ),
        ] {
            let error = LabelSelector::new(&value).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_label_named_like_a_field_is_a_label() {
        let labels = selector(&json!({"matchLabels": "x"}));
        assert!(labels.matches(&json!({"matchLabels": "x"})));
        assert_eq!(labels.first_pair().unwrap().0.as_str(), "matchLabels");
    }
}
