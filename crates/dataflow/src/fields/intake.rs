//! The fields that no pipeline sees, and the decoding of Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::Value;

/// How a source treats its objects, apart from pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Any of them goes with any other.
pub struct Intake {
    /// Whether it is a view. Then uid, resourceVersion, generation and creationTimestamp are hidden.
    pub view: bool,
    /// Whether its objects are core Secrets. Then their data is decoded.
    pub secret: bool,
    /// The versions that the pipeline names.
    pub versions: Versions,
    /// Whether the uid is stored beside the document, because the pipeline may yield owner
    /// references.
    pub uid: bool,
}

/// The fields of the metadata that a pipeline sees only if it names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// `metadata.resourceVersion`
    pub resource_version: bool,
    /// `metadata.generation`
    pub generation: bool,
}

impl Versions {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.resource_version || self.generation
    }

    /// The versions that either of these has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            resource_version: self.resource_version || other.resource_version,
            generation: self.generation || other.generation,
        }
    }
}

impl Intake {
    /// Whether a member of the metadata is hidden.
    pub(super) fn hides(self, name: &str) -> bool {
        match name {
            "managedFields" => true,
            "resourceVersion" => self.view || !self.versions.resource_version,
            "generation" => self.view || !self.versions.generation,
            "uid" | "creationTimestamp" => self.view,
            _ => false,
        }
    }

    /// An intake that hides only what all of these hide. It does not decode Secrets: each of these
    /// does so itself afterwards.
    pub(super) fn union(intakes: &[Self]) -> Self {
        Self {
            view: intakes.iter().all(|intake| intake.view),
            versions: intakes
                .iter()
                .map(|intake| intake.versions)
                .fold(Versions::default(), Versions::or),
            ..Self::default()
        }
    }

    /// All members of the metadata that may be hidden.
    pub(super) const HIDDEN: [&'static str; 5] = [
        "creationTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "uid",
    ];
}

/// Decodes a string of a Secret's data from base64. The result is a string if it is UTF-8,
/// otherwise bytes. A string that is not base64 stays unchanged.
pub(super) fn decoded(text: &str) -> Value {
    match STANDARD.decode(text) {
        Ok(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => text.into(),
            Err(_) => Value::bytes(&bytes),
        },
        Err(_) => text.into(),
    }
}
