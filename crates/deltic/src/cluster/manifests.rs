//! `deltic install --manifests`: prints everything that runs deltic in a cluster.
//!
//! The manifests are those of the Helm chart with its default values, rendered into `deploy/`, and
//! the definition of Operators. A test with helm compares them with the chart.

use document::{Map, Value};

use crate::cli::cluster::Manifests;
use crate::exit::{Outcome, Stop};
use crate::output::Output;

const PLAIN: &str = include_str!("../../../../deploy/deltic.yaml");
const WITH_VIEWS: &str = include_str!("../../../../deploy/deltic-views.yaml");

/// The namespace and the image in the files.
const NAMESPACE: &str = "deltic-system";
const IMAGE: &str = concat!("deltic:", env!("CARGO_PKG_VERSION"));

pub(super) fn print(args: &Manifests, output: &mut Output) -> Result<Outcome, Stop> {
    let text = if args.aggregate { WITH_VIEWS } else { PLAIN };
    let manifests = manifest::parse_bytes("deltic.yaml", text.as_bytes().to_vec());
    // A test checks that the files can be read.
    let manifests = manifests.unwrap_or_default();
    let image = args.image.as_deref().unwrap_or(IMAGE);
    let definition = operators::crd::definition();
    let all = manifests.iter().map(|manifest| &manifest.value);
    let objects: Vec<Value> = [&definition]
        .into_iter()
        .chain(all)
        .map(|object| replaced(object, NAMESPACE, &args.namespace))
        .map(|object| replaced(&object, IMAGE, image))
        .collect();
    output.objects(&objects, args.output)?;
    Ok(Outcome::Good)
}

/// The value with another text in place of each text that equals `from`.
fn replaced(value: &Value, from: &str, to: &str) -> Value {
    if let Some(list) = value.as_list() {
        return list.iter().map(|item| replaced(item, from, to)).collect();
    }
    if let Some(map) = value.as_map() {
        let entries = map
            .iter()
            .map(|(key, value)| (key.clone(), replaced(value, from, to)));
        return entries.collect::<Map>().into();
    }
    if value.as_str() == Some(from) {
        return to.into();
    }
    value.clone()
}
