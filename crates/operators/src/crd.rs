//! The `CustomResourceDefinition` of the Operator resource.
//!
//! The definition is written as a YAML file, [`YAML`]; [`definition`] returns it as a document.
//! Its schema cannot check pipelines and predicates: [`operator::read`] checks those.

use document::Value;
use kube::discovery::ApiResource;
pub use object::GROUP;

/// The definition with its comments.
pub const YAML: &str = operator::DEFINITION;

/// The version of Operators.
pub const VERSION: &str = "v1alpha1";
/// The name of the `CustomResourceDefinition`.
pub const NAME: &str = "operators.dcontroller.io";

/// The definition as a document.
///
/// ```
/// let definition = operators::crd::definition();
/// assert_eq!(definition.get("metadata").get("name").as_str(), Some(operators::crd::NAME));
/// ```
pub fn definition() -> Value {
    let manifests = manifest::parse_bytes("operators.yaml", YAML.as_bytes().to_vec());
    // A test checks that the file holds exactly one document.
    let mut manifests = manifests.unwrap_or_default();
    manifests
        .pop()
        .map(|manifest| manifest.value)
        .unwrap_or_default()
}

/// The API resource of Operators.
pub fn resource() -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        api_version: format!("{GROUP}/{VERSION}"),
        kind: "Operator".to_owned(),
        plural: "operators".to_owned(),
    }
}

#[cfg(test)]
mod tests;
