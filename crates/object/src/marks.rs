//! The marks that deltic puts on objects, and its field managers.
//!
//! | mark | meaning |
//! |---|---|
//! | annotation [`OWNER`] | the claim: which Operator and controller derived the object |
//! | annotation [`SET`]`<hash>` | the record: the fields that a controller has set on the object |
//! | label [`OPERATOR`] | the index by which the objects of an Operator are listed and watched |
//!
//! Marks are bookkeeping: they never enter a pipeline.
//!
//! Other objects have annotations, labels and finalizers of deltic, too:
//!
//! | object | name | meaning |
//! |---|---|---|
//! | Operator | annotation [`ALLOW`] | the codes of warnings that are intended |
//! | Operator | annotation [`ALLOW_DELETIONS`] | releases held deletions |
//! | Operator | finalizer [`FINALIZER`] | its objects are removed before it |
//! | Lease | annotation [`KINDS`] | the kinds in which Operators of files have objects |
//! | `APIService` | label [`AGGREGATION`] | deltic made it |
//! | `APIService` | annotation [`SERVED_BY`] | the Service of the process that made it |
//! | `APIService` | annotation [`SELECTED_BY`] | the selector of that process |

use document::stable_hash;

/// The annotation with the claim on an object.
pub const OWNER: &str = "dcontroller.io/owner";
/// The label by which the objects of an Operator are listed. It does not prove a claim.
pub const OPERATOR: &str = "dcontroller.io/operator";
/// The prefix of annotations with records; see [`set_annotation`].
pub const SET: &str = "dcontroller.io/set.";
/// The annotation on an Operator with the codes of warnings that are intended.
pub const ALLOW: &str = "dcontroller.io/allow";
/// The annotation on an Operator that releases held deletions.
pub const ALLOW_DELETIONS: &str = "dcontroller.io/allow-deletions";
/// The finalizer of an Operator whose `deletionPolicy` is `Delete`.
pub const FINALIZER: &str = "dcontroller.io/delete-derived";
/// The annotation of a Lease with the kinds of each Operator.
pub const KINDS: &str = "dcontroller.io/kinds";
/// The label, with its value, of all `APIService`s that deltic makes.
pub const AGGREGATION: (&str, &str) = ("dcontroller.io/aggregation", "views");
/// The annotation that names the Service of the process that made an `APIService`.
pub const SERVED_BY: &str = "dcontroller.io/served-by";
/// The annotation with the selector of that process, if it has one.
pub const SELECTED_BY: &str = "dcontroller.io/operator-selector";
/// The usual label that says which program manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`] on objects that deltic creates.
pub const MANAGER: &str = "deltic";
/// The annotation in which `kubectl apply` stores what it applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The longest label value.
const MAX_LABEL: usize = 63;
/// The longest name of a field manager.
const MAX_MANAGER: usize = 128;

/// Whether a label or an annotation is a mark, and so not data.
pub fn is_mark(name: &str) -> bool {
    name == LAST_APPLIED || name == OWNER || name == OPERATOR || name.starts_with(SET)
}

/// The value of the label [`OPERATOR`]: the name, shortened with a hash if it is too long.
pub fn operator_label(operator: &str) -> String {
    shorten(operator, MAX_LABEL)
}

/// The field manager of a controller.
pub fn field_manager(operator: &str, controller: &str) -> String {
    let prefix = manager_prefix(operator);
    let rest = shorten(controller, MAX_MANAGER - prefix.len());
    prefix + &rest
}

/// Whether a field manager is a controller of this Operator.
pub fn is_manager_of(manager: &str, operator: &str) -> bool {
    manager.starts_with(&manager_prefix(operator))
}

/// The Operator that a field manager is a controller of, by its label.
pub fn operator_of(manager: &str) -> Option<&str> {
    let rest = manager.strip_prefix(MANAGER)?.strip_prefix('/')?;
    rest.split_once('/').map(|(operator, _)| operator)
}

fn manager_prefix(operator: &str) -> String {
    format!("{MANAGER}/{}/", operator_label(operator))
}

/// The annotation with the record of a controller.
pub fn set_annotation(operator: &str, controller: &str) -> String {
    format!("{SET}{}", short_hash(&format!("{operator}/{controller}")))
}

fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let hash = short_hash(text);
    let mut cut = max.saturating_sub(hash.len() + 1);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}-{hash}", &text[..cut])
}

/// A hash of a text in 13 characters that fit into names; the same in every process.
pub fn short_hash(text: &str) -> String {
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

    #[test]
    fn long_names_are_shortened() {
        assert_eq!(operator_label("op"), "op");
        assert_eq!(field_manager("op", "c"), "deltic/op/c");
        let long = "x".repeat(300);
        assert_eq!(operator_label(&long).len(), 63);
        let manager = field_manager(&"o".repeat(63), &long);
        assert_eq!(manager.len(), 128);
        assert!(is_manager_of(&manager, &"o".repeat(63)));
        assert!(!is_manager_of("deltic/op2/c", "op"));
        assert_eq!(operator_of("deltic/op2/c"), Some("op2"));
        assert_eq!(operator_of("deltic"), None);
        assert_eq!(operator_of("kubectl/op/c"), None);
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
    fn marks_are_distinguished_from_data() {
        assert!(is_mark(OWNER) && is_mark(OPERATOR) && is_mark(LAST_APPLIED));
        assert!(is_mark(&set_annotation("op", "c")));
        assert!(!is_mark(MANAGED_BY) && !is_mark("dcontroller.io/other"));
    }
}
