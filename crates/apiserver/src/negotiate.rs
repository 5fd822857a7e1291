//! Content negotiation: the form in which a client accepts objects, and the form of what it sends.
//!
//! Only JSON is written. A client that prefers protobuf or CBOR gets JSON as well, because every
//! client of Kubernetes accepts it.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderName};

use crate::status::StatusError;

/// The form of objects in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Objects,
    /// As rows of a `meta.k8s.io/v1` Table.
    Table,
    /// As `PartialObjectMetadata` of `meta.k8s.io/v1`.
    Metadata,
}

/// A media type with its parameters, such as `application/json;as=Table;v=v1`.
struct MediaType<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> MediaType<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parameters = parts.filter_map(|part| part.split_once('='));
        Self {
            name,
            parameters: parameters.map(|(k, v)| (k.trim(), v.trim())).collect(),
        }
    }

    fn get(&self, key: &str) -> &'a str {
        let mut found = self.parameters.iter().filter(|(name, _)| *name == key);
        found.next().map_or("", |(_, value)| value)
    }

    fn is_json(&self) -> bool {
        matches!(self.name, "application/json" | "application/*" | "*/*")
    }
}

/// The media types that a client accepts, in its order.
fn accepted(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(ACCEPT).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts
        .flat_map(|text| text.split(','))
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect()
}

/// The form in which a client accepts objects.
pub(crate) fn form(headers: &HeaderMap) -> Result<Form, StatusError> {
    let accepted = accepted(headers);
    if accepted.is_empty() {
        return Ok(Form::Objects);
    }
    let mut other = false;
    for text in &accepted {
        let media = MediaType::parse(text);
        if !media.is_json() {
            other |= is_of_kubernetes(media.name);
            continue;
        }
        let versioned = media.get("g") == "meta.k8s.io" && media.get("v") == "v1";
        match media.get("as") {
            "" => return Ok(Form::Objects),
            "Table" if versioned => return Ok(Form::Table),
            "PartialObjectMetadata" | "PartialObjectMetadataList" if versioned => {
                return Ok(Form::Metadata);
            }
            // Another form of the list may be served.
            _ => {}
        }
    }
    if other {
        return Ok(Form::Objects);
    }
    Err(StatusError::not_acceptable(&["application/json"]))
}

fn is_of_kubernetes(name: &str) -> bool {
    matches!(
        name,
        "application/vnd.kubernetes.protobuf"
            | "application/vnd.kubernetes.protobuf;stream=watch"
            | "application/cbor"
            | "application/yaml"
            | "text/html"
    )
}

/// The version of the aggregated discovery document that a client accepts, if any.
pub(crate) fn aggregated_discovery(headers: &HeaderMap) -> Option<&'static str> {
    accepted(headers).iter().find_map(|text| {
        let media = MediaType::parse(text);
        let discovery = media.is_json()
            && media.get("g") == "apidiscovery.k8s.io"
            && media.get("as") == "APIGroupDiscoveryList";
        match media.get("v") {
            "v2" if discovery => Some("v2"),
            "v2beta1" if discovery => Some("v2beta1"),
            _ => None,
        }
    })
}

/// Whether the client accepts gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut texts = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','));
    texts.any(|text| {
        let media = MediaType::parse(text.trim());
        matches!(media.name, "gzip" | "*") && !matches!(media.get("q"), "0" | "0.0")
    })
}

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The format of an object that a client sends. Without a header it is JSON.
pub(crate) fn body_format(headers: &HeaderMap) -> Result<BodyFormat, StatusError> {
    match media_type(headers, &CONTENT_TYPE).as_str() {
        "" | "application/json" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        _ => Err(StatusError::unsupported_media_type(&[
            "application/json",
            "application/yaml",
        ])),
    }
}

/// The media type of a header, without parameters.
pub(crate) fn media_type(headers: &HeaderMap, name: &HeaderName) -> String {
    let text = headers.get(name).and_then(|value| value.to_str().ok());
    MediaType::parse(text.unwrap_or_default())
        .name
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accept(text: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(text));
        headers
    }

    #[test]
    fn the_first_form_that_is_served_counts() {
        for (text, expect) in [
            ("application/json", Form::Objects),
            ("*/*", Form::Objects),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Form::Table,
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
                Form::Objects,
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
                Form::Metadata,
            ),
            ("application/vnd.kubernetes.protobuf", Form::Objects),
        ] {
            assert_eq!(form(&accept(text)), Ok(expect), "{text}");
        }
        assert_eq!(form(&HeaderMap::new()), Ok(Form::Objects));
        assert_eq!(form(&accept("image/png")).unwrap_err().code, 406);
    }

    #[test]
    fn aggregated_discovery_is_recognized() {
        let text = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                    application/json";
        assert_eq!(aggregated_discovery(&accept(text)), Some("v2"));
        assert_eq!(aggregated_discovery(&accept("application/json")), None);
    }

    #[test]
    fn only_json_and_yaml_bodies_are_read() {
        let content = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(text));
            body_format(&headers)
        };
        assert_eq!(
            content("application/json; charset=utf-8"),
            Ok(BodyFormat::Json)
        );
        assert_eq!(content("application/yaml"), Ok(BodyFormat::Yaml));
        for text in ["application/vnd.kubernetes.protobuf", "application/cbor"] {
            assert_eq!(content(text).unwrap_err().code, 415, "{text}");
        }
    }
}
