//! The identity of an Operator.

/// The prefix of the uid of Operators that a process was given as files.
const INSTANCE: &str = "instance:";

/// Which Operator: its name, and the uid that distinguishes it from others that have, or had,
/// the same name.
///
/// ```
/// use object::{OperatorId, Ownership};
///
/// let shop = OperatorId::new("shop", "f3a1");
/// assert_eq!(shop.owns("shop", Some("f3a1")), Ownership::Own);
/// // The Operator was deleted and created again, or restored from a backup.
/// assert_eq!(shop.owns("shop", Some("07c2")), Ownership::Former);
/// assert_eq!(shop.owns("store", Some("f3a1")), Ownership::Other);
/// // A process that was given a file with an Operator of this name.
/// assert_eq!(shop.owns("shop", Some("instance:default")), Ownership::Other);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorId {
    /// Its name.
    pub name: String,
    /// `metadata.uid` of the Operator, or `instance:<name>` if it was given as a file.
    pub uid: String,
}

/// Whose mark it is, as seen by an Operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Its own.
    Own,
    /// That of an Operator of the same name that existed before it.
    Former,
    /// That of another Operator.
    Other,
}

impl OperatorId {
    /// An Operator of the cluster.
    pub fn new(name: &str, uid: &str) -> Self {
        Self {
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    }

    /// An Operator that a process of this instance was given as a file.
    pub fn of_instance(name: &str, instance: &str) -> Self {
        Self::new(name, &format!("{INSTANCE}{instance}"))
    }

    /// Whose mark has this name and uid. A mark without a uid was written before marks had one,
    /// and counts as that of the Operator with its name.
    pub fn owns(&self, name: &str, uid: Option<&str>) -> Ownership {
        match uid {
            _ if name != self.name => Ownership::Other,
            None => Ownership::Own,
            // Whoever does not know its own uid can only compare names.
            Some(_) if self.uid.is_empty() => Ownership::Own,
            Some(uid) if uid == self.uid => Ownership::Own,
            Some(uid) if instance_of(uid).is_some() || instance_of(&self.uid).is_some() => {
                Ownership::Other
            }
            Some(_) => Ownership::Former,
        }
    }
}

/// The instance in a uid; `None` if it is the uid of an Operator of the cluster.
pub fn instance_of(uid: &str) -> Option<&str> {
    uid.strip_prefix(INSTANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_different_operators() {
        let file = OperatorId::of_instance("shop", "a");
        assert_eq!(file.uid, "instance:a");
        assert_eq!(file.owns("shop", Some("instance:a")), Ownership::Own);
        assert_eq!(file.owns("shop", None), Ownership::Own);
        assert_eq!(file.owns("shop", Some("instance:b")), Ownership::Other);
        assert_eq!(file.owns("shop", Some("f3a1")), Ownership::Other);
        assert_eq!(file.owns("store", None), Ownership::Other);
        assert_eq!(instance_of("instance:a"), Some("a"));
        assert_eq!(instance_of("f3a1"), None);
    }
}
