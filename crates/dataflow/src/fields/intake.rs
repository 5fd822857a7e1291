//! What no pipeline sees of an object, whatever it reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::Value;

/// What a source lets in of its objects, besides the fields that the pipeline reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Any of them goes with any other.
pub struct Intake {
    /// A view: its own uid, resourceVersion, generation and creationTimestamp stay out.
    pub view: bool,
    /// A Secret of the core group: its data is decoded.
    pub secret: bool,
    /// Whether the pipeline names `metadata.resourceVersion` or `metadata.generation`.
    pub versions: bool,
    /// Whether the uid is kept beside the document, because the pipeline may yield
    /// references to owners.
    pub uid: bool,
}

impl Intake {
    /// The members of the metadata that stay out.
    pub(super) fn hides(self, name: &str) -> bool {
        match name {
            "managedFields" => true,
            "resourceVersion" | "generation" => self.view || !self.versions,
            "uid" | "creationTimestamp" => self.view,
            _ => false,
        }
    }

    /// What lets in all that one of these lets in. The data of a Secret is not decoded: each
    /// of them decodes what it takes.
    pub(super) fn union(intakes: &[Self]) -> Self {
        Self {
            view: intakes.iter().all(|intake| intake.view),
            versions: intakes.iter().any(|intake| intake.versions),
            ..Self::default()
        }
    }

    /// Those that may be hidden at all.
    pub(super) const HIDDEN: [&'static str; 5] = [
        "creationTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "uid",
    ];
}

/// A text of a Secret's data, decoded; bytes that are no text stay opaque. What is no base64
/// stays as it is.
pub(super) fn decoded(text: &str) -> Value {
    match STANDARD.decode(text) {
        Ok(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => text.into(),
            Err(_) => Value::bytes(&bytes),
        },
        Err(_) => text.into(),
    }
}
