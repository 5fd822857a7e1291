//! The header of an object: metadata that deltic itself needs.

use document::Value;

use object::ObjectName;

/// The metadata that deltic needs besides the document of the pipeline: name, version, and the
/// fields that selectors and predicates compare. A missing field, or one that was not read, is
/// null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// `metadata.namespace`
    pub namespace: Value,
    /// `metadata.name`
    pub name: Value,
    /// `metadata.uid`; only where [`HeaderFields`] say so.
    pub uid: Value,
    /// `metadata.resourceVersion`
    pub resource_version: Value,
    /// `metadata.generation`
    pub generation: Value,
    /// `metadata.labels`; only where [`HeaderFields`] say so.
    pub labels: Value,
    /// `metadata.annotations`; only where [`HeaderFields`] say so.
    pub annotations: Value,
}

/// The fields of a [`Header`] that are read only where they are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderFields {
    /// The uid.
    pub uid: bool,
    /// The labels.
    pub labels: bool,
    /// The annotations.
    pub annotations: bool,
}

impl HeaderFields {
    /// All of them.
    pub const ALL: Self = Self {
        uid: true,
        labels: true,
        annotations: true,
    };

    /// The fields of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            uid: self.uid || other.uid,
            labels: self.labels || other.labels,
            annotations: self.annotations || other.annotations,
        }
    }
}

impl Header {
    /// The header of an object in memory.
    pub fn of(object: &Value) -> Self {
        let metadata = object.get("metadata");
        let field = |name: &str| metadata.get(name).clone();
        Self {
            namespace: field("namespace"),
            name: field("name"),
            uid: field("uid"),
            resource_version: field("resourceVersion"),
            generation: field("generation"),
            labels: field("labels"),
            annotations: field("annotations"),
        }
    }

    /// The name of the object; `None` if it is missing or empty.
    pub fn object_name(&self) -> Option<ObjectName> {
        ObjectName::from_values(&self.namespace, &self.name)
    }

    /// A copy that does not keep the rest of the object in memory.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self {
            labels: self.labels.detached(),
            annotations: self.annotations.detached(),
            ..self.clone()
        }
    }

    /// The field for a member of the metadata, if it is wanted.
    pub(super) fn field(&mut self, name: KnownName, wanted: HeaderFields) -> Option<&mut Value> {
        match name {
            KnownName::Namespace => Some(&mut self.namespace),
            KnownName::Name => Some(&mut self.name),
            KnownName::Uid => wanted.uid.then_some(&mut self.uid),
            KnownName::ResourceVersion => Some(&mut self.resource_version),
            KnownName::Generation => Some(&mut self.generation),
            KnownName::Labels => wanted.labels.then_some(&mut self.labels),
            KnownName::Annotations => wanted.annotations.then_some(&mut self.annotations),
            KnownName::ApiVersion | KnownName::Kind | KnownName::Metadata | KnownName::Other => {
                None
            }
        }
    }
}

/// The names of members of objects and of their metadata that the reader treats specially.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownName {
    ApiVersion,
    Kind,
    Metadata,
    Namespace,
    Name,
    Uid,
    ResourceVersion,
    Generation,
    Labels,
    Annotations,
    Other,
}

impl KnownName {
    pub(super) fn new(name: &str) -> Self {
        match name {
            "apiVersion" => Self::ApiVersion,
            "kind" => Self::Kind,
            "metadata" => Self::Metadata,
            "namespace" => Self::Namespace,
            "name" => Self::Name,
            "uid" => Self::Uid,
            "resourceVersion" => Self::ResourceVersion,
            "generation" => Self::Generation,
            "labels" => Self::Labels,
            "annotations" => Self::Annotations,
            _ => Self::Other,
        }
    }
}
