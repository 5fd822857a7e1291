//! Claims: the marks on objects that say whose they are.
//!
//! A [`Claim`] is the annotation `dcontroller.io/owner`. It is only valid on the object that it
//! names, because Kubernetes copies labels and annotations from one object to another. The
//! label `dcontroller.io/operator` selects objects in lists and watches, and proves nothing.

use document::{Key, Value, json};
use object::marks::{OWNER, short_hash};
use object::metadata::annotation;
use object::{ObjectKey, OperatorId, Ownership};

/// The maximum length of an origin in a claim; a longer one is replaced by a hash. All
/// annotations of an object together may have 256 KiB.
const MAX_ORIGIN: usize = 4096;

/// The length of the longest escape of a character in JSON, such as `\u0001`, per byte of it.
const MAX_ESCAPED: usize = 6;

/// The owner of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The name of the Operator, which is the owner.
    pub operator: String,
    /// The uid of the Operator (see [`OperatorId`]); `None` in a claim that was written before
    /// claims had one.
    pub uid: Option<String>,
    /// The controller that last wrote the object.
    pub controller: String,
    /// The origin of the object.
    pub origin: Value,
    /// Whether we created the object: only then may we delete it.
    pub created: bool,
}

impl Claim {
    /// The claim of a controller.
    pub fn new(operator: &OperatorId, controller: &str, origin: &Value, created: bool) -> Self {
        Self {
            operator: operator.name.clone(),
            uid: Some(operator.uid.clone()).filter(|uid| !uid.is_empty()),
            controller: controller.to_owned(),
            origin: origin.clone(),
            created,
        }
    }

    /// The claim on an object; `None` if there is none, or if it is malformed or copied from
    /// another object.
    pub fn read(object: &Value, key: &ObjectKey) -> Option<Self> {
        let text = annotation(object, OWNER)?;
        let claim: Value = text.parse().ok()?;
        let word = |field: &str| {
            let text = claim.get(field).as_str();
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if claim.get("target").as_str() != Some(key.to_string().as_str()) {
            return None;
        }
        Some(Self {
            operator: word("operator")?,
            uid: word("uid"),
            controller: word("controller")?,
            // Longer than any that was printed.
            origin: short_origin(claim.get("origin")),
            created: claim.get("created").as_bool()?,
        })
    }

    /// The text of the annotation on this object.
    pub fn print(&self, key: &ObjectKey) -> String {
        let (operator, controller) = (self.operator.as_str(), self.controller.as_str());
        let mut claim = json!({
            "operator": operator,
            "controller": controller,
            "origin": (short_origin(&self.origin)),
            "target": (key.to_string()),
            "created": (self.created),
        });
        if let (Some(uid), Some(fields)) = (&self.uid, claim.as_map()) {
            claim = fields.with(Key::new("uid"), uid.as_str().into()).into();
        }
        claim.to_string()
    }

    /// Whose claim it is, as seen by an Operator.
    pub fn owner(&self, operator: &OperatorId) -> Ownership {
        operator.owns(&self.operator, self.uid.as_deref())
    }

    /// The text of the annotation on this object for a claim that is wanted. A live claim that
    /// lacks only the uid stays as it is: an object is not written just for that.
    pub(crate) fn print_over(&self, live: &Value, key: &ObjectKey) -> String {
        let lacks_uid = |live: &Self| {
            let with_uid = Self {
                uid: self.uid.clone(),
                ..live.clone()
            };
            live.uid.is_none() && with_uid.print(key) == self.print(key)
        };
        let kept = Self::read(live, key).filter(lacks_uid);
        let kept = kept.and_then(|_| annotation(live, OWNER));
        kept.map_or_else(|| self.print(key), str::to_owned)
    }

    /// Whether it is the claim of this Operator.
    pub fn is_of(&self, operator: &OperatorId) -> bool {
        self.owner(operator) == Ownership::Own
    }
}

/// An origin in the form that claims contain; a hash of one that is too long.
pub fn short_origin(origin: &Value) -> Value {
    // The text of most origins is short, even if each of its characters were escaped.
    let bytes = usize::try_from(origin.measure().bytes).unwrap_or(usize::MAX);
    if bytes <= MAX_ORIGIN / MAX_ESCAPED {
        return origin.clone();
    }
    let text = origin.to_string();
    if text.len() > MAX_ORIGIN {
        return json!({"hash": (short_hash(&text))});
    }
    origin.clone()
}

/// In place of an origin that contains names which may be values of Secrets. Not even a hash: who
/// can read it could try values.
pub fn hidden_origin() -> Value {
    json!({"hidden": true})
}

/// Whether it is unknown which objects an origin of a claim contains.
pub fn is_opaque(origin: &Value) -> bool {
    origin.as_map().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim {
            operator: "op".to_owned(),
            uid: Some("u1".to_owned()),
            controller: "c".to_owned(),
            origin: json!([{"kind": "Pod", "name": "p"}]),
            created: true,
        }
    }

    fn on(text: &str) -> Value {
        json!({"metadata": {"annotations": {"dcontroller.io/owner": text}}})
    }

    #[test]
    fn a_printed_claim_is_parsed_to_the_same() {
        let key = ObjectKey::new("apps", "Deployment", "ns", "web");
        let text = claim().print(&key);
        assert!(
            text.contains(r#""target":"apps/Deployment/ns/web""#),
            "{text}"
        );
        assert_eq!(Claim::read(&on(&text), &key), Some(claim()));
        let cluster = ObjectKey::new("", "Node", "", "n");
        let text = claim().print(&cluster);
        assert!(text.contains(r#""target":"/Node//n""#), "{text}");
    }

    #[test]
    fn a_copied_or_malformed_claim_is_ignored() {
        let key = ObjectKey::new("", "Service", "ns", "web");
        let text = claim().print(&key);
        for other in [
            ObjectKey::new("discovery.k8s.io", "EndpointSlice", "ns", "web"),
            ObjectKey::new("", "Service", "ns", "web2"),
            ObjectKey::new("", "Service", "other", "web"),
        ] {
            assert_eq!(Claim::read(&on(&text), &other), None, "{other}");
        }
        for bad in [
            "",
            "{}",
            "[",
            &text.replace("true", "\"true\""),
            &text.replace("\"op\"", "\"\""),
        ] {
            assert_eq!(Claim::read(&on(bad), &key), None, "{bad}");
        }
        assert_eq!(Claim::read(&json!({}), &key), None);
    }

    #[test]
    fn a_claim_without_a_uid_is_that_of_the_operator_with_its_name() {
        let key = ObjectKey::new("", "ConfigMap", "ns", "a");
        let old = Claim {
            uid: None,
            ..claim()
        };
        let text = old.print(&key);
        assert!(!text.contains("uid"), "{text}");
        assert_eq!(Claim::read(&on(&text), &key), Some(old.clone()));
        assert!(old.is_of(&OperatorId::new("op", "u1")));
        assert!(!old.is_of(&OperatorId::new("other", "u1")));
        let new = OperatorId::new("op", "u2");
        assert_eq!(claim().owner(&new), Ownership::Former);
    }

    #[test]
    fn a_long_origin_is_hashed() {
        let long = Claim {
            origin: json!([{"key": ("k".repeat(10_000))}]),
            ..claim()
        };
        let key = ObjectKey::new("", "ConfigMap", "ns", "a");
        let text = long.print(&key);
        assert!(text.len() < 300, "{text}");
        assert_eq!(
            Claim::read(&on(&text), &key).unwrap().origin,
            short_origin(&long.origin)
        );
    }
}
