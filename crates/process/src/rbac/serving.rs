//! The permissions for serving views.
//!
//! | for | verbs |
//! |---|---|
//! | what a user may do: `subjectaccessreviews` | create |
//! | whose token it is, on deltic's own port: `tokenreviews` | create |
//! | who the front proxy is: the `ConfigMap` `extension-apiserver-authentication` | get |
//! | the authority of the certificate: the Secret `deltic-serving` | get, create |
//! | the Operator's `APIService` | update, delete; create and list of all |
//! | the `EndpointSlice` of the Service | get, update, delete; create of all |
//!
//! `create` cannot be restricted by name, and `list` shows whose Operators are gone.

use operator::Operator;

use super::Options;
use super::permissions::{Permissions, Subject};
use crate::aggregate::{self, ServiceRef};
use crate::view_server;

/// Adds the permissions for serving the views of an Operator.
pub(super) fn needs(operator: &Operator, options: &Options<'_>, permissions: &mut Permissions) {
    // Views that it only reads are served, too: users fill them.
    if operator::view_shapes(operator).is_empty() {
        return;
    }
    base(options, permissions);
    if options.aggregate.is_some() {
        let views = format!("{}{}", operator.name, object::VIEW_SUFFIX);
        let name = aggregate::registration_name(&views);
        let own = Subject::named(REGISTRATIONS, "apiservices", &[&name]);
        permissions.allow(&own, &["update", "delete"]);
    }
}

/// Adds the permissions for serving views, of whatever Operators.
pub(super) fn base(options: &Options<'_>, permissions: &mut Permissions) {
    if !options.serve && options.aggregate.is_none() {
        return;
    }
    let reviews = Subject::all("authorization.k8s.io", "subjectaccessreviews");
    permissions.allow(&reviews, &["create"]);
    if options.serve {
        let reviews = Subject::all("authentication.k8s.io", "tokenreviews");
        permissions.allow(&reviews, &["create"]);
    }
    let (namespace, name) = ::serving::AUTHORITIES;
    let authorities = Subject::named("", "configmaps", &[name]);
    permissions.allow_in(namespace, &authorities, &["get"]);
    if let Some(account) = options.account {
        let secret = Subject::named("", "secrets", &[view_server::SECRET]);
        permissions.allow_in(&account.namespace, &secret, &["get"]);
        let secrets = Subject::all("", "secrets");
        permissions.allow_in(&account.namespace, &secrets, &["create"]);
    }
    if let Some(service) = options.aggregate {
        aggregation(options, service, permissions);
    }
}

const REGISTRATIONS: &str = "apiregistration.k8s.io";

fn aggregation(options: &Options<'_>, service: Option<&ServiceRef>, permissions: &mut Permissions) {
    let all = Subject::all(REGISTRATIONS, "apiservices");
    permissions.allow(&all, &["list", "create"]);
    let of_account = || {
        options
            .account
            .map(|it| ServiceRef::default_in(&it.namespace))
    };
    let Some(service) = service.cloned().or_else(of_account) else {
        return;
    };
    let group = "discovery.k8s.io";
    let slices = Subject::all(group, "endpointslices");
    permissions.allow_in(&service.namespace, &slices, &["create"]);
    let slice = [aggregate::slice_name(&service)];
    let slice = Subject::named(group, "endpointslices", &slice);
    permissions.allow_in(&service.namespace, &slice, &["get", "update", "delete"]);
}
