//! What no controller can do without, and nothing else: lists and watches sources and
//! targets, and writes a target for each source that has none or has changed. It keeps
//! names only, compares nothing, claims nothing, and a failed write ends it.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use tokio::sync::{Semaphore, mpsc};

use crate::Error;
use crate::job::{CONCURRENCY, SOURCES, TARGETS, target, target_name};

pub(super) async fn run(configs: Api<ConfigMap>) -> Result<(), Error> {
    let mut sources = watch(&configs, SOURCES);
    let mut targets = watch(&configs, TARGETS);
    let mut written = HashSet::new();
    while let Some(event) = targets.recv().await {
        match event {
            Event::InitApply(object) => drop(written.insert(object.name_any())),
            Event::InitDone => break,
            Event::Init | Event::Apply(_) | Event::Delete(_) => {}
        }
    }
    // Everybody who writes objects watches them, too.
    tokio::spawn(async move { while targets.recv().await.is_some() {} });
    let writers = Writers::new(&configs);
    while let Some(event) = sources.recv().await {
        let (source, listed) = match event {
            Event::InitApply(source) => (source, true),
            Event::Apply(source) => (source, false),
            Event::Init | Event::InitDone | Event::Delete(_) => continue,
        };
        let new = written.insert(target_name(&source.name_any()));
        if new || !listed {
            writers.write(source, new).await;
        }
    }
    Ok(())
}

/// Both watches are read as fast as they come.
fn watch(configs: &Api<ConfigMap>, selector: &str) -> mpsc::UnboundedReceiver<Event<ConfigMap>> {
    let config = watcher::Config::default().labels(selector);
    let events = watcher(configs.clone(), config.streaming_lists());
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut events = events.boxed();
        while let Ok(Some(event)) = events.try_next().await {
            let _ = sender.send(event);
        }
    });
    receiver
}

/// Writes, so many at once.
struct Writers {
    configs: Api<ConfigMap>,
    free: Arc<Semaphore>,
}

impl Writers {
    fn new(configs: &Api<ConfigMap>) -> Self {
        Self {
            configs: configs.clone(),
            free: Arc::new(Semaphore::new(CONCURRENCY.into())),
        }
    }

    async fn write(&self, source: ConfigMap, new: bool) {
        let turn = self.free.clone().acquire_owned().await;
        let configs = self.configs.clone();
        tokio::spawn(async move {
            let _turn = turn.expect("nobody closes it");
            let target = target(&source);
            let params = PostParams::default();
            let written = if new {
                configs.create(&params, &target).await
            } else {
                configs.replace(&target.name_any(), &params, &target).await
            };
            if written.is_err() {
                std::process::exit(1);
            }
        });
    }
}
