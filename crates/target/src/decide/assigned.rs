//! Fields that the server or another controller fills in, and that a replacement must not drop.

use fieldset::FieldPath;
use object::ObjectKey;

/// Such fields, by group and kind.
const ASSIGNED: [(&str, &str, &[&str]); 12] = [
    ("batch", "Job", &["spec", "selector"]),
    (
        "batch",
        "Job",
        &["spec", "template", "metadata", "labels", "controller-uid"],
    ),
    (
        "batch",
        "Job",
        &["spec", "template", "metadata", "labels", "job-name"],
    ),
    (
        "batch",
        "Job",
        &[
            "spec",
            "template",
            "metadata",
            "labels",
            "batch.kubernetes.io/controller-uid",
        ],
    ),
    (
        "batch",
        "Job",
        &[
            "spec",
            "template",
            "metadata",
            "labels",
            "batch.kubernetes.io/job-name",
        ],
    ),
    ("", "PersistentVolumeClaim", &["spec", "volumeName"]),
    ("", "PersistentVolumeClaim", &["spec", "storageClassName"]),
    ("", "PersistentVolumeClaim", &["spec", "volumeMode"]),
    ("", "PersistentVolume", &["spec", "claimRef"]),
    ("", "Node", &["spec", "podCIDR"]),
    ("", "Node", &["spec", "podCIDRs"]),
    ("", "Node", &["spec", "providerID"]),
];

/// The paths of an object's fields that others fill in.
pub(super) fn assigned(key: &ObjectKey) -> impl Iterator<Item = FieldPath> {
    let fits = |(group, kind, _): &&(&str, &str, &[&str])| {
        *group == key.kind.group.as_str() && *kind == key.kind.kind.as_str()
    };
    ASSIGNED
        .iter()
        .filter(fits)
        .map(|(_, _, fields)| FieldPath::of(fields))
}
