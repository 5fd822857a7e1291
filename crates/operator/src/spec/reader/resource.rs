//! Reads which kind a source or target is about.
//!
//! Groups, versions and namespaces become parts of request paths, so that they are checked here.

use document::{Location, Value};
use object::{KindRef, VIEW_SUFFIX, VIEW_VERSION};

use super::SpecReader;
use crate::names::{is_api_group, is_dns_label};
use crate::problem::Problem;

/// The group that some existing Operators write for their own views.
const OWN_VIEWS: &str = "view.dcontroller.io";

impl SpecReader<'_> {
    /// Reads the kind of a source or target.
    pub(super) fn resource(&mut self, spec: &Value, at: &Location) -> Option<KindRef> {
        let kind = self.text(spec.get("kind"), &at.key("kind"))?;
        let version = match spec.get("version") {
            version if version.is_null() => None,
            version => Some(self.text(version, &at.key("version"))?),
        };
        let (group, version) = match spec.get("apiGroup").as_str() {
            Some(group) if group.ends_with(VIEW_SUFFIX) => (
                group.to_owned(),
                Some(version.unwrap_or(VIEW_VERSION.to_owned())),
            ),
            Some(group) if group != OWN_VIEWS => (group.to_owned(), version),
            Some(_) => self.own_view(),
            None if spec.get("apiGroup").is_null() => self.own_view(),
            None => {
                self.error(
                    "bad-field",
                    &at.key("apiGroup"),
                    "apiGroup must be a string; \"\" is the core group",
                );
                return None;
            }
        };
        let resource = KindRef {
            group,
            version,
            kind,
        };
        self.check_group(&resource, &at.key("apiGroup"));
        self.check_version(&resource, &at.key("version"));
        Some(resource)
    }

    /// The namespace of a source.
    pub(super) fn namespace(&mut self, value: &Value, at: &Location) -> Option<String> {
        let namespace = self.text(value, at)?;
        self.check_namespace(&namespace, at);
        Some(namespace)
    }

    pub(super) fn check_namespace(&mut self, namespace: &str, at: &Location) {
        if !is_dns_label(namespace) {
            let message = "a namespace must be a DNS label: lower-case letters, digits and `-`, at most 63 characters";
            self.error("bad-name", at, message);
        }
    }

    fn check_group(&mut self, resource: &KindRef, at: &Location) {
        let group = &resource.group;
        if is_api_group(group) {
            return;
        }
        let message = format!("there is no API group {group:?}");
        let problem = Problem::error("no-such-group", at, message);
        let help = match group.split_once('/') {
            Some(("core", version)) if is_dns_label(version) => {
                format!("the version is a field of its own: apiGroup: \"\", version: {version}")
            }
            Some((group, version)) if is_api_group(group) && is_dns_label(version) => {
                format!("the version is a field of its own: apiGroup: {group}, version: {version}")
            }
            _ => "an API group is a DNS name, such as apps or cert-manager.io".to_owned(),
        };
        self.problems.push(problem.with_help(help));
    }

    fn check_version(&mut self, resource: &KindRef, at: &Location) {
        let KindRef { version, kind, .. } = resource;
        let Some(version) = version.as_ref().filter(|version| !is_dns_label(version)) else {
            return;
        };
        let message = format!("{kind} has no version {version:?}");
        let problem = Problem::error("no-such-version", at, message);
        let help = "a version is lower-case letters and digits, such as v1 or v1beta1";
        self.problems.push(problem.with_help(help));
    }

    /// The group and version of the Operator's own views.
    fn own_view(&self) -> (String, Option<String>) {
        let group = format!("{}{VIEW_SUFFIX}", self.operator);
        (group, Some(VIEW_VERSION.to_owned()))
    }
}
