//! Selecting objects of a collection.

use document::{Key, Value};
use object::metadata::KEYS;
use object::{LabelSelector, ObjectName};

/// The objects of a collection that a reader wants; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Only objects in this namespace; `""` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Only objects with this name.
    pub name: Option<String>,
    /// Only objects with matching labels.
    pub labels: Option<LabelSelector>,
    /// Only objects with matching fields.
    pub fields: Vec<FieldTerm>,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldTerm {
    /// On `metadata.name`.
    Name {
        /// The value to compare with.
        value: String,
        /// Whether the field must be equal to it, or different.
        equal: bool,
    },
    /// On `metadata.namespace`.
    Namespace {
        /// The value to compare with.
        value: String,
        /// Whether the field must be equal to it, or different.
        equal: bool,
    },
}

impl FieldTerm {
    fn holds(&self, metadata: &Value) -> bool {
        let (field, value, equal) = match self {
            Self::Name { value, equal } => (&KEYS.name, value, *equal),
            Self::Namespace { value, equal } => (&KEYS.namespace, value, *equal),
        };
        let found = metadata.get_key(field).as_str().unwrap_or_default();
        (found == value) == equal
    }
}

impl Selector {
    /// Whether a scan in key order, which started at the first possible key, can end before
    /// this key.
    pub(crate) fn ends_before(&self, key: &ObjectName) -> bool {
        let name = self.name.as_deref();
        self.namespace.as_deref().is_some_and(|namespace| {
            namespace != key.namespace() || name.is_some_and(|name| name != key.name())
        })
    }

    /// Whether it selects all objects of a namespace, or all.
    pub(crate) fn is_of_namespace(&self) -> bool {
        self.name.is_none() && self.labels.is_none() && self.fields.is_empty()
    }

    /// Whether the selector matches this object.
    pub fn admits(&self, object: &Value) -> bool {
        let metadata = object.get_key(&KEYS.metadata);
        let is = |wanted: &Option<String>, field: &Key| {
            let found = metadata.get_key(field).as_str().unwrap_or_default();
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let labels = self.labels.as_ref();
        is(&self.namespace, &KEYS.namespace)
            && is(&self.name, &KEYS.name)
            && labels.is_none_or(|labels| labels.admits(object))
            && self.fields.iter().all(|term| term.holds(metadata))
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(selector: &Selector, expect: bool) {
        let object = json!({
            "metadata": {"namespace": "shop", "name": "web", "labels": {"app": "web"}}
        });
        assert_eq!(selector.admits(&object), expect, "{selector:?}");
    }

    #[test]
    fn namespace_and_name_are_compared() {
        let selector = |namespace: Option<&str>, name: Option<&str>| Selector {
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            ..Selector::default()
        };
        check(&selector(None, None), true);
        check(&selector(Some("shop"), Some("web")), true);
        check(&selector(Some(""), None), false);
        check(&selector(None, Some("db")), false);
    }

    #[test]
    fn fields_are_compared() {
        let name = |value: &str, equal| FieldTerm::Name {
            value: value.to_owned(),
            equal,
        };
        let namespace = FieldTerm::Namespace {
            value: "shop".to_owned(),
            equal: false,
        };
        for (fields, expect) in [
            (vec![name("web", true)], true),
            (vec![name("web", false)], false),
            (vec![name("db", false)], true),
            (vec![name("web", true), namespace], false),
        ] {
            let selector = Selector {
                fields,
                ..Selector::default()
            };
            check(&selector, expect);
        }
    }

    #[test]
    fn labels_of_the_object_are_matched() {
        for (query, expect) in [("app=web", true), ("tier", false), ("!tier", true)] {
            let selector = Selector {
                labels: Some(LabelSelector::from_query(query).unwrap()),
                ..Selector::default()
            };
            check(&selector, expect);
        }
    }
}
