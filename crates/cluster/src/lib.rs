//! The connection to a Kubernetes cluster: clients, leader election, discovery and watches.
//!
//! | module | content |
//! |---|---|
//! | [`connect`] | finds the cluster and creates a client with timeouts and metrics |
//! | [`client`] | clients that act as an Operator's account, with a rate limit, while this process leads |
//! | [`lease`] | leader election |
//! | [`access`] | asks what an account may read |
//! | [`source`] | discovery, schemas, and watches that all their readers share |
//! | [`object`] | Kubernetes objects as documents, for the API of kube |

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

pub mod access;
pub mod client;
pub mod connect;
pub mod definitions;
pub mod lease;
pub mod object;
pub mod source;
