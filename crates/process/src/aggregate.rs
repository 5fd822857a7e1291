//! Makes views part of the cluster's own API.
//!
//! ```text
//! kubectl ─▶ kube-apiserver ─▶ Service ─▶ EndpointSlice ─▶ the replica that leads
//!                │ APIService v1alpha1.<operator>.view.dcontroller.io
//! ```
//!
//! The leader registers an `APIService` for each Operator with views, and points the
//! `EndpointSlice` of the Service at itself. It does so again every [`PERIOD`], so that what
//! somebody else has changed is repaired.
//!
//! An `APIService` is ours if its annotation [`SERVED_BY`](object::marks::SERVED_BY) names our
//! Service; all others are left alone. Processes that divide Operators by selectors may share a
//! Service, by mistake or while a selector changes. Then the annotation
//! [`SELECTED_BY`](object::marks::SELECTED_BY) says which of them made an `APIService`, and a process
//! leaves alone those of Operators that it does not run unless it made them itself, or nobody answers
//! for them any more. An `APIService` is owned by its Operator, so Kubernetes removes it if the
//! Operator is deleted while no process runs it. Those of Operators of files have no owner.
//!
//! Nothing is written by a process that does not lead: the client refuses.

mod endpoints;
mod managed;
mod registration;
mod service;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use controller::{Backoff, Pause};
use engine::ServedViews;
use engine::background::{Background, Chore, Panicked};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, DeleteParams, ListParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use object::VIEW_SUFFIX;
use object::marks::AGGREGATION;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use cluster::connect::describe;
use cluster::lease::Leadership;
pub use endpoints::{PORT_NAME, slice_name};
pub use managed::Managed;
use managed::{Existing, Run};
pub use registration::registration_name;
use registration::{Found, Wanted};
pub use service::{PORT, SERVICE, ServiceRef};

/// How often the registrations are compared with the views.
const PERIOD: Duration = Duration::from_secs(30);
/// For how long an Operator that exists may be without views before its registration is removed. A
/// registration that nobody answers delays the deletion of namespaces.
const UNSERVED: Duration = Duration::from_secs(30);
/// For how long the API server may get no answer for a registration that another process seems to
/// have made, before we remove it: that process is gone, or was this one with another selector.
const UNANSWERED: Duration = Duration::from_mins(5);
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pauses after failures.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// How views become part of the cluster's API.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Service.
    pub service: ServiceRef,
    /// The authority of our certificate.
    pub authority: CaBundle,
    /// The address of this replica for the Service's endpoints, and the port that it listens at.
    /// `None`: the Service reaches deltic without our help.
    pub endpoint: Option<(IpAddr, u16)>,
    /// The Operators of this process.
    pub operators: Managed,
    /// Whether another replica takes over when this process ends. Otherwise it removes its
    /// registrations then.
    pub replicated: bool,
}

/// The authority that the API server checks our certificate against.
#[derive(Clone, Debug)]
pub enum CaBundle {
    /// A PEM text.
    Text(String),
    /// A PEM file, which is read again and again.
    File(PathBuf),
}

/// Why the registrations are not as they should be.
#[derive(Debug, thiserror::Error)]
enum AggregateError {
    #[error("cannot {action}: {}", describe(.error))]
    Request {
        action: String,
        #[source]
        error: Box<kube::Error>,
    },
    #[error("cannot {action}: no answer within {} s", TIMEOUT.as_secs())]
    Timeout { action: String },
    #[error("cannot read the authority {path}: {error}")]
    Authority {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
}

impl AggregateError {
    /// Whether a permission is missing.
    fn is_forbidden(&self) -> bool {
        matches!(self, Self::Request { error, .. } if has_code(error, 403))
    }
}

fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Keeps the registrations up to date until [`Aggregation::end`].
#[derive(Debug)]
pub struct Aggregation {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Aggregation {
    /// Starts. The client must not write unless this process leads.
    pub fn start(
        client: &Client,
        served: watch::Receiver<ServedViews>,
        leadership: Leadership,
        background: Background,
        settings: Settings,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let operators =
            GroupVersionKind::gvk(operators::crd::GROUP, operators::crd::VERSION, "Operator");
        let operators = ApiResource::from_gvk_with_plural(&operators, "operators");
        let registrar = Registrar {
            background,
            services: Api::all(client.clone()),
            operators: Api::all_with(client.clone(), &operators),
            endpoints: endpoints::Endpoints::new(client, &settings),
            served,
            settings,
            unserved: HashMap::new(),
            reported: HashSet::new(),
        };
        let task = tokio::spawn(registrar.run(leadership, stopped));
        Self { stop, task }
    }

    /// Ends well: requests are not sent to this replica any more and, unless another one takes
    /// over, the registrations are removed.
    pub async fn end(self) {
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

struct Registrar {
    background: Background,
    services: Api<APIService>,
    operators: Api<DynamicObject>,
    endpoints: endpoints::Endpoints,
    served: watch::Receiver<ServedViews>,
    settings: Settings,
    /// Since when a registration has no views, or gets no answer.
    unserved: HashMap<String, Instant>,
    /// Registrations of others that are in the way, and have been reported.
    reported: HashSet<String>,
}

impl Registrar {
    async fn run(mut self, leadership: Leadership, mut stopped: oneshot::Receiver<()>) {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = leadership.acquired() => {}
        }
        let mut pause = Pause::new(PAUSES);
        loop {
            let background = self.background.clone();
            let done = background.part(Chore::Registration, self.round()).await;
            let wait = match done {
                Ok(Ok(())) => {
                    pause.reset();
                    PERIOD
                }
                Ok(Err(error)) => {
                    report(&error);
                    pause.grow()
                }
                Err(Panicked) => pause.grow(),
            };
            tokio::select! {
                biased;
                _ = &mut stopped => break,
                () = changed(&mut self.served) => {}
                () = sleep(wait) => {}
            }
        }
        if leadership.is_leader()
            && let Err(error) = self.end().await
        {
            report(&error);
        }
    }

    /// Compares the registrations with the views once. All differences are tried; returns the
    /// first failure.
    async fn round(&mut self) -> Result<(), AggregateError> {
        let endpoints = self.endpoints.point_here().await;
        let authority = self.authority()?;
        let operators = self.existing().await?;
        let found = self.found().await?;
        let served = self.served.borrow_and_update().clone();
        let wanted = self.wanted(&served, &operators, &authority);
        let gone = self.unwanted(&served, &operators, &found);
        let mut first = endpoints.err();
        for (name, wanted) in &wanted {
            let done = match found.get(name) {
                None => self.create(name, wanted).await,
                Some(there) if !there.is_ours => {
                    self.in_the_way(name);
                    Ok(())
                }
                Some(there) => self.replace(name, wanted, there).await,
            };
            first = first.or(done.err());
        }
        for name in gone {
            if let Some(there) = found.get(&name) {
                first = first.or(self.delete(&name, there).await.err());
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// The registrations of the Operators that have views.
    fn wanted(
        &self,
        served: &ServedViews,
        operators: &Existing,
        authority: &str,
    ) -> BTreeMap<String, Wanted> {
        let groups = served.iter().filter(|(_, views)| !views.is_empty());
        let wanted = groups.filter_map(|(group, _)| {
            let operator = group.strip_suffix(VIEW_SUFFIX)?;
            let Run::Here(uid) = operators.get(operator)?.clone() else {
                return None;
            };
            let wanted = Wanted {
                group: group.clone(),
                authority: authority.to_owned(),
                service: self.settings.service.clone(),
                selector: self.settings.operators.selector(),
                owner: uid.map(|uid| (operator.to_owned(), uid)),
            };
            Some((registration_name(group), wanted))
        });
        wanted.collect()
    }

    /// Our registrations that are to be removed: of Operators that are gone, that another process
    /// runs now, that are without views, or that have not run for a while.
    fn unwanted(
        &mut self,
        served: &ServedViews,
        operators: &Existing,
        found: &BTreeMap<String, Found>,
    ) -> Vec<String> {
        let mut unserved = HashMap::new();
        let mut gone = Vec::new();
        for (name, there) in found.iter().filter(|(_, there)| there.is_ours) {
            let group = there.group();
            let operator = group.strip_suffix(VIEW_SUFFIX);
            let run = operator.and_then(|operator| operators.get(operator));
            let runs_here = matches!(run, Some(Run::Here(_)));
            let tolerated = match served.get(group) {
                _ if !runs_here && self.is_made_by_another(there, run.is_some()) => {
                    if there.is_answered() {
                        continue;
                    }
                    UNANSWERED
                }
                Some(views) if runs_here && !views.is_empty() => continue,
                None if runs_here => UNSERVED,
                Some(_) | None => Duration::ZERO,
            };
            let since = self.unserved.get(name).copied();
            let since = since.unwrap_or_else(Instant::now);
            if since.elapsed() >= tolerated {
                gone.push(name.clone());
            }
            unserved.insert(name.clone(), since);
        }
        self.unserved = unserved;
        gone
    }

    /// Whether a registration with our Service, of an Operator that this process does not run, is
    /// that of another process.
    fn is_made_by_another(&self, there: &Found, exists: bool) -> bool {
        match &self.settings.operators {
            Managed::Cluster(_) => !there.has_owner() || exists && !self.has_our_selector(there),
            Managed::Files(_) => there.has_owner(),
        }
    }

    fn has_our_selector(&self, there: &Found) -> bool {
        self.settings.operators.selector().as_deref() == there.selector()
    }

    /// The Operators that exist. A process that runs Operators from files knows only these.
    async fn existing(&self) -> Result<Existing, AggregateError> {
        let selector = match &self.settings.operators {
            Managed::Files(names) => {
                let names = names.iter().cloned();
                return Ok(names.map(|name| (name, Run::Here(None))).collect());
            }
            Managed::Cluster(selector) => selector,
        };
        let params = ListParams::default();
        let list = request("list Operators", self.operators.list_metadata(&params)).await?;
        let operators = list.items.into_iter().map(|operator| {
            let labels = operator.labels().iter();
            let labels: document::Map = labels
                .map(|(key, value)| (document::Key::new(key), value.as_str().into()))
                .collect();
            let selector = selector.as_ref();
            let admitted = selector.is_none_or(|s| s.admits_labels(&labels.into()));
            let name = operator.name_any();
            let run = if admitted {
                Run::Here(operator.metadata.uid)
            } else {
                Run::Elsewhere
            };
            (name, run)
        });
        Ok(operators.collect())
    }

    /// The registrations that deltic made, ours and those of other processes.
    async fn found(&self) -> Result<BTreeMap<String, Found>, AggregateError> {
        let (label, value) = AGGREGATION;
        let params = ListParams::default().labels(&format!("{label}={value}"));
        let list = request("list APIServices", self.services.list(&params)).await?;
        let instance = self.settings.service.instance();
        let found = list.items.into_iter();
        Ok(found
            .map(|object| (object.name_any(), Found::new(object, &instance)))
            .collect())
    }

    async fn create(&mut self, name: &str, wanted: &Wanted) -> Result<(), AggregateError> {
        let object = wanted.object();
        let params = PostParams::default();
        let created = self.services.create(&params, &object);
        match request(&format!("create the APIService {name}"), created).await {
            Err(AggregateError::Request { error, .. }) if has_code(&error, 409) => {
                self.in_the_way(name);
                Ok(())
            }
            Err(error) => Err(error),
            Ok(_) => {
                self.reported.remove(name);
                tracing::info!(name, "views are part of the cluster's API");
                Ok(())
            }
        }
    }

    async fn replace(
        &self,
        name: &str,
        wanted: &Wanted,
        there: &Found,
    ) -> Result<(), AggregateError> {
        let Some(object) = there.changed(wanted) else {
            return Ok(());
        };
        let params = PostParams::default();
        let replaced = self.services.replace(name, &params, &object);
        let replaced = request(&format!("update the APIService {name}"), replaced).await;
        match replaced {
            // It was changed or deleted meanwhile: the next round reads it again.
            Err(AggregateError::Request { error, .. })
                if has_code(&error, 409) || has_code(&error, 404) =>
            {
                Ok(())
            }
            other => other.map(drop),
        }
    }

    async fn delete(&self, name: &str, there: &Found) -> Result<(), AggregateError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: there.uid(),
                resource_version: there.version(),
            }),
            ..DeleteParams::default()
        };
        let deleted = self.services.delete(name, &params);
        match request(&format!("delete the APIService {name}"), deleted).await {
            Err(AggregateError::Request { error, .. })
                if has_code(&error, 409) || has_code(&error, 404) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
            Ok(_) => {
                tracing::info!(name, "views are no longer part of the cluster's API");
                Ok(())
            }
        }
    }

    fn in_the_way(&mut self, name: &str) {
        if self.reported.insert(name.to_owned()) {
            tracing::warn!(
                name,
                "views are not part of the cluster's API: an APIService of this name exists, and \
                 this process did not create it"
            );
        }
    }

    fn authority(&self) -> Result<String, AggregateError> {
        match &self.settings.authority {
            CaBundle::Text(text) => Ok(text.clone()),
            CaBundle::File(path) => {
                std::fs::read_to_string(path).map_err(|error| AggregateError::Authority {
                    path: path.clone(),
                    error,
                })
            }
        }
    }

    async fn end(&self) -> Result<(), AggregateError> {
        let emptied = self.endpoints.leave().await;
        if !self.settings.replicated {
            let found = self.found().await?;
            let made_here = |there: &Found| match &self.settings.operators {
                Managed::Cluster(_) => there.has_owner() && self.has_our_selector(there),
                Managed::Files(_) => !there.has_owner(),
            };
            let made_here = |there: &Found| there.is_ours && made_here(there);
            for (name, there) in found.iter().filter(|(_, there)| made_here(there)) {
                self.delete(name, there).await?;
            }
        }
        emptied
    }
}

/// Completes when the views have changed; never again once their owner is gone.
async fn changed(served: &mut watch::Receiver<ServedViews>) {
    if served.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn report(error: &AggregateError) {
    let help = if error.is_forbidden() {
        "; `deltic rbac --aggregate` prints the permissions that are needed"
    } else {
        ""
    };
    tracing::warn!("views in the cluster's API: {error}{help}");
}

async fn request<T>(
    action: &str,
    sent: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, AggregateError> {
    let action = || action.to_owned();
    match timeout(TIMEOUT, sent).await {
        Ok(answer) => answer.map_err(|error| AggregateError::Request {
            action: action(),
            error: Box::new(error),
        }),
        Err(_) => Err(AggregateError::Timeout { action: action() }),
    }
}
