//! The custom kinds of a cluster, for `deltic check --cluster`.

use cluster::connect::describe;
use metrics::Metrics;
use schema::Catalog;

use super::{announce, block_on, failed, find, no_cluster};
use crate::cli::cluster::Connection;
use crate::exit::Stop;
use crate::output::Output;

/// The built-in kinds, and the custom kinds of a cluster.
pub(crate) fn catalog(connection: &Connection, output: &mut Output) -> Result<Catalog, Stop> {
    let definitions = block_on(async {
        let connection = find(connection).await?;
        announce(&connection, output);
        let client = connection.client(&Metrics::default());
        let client = client.map_err(|error| no_cluster(&error))?;
        let definitions = cluster::definitions::definitions(&client).await;
        definitions.map_err(|error| {
            let message = describe(&error);
            let message = format!("cannot list CustomResourceDefinitions: {message}");
            failed("definitions", message)
        })
    })?;
    let mut catalog = Catalog::default();
    for definition in &definitions {
        catalog.add(definition);
    }
    Ok(catalog)
}
