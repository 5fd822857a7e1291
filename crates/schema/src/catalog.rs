//! The kinds whose types are known.

use std::collections::BTreeMap;

use document::Value;
use object::{GroupKind, KindRef};

use crate::crd;
use crate::table;
use crate::types::Type;

/// The types of kinds.
#[derive(Clone, Debug)]
pub struct Catalog {
    builtin: bool,
    custom: BTreeMap<GroupKind, CustomKind>,
}

#[derive(Clone, Debug)]
struct CustomKind {
    namespaced: bool,
    /// By version, the preferred one first.
    versions: Vec<(String, Type)>,
}

/// The schema of a kind.
#[derive(Clone, Debug)]
pub struct KindSchema {
    /// The type of its objects.
    pub object: Type,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether it is a kind of Kubernetes itself.
    pub builtin: bool,
}

/// What a catalog knows of a kind.
#[derive(Clone, Debug)]
pub enum Found {
    /// Its schema.
    Kind(KindSchema),
    /// The group is known, but does not have the kind.
    NoKind,
    /// The kind is known, but not this version. These are.
    NoVersion(Vec<String>),
    /// There can be no such group.
    NoGroup,
    /// Nothing.
    Unknown,
}

impl Default for Catalog {
    /// The kinds of Kubernetes.
    fn default() -> Self {
        Self {
            builtin: true,
            custom: BTreeMap::new(),
        }
    }
}

impl Catalog {
    /// A catalog in which every kind is unknown.
    pub fn empty() -> Self {
        Self {
            builtin: false,
            ..Self::default()
        }
    }

    /// Adds the kind of a `CustomResourceDefinition`. Returns whether it is one.
    pub fn add(&mut self, definition: &Value) -> bool {
        if definition.get("kind").as_str() != Some("CustomResourceDefinition") {
            return false;
        }
        let spec = definition.get("spec");
        let name = spec.get("names").get("kind").as_str();
        let (Some(group), Some(kind)) = (spec.get("group").as_str(), name) else {
            return false;
        };
        let versions = spec.get("versions").as_list().into_iter().flatten();
        let served = versions.filter(|version| version.get("served").as_bool() != Some(false));
        let mut versions: Vec<(String, Type)> = served
            .filter_map(|version| {
                let schema = version.get("schema").get("openAPIV3Schema");
                Some((
                    version.get("name").as_str()?.to_owned(),
                    crd::object(schema),
                ))
            })
            .collect();
        versions.sort_by_key(|(version, _)| std::cmp::Reverse(priority(version)));
        let custom = CustomKind {
            namespaced: spec.get("scope").as_str() != Some("Cluster"),
            versions,
        };
        self.custom.insert(GroupKind::new(group, kind), custom);
        true
    }

    /// The schema of a kind.
    pub fn find(&self, kind: &KindRef) -> Found {
        if let Some(custom) = self.custom.get(&kind.group_kind()) {
            return custom.find(kind.version.as_deref());
        }
        if !self.builtin {
            return Found::Unknown;
        }
        let group = table::kinds()
            .iter()
            .filter(|other| other.group == kind.group);
        let mut versions: Vec<_> = group
            .clone()
            .filter(|other| other.kind == kind.kind)
            .collect();
        versions.sort_by_key(|other| std::cmp::Reverse(priority(other.version)));
        let wanted = kind.version.as_deref();
        let found = versions
            .iter()
            .find(|other| wanted.is_none_or(|v| v == other.version));
        match found {
            Some(found) => Found::Kind(KindSchema {
                object: found.object(),
                namespaced: found.namespaced,
                builtin: true,
            }),
            None if !versions.is_empty() => {
                Found::NoVersion(versions.iter().map(|v| v.version.to_owned()).collect())
            }
            None if group.clone().next().is_some() => Found::NoKind,
            None if self.custom.keys().any(|k| k.group.as_str() == kind.group) => Found::NoKind,
            // The group of a custom resource has a dot.
            None if !kind.group.contains('.') || kind.group.contains('/') => Found::NoGroup,
            None => Found::Unknown,
        }
    }

    /// All known kinds: group and kind.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        let builtin = table::kinds().iter().filter(|_| self.builtin);
        let builtin = builtin.map(|kind| (kind.group, kind.kind));
        let custom = self.custom.keys();
        builtin.chain(custom.map(|k| (k.group.as_str(), k.kind.as_str())))
    }
}

impl CustomKind {
    fn find(&self, version: Option<&str>) -> Found {
        let mut versions = self.versions.iter();
        match versions.find(|(name, _)| version.is_none_or(|version| version == name)) {
            Some((_, object)) => Found::Kind(KindSchema {
                object: object.clone(),
                namespaced: self.namespaced,
                builtin: false,
            }),
            None if self.versions.is_empty() => Found::Unknown,
            None => {
                let names = self.versions.iter().map(|(name, _)| name.clone());
                Found::NoVersion(names.collect())
            }
        }
    }
}

/// The priority of a version as in Kubernetes: `v2` before `v1` before `v1beta1` before `v1alpha1`.
fn priority(version: &str) -> (u8, u32, u32) {
    let number = |text: &str| text.parse().unwrap_or(0);
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    for (stage, word) in [(2, "beta"), (1, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return (stage, number(major), number(minor));
        }
    }
    (3, number(rest), 0)
}
