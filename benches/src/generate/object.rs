//! The objects themselves: what a cluster would show, without managedFields.

use seeded::Random;
use serde_json::{Value, json};

/// An object that others refer to by name: a service or a gateway.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    seed: [u64; 2],
    pub(super) name: String,
    pub(super) namespace: String,
}

impl Owner {
    pub(super) fn new(family: u64, index: usize, namespace: usize) -> Self {
        let seed = [family, index as u64];
        let mut random = Random::of(&seed);
        Self {
            seed,
            name: format!("{}-{}", app(&mut random), tag(&mut random)),
            namespace: namespace_name(family, namespace),
        }
    }

    fn random(&self, salt: u64) -> Random {
        Random::of(&[self.seed[0], self.seed[1], salt])
    }
}

const TEAMS: [&str; 6] = [
    "billing", "catalog", "identity", "media", "search", "shipping",
];
const PARTS: [&str; 6] = ["api", "cache", "gateway", "ingest", "store", "worker"];
const ZONES: [&str; 3] = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];

fn app(random: &mut Random) -> String {
    format!("{}-{}", random.pick(&TEAMS), random.pick(&PARTS))
}

/// Ten characters, as generated names have them.
fn tag(random: &mut Random) -> String {
    format!("{:010x}", random.bits() & 0xff_ffff_ffff)
}

fn uid(random: &mut Random) -> String {
    let (a, b) = (random.bits(), random.bits());
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}

fn namespace_name(family: u64, namespace: usize) -> String {
    let mut random = Random::of(&[8, family, namespace as u64]);
    let team = *random.pick(&TEAMS);
    format!("{team}-{:06x}", random.bits() & 0xff_ffff)
}

fn time(random: &mut Random) -> String {
    let mut two = |limit| random.below(limit);
    let (month, day) = (two(12) + 1, two(28) + 1);
    let (hour, minute, second) = (two(24), two(60), two(60));
    format!("2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// An address whose last part differs between neighbouring revisions.
fn address(random: &mut Random, revision: u32) -> String {
    let (a, b) = (random.below(256), random.below(256));
    let last = (random.below(250) as u32 + revision) % 250 + 1;
    format!("10.{a}.{b}.{last}")
}

/// A port that differs between neighbouring revisions.
fn port(random: &mut Random, revision: u32) -> u32 {
    1024 + (random.below(30_000) as u32 + revision) % 30_000
}

fn version(random: &mut Random, revision: u32) -> String {
    (100_000_000 + random.below(800_000_000) as u32 + revision).to_string()
}

fn labels(name: &str, random: &mut Random) -> Value {
    json!({
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": format!("{name}-prod"),
        "app.kubernetes.io/part-of": random.pick(&TEAMS),
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": format!("{}-2.{}.{}", random.pick(&PARTS), random.below(10), random.below(10)),
    })
}

pub(super) fn service(owner: &Owner, revision: u32) -> Value {
    let mut random = owner.random(1);
    let Owner {
        name, namespace, ..
    } = owner;
    let ip = address(&mut random, 0);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid(&mut random),
            "resourceVersion": version(&mut random, revision),
            "creationTimestamp": time(&mut random),
            "labels": labels(name, &mut random),
            "annotations": {
                "meta.helm.sh/release-name": format!("{name}-prod"),
                "meta.helm.sh/release-namespace": namespace,
                "prometheus.io/scrape": "true",
                "prometheus.io/port": "9102",
                "example.com/owner": format!("{}@example.com", random.pick(&TEAMS)),
                "example.com/runbook": format!("https://runbooks.example.com/{namespace}/{name}"),
            },
        },
        "spec": {
            "clusterIP": ip,
            "clusterIPs": [ip],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [
                {"name": "http", "port": port(&mut random, revision), "protocol": "TCP", "targetPort": "http"},
                {"name": "metrics", "port": 9102, "protocol": "TCP", "targetPort": "metrics"},
            ],
            "selector": {
                "app.kubernetes.io/name": name,
                "app.kubernetes.io/instance": format!("{name}-prod"),
            },
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}

/// What the slices of W1 and W3 have in common.
fn slice_metadata(index: usize, service: &Owner, revision: u32) -> (Value, Random) {
    let mut random = Random::of(&[3, service.seed[0], index as u64]);
    let Owner {
        name, namespace, ..
    } = service;
    let metadata = json!({
        "name": format!("{name}-{}", tag(&mut random)),
        "generateName": format!("{name}-"),
        "namespace": namespace,
        "uid": uid(&mut random),
        "resourceVersion": version(&mut random, revision),
        "generation": 1 + revision,
        "creationTimestamp": time(&mut random),
        "labels": {
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            "kubernetes.io/service-name": name,
        },
    });
    (metadata, random)
}

/// The endpoint of a slice that an update changes.
fn changes(index: usize, count: usize) -> usize {
    Random::of(&[6, index as u64]).below(count)
}

pub(super) fn slice(index: usize, service: &Owner, count: usize, revision: u32) -> Value {
    let (mut metadata, mut random) = slice_metadata(index, service, revision);
    metadata["ownerReferences"] = json!([{
        "apiVersion": "v1",
        "blockOwnerDeletion": true,
        "controller": true,
        "kind": "Service",
        "name": service.name,
        "uid": uid(&mut service.random(1)),
    }]);
    let changed = changes(index, count);
    let endpoints: Vec<_> = (0..count)
        .map(|place| {
            let address = address(&mut random, if place == changed { revision } else { 0 });
            json!({
                "addresses": [address],
                "conditions": {"ready": true, "serving": true, "terminating": false},
                "nodeName": format!("node-{:04}", random.below(5_000)),
                "targetRef": {
                    "kind": "Pod",
                    "name": format!("{}-{:05x}", service.name, random.bits() & 0xf_ffff),
                    "namespace": service.namespace,
                },
                "zone": random.pick(&ZONES),
            })
        })
        .collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    })
}

/// The slices of W3: more endpoints, less about each.
pub(super) fn endpoints(index: usize, service: &Owner, count: usize, revision: u32) -> Value {
    let (metadata, mut random) = slice_metadata(index, service, revision);
    let changed = changes(index, count);
    let endpoints: Vec<_> = (0..count)
        .map(|place| {
            let address = address(&mut random, if place == changed { revision } else { 0 });
            json!({
                "addresses": [address],
                "conditions": {"ready": random.below(20) != 0},
                "nodeName": format!("node-{:04}", random.below(5_000)),
                "zone": random.pick(&ZONES),
            })
        })
        .collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    })
}

fn condition(kind: &str, reason: &str, generation: u32, random: &mut Random) -> Value {
    json!({
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": format!("{reason} by the controller"),
        "observedGeneration": generation,
        "lastTransitionTime": time(random),
    })
}

fn gateway_metadata(name: &str, namespace: &str, revision: u32, random: &mut Random) -> Value {
    json!({
        "name": name,
        "namespace": namespace,
        "uid": uid(random),
        "resourceVersion": version(random, revision),
        "generation": 1 + revision,
        "creationTimestamp": time(random),
        "labels": labels(name, random),
        "annotations": {
            "meta.helm.sh/release-name": format!("{name}-prod"),
            "meta.helm.sh/release-namespace": namespace,
        },
    })
}

pub(super) fn gateway(owner: &Owner, revision: u32) -> Value {
    let mut random = owner.random(1);
    let metadata = gateway_metadata(&owner.name, &owner.namespace, revision, &mut random);
    let generation = 1 + revision;
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": metadata,
        "spec": {
            "gatewayClassName": format!("{}-class", random.pick(&TEAMS)),
            "listeners": [
                {"name": "udp", "port": port(&mut random, revision), "protocol": "UDP", "allowedRoutes": {"namespaces": {"from": "Same"}}},
                {"name": "turn", "port": 3478, "protocol": "UDP", "allowedRoutes": {"namespaces": {"from": "Same"}}},
            ],
        },
        "status": {
            "addresses": [{"type": "IPAddress", "value": address(&mut random, 0)}],
            "conditions": [
                condition("Accepted", "Accepted", generation, &mut random),
                condition("Programmed", "Programmed", generation, &mut random),
            ],
        },
    })
}

pub(super) fn route(index: usize, parents: &[Owner], revision: u32) -> Value {
    let mut random = Random::of(&[9, index as u64]);
    let name = format!("{}-{}", app(&mut random), tag(&mut random));
    let metadata = gateway_metadata(&name, &parents[0].namespace, revision, &mut random);
    let backends = [port(&mut random, revision), 9000].map(|port| {
        let service = format!("{}-{}", app(&mut random), tag(&mut random));
        json!({"name": service, "port": port, "weight": 1 + random.below(9)})
    });
    let refs: Vec<_> = parents
        .iter()
        .map(|gateway| json!({"name": gateway.name, "sectionName": "udp"}))
        .collect();
    let status: Vec<_> = refs
        .iter()
        .map(|parent| {
            json!({
                "parentRef": parent,
                "controllerName": "example.com/udp-gateway",
                "conditions": [condition("Accepted", "Accepted", 1 + revision, &mut random)],
            })
        })
        .collect();
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1alpha2",
        "kind": "UDPRoute",
        "metadata": metadata,
        "spec": {"parentRefs": refs, "rules": [{"backendRefs": backends}]},
        "status": {"parents": status},
    })
}
