//! The controller on streams: one test for each sentence of the specification.

mod outcomes;
mod runs;
mod triggers;

use std::sync::Arc;

use controller::watcher::{self, Event};
use controller::{Action, Controller, ObjectRef};
use futures::StreamExt;
use futures::channel::mpsc::{self, UnboundedSender};
use kube::runtime::{WatchStreamExt, reflector};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::support::{Log, ms};

#[derive(Debug, thiserror::Error)]
#[error("out of order")]
struct Broken;

/// The watch of a controller, whose events the test sends. Dropping it ends the watch and with it
/// the controller.
struct Watch<K> {
    events: UnboundedSender<Result<Event<K>, watcher::Error>>,
    log: Log,
}

impl<K> Watch<K>
where
    K: Resource<DynamicType = ()> + Default + Clone + DeserializeOwned + Send + Sync + 'static,
{
    fn new() -> (Self, Controller<K>) {
        let (events, watch) = mpsc::unbounded();
        let (reader, writer) = reflector::store();
        let log = Log::new();
        let objects = reflector(writer, watch).applied_objects();
        let controller = Controller::for_stream(objects, reader).observe(Arc::new(log.clone()));
        (Self { events, log }, controller)
    }

    fn send(&self, event: Event<K>) {
        self.events.unbounded_send(Ok(event)).unwrap();
    }

    fn fail(&self) {
        self.events
            .unbounded_send(Err(watcher::Error::NoResourceVersion))
            .unwrap();
    }

    fn list(&self, names: &[&str]) {
        self.send(Event::Init);
        for name in names {
            self.send(Event::InitApply(named(name)));
        }
        self.send(Event::InitDone);
    }
}

fn named<K: Resource + Default>(name: &str) -> K {
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    object
}

/// Runs a controller whose reconciler takes `took` ms. Returns its results as text.
fn run<K>(controller: Controller<K>, took: u64) -> JoinHandle<Vec<String>>
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let reconcile = move |_: Arc<K>, _: Arc<()>| async move {
        sleep(ms(took)).await;
        Ok::<_, Broken>(Action::await_change())
    };
    let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    let text = |result: Result<(ObjectRef<K>, Action), _>| match result {
        Ok((obj_ref, _)) => format!("reconciled {}", obj_ref.name),
        Err(error) => format!("{error}"),
    };
    tokio::spawn(results.map(text).collect())
}
