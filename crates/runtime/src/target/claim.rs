//! The marks that we leave on objects: who owns them, and under which names we write.
//!
//! A [`Claim`] is the annotation `dcontroller.io/owner`. It counts only on the object that
//! it names, because Kubernetes copies labels and annotations from one object to another.
//! The label `dcontroller.io/operator` only serves to list and watch, it proves nothing.

use document::{Value, json, stable_hash};

use super::ObjectKey;

/// The annotation that holds the claim.
pub const OWNER: &str = "dcontroller.io/owner";
/// The label to list and watch by.
pub const OPERATOR: &str = "dcontroller.io/operator";
/// What the annotations that record written paths start with, see
/// [`Written`](super::written::Written).
pub const SET: &str = "dcontroller.io/set.";
/// The label that says who created an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value on objects that we create.
pub const MANAGER: &str = "deltic";

/// How long the value of a label may be.
const MAX_LABEL: usize = 63;
/// How long the name of a field manager may be.
const MAX_MANAGER: usize = 128;
/// How long the text of an origin in a claim may be; a longer one is a hash. All
/// annotations of an object together may have 256 KiB.
const MAX_ORIGIN: usize = 4096;

/// Who owns an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The operator; ownership is the operator's.
    pub operator: String,
    /// The controller that last wrote the object.
    pub controller: String,
    /// What the object is derived from.
    pub origin: Value,
    /// Whether we created it: only then is it ours to delete.
    pub created: bool,
}

impl Claim {
    /// The claim on an object; `None` if there is none, if it is malformed, or if it was
    /// copied from another object.
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
            controller: word("controller")?,
            origin: claim.get("origin").clone(),
            created: claim.get("created").as_bool()?,
        })
    }

    /// The text of the annotation on this object.
    pub fn print(&self, key: &ObjectKey) -> String {
        let (operator, controller) = (self.operator.as_str(), self.controller.as_str());
        json!({
            "operator": operator,
            "controller": controller,
            "origin": (short_origin(&self.origin)),
            "target": (key.to_string()),
            "created": (self.created),
        })
        .to_string()
    }
}

/// An origin as it stands in a claim.
pub fn short_origin(origin: &Value) -> Value {
    let text = origin.to_string();
    if text.len() > MAX_ORIGIN {
        return json!({"hash": (hash(&text))});
    }
    origin.clone()
}

/// An annotation of an object.
pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get("metadata").get("annotations").get(name).as_str()
}

/// The value of the label [`OPERATOR`]; a name that is too long for a label is shortened
/// with a hash.
pub fn operator_label(operator: &str) -> String {
    shorten(operator, MAX_LABEL)
}

/// The field manager that every write of a controller names.
pub fn field_manager(operator: &str, controller: &str) -> String {
    let prefix = manager_prefix(operator);
    let rest = shorten(controller, MAX_MANAGER - prefix.len());
    prefix + &rest
}

/// Whether a field manager is one of this operator's controllers, past ones included.
pub fn is_manager_of(manager: &str, operator: &str) -> bool {
    manager.starts_with(&manager_prefix(operator))
}

fn manager_prefix(operator: &str) -> String {
    format!("deltic/{}/", operator_label(operator))
}

/// The annotation in which a controller records what it has set on an object.
pub fn set_annotation(operator: &str, controller: &str) -> String {
    format!("{SET}{}", hash(&format!("{operator}/{controller}")))
}

/// A text of at most `max` bytes: one that is longer ends in a hash of all of it.
fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let hash = hash(text);
    let mut cut = max.saturating_sub(hash.len() + 1);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}-{hash}", &text[..cut])
}

/// A hash of a text that never changes: 13 digits in base 36.
pub(super) fn hash(text: &str) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest = stable_hash(text);
    let mut digits = [b'0'; 13];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 36) as usize];
        rest /= 36;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim {
            operator: "op".to_owned(),
            controller: "c".to_owned(),
            origin: json!([{"kind": "Pod", "name": "p"}]),
            created: true,
        }
    }

    fn on(text: &str) -> Value {
        json!({"metadata": {"annotations": {"dcontroller.io/owner": text}}})
    }

    #[test]
    fn a_claim_reads_as_it_was_printed() {
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
    fn a_copied_or_malformed_claim_does_not_count() {
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
    fn names_fit_where_they_are_used() {
        assert_eq!(operator_label("op"), "op");
        assert_eq!(field_manager("op", "c"), "deltic/op/c");
        let long = "x".repeat(300);
        assert_eq!(operator_label(&long).len(), 63);
        let manager = field_manager(&"o".repeat(63), &long);
        assert_eq!(manager.len(), 128);
        assert!(is_manager_of(&manager, &"o".repeat(63)));
        assert!(!is_manager_of("deltic/op2/c", "op"));
        assert_ne!(
            field_manager("op", &long),
            field_manager("op", &"x".repeat(301))
        );
        let annotation = set_annotation("op", "c");
        assert!(annotation.strip_prefix("dcontroller.io/").unwrap().len() <= 63);
        assert_ne!(annotation, set_annotation("op", "d"));
        assert_eq!(shorten(&"é".repeat(100), 20).len(), 20);
    }

    #[test]
    fn a_long_origin_is_a_hash() {
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
