//! Who may see an explanation: who may read the objects that it is about.
//!
//! A user needs `get` on each object whose name or content is part of the answer; `list` in its
//! namespace, or in all, is enough as well. If a user may not list everything that a controller reads,
//! the answer does not mention other objects, such as the most similar key of a join.
//!
//! Whether an object has a partner in a join says something about the partners. About Secrets, only
//! who may list them learns it: otherwise a user could write an object with a guessed value, and ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use apiserver::{Access, Attributes, Scope, StatusError, User, refused};
use cluster::source::discovery;
use dataflow::pipeline::Input;
use dataflow::provenance::Point;
use explanation::{Wanted, kinds_of};
use kube::Client;
use object::{GroupKind, KindRef, ObjectKey, VIEW_VERSION};
use operator::{Controller, Operator};
use tokio::time::Instant;

/// How many objects of one namespace are asked about one by one. Of more, `list` is needed.
const ONE_BY_ONE: usize = 50;
/// How long the resource of a kind is remembered.
const REMEMBERED: Duration = Duration::from_mins(1);

/// A resource, as permissions name it.
#[derive(Clone, Debug)]
struct Named {
    group: String,
    version: String,
    plural: String,
}

/// The resources of kinds.
pub(super) struct Kinds {
    client: Client,
    known: Mutex<BTreeMap<KindRef, (Instant, Named)>>,
}

impl Kinds {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
        }
    }

    async fn find(&self, kind: &KindRef) -> Result<Named, StatusError> {
        if kind.is_view() {
            return Ok(Named {
                group: kind.group.clone(),
                version: VIEW_VERSION.to_owned(),
                plural: kind.view_resource(),
            });
        }
        if let Some(known) = self.known(kind) {
            return Ok(known);
        }
        let found = discovery::resolve(&self.client, kind).await;
        let found = found.map_err(|why| {
            StatusError::unavailable(format!(
                "it is not known who may read {}: {}",
                kind.kind, why.message
            ))
        })?;
        let named = Named {
            group: found.resource.group,
            version: found.resource.version,
            plural: found.resource.plural,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        known.insert(kind.clone(), (Instant::now(), named.clone()));
        Ok(named)
    }

    fn known(&self, kind: &KindRef) -> Option<Named> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, named) = known.get(kind)?;
        (at.elapsed() < REMEMBERED).then(|| named.clone())
    }
}

/// Who asks about an Operator.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub(super) access: &'a dyn Access,
    pub(super) user: &'a User,
    pub(super) kinds: &'a Kinds,
    pub(super) operator: &'a Operator,
    /// The namespace in the path of the question.
    pub(super) namespace: Option<&'a str>,
}

impl Asker<'_> {
    /// Whether the user may read the object that the question is about, if it exists.
    pub(super) async fn may_ask(&self, wanted: &Wanted) -> Result<(), StatusError> {
        let controllers = self.operator.controllers.iter();
        let kinds: BTreeSet<GroupKind> = controllers.flat_map(kinds_of).collect();
        let (namespace, name) = wanted.places().first().copied().unwrap_or_default();
        let asked = kinds.iter().filter(|kind| wanted.is_of(kind));
        let asked = asked.map(|kind| {
            let (group, kind) = (kind.group.as_str(), kind.kind.as_str());
            ObjectKey::new(group, kind, namespace.unwrap_or_default(), name)
        });
        self.may_read(&asked.collect()).await
    }

    /// Whether the user may list everything that a controller reads.
    pub(super) async fn may_list_all(&self, controller: usize) -> Result<bool, StatusError> {
        let controller = &self.operator.controllers[controller];
        for source in &controller.inputs {
            let source = &controller.sources[*source];
            let resource = self.kinds.find(&source.resource).await?;
            let namespace = source.namespace.as_deref().unwrap_or_default();
            if !self.may(&resource, "list", namespace, "").await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Refuses to say where an object ends if this says whether a Secret has a certain value, and the
    /// user may not list the Secrets. What is refused does not depend on the objects.
    pub(super) async fn may_follow(&self, wanted: &Wanted) -> Result<(), StatusError> {
        for number in self.followed(wanted) {
            let controller = &self.operator.controllers[number];
            for input in guessed(controller, wanted) {
                let source = &controller.sources[controller.inputs[input]];
                let resource = self.kinds.find(&source.resource).await?;
                let namespace = source.namespace.as_deref().unwrap_or_default();
                if !self.may(&resource, "list", namespace, "").await? {
                    let missing = attributes(&resource, "list", namespace, "");
                    let why = "the explanation says whether such an object is a partner";
                    return Err(refused(self.user, &missing, why));
                }
            }
        }
        Ok(())
    }

    /// The controllers through which an object is followed: those that read it, and those that read
    /// the views that they derive.
    fn followed(&self, wanted: &Wanted) -> BTreeSet<usize> {
        let controllers = &self.operator.controllers;
        let reads = |number: usize, is: &dyn Fn(&GroupKind) -> bool| {
            let controller = &controllers[number];
            (0..controller.inputs.len()).any(|input| is(&read_kind(controller, input)))
        };
        let all = 0..controllers.len();
        let first = all
            .clone()
            .filter(|one| reads(*one, &|kind| wanted.is_of(kind)));
        let mut open: Vec<usize> = first.collect();
        let mut found: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(number) = open.pop() {
            for target in &controllers[number].targets {
                let view = target.resource.group_kind();
                let readers = all.clone().filter(|one| reads(*one, &|kind| *kind == view));
                open.extend(
                    readers
                        .filter(|_| view.is_view())
                        .filter(|one| found.insert(*one)),
                );
            }
        }
        found
    }

    /// Refuses the answer if the user may not read one of these objects.
    pub(super) async fn may_read(&self, objects: &BTreeSet<ObjectKey>) -> Result<(), StatusError> {
        let mut kinds: BTreeMap<&GroupKind, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
        for key in objects {
            let namespaces = kinds.entry(&key.kind).or_default();
            let names = namespaces.entry(key.namespace()).or_default();
            names.push(key.object_name());
        }
        for (kind, namespaces) in kinds {
            let resource = self.kinds.find(&self.kind_ref(kind)).await?;
            if self.may(&resource, "list", "", "").await? {
                continue;
            }
            for (namespace, names) in namespaces {
                self.may_read_in(&resource, namespace, &names).await?;
            }
        }
        Ok(())
    }

    async fn may_read_in(
        &self,
        resource: &Named,
        namespace: &str,
        names: &[&str],
    ) -> Result<(), StatusError> {
        if !namespace.is_empty() && self.may(resource, "list", namespace, "").await? {
            return Ok(());
        }
        let one_by_one = names.len() <= ONE_BY_ONE;
        if one_by_one {
            let mut all = true;
            for name in names {
                all = all && self.may(resource, "get", namespace, name).await?;
            }
            if all {
                return Ok(());
            }
        }
        // The refusal names no object, and no namespace but the one in the question.
        let known = self.namespace.filter(|asked| *asked == namespace);
        let verb = if one_by_one { "get" } else { "list" };
        let wanted = attributes(resource, verb, known.unwrap_or_default(), "");
        let why = "the explanation shows such objects";
        Err(refused(self.user, &wanted, why))
    }

    async fn may(
        &self,
        resource: &Named,
        verb: &'static str,
        namespace: &str,
        name: &str,
    ) -> Result<bool, StatusError> {
        let wanted = attributes(resource, verb, namespace, name);
        let refusal = self.access.check(self.user, &wanted).await?;
        Ok(refusal.is_none())
    }

    /// The kind in the version in which the Operator refers to it.
    fn kind_ref(&self, kind: &GroupKind) -> KindRef {
        let controllers = self.operator.controllers.iter();
        let mut resources = controllers.flat_map(|controller| {
            let sources = controller.sources.iter().map(|source| &source.resource);
            sources.chain(controller.targets.iter().map(|target| &target.resource))
        });
        let found = resources.find(|resource| resource.is(kind)).cloned();
        found.unwrap_or_else(|| KindRef {
            group: kind.group.as_str().to_owned(),
            version: None,
            kind: kind.kind.as_str().to_owned(),
        })
    }
}

fn read_kind(controller: &Controller, input: usize) -> GroupKind {
    controller.sources[controller.inputs[input]]
        .resource
        .group_kind()
}

/// The inputs of a controller with data of Secrets that are joined with others, without the object
/// that is asked about.
fn guessed(controller: &Controller, wanted: &Wanted) -> BTreeSet<usize> {
    let asked = |input: usize| wanted.is_of(&read_kind(controller, input));
    let once = (0..controller.inputs.len())
        .filter(|input| asked(*input))
        .count()
        == 1;
    let branches = controller.pipeline.branches.iter().enumerate();
    let joins = branches.clone().any(|(_, branch)| branch.inputs.len() > 1);
    let inputs = branches.flat_map(|(branch, one)| {
        let inputs = one.inputs.iter().enumerate();
        inputs.filter_map(move |(input, of)| match of {
            Input::Source(source) => Some((*source, Point::Input { branch, input })),
            Input::Stream(_) => None,
        })
    });
    inputs
        .filter(|(_, at)| joins && !controller.secret_parts.at(*at).is_none())
        .map(|(source, _)| source)
        .filter(|source| !(once && asked(*source)))
        .collect()
}

fn attributes(resource: &Named, verb: &'static str, namespace: &str, name: &str) -> Attributes {
    Attributes {
        verb: verb.into(),
        scope: Scope::Resource {
            group: resource.group.clone(),
            version: resource.version.clone(),
            resource: resource.plural.clone(),
            subresource: String::new(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
    }
}
