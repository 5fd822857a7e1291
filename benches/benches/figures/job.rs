//! The job that all subjects do: each source `ConfigMap` becomes a target `ConfigMap`
//! with some of its settings and one field that is computed.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// How many writes each subject may have under way.
pub(crate) const CONCURRENCY: u16 = 16;
/// Selects the sources.
pub(crate) const SOURCES: &str = "part=source";
/// Selects the targets.
pub(crate) const TARGETS: &str = "part=target";

/// The job as an Operator. Its controllers write 16 at once, as they do by default.
pub(crate) fn operator(namespace: &str) -> String {
    format!(
        r"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {{ name: figures }}
spec:
  controllers:
  - name: copy
    sources:
    - apiGroup: ''
      kind: ConfigMap
      namespace: {namespace}
      labelSelector: {{ matchLabels: {{ part: source }} }}
    pipeline:
    - '@project':
        metadata:
          name: {{ '@concat': [$.metadata.name, -copy] }}
          namespace: $.metadata.namespace
          labels: {{ part: target }}
        data:
          endpoint: {{ '@concat': [$.data.host, ':', $.data.port] }}
          settings: $.data.settings
          revision: $.data.revision
    target: {{ apiGroup: '', kind: ConfigMap }}
"
    )
}

/// The name of a source. Numbers and names have the same order.
pub(crate) fn source_name(number: usize) -> String {
    format!("app-{number:05}")
}

/// The name of the target of a source.
pub(crate) fn target_name(source: &str) -> String {
    format!("{source}-copy")
}

/// A source: 1.2 KB of JSON, of which the job reads two thirds.
pub(crate) fn source(number: usize) -> ConfigMap {
    let lines = |count: usize, word: &str| -> String {
        let lines = (0..count).map(|line| format!("{word}.{line:02} = {number}-{line}\n"));
        lines.collect()
    };
    let data = [
        ("host", format!("app-{number}.example.com")),
        ("port", (8000 + number % 1000).to_string()),
        ("settings", lines(30, "setting")),
        ("notes", lines(12, "not for the target")),
        ("revision", "0".to_owned()),
    ];
    object(source_name(number), "source", data)
}

/// The target that a source asks for.
pub(crate) fn target(source: &ConfigMap) -> ConfigMap {
    let given = |key: &str| -> String {
        let data = source.data.as_ref();
        data.and_then(|data| data.get(key))
            .cloned()
            .unwrap_or_default()
    };
    let data = [
        ("endpoint", format!("{}:{}", given("host"), given("port"))),
        ("settings", given("settings")),
        ("revision", given("revision")),
    ];
    let name = source.metadata.name.as_deref().unwrap_or_default();
    object(target_name(name), "target", data)
}

fn object<const N: usize>(name: String, part: &str, data: [(&str, String); N]) -> ConfigMap {
    let data = data.map(|(key, value)| (key.to_owned(), value));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(BTreeMap::from([("part".to_owned(), part.to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(data.into()),
        ..ConfigMap::default()
    }
}
