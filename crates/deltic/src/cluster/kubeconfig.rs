//! `deltic kubeconfig`: prints a kubeconfig for the views that deltic serves.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::connect;
use document::{Value, json};
use metrics::Metrics;
use process::view_server::{self, AuthorityError};

use super::{block_on, failed, find, no_cluster};
use crate::cli::ObjectFormat;
use crate::cli::views::KubeconfigArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::output::Output;

/// The name of cluster, user and context.
const NAME: &str = "deltic-views";

pub(crate) fn run(args: &KubeconfigArgs, output: &mut Output) -> Result<Outcome, Stop> {
    let user = connect::login(&args.connection.options());
    let user = user.map_err(|error| no_cluster(&error))?;
    let authority = match &args.certificate_authority {
        Some(path) => read_authority(path)?,
        None => block_on(stored_authority(args))?,
    };
    output.objects(
        &[kubeconfig(&args.server, &authority, user)],
        ObjectFormat::Yaml,
    )?;
    Ok(Outcome::Good)
}

/// The authority in a file, which others are going to see.
fn read_authority(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| failed("read", format!("cannot read {name}: {error}")))?;
    if text.contains("PRIVATE KEY-----") {
        return Err(failed(
            "no-authority",
            format!("{name} has a private key: name a file with nothing but certificates"),
        ));
    }
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(failed(
            "no-authority",
            format!("{name} has no certificate in PEM form"),
        ));
    }
    Ok(text)
}

fn kubeconfig(server: &str, authority: &str, user: Value) -> Value {
    let authority = STANDARD.encode(authority);
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": NAME,
            "cluster": {"server": server, "certificate-authority-data": authority}
        }],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME
    })
}

/// The authority that a running deltic has stored.
async fn stored_authority(args: &KubeconfigArgs) -> Result<String, Stop> {
    let connection = find(&args.connection).await?;
    let client = connection.client(&Metrics::default());
    let client = client.map_err(|error| no_cluster(&error))?;
    let namespace = args.lease_namespace.as_ref();
    let namespace = namespace.unwrap_or(&connection.namespace);
    let stored = view_server::stored_authority(&client, namespace).await;
    stored.map_err(|error| no_authority(&error))
}

fn no_authority(error: &AuthorityError) -> Stop {
    let (code, help) = match error {
        AuthorityError::Missing { .. } => (
            "no-authority",
            "a deltic that serves views on a port of its own creates it; --lease-namespace names \
             the namespace in which it runs. If it has a certificate from a file, name its \
             authority with --certificate-authority",
        ),
        AuthorityError::Forbidden { .. } | AuthorityError::Generate(_) => ("no-authority", ASK),
        AuthorityError::Damaged { .. } => (
            "no-authority",
            "delete it and start deltic again, which creates another one; or name the authority \
             of its certificate with --certificate-authority",
        ),
        AuthorityError::Cluster { .. } => ("cluster", CLUSTER),
    };
    Stop::failed(manifest::Diagnostic {
        help: Some(help.to_owned()),
        ..input::error(code, error.to_string())
    })
}

const ASK: &str = "ask whoever runs deltic for the certificate of its authority (`ca.crt` of that \
                   Secret; not its key), and name the file with --certificate-authority";
const CLUSTER: &str = "check the cluster with `kubectl version`, or use --kubeconfig and --context; \
                       with --certificate-authority no request is sent";
