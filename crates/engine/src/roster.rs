//! Which Operators exist, published to all engines of a process.

use std::collections::BTreeSet;
use std::sync::Arc;

use target::peers::Peers;
use tokio::sync::watch;

/// Publishes which Operators exist. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Roster(Arc<watch::Sender<Peers>>);

impl Roster {
    /// Sets the names of all Operators of the cluster; `None` if there is no complete list.
    pub fn set_cluster(&self, names: Option<BTreeSet<String>>) {
        self.change(|peers| peers.cluster = names.map(Arc::new));
    }

    /// Sets the instance of this process, and the names of all its Operators.
    pub fn set_instance(&self, instance: &str, names: BTreeSet<String>) {
        self.change(|peers| peers.instance = Some((instance.to_owned(), Arc::new(names))));
    }

    fn change(&self, change: impl FnOnce(&mut Peers)) {
        self.0.send_if_modified(|peers| {
            let before = peers.clone();
            change(peers);
            *peers != before
        });
    }

    /// The Operators that exist, now and later.
    pub fn subscribe(&self) -> watch::Receiver<Peers> {
        self.0.subscribe()
    }
}
