//! The `APIService` of an Operator's views: what it should be, and what it is.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIService, APIServiceSpec, ServiceReference,
};
use kube::ResourceExt as _;
use kube::api::ObjectMeta;
use object::marks::{AGGREGATION, SELECTED_BY, SERVED_BY};

use super::ServiceRef;

/// Views come after all other groups when kubectl looks for a short name: somebody's own resource
/// `health` keeps its name.
const GROUP_PRIORITY: i32 = 10;
const VERSION_PRIORITY: i32 = 10;

/// The name of the `APIService` of a group of views.
pub fn registration_name(group: &str) -> String {
    format!("{}.{group}", object::VIEW_VERSION)
}

/// A registration as it should be.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) group: String,
    /// A PEM text.
    pub(super) authority: String,
    pub(super) service: ServiceRef,
    /// The selector of this process.
    pub(super) selector: Option<String>,
    /// The name and uid of the Operator, if it is an object of the cluster.
    pub(super) owner: Option<(String, String)>,
}

impl Wanted {
    /// The object to create.
    pub(super) fn object(&self) -> APIService {
        let mut object = APIService {
            metadata: ObjectMeta {
                name: Some(registration_name(&self.group)),
                ..ObjectMeta::default()
            },
            ..APIService::default()
        };
        self.set(&mut object);
        object
    }

    /// Sets what is ours, and leaves the rest as it is.
    fn set(&self, object: &mut APIService) {
        let (key, value) = AGGREGATION;
        object.labels_mut().insert(key.to_owned(), value.to_owned());
        let instance = self.service.instance();
        let annotations = object.annotations_mut();
        annotations.insert(SERVED_BY.to_owned(), instance);
        match &self.selector {
            Some(selector) => annotations.insert(SELECTED_BY.to_owned(), selector.clone()),
            None => annotations.remove(SELECTED_BY),
        };
        object.metadata.owner_references = self.owner.as_ref().map(|(name, uid)| {
            vec![OwnerReference {
                api_version: format!("{}/{}", operators::crd::GROUP, operators::crd::VERSION),
                kind: "Operator".to_owned(),
                name: name.clone(),
                uid: uid.clone(),
                ..OwnerReference::default()
            }]
        });
        object.spec = Some(APIServiceSpec {
            group: Some(self.group.clone()),
            version: Some(object::VIEW_VERSION.to_owned()),
            group_priority_minimum: GROUP_PRIORITY,
            version_priority: VERSION_PRIORITY,
            ca_bundle: Some(ByteString(self.authority.clone().into_bytes())),
            insecure_skip_tls_verify: None,
            service: Some(ServiceReference {
                name: Some(self.service.name.clone()),
                namespace: Some(self.service.namespace.clone()),
                port: Some(i32::from(self.service.port)),
            }),
        });
    }
}

/// A registration on the cluster.
#[derive(Clone, Debug)]
pub(super) struct Found {
    object: APIService,
    /// Whether this process, or an earlier one with the same Service, made it.
    pub(super) is_ours: bool,
}

impl Found {
    pub(super) fn new(object: APIService, instance: &str) -> Self {
        let of = object.annotations().get(SERVED_BY);
        let is_ours = of.is_some_and(|of| of == instance);
        Self { object, is_ours }
    }

    /// The selector of the process that made it.
    pub(super) fn selector(&self) -> Option<&str> {
        let selector = self.object.annotations().get(SELECTED_BY);
        selector.map(String::as_str)
    }

    /// Whether its Operator was an object of the cluster.
    pub(super) fn has_owner(&self) -> bool {
        !self.object.owner_references().is_empty()
    }

    /// Whether the API server gets answers for it, as far as it has found out.
    pub(super) fn is_answered(&self) -> bool {
        let status = self.object.status.as_ref();
        let mut conditions = status
            .and_then(|status| status.conditions.as_ref())
            .into_iter()
            .flatten();
        conditions.all(|condition| condition.type_ != "Available" || condition.status != "False")
    }

    /// Its API group.
    pub(super) fn group(&self) -> &str {
        let spec = self.object.spec.as_ref();
        spec.and_then(|spec| spec.group.as_deref())
            .unwrap_or_default()
    }

    pub(super) fn uid(&self) -> Option<String> {
        self.object.uid()
    }

    pub(super) fn version(&self) -> Option<String> {
        self.object.resource_version()
    }

    /// The object to write; `None` if it is as wanted.
    pub(super) fn changed(&self, wanted: &Wanted) -> Option<APIService> {
        let mut object = self.object.clone();
        wanted.set(&mut object);
        (object != self.object).then_some(object)
    }
}
