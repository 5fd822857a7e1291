//! Talking to a Kubernetes cluster.
//!
//! | module | what it does |
//! |---|---|
//! | [`connect`] | finds the cluster and makes a client with time limits and metrics |
//! | [`client`] | clients that act as an Operator's account, within a rate, while this process leads |
//! | [`lease`] | leader election |
//! | [`source`] | discovery, schemas, and one watch for each kind, whoever reads it |
//! | [`object`] | objects as documents, for kube's types |

/// The part of `kube::Resource` that is the same for all types whose kind is known only at
/// run time.
macro_rules! of_any_kind {
    () => {
        type DynamicType = kube::discovery::ApiResource;
        type Scope = kube::core::DynamicResourceScope;

        fn kind(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
            resource.kind.as_str().into()
        }

        fn group(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
            resource.group.as_str().into()
        }

        fn version(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
            resource.version.as_str().into()
        }

        fn api_version(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
            resource.api_version.as_str().into()
        }

        fn plural(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
            resource.plural.as_str().into()
        }
    };
}
use of_any_kind;

pub mod client;
pub mod connect;
pub mod lease;
pub mod object;
pub mod source;
