//! The objects of a list or a watch.

use document::Value;
use object::ObjectKey;

use super::kind::Kind;
use super::route::{Query, RequestPath};
use crate::fields::text;

/// A kind, and optionally a namespace and labels.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// The kind.
    pub(super) kind: &'static Kind,
    namespace: Option<String>,
    labels: Vec<Requirement>,
}

/// One requirement of a label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    label: String,
    /// Whether the requirement is negated.
    negated: bool,
    /// The allowed values; `None` if the label only has to exist.
    values: Option<Vec<String>>,
}

impl Selection {
    /// The selection of a request.
    pub(super) fn of(place: &RequestPath, query: &Query) -> Self {
        Self {
            kind: place.kind,
            namespace: place.namespace.clone(),
            labels: requirements(query.get("labelSelector")),
        }
    }

    /// Whether an object has the kind and the namespace.
    pub(super) fn covers(&self, key: &ObjectKey) -> bool {
        key.kind.group.as_str() == self.kind.group
            && key.kind.kind.as_str() == self.kind.name
            && self
                .namespace
                .as_ref()
                .is_none_or(|namespace| key.namespace() == namespace)
    }

    /// Whether an object has matching labels.
    pub(super) fn admits(&self, object: &Value) -> bool {
        self.labels.iter().all(|requirement| {
            let value = text(object, &["metadata", "labels", &requirement.label]);
            let there = !object
                .get("metadata")
                .get("labels")
                .get(&requirement.label)
                .is_null();
            let holds = match &requirement.values {
                None => there,
                Some(values) => there && values.iter().any(|wanted| wanted == value),
            };
            holds != requirement.negated
        })
    }
}

/// `a=b,c in (x,y),!d,e,f notin (z),g!=h`
fn requirements(selector: &str) -> Vec<Requirement> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for c in selector.chars() {
        inside = (inside || c == '(') && c != ')';
        match parts.last_mut() {
            Some(part) if c != ',' || inside => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let parts = parts.iter().map(|part| part.trim());
    parts
        .filter(|part| !part.is_empty())
        .map(requirement)
        .collect()
}

fn requirement(part: &str) -> Requirement {
    let make = |label: &str, negated: bool, values: Option<Vec<String>>| Requirement {
        label: label.trim().to_owned(),
        negated,
        values,
    };
    let set = |values: &str| {
        let values = values.trim().trim_matches(['(', ')']).split(',');
        Some(values.map(|value| value.trim().to_owned()).collect())
    };
    if let Some(label) = part.strip_prefix('!') {
        return make(label, true, None);
    }
    for (sign, negated) in [
        (" notin ", true),
        (" in ", false),
        ("!=", true),
        ("=", false),
    ] {
        if let Some((label, values)) = part.split_once(sign) {
            return make(label, negated, set(values.trim_start_matches('=')));
        }
    }
    make(part, false, None)
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn selectors_have_the_syntax_of_kubernetes() {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        for (selector, expect) in [
            ("", true),
            ("a=1", true),
            ("a==1,b in (2,3)", true),
            ("a in (2, 3)", false),
            ("b notin (3)", true),
            ("c notin (3)", true),
            ("b!=2", false),
            ("c", false),
            ("!c,a", true),
            ("!a", false),
        ] {
            let selection = Selection {
                kind: &super::super::kind::KINDS[0],
                namespace: None,
                labels: requirements(selector),
            };
            assert_eq!(selection.admits(&object), expect, "{selector}");
        }
    }
}
