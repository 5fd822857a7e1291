//! The controller that the documentation of kube-rs teaches: `Controller` with a store of
//! the sources, targets that are owned, server-side apply.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Resource, ResourceExt};

use crate::Error;
use crate::job::{CONCURRENCY, SOURCES, TARGETS, target};

pub(super) async fn run(configs: Api<ConfigMap>) -> Result<(), Error> {
    let selected = |selector: &str| watcher::Config::default().labels(selector);
    Controller::new(configs.clone(), selected(SOURCES))
        .owns(configs.clone(), selected(TARGETS))
        .with_config(controller::Config::default().concurrency(CONCURRENCY))
        .run(reconcile, error_policy, Arc::new(configs))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

async fn reconcile(
    source: Arc<ConfigMap>,
    configs: Arc<Api<ConfigMap>>,
) -> Result<Action, kube::Error> {
    let mut target = target(&source);
    target.metadata.owner_references = source.controller_owner_ref(&()).map(|owner| vec![owner]);
    let params = PatchParams::apply("hand").force();
    let name = target.name_any();
    configs
        .patch(&name, &params, &Patch::Apply(&target))
        .await?;
    Ok(Action::await_change())
}

fn error_policy(
    _source: Arc<ConfigMap>,
    _error: &kube::Error,
    _configs: Arc<Api<ConfigMap>>,
) -> Action {
    Action::requeue(Duration::from_secs(1))
}
