//! The views of `deltic run`: serving them, and making them part of the cluster's own API.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use cluster::client::{Clients, Identity, Rate};
use cluster::connect;
use metrics::Metrics;
use process::aggregate::{Aggregation, CaBundle, Managed, ServiceRef, Settings};
use process::config::Config;
use process::view_server::{self, Served, Transport};

use super::no_cluster;
use super::run::lease_namespace;
use crate::cli::cluster::Run;
use crate::exit::Stop;
use crate::input;

/// The port for `--aggregate` without `--serve-addr`.
const PORT: u16 = 8443;

/// Serves views if `--serve-addr` or `--aggregate` is given, and registers them for the latter.
pub(super) async fn serve(
    args: &Run,
    connection: &connect::Connection,
    metrics: &Metrics,
    config: &Config,
    replicated: bool,
) -> Result<Option<Aggregation>, Stop> {
    let flags = &args.serving;
    let service = flags.aggregate.then(|| service(args, connection));
    let address = match (flags.serve_addr, &service) {
        (None, None) => return Ok(None),
        (Some(address), _) => address,
        (None, Some(_)) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)),
    };
    if flags.aggregate && flags.serve_cert_file.is_some() && flags.aggregate_ca_file.is_none() {
        return Err(Stop::usage(
            "--aggregate with --serve-cert-file needs --aggregate-ca-file: the API server of the \
             cluster checks the certificate against it",
        ));
    }
    let settings = view_server::Settings {
        address,
        transport: transport(args, connection, service.as_ref()),
        front_proxy: flags.aggregate,
    };
    // A client with its own connections, so that logins do not wait for other requests.
    let client = connection.client(metrics);
    let client = client.map_err(|error| no_cluster(&error))?;
    let (views, leadership) = (&config.views, &config.leadership);
    let background = config.background();
    let served = view_server::start(&client, views, leadership, &background, &settings).await;
    let served = served.map_err(|error| {
        let error = input::error("serve-addr", error.to_string());
        Stop::Refused(vec![error])
    })?;
    tracing::info!(address = %served.address, "serving views");
    let Some(service) = service else {
        return Ok(None);
    };
    let settings = aggregated(args, config, service, &served, replicated)?;
    // It writes only while this process leads.
    let clients = Clients::new(client, Rate::default(), config.leadership.clone());
    let client = clients.of(&Identity::Own);
    let views = config.views.views().served();
    let leadership = config.leadership.clone();
    Ok(Some(Aggregation::start(
        &client, views, leadership, background, settings,
    )))
}

fn service(args: &Run, connection: &connect::Connection) -> ServiceRef {
    let given = args.serving.aggregate_service.clone();
    given.unwrap_or_else(|| ServiceRef::default_in(lease_namespace(args, connection)))
}

fn transport(
    args: &Run,
    connection: &connect::Connection,
    service: Option<&ServiceRef>,
) -> Transport {
    let flags = &args.serving;
    match (&flags.serve_cert_file, &flags.serve_key_file) {
        _ if flags.serve_insecure_without_login => Transport::Insecure,
        (Some(certificate), Some(key)) => Transport::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        },
        _ => {
            let mut names = flags.serve_name.clone();
            names.extend(service.map(ServiceRef::host));
            Transport::Generated {
                namespace: lease_namespace(args, connection).to_owned(),
                names,
            }
        }
    }
}

fn aggregated(
    args: &Run,
    config: &Config,
    service: ServiceRef,
    served: &Served,
    replicated: bool,
) -> Result<Settings, Stop> {
    let file = args.serving.aggregate_ca_file.clone();
    let authority = match (file, &served.authority) {
        (Some(path), _) => CaBundle::File(path),
        (None, text) => CaBundle::Text(text.clone().unwrap_or_default()),
    };
    let operators = if config.files.is_empty() {
        Managed::Cluster(config.operator_selector.clone())
    } else {
        let names = config.files.iter().map(|operator| operator.name.clone());
        Managed::Files(names.collect())
    };
    let address = own_address(args)?;
    if address.is_none() {
        tracing::info!(
            %service,
            "no EndpointSlice is written for the Service: neither --aggregate-address nor POD_IP is \
             given"
        );
    }
    Ok(Settings {
        service,
        authority,
        endpoint: address.map(|address| (address, served.address.port())),
        operators,
        replicated,
    })
}

/// The address of this process: the flag, or else that of the pod.
fn own_address(args: &Run) -> Result<Option<IpAddr>, Stop> {
    if let Some(address) = args.serving.aggregate_address {
        return Ok(Some(address));
    }
    let Ok(text) = std::env::var("POD_IP") else {
        return Ok(None);
    };
    let address = text.parse().map_err(|_| {
        Stop::usage("the environment variable POD_IP is not an IP address: use --aggregate-address")
    })?;
    Ok(Some(address))
}
