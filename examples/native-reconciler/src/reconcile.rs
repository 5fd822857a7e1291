//! From a Credential to its Secret.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deltic::controller::Action;
use deltic::native::ViewStore;
use deltic::object::GroupKind;
use deltic::store::{Caller, Write};
use futures::StreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use kube::{Api, Client, Resource, ResourceExt};

use crate::credential::{Credential, FINALIZER, LABEL, SELECTOR, SETTINGS};

/// Why a Credential has no Secret yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the cluster: {0}")]
    Cluster(#[from] kube::Error),
    #[error("the view: {0}")]
    View(#[from] deltic::store::Error),
    #[error("the credential cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("no randomness: {0}")]
    Random(#[from] std::io::Error),
}

/// What all runs share.
pub(crate) struct Context {
    client: Client,
    views: ViewStore,
    /// Those that are to get a new password.
    renewed: Mutex<HashSet<ObjectRef<Credential>>>,
}

impl Context {
    pub(crate) fn new(client: Client, views: ViewStore) -> Self {
        Self {
            client,
            views,
            renewed: Mutex::default(),
        }
    }

    /// With the next run this one gets a new password.
    pub(crate) fn renew(&self, object: &ObjectRef<Credential>) {
        let renewed = self.renewed.lock();
        let mut renewed = renewed.unwrap_or_else(PoisonError::into_inner);
        renewed.insert(object.clone());
    }

    fn is_renewed(&self, object: &ObjectRef<Credential>) -> bool {
        let renewed = self.renewed.lock();
        let mut renewed = renewed.unwrap_or_else(PoisonError::into_inner);
        renewed.remove(object)
    }

    /// Sets the finalizers of a Credential: one of the few things that others than its
    /// controller may change.
    fn finalize(&self, credential: &Credential, finalizers: &[&str]) -> Result<(), Error> {
        let mut credential = credential.clone();
        let finalizers = finalizers.iter().map(|name| (*name).to_owned());
        credential.metadata.finalizers = Some(finalizers.collect());
        let collection = GroupKind::new(&Credential::group(&()), &Credential::kind(&()));
        let text = serde_json::to_string(&credential)?;
        let object = text.parse().unwrap_or_default();
        let store = self.views.store();
        let caller = Caller::user(LABEL.1);
        store.write(&caller, &collection, &Write::Replace(object))?;
        Ok(())
    }
}

/// Makes the Secret of a Credential, or removes it.
pub(crate) async fn reconcile(
    credential: Arc<Credential>,
    context: Arc<Context>,
) -> Result<Action, Error> {
    let namespace = credential.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    let name = credential.secret();
    if credential.meta().deletion_timestamp.is_some() {
        remove(&secrets, &name).await?;
        context.finalize(&credential, &[])?;
        return Ok(Action::await_change());
    }
    if credential.finalizers().is_empty() {
        // The change brings us here again.
        context.finalize(&credential, &[FINALIZER])?;
        return Ok(Action::await_change());
    }
    let settings: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let settings = settings.get_opt(SETTINGS).await?;
    let known = secrets.get_opt(&name).await?;
    let object = ObjectRef::from_obj(&*credential);
    let known = known.filter(|_| !context.is_renewed(&object));
    let password = match known.and_then(|secret| secret.data?.remove("password")) {
        Some(password) => password,
        None => random()?,
    };
    let secret = secret(&credential, settings.as_ref(), password);
    let manager = PatchParams::apply(LABEL.1).force();
    secrets
        .patch(&name, &manager, &Patch::Apply(&secret))
        .await?;
    Ok(Action::await_change())
}

/// Tries again soon.
pub(crate) fn error_policy(_: Arc<Credential>, _: &Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

/// Removes what an earlier run made for Credentials that went while nobody looked. The first list
/// of a view ends only when it is complete, so none is taken for gone that is yet to come.
pub(crate) async fn sweep(context: Arc<Context>) -> Result<(), Error> {
    let mut events = pin!(context.views.watch::<Credential>());
    let mut wanted = HashSet::new();
    while let Some(Ok(event)) = events.next().await {
        match event {
            Event::InitApply(credential) => {
                wanted.insert((credential.namespace(), credential.secret()));
            }
            Event::InitDone => break,
            Event::Init | Event::Apply(_) | Event::Delete(_) => {}
        }
    }
    let all: Api<Secret> = Api::all(context.client.clone());
    for secret in all.list(&ListParams::default().labels(SELECTOR)).await? {
        let (namespace, name) = (secret.namespace(), secret.name_any());
        let secrets = Api::namespaced(context.client.clone(), namespace.as_deref().unwrap_or(""));
        if !wanted.contains(&(namespace, name.clone())) {
            remove(&secrets, &name).await?;
        }
    }
    Ok(())
}

fn secret(credential: &Credential, settings: Option<&ConfigMap>, password: ByteString) -> Secret {
    let domain = settings.and_then(|settings| settings.data.as_ref()?.get("domain"));
    let user = match domain {
        Some(domain) => format!("{}@{domain}", credential.spec.user),
        None => credential.spec.user.clone(),
    };
    Secret {
        metadata: ObjectMeta {
            name: Some(credential.secret()),
            labels: Some(BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())])),
            owner_references: Some(credential.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([
            ("password".to_owned(), password),
            ("user".to_owned(), ByteString(user.into_bytes())),
        ])),
        ..Secret::default()
    }
}

/// Deletes a Secret that this program made, if it is there.
async fn remove(secrets: &Api<Secret>, name: &str) -> Result<(), Error> {
    let Some(secret) = secrets.get_opt(name).await? else {
        return Ok(());
    };
    if secret.labels().get(LABEL.0).is_some_and(|by| by == LABEL.1) {
        secrets.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// A password of 128 random bits.
fn random() -> Result<ByteString, Error> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    Ok(ByteString(digits.collect::<String>().into_bytes()))
}
