//! A program for each workload: keys and outputs are closures.

use document::Value;

use super::collection::Collection;
use super::fields::{Fields, map};
use crate::workload::Workload;

/// The dataflow of a workload: its sources in, target objects out.
pub(super) fn build(workload: Workload, sources: Vec<Collection<'_>>) -> Collection<'_> {
    let mut sources = sources.into_iter();
    let mut source = || sources.next().expect("one collection per source");
    match workload {
        Workload::W1 => services(source(), source(), bind),
        Workload::Whole => services(source(), source(), pair),
        Workload::W2 => routes(source(), source()),
        Workload::W3 => groups(source()),
    }
}

/// Services joined with their slices.
fn services<'scope>(
    services: Collection<'scope>,
    slices: Collection<'scope>,
    project: fn(&Fields, &Value, &Value) -> Value,
) -> Collection<'scope> {
    let fields = Fields::new();
    let service_key = fields.clone();
    let slice_key = fields.clone();
    let services = services.map(move |service| (service_key.key(&service), service));
    let slices = slices.map(move |slice| {
        let (namespace, _) = slice_key.key(&slice);
        ((namespace, slice_key.service_of(&slice)), slice)
    });
    services.join_map(slices, move |_, service, slice| {
        project(&fields, service, slice)
    })
}

/// The target object of W1.
fn bind(f: &Fields, service: &Value, slice: &Value) -> Value {
    let (namespace, name) = f.key(slice);
    let spec = service.get_key(&f.spec);
    let address = |endpoint: &Value| endpoint.get_key(&f.addresses).at(0).clone();
    map([
        (
            &f.addresses,
            Fields::each(slice.get_key(&f.endpoints), address),
        ),
        (&f.cluster_ip, spec.get_key(&f.cluster_ip).clone()),
        (&f.metadata, f.named(name, namespace)),
        (&f.ports, spec.get_key(&f.ports).clone()),
        (&f.service, f.key(service).1),
    ])
}

/// The target object that holds both objects whole.
fn pair(f: &Fields, service: &Value, slice: &Value) -> Value {
    let (namespace, name) = f.key(slice);
    map([
        (&f.metadata, f.named(name, namespace)),
        (&f.service, service.clone()),
        (&f.slice, slice.clone()),
    ])
}

/// Gateways joined with the routes that refer to them.
fn routes<'scope>(gateways: Collection<'scope>, routes: Collection<'scope>) -> Collection<'scope> {
    let f = Fields::new();
    let gateway_key = f.clone();
    let route_keys = f.clone();
    let gateways = gateways.map(move |gateway| (gateway_key.key(&gateway), gateway));
    let routes = routes.flat_map(move |route| {
        let (namespace, _) = route_keys.key(&route);
        let parents = route.get_key(&route_keys.spec).get_key(&route_keys.parents);
        let parents = parents.as_list().into_iter().flatten();
        let mut names: Vec<_> = parents
            .map(|parent| parent.get_key(&route_keys.name).clone())
            .collect();
        // A list that gives the same key twice joins once.
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .map(move |name| ((namespace.clone(), name), route.clone()))
    });
    gateways.join_map(routes, move |(namespace, name), gateway, route| {
        let (spec, (_, route_name)) = (gateway.get_key(&f.spec), f.key(route));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let target = text(&route_name) + "-" + name.as_str().unwrap_or_default();
        map([
            (&f.class, spec.get_key(&f.gateway_class).clone()),
            (&f.gateway, name.clone()),
            (&f.listeners, spec.get_key(&f.listeners).clone()),
            (&f.metadata, f.named(target.into(), namespace.clone())),
            (&f.route, route_name),
            (&f.rules, route.get_key(&f.spec).get_key(&f.rules).clone()),
        ])
    })
}

/// The endpoints of slices, gathered by service. A member is its origin and its value; the
/// document around it is made for the first one of a group only.
fn groups(slices: Collection<'_>) -> Collection<'_> {
    let f = Fields::new();
    let member = f.clone();
    let members = slices.flat_map(move |slice| {
        let (namespace, name) = member.key(&slice);
        let service = member.service_of(&slice);
        let endpoints = slice.get_key(&member.endpoints).as_list();
        let members: Vec<_> = endpoints
            .into_iter()
            .flatten()
            .zip(0_u32..)
            .map(|(endpoint, place)| {
                let origin = (namespace.clone(), name.clone(), place);
                (service.clone(), (origin, project(&member, endpoint)))
            })
            .collect();
        members
    });
    members
        .reduce(move |service, members, output| {
            let ((namespace, name, place), _) = members[0].0;
            let name = format!("{}-{place}", name.as_str().unwrap_or_default());
            let list = Value::list(members.iter().map(|((_, member), _)| member.clone()));
            let group = map([
                (&f.endpoint, list),
                (&f.metadata, f.named(name.into(), namespace.clone())),
                (&f.service, service.clone()),
            ]);
            output.push((group, 1));
        })
        .map(|(_, group)| group)
}

/// What W3 keeps of an endpoint.
fn project(f: &Fields, endpoint: &Value) -> Value {
    let conditions = endpoint.get_key(&f.conditions);
    map([
        (&f.address, endpoint.get_key(&f.addresses).at(0).clone()),
        (&f.node, endpoint.get_key(&f.node_name).clone()),
        (&f.ready, conditions.get_key(&f.ready).clone()),
    ])
}
