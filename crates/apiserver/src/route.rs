//! Paths of requests.
//!
//! ```text
//! /apis/GROUP/VERSION/RESOURCE                                 objects of all namespaces
//! /apis/GROUP/VERSION/RESOURCE/NAME                            an object without a namespace
//! /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/status
//! /api/v1/RESOURCE                                             the same in the core group
//! ```

use percent_encoding::percent_decode_str;

/// What a path refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/`: the paths that are served.
    Root,
    /// `/version`
    Version,
    /// `/healthz`, `/livez`, `/readyz`, without what follows.
    Health(Probe),
    /// `/api`: the versions of the core group, of which none is served.
    CoreVersions,
    /// `/api/v1/namespaces/NAME`
    Namespace(String),
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/apis/GROUP/VERSION`
    Resources {
        /// The group.
        group: String,
        /// The version.
        version: String,
    },
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`
    OpenApiV3Index,
    /// `/openapi/v3/apis/GROUP/VERSION`
    OpenApiV3 {
        /// The group.
        group: String,
        /// The version.
        version: String,
    },
    /// Objects.
    Objects(ObjectsRoute),
}

/// A kind of health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Whether the process works.
    Live,
    /// Whether it can serve requests.
    Ready,
}

/// The path of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectsRoute {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The namespace; `None` for a path without one.
    pub namespace: Option<String>,
    /// The object; `None` for all.
    pub name: Option<String>,
    /// What follows the name.
    pub subresource: Option<String>,
}

impl ObjectsRoute {
    /// The route of a path of objects; `None` for other paths.
    pub fn parse(path: &str) -> Option<Self> {
        match Route::parse(path)? {
            Route::Objects(route) => Some(route),
            Route::Namespace(name) => Some(Self::namespace(name)),
            _ => None,
        }
    }

    /// The route of a Namespace.
    pub(crate) fn namespace(name: String) -> Self {
        Self {
            version: "v1".to_owned(),
            resource: "namespaces".to_owned(),
            name: Some(name),
            ..Self::default()
        }
    }
}

impl Route {
    /// The route of a path; `None` if no such path exists. Empty segments are not allowed, as
    /// in kube-apiserver, except for one at the end.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() {
            return Some(Self::Root);
        }
        let segments: Vec<String> = path
            .split('/')
            .map(|segment| percent_decode_str(segment).decode_utf8().map(Into::into))
            .collect::<Result<_, _>>()
            .ok()?;
        if segments.iter().any(String::is_empty) {
            return None;
        }
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["version"] => Some(Self::Version),
            ["healthz" | "livez", ..] => Some(Self::Health(Probe::Live)),
            ["readyz", ..] => Some(Self::Health(Probe::Ready)),
            ["api"] => Some(Self::CoreVersions),
            ["api", "v1", "namespaces", name] => Some(Self::Namespace((*name).to_owned())),
            ["openapi", "v2"] => Some(Self::OpenApiV2),
            ["openapi", "v3"] => Some(Self::OpenApiV3Index),
            ["openapi", "v3", "apis", group, version] => Some(Self::OpenApiV3 {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
            }),
            ["apis"] => Some(Self::Groups),
            ["apis", group] => Some(Self::Group((*group).to_owned())),
            ["apis", group, version] => Some(Self::Resources {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
            }),
            ["apis", group, version, rest @ ..] => objects(group, version, rest),
            // A Namespace has these subresources, and no other kind has their names.
            [
                "api",
                "v1",
                "namespaces",
                name,
                part @ ("status" | "finalize"),
            ] => Some(Self::Objects(ObjectsRoute {
                subresource: Some((*part).to_owned()),
                ..ObjectsRoute::namespace((*name).to_owned())
            })),
            ["api", "v1", rest @ ..] if !rest.is_empty() => objects("", "v1", rest),
            _ => None,
        }
    }
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Option<Route> {
    let (namespace, rest) = match rest {
        ["namespaces", namespace, resource @ ..] if !resource.is_empty() => {
            (Some((*namespace).to_owned()), resource)
        }
        rest => (None, rest),
    };
    let (resource, name, subresource) = match rest {
        [resource] => (resource, None, None),
        [resource, name] => (resource, Some(*name), None),
        [resource, name, subresource] => (resource, Some(*name), Some(*subresource)),
        _ => return None,
    };
    Some(Route::Objects(ObjectsRoute {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: (*resource).to_owned(),
        namespace,
        name: name.map(str::to_owned),
        subresource: subresource.map(str::to_owned),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(namespace: Option<&str>, name: Option<&str>, subresource: Option<&str>) -> Route {
        Route::Objects(ObjectsRoute {
            group: "g".to_owned(),
            version: "v1".to_owned(),
            resource: "health".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        })
    }

    #[test]
    fn paths_of_objects() {
        for (path, expect) in [
            ("/apis/g/v1/health", objects(None, None, None)),
            ("/apis/g/v1/health/", objects(None, None, None)),
            ("/apis/g/v1/health/a", objects(None, Some("a"), None)),
            (
                "/apis/g/v1/namespaces/shop/health",
                objects(Some("shop"), None, None),
            ),
            (
                "/apis/g/v1/namespaces/shop/health/a%2Fb/status",
                objects(Some("shop"), Some("a/b"), Some("status")),
            ),
        ] {
            assert_eq!(Route::parse(path), Some(expect), "{path}");
        }
    }

    #[test]
    fn other_paths() {
        assert_eq!(Route::parse("/"), Some(Route::Root));
        assert_eq!(Route::parse("/apis/"), Some(Route::Groups));
        assert_eq!(
            Route::parse("/readyz/ping"),
            Some(Route::Health(Probe::Ready))
        );
        for path in [
            "",
            "/apis//v1",
            "/x",
            "/apis/g/v1/a/b/c/d",
            "/apis/g/v1/%ff",
        ] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
