//! The targets as one watch shows them, each event with the time when it came.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::core::request::Request;
use kube::{Api, Client};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::Error;
use crate::job::TARGETS;

/// A subject that does nothing for so long is stuck.
const PATIENCE: Duration = Duration::from_mins(3);

/// The targets of a namespace.
pub(crate) struct Targets {
    events: mpsc::UnboundedReceiver<Event>,
    /// Those that are there.
    revisions: HashMap<String, u64>,
    /// How many events came.
    pub(crate) count: usize,
}

/// A target was written, or is gone.
struct Event {
    at: Instant,
    name: String,
    revision: Option<u64>,
}

/// As little of a `ConfigMap` as is needed: to read it takes time from the subjects.
#[derive(Clone, Deserialize)]
struct Brief {
    metadata: BriefMetadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BriefMetadata {
    name: String,
    resource_version: String,
}

impl Targets {
    /// Begins to watch a namespace in which there are no targets.
    pub(crate) async fn watch(client: Client, namespace: &str) -> Result<Self, Error> {
        let configs: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let none = configs.list(&ListParams::default().labels(TARGETS)).await?;
        let version = none.metadata.resource_version.unwrap_or_default();
        let request = Request::new(ConfigMap::url_path(&(), Some(namespace)));
        let (sender, events) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut version = version;
            // The server ends a watch from time to time. It fails only with the cluster.
            while follow(&client, &request, &mut version, &sender)
                .await
                .is_ok()
            {}
        });
        Ok(Self {
            events,
            revisions: HashMap::new(),
            count: 0,
        })
    }

    /// The time at which the last of so many targets came to a revision.
    pub(crate) async fn all_at(&mut self, count: usize, revision: u64) -> Result<Instant, Error> {
        let mut there = self
            .revisions
            .values()
            .filter(|at| **at == revision)
            .count();
        let mut last = Instant::now();
        while there < count {
            let (before, event) = self.next().await?;
            there -= usize::from(before == Some(revision));
            there += usize::from(event.revision == Some(revision));
            last = event.at;
        }
        Ok(last)
    }

    /// The time at which a target came to a revision.
    pub(crate) async fn one_at(&mut self, name: &str, revision: u64) -> Result<Instant, Error> {
        loop {
            let (_, event) = self.next().await?;
            if event.name == name && event.revision == Some(revision) {
                return Ok(event.at);
            }
        }
    }

    /// Waits until all are gone.
    pub(crate) async fn none(&mut self) -> Result<(), Error> {
        while !self.revisions.is_empty() {
            self.next().await?;
        }
        Ok(())
    }

    /// Waits until nothing has come for some time.
    pub(crate) async fn quiet(&mut self, pause: Duration) {
        while let Ok(Ok(_)) = timeout(pause, self.next()).await {}
    }

    /// The next event, and the revision that its target had before.
    async fn next(&mut self) -> Result<(Option<u64>, Event), Error> {
        let event = timeout(PATIENCE, self.events.recv()).await;
        let event = event.ok().flatten().ok_or(Error::Stuck(PATIENCE))?;
        self.count += 1;
        let before = match event.revision {
            Some(revision) => self.revisions.insert(event.name.clone(), revision),
            None => self.revisions.remove(&event.name),
        };
        Ok((before, event))
    }
}

/// One request to watch, until it ends.
async fn follow(
    client: &Client,
    request: &Request,
    version: &mut String,
    sender: &mpsc::UnboundedSender<Event>,
) -> Result<(), Error> {
    let params = WatchParams::default().labels(TARGETS);
    let request = request
        .watch(&params, version)
        .map_err(kube::Error::BuildRequest)?;
    let mut events = client.request_events::<Brief>(request).await?.boxed();
    while let Some(event) = events.try_next().await? {
        let at = Instant::now();
        let (object, gone) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(bookmark) => {
                *version = bookmark.metadata.resource_version;
                continue;
            }
            WatchEvent::Error(status) => return Err(kube::Error::Api(status).into()),
        };
        *version = object.metadata.resource_version;
        let revision = object.data.get("revision");
        let revision = revision.and_then(|text| text.parse().ok()).unwrap_or(0);
        let _ = sender.send(Event {
            at,
            name: object.metadata.name,
            revision: (!gone).then_some(revision),
        });
    }
    Ok(())
}
