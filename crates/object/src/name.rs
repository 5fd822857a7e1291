//! The name of an object within its kind.

use std::fmt;

use document::Value;

use crate::metadata::{KEYS, metadata};

/// The namespace and name of an object. Names are ordered by namespace first, so that the objects
/// of a namespace are adjacent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// The namespace, or `""`. Always a string.
    pub namespace: Value,
    /// The name. Always a string.
    pub name: Value,
}

impl ObjectName {
    /// The name in the metadata of an object; `None` if it is missing, empty or not a string.
    pub fn of(object: &Value) -> Option<Self> {
        let metadata = metadata(object);
        Self::from_values(
            metadata.get_key(&KEYS.namespace),
            metadata.get_key(&KEYS.name),
        )
    }

    /// Makes a name from the values in metadata; `None` if the name is missing, empty
    /// or not a string.
    pub fn from_values(namespace: &Value, name: &Value) -> Option<Self> {
        name.as_str().filter(|name| !name.is_empty())?;
        Some(Self {
            namespace: match namespace.as_str() {
                Some(_) => namespace.clone(),
                None => Value::from(""),
            },
            name: name.clone(),
        })
    }

    /// Makes a name from its texts.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The namespace, or `""`.
    pub fn namespace(&self) -> &str {
        self.namespace.as_str().unwrap_or_default()
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.name.as_str().unwrap_or_default()
    }
}

/// `namespace/name`, or the name alone.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace().is_empty() {
            write!(f, "{}/", self.namespace())?;
        }
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn a_name_is_read_from_metadata() {
        let of = |metadata: Value| ObjectName::of(&json!({"metadata": metadata}));
        let named = of(json!({"name": "web", "namespace": "shop"}));
        assert_eq!(named, Some(ObjectName::new("shop", "web")));
        assert_eq!(named.unwrap().to_string(), "shop/web");
        let cluster_scoped = of(json!({"name": "node", "namespace": null})).unwrap();
        assert_eq!(cluster_scoped.to_string(), "node");
    }

    #[test]
    fn an_object_without_a_usable_name_has_none() {
        for metadata in [json!({}), json!({"name": ""}), json!({"name": 1}), json!(3)] {
            assert_eq!(ObjectName::of(&json!({"metadata": metadata})), None);
        }
    }
}
