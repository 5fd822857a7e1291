//! The least permissions that an Operator needs, as roles.
//!
//! [`base`] has the roles of an installation without Operators. [`roles`] turns an [`Operator`] into
//! roles and, if an account is given, their bindings. A
//! [`Kinds`] gives the resource of a kind: [`WellKnown`] without a cluster, [`Discovered`] with
//! one.
//!
//! | for | verbs |
//! |---|---|
//! | a source | list, watch |
//! | an Updater's target | get, list, watch, create, update, patch, delete |
//! | a Patcher's target | get, list, watch, patch |
//! | a Patcher's target, if the pipeline yields owner references | delete |
//! | an Applier's target | get, list, watch, create, patch, delete |
//! | namespaces, if an Updater or Applier writes into some | list, watch |
//! | the `/finalizers` of sources, if the pipeline yields owner references | update |
//! | the status of a target, if the pipeline yields one | patch |
//! | another Operator's view, if the reader has a `serviceAccount` | list, watch |
//! | serving views, and making them part of the cluster's API | see `serving` |
//! | other views, OneShot and Periodic sources | none |

mod kinds;
mod permissions;
mod serving;

use std::collections::BTreeSet;

use document::{Value, json};
pub use kinds::{Discovered, Kind, Kinds, WellKnown};
use operator::spec::{DeletionPolicy, ServiceAccount, SourceKind, Target, TargetType};
use operator::{Controller, Operator};
use permissions::{Permissions, Subject};

use crate::aggregate::ServiceRef;
use crate::instance::lease_name;

/// The settings of [`roles`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The account that deltic runs as. The roles are bound to it, and allow it to hold the lease
    /// in its namespace.
    pub account: Option<&'a ServiceAccount>,
    /// The namespace, if deltic runs with `--namespace`: namespaced objects are read and written
    /// only there.
    pub namespace: Option<&'a str>,
    /// The name of the lease; [`lease::NAME`](cluster::lease::NAME) if `None`.
    pub lease: Option<&'a str>,
    /// The instance, if deltic is given the Operator as a file: it also holds the lease of the
    /// instance.
    pub instance: Option<&'a str>,
    /// Whether views are served on a port of deltic's own.
    pub serve: bool,
    /// Whether views are part of the cluster's API, and through which Service;
    /// [`ServiceRef::default_in`] the namespace of the account if `None`.
    pub aggregate: Option<Option<&'a ServiceRef>>,
}

/// The roles that an Operator needs: those of deltic itself, and those of the Operator's
/// `serviceAccount` if it has one.
pub fn roles(operator: &Operator, kinds: &dyn Kinds, options: &Options<'_>) -> Vec<Value> {
    let name = format!("deltic-{}", operator.name);
    let mut own = Permissions::default();
    own_needs(operator, &mut own);
    serving::needs(operator, options, &mut own);
    let Some(account) = &operator.service_account else {
        own_lease(options, &mut own);
        objects(operator, kinds, options, &mut own);
        return own.roles(&name, options.account);
    };
    let mut theirs = Permissions::default();
    objects(operator, kinds, options, &mut theirs);
    views(operator, &mut own, &mut theirs);
    let names = [account.name.as_str()];
    own.allow_in(
        &account.namespace,
        &Subject::named("", "serviceaccounts", &names),
        &["impersonate"],
    );
    own_lease(options, &mut own);
    let mut roles = own.roles(&name, options.account);
    roles.extend(theirs.roles(&format!("{name}-account"), Some(account)));
    roles
}

/// The resources of namespaced targets that the roles of an Operator allow to write in all
/// namespaces, also if its pipeline yields a namespace that is written in it: the watch of a target
/// finds by a label what deltic has written, wherever that is, so that what is no longer derived can
/// be removed. Only `--namespace` restricts it.
pub fn in_all_namespaces(
    operator: &Operator,
    kinds: &dyn Kinds,
    options: &Options<'_>,
) -> BTreeSet<String> {
    let targets = operator.controllers.iter().flat_map(|c| &c.targets);
    let targets = targets.filter(|target| !target.resource.is_view());
    let kinds = targets.map(|target| kinds.kind(&target.resource));
    let all = kinds.filter(|kind| kind.namespaced && options.namespace.is_none());
    all.map(|kind| kind.plural).collect()
}

/// The roles of an installation, which deltic needs without any Operator: to read Operators, to
/// write their status and Events, to hold its lease and to serve views. [`roles`] adds what an
/// Operator needs.
pub fn base(name: &str, options: &Options<'_>) -> Vec<Value> {
    let mut own = Permissions::default();
    read_operators(&mut own);
    // The status of every Operator, because it says which permissions are missing.
    let status = Subject::all(operators::crd::GROUP, "operators/status");
    own.allow(&status, &["patch"]);
    write_events(&mut own);
    own_lease(options, &mut own);
    serving::base(options, &mut own);
    own.roles(name, options.account)
}

fn read_operators(permissions: &mut Permissions) {
    let operators = Subject::all(operators::crd::GROUP, "operators");
    permissions.allow(&operators, &["get", "list", "watch"]);
}

/// Events about cluster-scoped objects are stored in the namespace `default`.
fn write_events(permissions: &mut Permissions) {
    let events = Subject::all("events.k8s.io", "events");
    permissions.allow_in("default", &events, &["create", "patch"]);
}

/// Adds the permissions that deltic itself needs to run an Operator.
fn own_needs(operator: &Operator, permissions: &mut Permissions) {
    let group = operators::crd::GROUP;
    read_operators(permissions);
    let names = [operator.name.as_str()];
    let status = Subject::named(group, "operators/status", &names);
    permissions.allow(&status, &["patch"]);
    if operator.deletion_policy == DeletionPolicy::Delete {
        // Setting the finalizer takes `patch`. A cluster that checks owner references
        // (`OwnerReferencesPermissionEnforcement`) asks for `operators/finalizers` as well.
        let this = Subject::named(group, "operators", &names);
        permissions.allow(&this, &["patch"]);
        let finalizers = Subject::named(group, "operators/finalizers", &names);
        permissions.allow(&finalizers, &["update"]);
    }
    write_events(permissions);
}

/// Adds the permissions on the lease, in the namespace of the account.
fn own_lease(options: &Options<'_>, permissions: &mut Permissions) {
    let Some(account) = options.account else {
        return;
    };
    let group = "coordination.k8s.io";
    let instance = options.instance.map(lease_name);
    let mut names = vec![options.lease.unwrap_or(cluster::lease::NAME)];
    names.extend(instance.as_deref());
    // `create` cannot be restricted by name: the server does not know the name when it checks.
    let create = Subject::all(group, "leases");
    permissions.allow_in(&account.namespace, &create, &["create"]);
    let lease = Subject::named(group, "leases", &names);
    permissions.allow_in(&account.namespace, &lease, &["get", "update"]);
}

/// Adds the permissions on the objects that the controllers read and write.
fn objects(
    operator: &Operator,
    kinds: &dyn Kinds,
    options: &Options<'_>,
    permissions: &mut Permissions,
) {
    for controller in &operator.controllers {
        let watched = controller
            .sources
            .iter()
            .filter(|source| source.kind == SourceKind::Watcher && !source.resource.is_view());
        for source in watched {
            let kind = kinds.kind(&source.resource);
            let namespace = source.namespace.as_deref().or(options.namespace);
            let namespace = namespace.filter(|_| kind.namespaced);
            let objects = Subject::all(&source.resource.group, &kind.plural);
            permissions.allow_where(namespace, &objects, &["list", "watch"]);
        }
        for (i, target) in controller.targets.iter().enumerate() {
            if target.resource.is_view() {
                continue;
            }
            let kind = kinds.kind(&target.resource);
            let namespace = options.namespace.filter(|_| kind.namespaced);
            let group = &target.resource.group;
            let objects = Subject::all(group, &kind.plural);
            if options.namespace.is_some() && !kind.namespaced {
                // They are read, and not written.
                permissions.allow(&objects, &["list", "watch"]);
                continue;
            }
            let owned = controller
                .pipeline
                .may_yield(i, &["metadata", "ownerReferences"]);
            permissions.allow_where(namespace, &objects, verbs(target, owned));
            if kind.namespaced && target.kind != TargetType::Patcher {
                // An object waits for its namespace to be created. A Patcher creates no objects.
                let names: Vec<&str> = options.namespace.into_iter().collect();
                let namespaces = Subject::named("", "namespaces", &names);
                permissions.allow(&namespaces, &["list", "watch"]);
            }
            if owned {
                owners(controller, kinds, options, permissions);
            }
            if kind.status && controller.pipeline.may_yield(i, &["status"]) {
                let status = Subject::all(group, &format!("{}/status", kind.plural));
                permissions.allow_where(namespace, &status, &["patch"]);
            }
        }
    }
}

/// Adds the permission to name the sources of a controller as owners that deletions wait for
/// (`blockOwnerDeletion`). Only clusters with `OwnerReferencesPermissionEnforcement` ask for it.
fn owners(
    controller: &Controller,
    kinds: &dyn Kinds,
    options: &Options<'_>,
    permissions: &mut Permissions,
) {
    let sources = controller.sources.iter();
    let watched = sources.filter(|s| s.kind == SourceKind::Watcher && !s.resource.is_view());
    for source in watched {
        let kind = kinds.kind(&source.resource);
        let namespace = source.namespace.as_deref().or(options.namespace);
        let namespace = namespace.filter(|_| kind.namespaced);
        let finalizers = format!("{}/finalizers", kind.plural);
        let finalizers = Subject::all(&source.resource.group, &finalizers);
        permissions.allow_where(namespace, &finalizers, &["update"]);
    }
}

/// Adds the permissions on the views of other Operators: the account needs to read them, and deltic
/// asks whether it may.
fn views(operator: &Operator, own: &mut Permissions, account: &mut Permissions) {
    let group = format!("{}{}", operator.name, object::VIEW_SUFFIX);
    let sources = operator.controllers.iter().flat_map(|c| &c.sources);
    let others = sources.filter(|source| {
        let resource = &source.resource;
        source.kind == SourceKind::Watcher && resource.is_view() && resource.group != group
    });
    for source in others {
        let resource = &source.resource;
        let view = Subject::all(&resource.group, &resource.view_resource());
        account.allow_where(source.namespace.as_deref(), &view, &["list", "watch"]);
        let reviews = Subject::all("authorization.k8s.io", "subjectaccessreviews");
        own.allow(&reviews, &["create"]);
    }
}

/// The verbs of the requests that the writer and the target watch send. Where
/// `OwnerReferencesPermissionEnforcement` is on, a change of the owner references of an object
/// takes `delete` as well.
fn verbs(target: &Target, owned: bool) -> &'static [&'static str] {
    match target.kind {
        TargetType::Updater => &[
            "get", "list", "watch", "create", "update", "patch", "delete",
        ],
        TargetType::Patcher if owned => &["get", "list", "watch", "patch", "delete"],
        TargetType::Patcher => &["get", "list", "watch", "patch"],
        // A server-side apply that creates an object needs `create` as well.
        TargetType::Applier => &["get", "list", "watch", "create", "patch", "delete"],
    }
}

/// The labels of roles and bindings.
fn labels() -> Value {
    json!({"app.kubernetes.io/name": "deltic"})
}

#[cfg(test)]
mod tests;
