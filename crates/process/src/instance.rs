//! The memory of an instance: Operators that are given as files have no status, so the kinds that
//! may hold their objects are recorded on the Lease of the instance.
//!
//! ```text
//! kind: Lease
//! metadata:
//!   name: deltic-instance-default
//!   annotations:
//!     dcontroller.io/kinds: '{"shop": [{"group": "", "kind": "ConfigMap"}]}'
//! ```
//!
//! The process holds the Lease while it runs, so that no second process of the instance runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::connect::describe;
use controller::{Backoff, Pause};
use document::{Key, Map, Value};
use engine::kinds::Kinds;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};
use object::marks::KINDS;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pauses after failures.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// The name of the Lease of an instance.
pub fn lease_name(instance: &str) -> String {
    format!("deltic-instance-{instance}")
}

/// The kinds that may hold objects of the Operators of an instance. Clones share them.
#[derive(Clone, Debug)]
pub struct Memory {
    api: Api<Lease>,
    name: String,
    /// One write at a time.
    writing: Arc<Mutex<()>>,
}

/// Why the Lease of an instance cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// A permission is missing, or the namespace does not exist.
    #[error("{0}")]
    Refused(String),
    /// The request failed.
    #[error("{}", describe(.0))]
    Kube(#[from] Error),
    /// The server did not answer in time.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    Timeout,
}

impl Memory {
    /// The memory on a Lease in a namespace.
    pub fn new(client: Client, namespace: &str, lease: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: lease.to_owned(),
            writing: Arc::default(),
        }
    }

    /// Creates the Lease if there is none, and tries without effect whether it may be written.
    /// Failures other than refusals are tried again.
    pub async fn open(&self) -> Result<(), MemoryError> {
        let mut pause = Pause::new(PAUSES);
        loop {
            match limited(self.try_open()).await {
                Err(MemoryError::Kube(Error::Api(status))) if is_refusal(&status) => {
                    return Err(MemoryError::Refused(status.message.clone()));
                }
                Err(error) => {
                    tracing::warn!(lease = self.name, %error, "cannot read the lease");
                    sleep(pause.grow()).await;
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    async fn try_open(&self) -> Result<(), Error> {
        let Some(lease) = self.api.get_opt(&self.name).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.name.clone()),
                    ..ObjectMeta::default()
                },
                ..Lease::default()
            };
            return match self.api.create(&PostParams::default(), &lease).await {
                Err(Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
                created => created.map(drop),
            };
        };
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        match self.api.replace(&self.name, &dry_run, &lease).await {
            // Another process has written it meanwhile.
            Err(Error::Api(status)) if status.code == 409 => Ok(()),
            replaced => replaced.map(drop),
        }
    }

    /// The recorded kinds of an Operator. Tries until they can be read.
    pub async fn recall(&self, operator: &str) -> Kinds {
        let mut pause = Pause::new(PAUSES);
        loop {
            match limited(self.api.get_opt(&self.name)).await {
                Ok(lease) => {
                    let annotations = lease.and_then(|lease| lease.metadata.annotations);
                    let text = annotations.and_then(|mut all| all.remove(KINDS));
                    let all = read(text.as_deref().unwrap_or_default());
                    return all.get(operator).cloned().unwrap_or_default();
                }
                Err(error) => {
                    tracing::warn!(lease = self.name, %error, "cannot read the lease");
                    sleep(pause.grow()).await;
                }
            }
        }
    }

    /// Adds kinds to those of an Operator, and returns all of them when they are recorded. Tries
    /// until that succeeds.
    pub async fn add(&self, operator: &str, kinds: &Kinds) -> Kinds {
        self.change(operator, |known| known.with(kinds)).await
    }

    /// Replaces the kinds of an Operator. Tries until that succeeds.
    pub async fn set(&self, operator: &str, kinds: &Kinds) {
        self.change(operator, |_| kinds.clone()).await;
    }

    async fn change(&self, operator: &str, change: impl Fn(Kinds) -> Kinds) -> Kinds {
        let _one = self.writing.lock().await;
        let mut pause = Pause::new(PAUSES);
        loop {
            match limited(self.try_change(operator, &change)).await {
                Ok(kinds) => return kinds,
                // The Lease was renewed meanwhile.
                Err(MemoryError::Kube(Error::Api(status))) if status.code == 409 => {
                    sleep(PAUSES.initial).await;
                }
                Err(error) => {
                    let lease = &self.name;
                    tracing::warn!(operator, lease, %error, "cannot record the kinds of an Operator");
                    sleep(pause.grow()).await;
                }
            }
        }
    }

    async fn try_change(
        &self,
        operator: &str,
        change: impl Fn(Kinds) -> Kinds,
    ) -> Result<Kinds, Error> {
        let mut lease = self.api.get(&self.name).await?;
        let annotations = lease.metadata.annotations.get_or_insert_default();
        let mut all = read(annotations.get(KINDS).map_or("", String::as_str));
        let known = all.get(operator).cloned().unwrap_or_default();
        let kinds = change(known.clone());
        if kinds == known {
            return Ok(kinds);
        }
        all.insert(operator.to_owned(), kinds.clone());
        annotations.insert(KINDS.to_owned(), print(&all));
        let params = PostParams::default();
        self.api.replace(&self.name, &params, &lease).await?;
        Ok(kinds)
    }
}

async fn limited<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, MemoryError> {
    let answer = timeout(TIMEOUT, request).await;
    Ok(answer.map_err(|_| MemoryError::Timeout)??)
}

fn is_refusal(status: &kube::core::Status) -> bool {
    matches!(status.code, 401 | 403 | 404)
}

/// The kinds of each Operator; those that cannot be read are missing.
fn read(text: &str) -> BTreeMap<String, Kinds> {
    let value: Value = text.parse().unwrap_or_default();
    let operators = value.as_map().into_iter().flatten();
    operators
        .map(|(name, kinds)| (name.as_str().to_owned(), Kinds::read(kinds)))
        .collect()
}

fn print(all: &BTreeMap<String, Kinds>) -> String {
    let all = all.iter().filter(|(_, kinds)| !kinds.is_empty());
    let all: Map = all
        .map(|(name, kinds)| (Key::new(name), kinds.print()))
        .collect();
    Value::from(all).to_string()
}
