//! Which other Operators exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use object::instance_of;

/// The Operators that exist, as far as this process knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// The names of all Operators of the cluster; `None` without a complete list of them.
    pub cluster: Option<Arc<BTreeSet<String>>>,
    /// The instance of this process and the names of its Operators, if these were given as files.
    pub instance: Option<(String, Arc<BTreeSet<String>>)>,
}

impl Peers {
    /// Whether no Operator with the name in a claim or record exists any more. If that is not
    /// known, it exists. `uid` is the one in the claim or record.
    pub fn is_gone(&self, operator: &str, uid: Option<&str>) -> bool {
        let names = match uid.and_then(instance_of) {
            Some(theirs) => {
                let own = self.instance.as_ref().filter(|(own, _)| own == theirs);
                own.map(|(_, names)| names)
            }
            None => self.cluster.as_ref(),
        };
        names.is_some_and(|names| !names.contains(operator))
    }

    /// Whether no Operator with this name is known, and those of the cluster or of this process are.
    /// Another process may have one that was given as a file.
    pub(crate) fn lacks(&self, operator: &str) -> bool {
        let instance = self.instance.as_ref().map(|(_, names)| names);
        let mut lists = self.cluster.iter().chain(instance).peekable();
        lists.peek().is_some() && lists.all(|names| !names.contains(operator))
    }
}

#[cfg(test)]
mod tests {
    use object::OperatorId;

    use super::*;

    fn is_gone(peers: &Peers, operator: &OperatorId) -> bool {
        peers.is_gone(&operator.name, Some(&operator.uid))
    }

    fn names(names: &[&str]) -> Arc<BTreeSet<String>> {
        Arc::new(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn an_operator_is_gone_only_if_a_complete_list_lacks_it() {
        let other = OperatorId::new("other", "u1");
        assert!(!is_gone(&Peers::default(), &other));
        let mut peers = Peers {
            cluster: Some(names(&["a"])),
            instance: None,
        };
        assert!(is_gone(&peers, &other));
        assert!(!is_gone(&peers, &OperatorId::new("a", "u2")));
        assert!(peers.lacks("other") && !peers.lacks("a"));
        peers.cluster = Some(names(&["a", "other"]));
        assert!(!is_gone(&peers, &other));
    }

    #[test]
    fn only_the_own_instance_is_known() {
        let peers = Peers {
            cluster: Some(names(&[])),
            instance: Some(("x".to_owned(), names(&["a"]))),
        };
        assert!(!is_gone(&peers, &OperatorId::of_instance("a", "x")));
        assert!(is_gone(&peers, &OperatorId::of_instance("b", "x")));
        assert!(!is_gone(&peers, &OperatorId::of_instance("b", "y")));
        assert!(peers.lacks("b") && !peers.lacks("a"));
        assert!(!Peers::default().lacks("b"), "nothing is known");
    }
}
