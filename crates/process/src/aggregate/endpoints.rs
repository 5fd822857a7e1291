//! The `EndpointSlice` of the Service. The Service has no selector, because only the replica that
//! leads serves views: the leader writes its own address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};

use super::{AggregateError, ServiceRef, Settings, has_code, request};

/// The name of the Service's port: that of the endpoints is the same.
pub const PORT_NAME: &str = "https";

const SERVICE_LABEL: &str = "kubernetes.io/service-name";
const MANAGER_LABEL: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = object::GROUP;

/// The name of the `EndpointSlice` of a Service.
pub fn slice_name(service: &ServiceRef) -> &str {
    &service.name
}

pub(super) struct Endpoints {
    api: Api<EndpointSlice>,
    service: ServiceRef,
    /// Our address and port.
    endpoint: Option<(IpAddr, u16)>,
    /// Whether a slice of somebody else has been reported.
    reported: AtomicBool,
}

impl Endpoints {
    pub(super) fn new(client: &Client, settings: &Settings) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &settings.service.namespace),
            service: settings.service.clone(),
            endpoint: settings.endpoint,
            reported: AtomicBool::new(false),
        }
    }

    /// Makes this process the only endpoint of the Service.
    pub(super) async fn point_here(&self) -> Result<(), AggregateError> {
        let Some((address, port)) = self.endpoint else {
            return Ok(());
        };
        let endpoint = Endpoint {
            addresses: vec![address.to_string()],
            conditions: Some(EndpointConditions {
                ready: Some(true),
                ..EndpointConditions::default()
            }),
            ..Endpoint::default()
        };
        self.write(address, port, vec![endpoint]).await
    }

    /// Removes this process from the endpoints, unless another one has replaced it.
    pub(super) async fn leave(&self) -> Result<(), AggregateError> {
        let Some((address, port)) = self.endpoint else {
            return Ok(());
        };
        let name = slice_name(&self.service);
        let action = format!("read the EndpointSlice {name}");
        let there = request(&action, self.api.get_opt(name)).await?;
        let endpoints = there.and_then(|slice| slice.endpoints).unwrap_or_default();
        let own = address.to_string();
        if endpoints.iter().any(|one| one.addresses.contains(&own)) {
            self.write(address, port, Vec::new()).await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        address: IpAddr,
        port: u16,
        endpoints: Vec<Endpoint>,
    ) -> Result<(), AggregateError> {
        let name = slice_name(&self.service);
        let wanted = self.slice(address, port, endpoints);
        let action = |what: &str| format!("{what} the EndpointSlice {name}");
        let mut there = request(&action("read"), self.api.get_opt(name)).await?;
        if let Some(found) = &there {
            if !is_ours(found) {
                if !self.reported.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        name,
                        "an EndpointSlice of this name is not deltic's: it stays"
                    );
                }
                return Ok(());
            }
            // The type of addresses cannot be changed.
            if found.address_type != wanted.address_type {
                let params = DeleteParams::default();
                request(&action("delete"), self.api.delete(name, &params)).await?;
                there = None;
            }
        }
        let params = PostParams::default();
        let written = match there {
            None => request(&action("create"), self.api.create(&params, &wanted)).await,
            Some(found) => {
                let mut object = found.clone();
                object.endpoints = wanted.endpoints;
                object.ports = wanted.ports;
                object.labels_mut().extend(labels(&self.service));
                if object == found {
                    return Ok(());
                }
                request(&action("update"), self.api.replace(name, &params, &object)).await
            }
        };
        match written {
            // Another process has written it meanwhile: the next round reads it again.
            Err(AggregateError::Request { error, .. }) if has_code(&error, 409) => Ok(()),
            other => other.map(drop),
        }
    }

    fn slice(&self, address: IpAddr, port: u16, endpoints: Vec<Endpoint>) -> EndpointSlice {
        let kind = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        EndpointSlice {
            address_type: kind.to_owned(),
            endpoints: Some(endpoints),
            metadata: ObjectMeta {
                name: Some(slice_name(&self.service).to_owned()),
                labels: Some(labels(&self.service)),
                ..ObjectMeta::default()
            },
            ports: Some(vec![EndpointPort {
                name: Some(PORT_NAME.to_owned()),
                port: Some(i32::from(port)),
                protocol: Some("TCP".to_owned()),
                ..EndpointPort::default()
            }]),
        }
    }
}

fn labels(service: &ServiceRef) -> BTreeMap<String, String> {
    let labels = [
        (SERVICE_LABEL, service.name.as_str()),
        (MANAGER_LABEL, MANAGER),
    ];
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn is_ours(slice: &EndpointSlice) -> bool {
    let manager = slice.labels().get(MANAGER_LABEL);
    manager.is_some_and(|manager| manager == MANAGER)
}
