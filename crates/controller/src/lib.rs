//! Triggers, scheduler and runner: from a change to the call of a reconciler.
//!
//! ```text
//!  objects that change ─┐
//!  owned objects ───────┼─▶ trigger ─▶ Queue ─▶ Scheduler ─▶ Runner ─▶ run(key)
//!  related objects ─────┤              (merge,   (when)        (gate, limit)  │
//!  from outside ────────┘               debounce)   ▲                         │
//!                                                   └──── requeue, retry ◀────┘
//! ```
//!
//! There are two users. The writer of derived objects makes a [`queue()`] and a [`Runner`] with its
//! own type of keys. Native reconcilers in Rust use a [`Controller`]: the same with [`ObjectRef`]s
//! as keys and with watches that trigger them. Watcher, reflector, [`Store`], [`ObjectRef`],
//! [`Action`], requests, reasons and errors are those of kube-runtime, so that a reconciler also
//! runs on kube's own controller.
//!
//! ```
//! use std::sync::Arc;
//! use controller::{Action, Config, Controller};
//! use futures::{StreamExt, stream};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::runtime::{WatchStreamExt, reflector, watcher};
//!
//! #[derive(Debug, thiserror::Error)]
//! #[error("the map is empty")]
//! struct Empty;
//!
//! async fn reconcile(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Empty> {
//!     map.data.as_ref().ok_or(Empty)?;
//!     Ok(Action::await_change())
//! }
//!
//! fn error_policy(_: Arc<ConfigMap>, _: &Empty, _: Arc<()>) -> Action {
//!     Action::await_change()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // A watch of a cluster would be `watcher(api, config)`.
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("settings".to_owned());
//! let events = [watcher::Event::Init, watcher::Event::InitApply(map), watcher::Event::InitDone];
//! let watch = stream::iter(events.map(Ok));
//!
//! let (reader, writer) = reflector::store();
//! let objects = reflector(writer, watch).applied_objects();
//! let results: Vec<_> = Controller::for_stream(objects, reader)
//!     .with_config(Config::default().concurrency(10))
//!     .run(reconcile, error_policy, Arc::new(()))
//!     .map(|result| result.map(|_| ()).map_err(|error| error.to_string()))
//!     .collect()
//!     .await;
//!
//! let failed = "reconciler for object ConfigMap.v1./settings failed: the map is empty";
//! assert_eq!(results, [Err(failed.to_owned())]);
//! # }
//! ```
//!
//! A custom reason is given with a trigger of the queue:
//!
//! ```
//! # use std::time::Duration;
//! # use controller::{Controller, ObjectRef, ReconcileReason};
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! fn wake(controller: &Controller<ConfigMap>) {
//!     let reason = ReconcileReason::Custom { reason: "the licence was renewed".to_owned() };
//!     controller.queue().trigger(ObjectRef::new("settings"), reason, Duration::ZERO);
//! }
//! ```

mod action;
pub mod backoff;
mod config;
mod controller;
mod pool;
pub mod queue;
mod run;
pub mod runner;
pub mod schedule;
pub mod signal;
mod trigger;

pub use crate::action::requeue_after;
pub use crate::backoff::{Backoff, Pause, Retries};
pub use crate::config::Config;
pub use crate::controller::Controller;
pub use crate::queue::{Next, Queue, Reason, Receiver, queue};
pub use crate::runner::{Done, Observer, Runner};
pub use crate::schedule::Scheduler;
pub use kube::runtime::controller::{
    Action, Error, ReconcileReason, ReconcileRequest, RunnerError,
};
pub use kube::runtime::reflector::{ObjectRef, Store};
pub use kube::runtime::watcher;
