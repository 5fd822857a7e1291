//! How users name kinds, as kubectl allows it: in singular or plural, by a short name, with or
//! without the group.

/// A kind of Kubernetes that users often ask about.
struct WellKnown {
    /// The short name of kubectl, or the name if there is none.
    short: &'static str,
    group: &'static str,
    kind: &'static str,
}

const fn known(short: &'static str, group: &'static str, kind: &'static str) -> WellKnown {
    WellKnown { short, group, kind }
}

/// The kinds whose plurals and short names are sent to a running deltic as kinds, which roles name.
const WELL_KNOWN: [WellKnown; 27] = [
    known("cm", "", "ConfigMap"),
    known("ep", "", "Endpoints"),
    known("ev", "", "Event"),
    known("limits", "", "LimitRange"),
    known("ns", "", "Namespace"),
    known("no", "", "Node"),
    known("pvc", "", "PersistentVolumeClaim"),
    known("pv", "", "PersistentVolume"),
    known("po", "", "Pod"),
    known("rc", "", "ReplicationController"),
    known("quota", "", "ResourceQuota"),
    known("secret", "", "Secret"),
    known("sa", "", "ServiceAccount"),
    known("svc", "", "Service"),
    known("crd", "apiextensions.k8s.io", "CustomResourceDefinition"),
    known("ds", "apps", "DaemonSet"),
    known("deploy", "apps", "Deployment"),
    known("rs", "apps", "ReplicaSet"),
    known("sts", "apps", "StatefulSet"),
    known("hpa", "autoscaling", "HorizontalPodAutoscaler"),
    known("cj", "batch", "CronJob"),
    known("job", "batch", "Job"),
    known("ing", "networking.k8s.io", "Ingress"),
    known("netpol", "networking.k8s.io", "NetworkPolicy"),
    known("pdb", "policy", "PodDisruptionBudget"),
    known("pc", "scheduling.k8s.io", "PriorityClass"),
    known("sc", "storage.k8s.io", "StorageClass"),
];

/// The well-known kind that a user who types this, in lower case, means.
pub fn well_known(typed: &str) -> Option<&'static str> {
    let mut known = WELL_KNOWN.iter();
    let kind = known.find(|kind| is_name_of(typed, kind.group, kind.kind));
    kind.map(|kind| kind.kind)
}

/// Whether a user who types this, in lower case, means this kind: `deploy`, `deployments.apps`.
pub fn is_name_of(typed: &str, group: &str, kind: &str) -> bool {
    let (name, of) = match typed.split_once('.') {
        Some((name, of)) => (name, Some(of)),
        None => (typed, None),
    };
    let mut well_known = WELL_KNOWN.iter();
    let singular = kind.to_lowercase();
    of.is_none_or(|of| of == group.to_lowercase())
        && (name == singular
            || name == plural(&singular)
            || well_known.any(|one| (one.short, one.group, one.kind) == (name, group, kind)))
}

/// The name of a kind in plural, in lower case, by the rule that Kubernetes follows.
pub fn plural(singular: &str) -> String {
    let stem = singular.strip_suffix('y');
    let vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match stem.filter(|stem| !vowel(stem)) {
        Some(stem) => format!("{stem}ies"),
        None if singular == "endpoints" => singular.to_owned(),
        None if ["s", "x", "ch", "sh"]
            .iter()
            .any(|end| singular.ends_with(end)) =>
        {
            format!("{singular}es")
        }
        None => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_and_plurals_of_well_known_kinds_name_them() {
        for (typed, kind) in [
            ("cm", Some("ConfigMap")),
            ("networkpolicies", Some("NetworkPolicy")),
            ("deployments.apps", Some("Deployment")),
            ("deployments.extensions", None),
            ("gateways", None),
        ] {
            assert_eq!(well_known(typed), kind, "{typed}");
        }
        assert!(is_name_of("gateways", "example.com", "Gateway"));
    }
}
