//! The least rights that an Operator needs, as roles.
//!
//! In goes an [`Operator`], out come roles, and with an account their bindings. Which resource a kind is, a [`Kinds`] says: [`WellKnown`] without a cluster,
//! [`Discovered`] with one.
//!
//! | what | verbs |
//! |---|---|
//! | a source | list, watch |
//! | an Updater's target | get, list, watch, create, update, patch, delete |
//! | a Patcher's target | get, list, watch, patch |
//! | an Applier's target | get, list, watch, create, patch, delete |
//! | namespaces, if an Updater or Applier writes into some | list, watch |
//! | the status of a target, if the pipeline yields one | patch |
//! | views, OneShot and Periodic sources | none |

mod kinds;
mod permissions;

use document::{Value, json};
pub use kinds::{Discovered, Kind, Kinds, WellKnown};
use operator::Operator;
use operator::spec::{DeletionPolicy, ServiceAccount, SourceKind, Target, TargetType};
use permissions::{Permissions, Subject};

/// What the roles are for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The account that deltic runs as: the roles are bound to it, and it may hold the
    /// lease in its namespace.
    pub account: Option<&'a ServiceAccount>,
    /// deltic runs with `--namespace`: objects that live in namespaces are read and
    /// written in this one only.
    pub namespace: Option<&'a str>,
    /// The name of the lease; [`lease::NAME`](cluster::lease::NAME) if `None`.
    pub lease: Option<&'a str>,
}

/// The roles that an Operator needs: those of deltic, and those of the account that the
/// Operator names, if it names one.
pub fn roles(operator: &Operator, kinds: &dyn Kinds, options: &Options<'_>) -> Vec<Value> {
    let name = format!("deltic-{}", operator.name);
    let mut own = Permissions::default();
    own_needs(operator, &mut own);
    let Some(account) = &operator.service_account else {
        own_lease(options, &mut own);
        objects(operator, kinds, options, &mut own);
        return own.roles(&name, options.account);
    };
    let mut theirs = Permissions::default();
    objects(operator, kinds, options, &mut theirs);
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

/// What deltic itself needs to run an Operator.
fn own_needs(operator: &Operator, permissions: &mut Permissions) {
    let group = operators::crd::GROUP;
    let operators = Subject::all(group, "operators");
    permissions.allow(&operators, &["get", "list", "watch"]);
    let names = [operator.name.as_str()];
    let status = Subject::named(group, "operators/status", &names);
    permissions.allow(&status, &["patch"]);
    if operator.deletion_policy == DeletionPolicy::Delete {
        // The finalizer, and where owners are checked the right to block a deletion.
        let this = Subject::named(group, "operators", &names);
        permissions.allow(&this, &["patch"]);
        let finalizers = Subject::named(group, "operators/finalizers", &names);
        permissions.allow(&finalizers, &["update"]);
    }
    // Events about what has no namespace are kept in this one.
    let events = Subject::all("events.k8s.io", "events");
    permissions.allow_in("default", &events, &["create", "patch"]);
}

/// The lease, in the namespace of the account.
fn own_lease(options: &Options<'_>, permissions: &mut Permissions) {
    let Some(account) = options.account else {
        return;
    };
    let group = "coordination.k8s.io";
    let names = [options.lease.unwrap_or(cluster::lease::NAME)];
    // The name of what is created is not known when the right is checked.
    let create = Subject::all(group, "leases");
    permissions.allow_in(&account.namespace, &create, &["create"]);
    let lease = Subject::named(group, "leases", &names);
    permissions.allow_in(&account.namespace, &lease, &["get", "update"]);
}

/// What the controllers read and write.
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
            permissions.allow_where(namespace, &objects, verbs(target));
            if kind.namespaced && target.kind != TargetType::Patcher {
                // To be told when one comes that objects wait for. A Patcher creates nothing.
                let names: Vec<&str> = options.namespace.into_iter().collect();
                let namespaces = Subject::named("", "namespaces", &names);
                permissions.allow(&namespaces, &["list", "watch"]);
            }
            if kind.status && controller.pipeline.may_yield(i, &["status"]) {
                let status = Subject::all(group, &format!("{}/status", kind.plural));
                permissions.allow_where(namespace, &status, &["patch"]);
            }
        }
    }
}

/// What the writer sends to targets of each type, and the watch of the targets.
fn verbs(target: &Target) -> &'static [&'static str] {
    match target.kind {
        TargetType::Updater => &[
            "get", "list", "watch", "create", "update", "patch", "delete",
        ],
        TargetType::Patcher => &["get", "list", "watch", "patch"],
        // An apply that creates needs the right to create, too.
        TargetType::Applier => &["get", "list", "watch", "create", "patch", "delete"],
    }
}

/// The labels of roles and bindings.
fn labels() -> Value {
    json!({"app.kubernetes.io/name": "deltic"})
}

#[cfg(test)]
mod tests;
