//! A reconciler in Rust that reads a view: `operator.yaml` selects the Deployments that need
//! credentials, and this program generates them. That needs randomness and memory, which pipelines
//! do not have.
//!
//! ```text
//! Deployments ─▶ operator.yaml ─▶ view Credential ─▶ reconcile ─▶ Secrets
//!                                                      ▲ owned Secrets, settings, stdin
//! ```
//!
//! With `--kube` the same reconciler runs on kube's own controller.

mod credential;
mod reconcile;
mod requests;

use std::sync::Arc;

use credential::{Credential, SELECTOR, SETTINGS};
use deltic::controller::signal;
use deltic::native::reflected;
use deltic::process::config::Config;
use deltic::process::{log, run};
use deltic::{expr, manifest, operator};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::reflector::Store;
use kube::runtime::watcher;
use kube::{Api, Client};
use reconcile::Context;

/// Why this program ends.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    log::init(log::Format::Auto, &log::Level::default(), false)?;
    let on_kube = std::env::args().any(|argument| argument == "--kube");
    let client = Client::try_default().await?;

    let config = Config {
        files: vec![declarative()?],
        ..Config::default()
    };
    let views = config.views.clone();
    let declarative = tokio::spawn(run::run(client.clone(), config, signal::received(1)));

    let (objects, store) = reflected(views.watch::<Credential>());
    let context = Arc::new(Context::new(client.clone(), views));
    let requests = requests::from_stdin(&context);
    let secrets: Api<Secret> = Api::all(client.clone());
    let settings: Api<ConfigMap> = Api::all(client);
    let sweep = reconcile::sweep(context.clone());
    let swept = tokio::spawn(async move {
        if let Err(error) = sweep.await {
            tracing::warn!(%error, "not all that earlier runs left is removed");
        }
    });

    // Both controllers have the same interface.
    macro_rules! run_on {
        ($controller:ty) => {
            <$controller>::for_stream(objects, store.clone())
                .owns(secrets, watcher::Config::default().labels(SELECTOR))
                .watches(settings, settings_only(), of_namespace(store))
                .reconcile_on(requests)
                .shutdown_on_signal()
                .run(reconcile::reconcile, reconcile::error_policy, context)
                .for_each(|result| async move {
                    match result {
                        Ok((object, _)) => tracing::info!(%object, "reconciled"),
                        Err(error) => tracing::warn!(%error, "not reconciled"),
                    }
                })
                .await
        };
    }
    if on_kube {
        run_on!(kube::runtime::Controller<Credential>);
    } else {
        run_on!(deltic::Controller<Credential>);
    }

    swept.abort();
    Ok(declarative.await??)
}

/// The declarative controllers.
fn declarative() -> Result<operator::Operator, Failure> {
    let text = include_str!("../operator.yaml");
    let manifests = manifest::parse_bytes("operator.yaml", text.into())?;
    let manifest = manifests.first().ok_or("operator.yaml is empty")?;
    let (operator, problems) = operator::read(&manifest.value, &expr::Functions::builtin());
    operator.ok_or_else(|| format!("operator.yaml: {problems:?}").into())
}

fn settings_only() -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={SETTINGS}"))
}

/// The settings of a namespace apply to all of its Credentials.
fn of_namespace(
    store: Store<Credential>,
) -> impl Fn(ConfigMap) -> Vec<kube::runtime::reflector::ObjectRef<Credential>> {
    move |settings| {
        let credentials = store.state();
        let concerned = credentials
            .iter()
            .filter(|credential| credential.metadata.namespace == settings.metadata.namespace);
        concerned
            .map(|credential| kube::runtime::reflector::ObjectRef::from_obj(&**credential))
            .collect()
    }
}
