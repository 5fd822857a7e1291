//! A rehearsal from the beginning to the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use document::{Key, Value, json};
use kube::Client;
use object::marks::ALLOW_DELETIONS;
use object::metadata::{KEYS, name, with_metadata};
use object::{GroupKind, LabelSelector, ObjectName};
use operators::crd;
use process::config::Config;
use process::run::RunError;
use store::{Caller, Preconditions, Selector, Store, Write};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::copy::{Copy, operator_kind};
use crate::plan::{Plan, PlannedChange, Unsettled};
use crate::related::related;
use crate::service;
use crate::status::{Readiness, controllers, error_count, errors, readiness, ready};

/// How a rehearsal is done.
#[derive(Clone, Debug)]
pub struct Options {
    /// What happens to the Operators.
    pub ending: Ending,
    /// Whether the server tries each write, so that its defaults and its admission show.
    pub dry_run: bool,
    /// How long the Operators may take to become ready.
    pub timeout: Duration,
    /// The settings of the process, except for its `operator_selector`: those Operators run that
    /// take part.
    pub config: Config,
}

/// What happens to the planned Operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// They are created or changed.
    Apply,
    /// They are deleted.
    Delete,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The Operators of the cluster cannot be read.
    #[error("cannot read the Operators of the cluster: {0}")]
    Operators(String),
    /// An Operator is not accepted.
    #[error("Operator {operator}: {why}")]
    Operator {
        /// Its name.
        operator: String,
        /// Why.
        why: String,
    },
    /// The process ended.
    #[error("the rehearsal ended early: {0}")]
    Ended(String),
    /// It took too long.
    #[error("not ready after {} s: {why}; a longer time can be given with --timeout", .timeout.as_secs())]
    Timeout {
        /// The time.
        timeout: Duration,
        /// What the Operators wait for.
        why: String,
    },
}

/// How often the state is looked at.
const PERIOD: Duration = Duration::from_millis(50);
/// How long nothing is requested before Operators that are ready count as settled.
const QUIET: Duration = Duration::from_millis(700);
/// The same for Operators that cannot become ready, for example because a kind is missing or
/// because they wait for an object that nobody creates.
const STUCK: Duration = Duration::from_secs(6);

/// Runs Operators on a copy of a cluster, and returns how they change it. The cluster is only
/// read. `progress` is called with a line about what goes on.
pub async fn rehearse(
    cluster: Client,
    operators: &[Value],
    options: Options,
    mut progress: impl FnMut(&str),
) -> Result<Plan, PlanError> {
    let copy = Arc::new(Copy::new(Cluster::new(cluster)));
    copy.serve_operators().await;
    progress("reading the Operators of the cluster");
    let stage = Stage::set(&copy, operators, options.ending).await?;
    let client = service::client(&copy, options.dry_run);
    let (stop, stopped) = oneshot::channel::<()>();
    let config = Config {
        operator_selector: taking_part(),
        ..options.config
    };
    let running = tokio::spawn(process::run::run(client, config, async move {
        let _ = stopped.await;
    }));
    let mut rehearsal = Rehearsal {
        copy,
        stage,
        timeout: options.timeout,
        running,
        progress: &mut progress,
    };
    let plan = rehearsal.play(options.ending).await;
    let _ = stop.send(());
    rehearsal.running.abort();
    plan
}

/// The Operators that take part.
struct Stage {
    planned: BTreeSet<String>,
    others: BTreeSet<String>,
    /// The Operators of the cluster among them, as they were before.
    running: Vec<Value>,
}

impl Stage {
    /// Puts the Operators into the copy.
    async fn set(copy: &Copy, operators: &[Value], ending: Ending) -> Result<Self, PlanError> {
        let mut existing = BTreeMap::new();
        let resource = crd::resource();
        let path = format!("/apis/{}/{}", resource.api_version, resource.plural);
        let listed = copy.cluster.list(&path, "", |operator| {
            existing.insert(name(operator).to_owned(), operator.clone());
        });
        match listed.await {
            Ok(()) => {}
            // deltic is not installed yet.
            Err(refusal) if refusal.is_not_found() => {}
            Err(refusal) => return Err(PlanError::Operators(refusal.to_string())),
        }
        let planned: BTreeSet<String> = operators.iter().map(|one| name(one).to_owned()).collect();
        let all = || {
            let others = existing.values().filter(|one| !planned.contains(name(one)));
            others.chain(operators)
        };
        let taking_part = related(&planned, all().chain(existing.values()));
        for (operator, object) in &existing {
            // What the others own and have set is left to them, so they have to exist.
            let takes_part = taking_part.contains(operator);
            import(copy, object, takes_part)?;
        }
        if ending == Ending::Apply {
            for operator in operators {
                apply(&copy.store, operator)?;
            }
        } else if let Some(missing) = planned.iter().find(|name| !existing.contains_key(*name)) {
            return Err(PlanError::Operator {
                operator: missing.clone(),
                why: "it does not exist on the cluster, so it cannot be deleted".to_owned(),
            });
        }
        existing.retain(|name, _| taking_part.contains(name));
        let running = existing.values().map(typed).collect();
        let others = existing.into_keys();
        Ok(Self {
            running,
            others: others.filter(|name| !planned.contains(name)).collect(),
            planned,
        })
    }
}

/// The label, in the copy, of Operators that exist on the cluster and do not run in the rehearsal.
const BYSTANDER: &str = "dcontroller.io/bystander";

/// Selects the Operators that run in the rehearsal.
fn taking_part() -> Option<LabelSelector> {
    let absent = json!({"matchExpressions": [{"key": BYSTANDER, "operator": "DoesNotExist"}]});
    LabelSelector::new(&absent).ok().flatten()
}

/// Adds an Operator of the cluster, without the conditions of its last run.
fn import(copy: &Copy, object: &Value, takes_part: bool) -> Result<(), PlanError> {
    let mut object = typed(object);
    if !takes_part {
        let metadata = object.get_key(&KEYS.metadata);
        let labels = metadata.get_key(&KEYS.labels).as_map().cloned();
        let labels = labels.unwrap_or_default();
        let labels = labels.with(Key::new(BYSTANDER), "".into());
        let metadata = metadata.as_map().cloned().unwrap_or_default();
        let metadata = metadata.with(KEYS.labels.clone(), labels.into());
        object = with_metadata(&object, metadata);
    }
    if let (Some(map), Some(status)) = (object.as_map(), object.get("status").as_map()) {
        let status = status.without("conditions");
        object = map.with(KEYS.status.clone(), status.into()).into();
    }
    let imported = copy.store.import(&operator_kind(), &object);
    imported.map(drop).map_err(|error| refused(&object, &error))
}

/// Creates or changes an Operator, as `kubectl apply` does.
fn apply(store: &Store, operator: &Value) -> Result<(), PlanError> {
    let kind = operator_kind();
    let key = ObjectName::new("", name(operator));
    let object = typed(operator);
    let metadata = object.get_key(&KEYS.metadata).as_map().cloned();
    let mut metadata = metadata.unwrap_or_default();
    for field in ["namespace", "resourceVersion", "uid"] {
        metadata = metadata.without(field);
    }
    if let Some(live) = store.get(&kind, &key) {
        let live = live.get_key(&KEYS.metadata);
        let finalizers = live.get_key(&KEYS.finalizers);
        if !finalizers.is_null() {
            metadata = metadata.with(KEYS.finalizers.clone(), finalizers.clone());
        }
    }
    let object = with_metadata(&object, metadata);
    let written = store.write(&Caller::user("plan"), &kind, &Write::Put(object));
    written.map(drop).map_err(|error| refused(operator, &error))
}

fn refused(operator: &Value, error: &store::Error) -> PlanError {
    PlanError::Operator {
        operator: name(operator).to_owned(),
        why: error.to_string(),
    }
}

/// An Operator with its type, which the elements of a list do not have.
fn typed(operator: &Value) -> Value {
    let resource = crd::resource();
    operator.as_map().map_or(Value::NULL, |map| {
        let map = map.with(Key::new("kind"), resource.kind.as_str().into());
        let version = Value::from(resource.api_version.as_str());
        map.with(Key::new("apiVersion"), version).into()
    })
}

/// A rehearsal that runs.
struct Rehearsal<'a> {
    copy: Arc<Copy>,
    stage: Stage,
    timeout: Duration,
    running: JoinHandle<Result<(), RunError>>,
    progress: &'a mut dyn FnMut(&str),
}

impl Rehearsal<'_> {
    async fn play(&mut self, ending: Ending) -> Result<Plan, PlanError> {
        self.settle().await?;
        if ending == Ending::Delete {
            for operator in self.stage.planned.clone() {
                self.delete(&operator)?;
            }
            self.settle().await?;
        }
        let before = self.changes();
        let allowed = self.allow_deletions()?;
        if !allowed.is_empty() {
            self.settle().await?;
        }
        let mut changes = self.changes();
        for change in &mut changes {
            // What has changed only now has waited for the permission: deletions, and undone patches.
            let known = before.iter().find(|one| one.key == change.key);
            change.held = known.is_none_or(|known| known.after != change.after);
        }
        let secrets = GroupKind::new("", "Secret");
        let operators = self.operators();
        let mut plan = Plan {
            changes,
            errors: operators.iter().flat_map(errors).collect(),
            error_count: operators.iter().map(error_count).sum(),
            unsettled: self.unsettled(),
            others: self.stage.others.clone(),
            secrets: self.copy.store.list(&secrets, &Selector::default()).items,
            running: self.stage.running.clone(),
        };
        plan.sort();
        Ok(plan)
    }

    /// The changes so far.
    fn changes(&self) -> Vec<PlannedChange> {
        let written = self.copy.written.lock();
        let written = written.unwrap_or_else(PoisonError::into_inner);
        let changes = written.originals.iter().filter_map(|(key, before)| {
            let after = self.copy.store.get(&key.kind, &key.name);
            PlannedChange::new(key, before.as_ref(), after.as_ref())
        });
        changes.collect()
    }

    fn delete(&self, operator: &str) -> Result<(), PlanError> {
        let key = ObjectName::new("", operator);
        let delete = Write::Delete(key, Preconditions::default());
        let deleted = self
            .copy
            .store
            .write(&Caller::user("plan"), &operator_kind(), &delete);
        deleted.map(drop).map_err(|error| PlanError::Operator {
            operator: operator.to_owned(),
            why: error.to_string(),
        })
    }

    /// Allows the deletions that `maxDeletions` holds. Returns the Operators that have some.
    fn allow_deletions(&self) -> Result<Vec<String>, PlanError> {
        let mut allowed = Vec::new();
        for operator in self.operators() {
            let held = controllers(&operator).any(|controller| {
                let held = controller.get("counts").get("held").as_int();
                held.is_some_and(|held| held > 0)
            });
            if !held {
                continue;
            }
            let metadata = operator.get_key(&KEYS.metadata);
            let generation = metadata.get_key(&KEYS.generation).to_string();
            let annotations = metadata.get_key(&KEYS.annotations).as_map().cloned();
            let annotations = annotations
                .unwrap_or_default()
                .with(Key::new(ALLOW_DELETIONS), generation.into());
            let metadata = metadata.as_map().cloned().unwrap_or_default();
            let metadata = metadata.with(KEYS.annotations.clone(), annotations.into());
            let metadata = metadata.without(KEYS.resource_version.as_str());
            let object = with_metadata(&operator, metadata);
            let caller = Caller::user("plan");
            let written = self
                .copy
                .store
                .write(&caller, &operator_kind(), &Write::Replace(object));
            written.map_err(|error| refused(&operator, &error))?;
            allowed.push(name(&operator).to_owned());
        }
        Ok(allowed)
    }

    /// Waits until the Operators are ready, or cannot become ready, and nothing is written.
    async fn settle(&mut self) -> Result<(), PlanError> {
        let start = Instant::now();
        let mut last = (self.copy.requests(), Instant::now());
        loop {
            tokio::time::sleep(PERIOD).await;
            if self.running.is_finished() {
                let ended = (&mut self.running).await;
                let why = match ended {
                    Ok(Ok(())) => "it was stopped".to_owned(),
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                };
                return Err(PlanError::Ended(why));
            }
            let requests = self.copy.requests();
            if requests != last.0 || requests.under_way > 0 {
                last = (requests, Instant::now());
            }
            let quiet = last.1.elapsed();
            let readiness = self.operators().iter().map(readiness).max();
            let settled = match readiness {
                None | Some(Readiness::Settled) => quiet >= QUIET,
                Some(Readiness::Waiting | Readiness::Stuck) => quiet >= STUCK,
                Some(Readiness::Starting) => false,
            };
            if settled {
                return Ok(());
            }
            let line = self.describe();
            (self.progress)(&line);
            if start.elapsed() >= self.timeout {
                return Err(PlanError::Timeout {
                    timeout: self.timeout,
                    why: self.describe(),
                });
            }
        }
    }

    /// The Operators that take part.
    fn operators(&self) -> Vec<Value> {
        let all = self.copy.store.list(&operator_kind(), &Selector::default());
        let runs = taking_part();
        let runs = |one: &Value| runs.as_ref().is_none_or(|runs| runs.admits(one));
        all.items.into_iter().filter(runs).collect()
    }

    /// What the Operators that are not ready wait for.
    fn describe(&self) -> String {
        let waiting = self.unsettled();
        match waiting.first() {
            Some(first) if first.message.is_empty() => format!("{} starts", first.operator),
            Some(first) => format!("{}: {}", first.operator, first.message),
            None => "waiting for the last writes".to_owned(),
        }
    }

    fn unsettled(&self) -> Vec<Unsettled> {
        let operators = self.operators();
        let waiting = operators
            .iter()
            .filter(|operator| readiness(operator) != Readiness::Settled);
        waiting
            .map(|operator| Unsettled {
                operator: name(operator).to_owned(),
                incomplete: readiness(operator) != Readiness::Waiting,
                message: ready(operator)
                    .and_then(|ready| ready.get("message").as_str())
                    .unwrap_or_default()
                    .to_owned(),
            })
            .collect()
    }
}
