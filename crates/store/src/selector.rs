//! Which objects of a collection a reader wants.

use document::Value;

use crate::object::KEYS;

/// Which objects of a collection a reader wants; by default all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Only of this namespace; `""` for objects without one.
    pub namespace: Option<String>,
    /// Only of this name.
    pub name: Option<String>,
    /// Only with labels that meet all of these.
    pub labels: Vec<Requirement>,
}

/// What a label must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// There, and one of these values.
    In(String, Vec<String>),
    /// Not there, or none of these values.
    NotIn(String, Vec<String>),
    /// There.
    Exists(String),
    /// Not there.
    Missing(String),
}

impl Selector {
    /// Whether this object is wanted.
    pub fn admits(&self, object: &Value) -> bool {
        let metadata = object.get_key(&KEYS.metadata);
        let is = |wanted: &Option<String>, field: &str| {
            let found = metadata.get(field).as_str().unwrap_or_default();
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let labels = metadata.get_key(&KEYS.labels);
        is(&self.namespace, "namespace")
            && is(&self.name, "name")
            && self.labels.iter().all(|label| label.holds(labels))
    }
}

impl Requirement {
    fn holds(&self, labels: &Value) -> bool {
        let within = |key: &str, values: &[String]| {
            let label = labels.get(key).as_str();
            label.is_some_and(|label| values.iter().any(|value| value == label))
        };
        match self {
            Self::In(key, values) => within(key, values),
            Self::NotIn(key, values) => !within(key, values),
            Self::Exists(key) => !labels.get(key).is_null(),
            Self::Missing(key) => labels.get(key).is_null(),
        }
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
            labels: Vec::new(),
        };
        check(&selector(None, None), true);
        check(&selector(Some("shop"), Some("web")), true);
        check(&selector(Some(""), None), false);
        check(&selector(None, Some("db")), false);
    }

    #[test]
    fn a_missing_label_meets_only_notin_and_missing() {
        let values = || vec!["web".to_owned(), "db".to_owned()];
        let app = || "app".to_owned();
        let tier = || "tier".to_owned();
        for (requirement, expect) in [
            (Requirement::In(app(), values()), true),
            (Requirement::In(tier(), values()), false),
            (Requirement::NotIn(app(), values()), false),
            (Requirement::NotIn(tier(), values()), true),
            (Requirement::Exists(app()), true),
            (Requirement::Exists(tier()), false),
            (Requirement::Missing(app()), false),
            (Requirement::Missing(tier()), true),
        ] {
            let selector = Selector {
                labels: vec![requirement],
                ..Selector::default()
            };
            check(&selector, expect);
        }
    }
}
