//! The arguments about serving views.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use process::aggregate::ServiceRef;

use super::cluster::Connection;
use super::values::{address, namespace, url};

/// How views are served.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("served").args(["serve_addr", "aggregate"]).multiple(true)))]
pub(crate) struct Serving {
    /// Serve views to kubectl at this address, such as 127.0.0.1:8443: over TLS, to users of the
    /// cluster, with the permissions that the cluster gives them [default: off; with
    /// --aggregate :8443]
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = VIEWS)]
    pub(crate) serve_addr: Option<SocketAddr>,

    /// A PEM file with the certificate of the server; it is read again when it changes
    /// [default: a certificate is generated; its authority is kept in the Secret deltic-serving,
    /// in the namespace of the Lease]
    #[arg(long, value_name = "FILE", requires_all = ["served", "serve_key_file"], help_heading = VIEWS)]
    pub(crate) serve_cert_file: Option<PathBuf>,

    /// A PEM file with the key of the certificate
    #[arg(long, value_name = "FILE", requires = "serve_cert_file", help_heading = VIEWS)]
    pub(crate) serve_key_file: Option<PathBuf>,

    /// A further host name or address in a generated certificate
    #[arg(long, value_name = "NAME", requires = "served", conflicts_with = "serve_cert_file", help_heading = VIEWS)]
    pub(crate) serve_name: Vec<String>,

    /// Serve views without TLS and without a login: everybody on this machine may read and write
    /// them. Only for a loopback address
    #[arg(long, requires = "serve_addr", conflicts_with_all = ["serve_cert_file", "serve_name", "aggregate"], help_heading = VIEWS)]
    pub(crate) serve_insecure_without_login: bool,

    /// Make views part of the cluster's own API, so that kubectl finds them without a kubeconfig
    /// of their own: registers an `APIService` for each Operator with views
    #[arg(long, help_heading = VIEWS)]
    pub(crate) aggregate: bool,

    /// The Service through which the API server of the cluster reaches deltic: NAMESPACE/NAME or
    /// NAMESPACE/NAME:PORT [default: deltic-views, port 443, in the namespace of the Lease]
    #[arg(long, value_name = "SERVICE", requires = "aggregate", help_heading = VIEWS)]
    pub(crate) aggregate_service: Option<ServiceRef>,

    /// The IP address at which the API server of the cluster reaches this process. While it leads,
    /// deltic writes it into the `EndpointSlice` of the Service, which has no selector [default: the
    /// environment variable `POD_IP`; without it no `EndpointSlice` is written]
    #[arg(long, value_name = "IP", requires = "aggregate", help_heading = VIEWS)]
    pub(crate) aggregate_address: Option<IpAddr>,

    /// A PEM file with the authority of the certificate in --serve-cert-file
    #[arg(long, value_name = "FILE", requires_all = ["aggregate", "serve_cert_file"], help_heading = VIEWS)]
    pub(crate) aggregate_ca_file: Option<PathBuf>,
}

/// The permissions for serving views.
#[derive(Debug, Args)]
pub(crate) struct RbacOfViews {
    /// For deltic run --serve-addr: permissions to ask the cluster about users, and to keep the
    /// authority of the certificate in a Secret
    #[arg(long)]
    pub(crate) serve: bool,

    /// For deltic run --aggregate: permissions to register the Operator's views in the cluster's
    /// API
    #[arg(long)]
    pub(crate) aggregate: bool,

    /// The Service of deltic run --aggregate [default: deltic-views in the namespace of the account]
    #[arg(long, value_name = "SERVICE", requires = "aggregate")]
    pub(crate) aggregate_service: Option<ServiceRef>,
}

/// Print a kubeconfig for the views that deltic serves
///
/// The user is the one of the kubeconfig that is used for the cluster: the same certificate, token
/// or login program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic kubeconfig --server https://127.0.0.1:8443 > views.yaml
  kubectl --kubeconfig views.yaml get views -A")]
pub(crate) struct KubeconfigArgs {
    /// The URL at which deltic serves views
    #[arg(long, value_name = "URL", value_parser = url, default_value = "https://127.0.0.1:8443")]
    pub(crate) server: String,

    /// The authority of the server's certificate, as a PEM file [default: the one in the Secret
    /// deltic-serving]
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate_authority: Option<PathBuf>,

    /// The namespace of the Secret [default: the namespace of the context]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    pub(crate) lease_namespace: Option<String>,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

const VIEWS: &str = "Views";
