//! The type of the view objects, and the names of the objects that belong to them.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

/// The label on the Secrets that this program creates.
pub(crate) const LABEL: (&str, &str) = ("example.deltic.dev/made-by", "native-reconciler");
/// The same as a selector.
pub(crate) const SELECTOR: &str = "example.deltic.dev/made-by=native-reconciler";
/// The `ConfigMap` with the settings of a namespace.
pub(crate) const SETTINGS: &str = "credentials";
/// The finalizer that keeps a Credential until its Secret is deleted.
pub(crate) const FINALIZER: &str = "example.deltic.dev/secret";

/// An object of the view. Views have no schema: the fields are those that the pipeline yields.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Credential {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Spec,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Spec {
    pub(crate) user: String,
}

impl Credential {
    /// The name of its Secret.
    pub(crate) fn secret(&self) -> String {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        format!("{name}-credentials")
    }
}

impl k8s_openapi::Resource for Credential {
    const API_VERSION: &'static str = "credentials.view.dcontroller.io/v1alpha1";
    const GROUP: &'static str = "credentials.view.dcontroller.io";
    const KIND: &'static str = "Credential";
    const VERSION: &'static str = "v1alpha1";
    const URL_PATH_SEGMENT: &'static str = "credential";
    type Scope = NamespaceResourceScope;
}

impl k8s_openapi::Metadata for Credential {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
