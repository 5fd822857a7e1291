//! Which kinds Operators may write: `--allow-target` and `--deny-target`.

use std::fmt;
use std::str::FromStr;

use object::KindRef;

/// API groups whose objects grant permissions or change how the API server works. They may be
/// written only if a pattern names them.
pub const DENIED_GROUPS: [&str; 6] = [
    "dcontroller.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "rbac.authorization.k8s.io",
];

/// A pattern for kinds: `GROUP/KIND`, where each part may be `*`. The core group is the empty
/// string (`/Secret`) or left out (`Secret`).
///
/// ```
/// use operators::targets::Pattern;
///
/// for text in ["apps/Deployment", "apps/*", "*/*", "/Secret", "Secret"] {
///     assert!(text.parse::<Pattern>().is_ok(), "{text}");
/// }
/// assert_eq!("Secret".parse::<Pattern>().unwrap().to_string(), "/Secret");
/// assert!("apps/v1/Deployment".parse::<Pattern>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// `None`: any.
    group: Option<String>,
    /// `None`: any.
    kind: Option<String>,
}

/// A text is not a valid [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected GROUP/KIND, such as apps/Deployment, apps/* or /Secret for the core group")]
pub struct BadPattern;

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let (group, kind) = text.split_once('/').unwrap_or(("", text));
        let plain = |part: &str| {
            part == "*"
                || part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        };
        if kind.is_empty() || !plain(group) || !plain(kind) {
            return Err(BadPattern);
        }
        let part = |part: &str| (part != "*").then(|| part.to_owned());
        Ok(Self {
            group: part(group),
            kind: part(kind),
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |part: &'_ Option<String>| part.clone().unwrap_or_else(|| "*".to_owned());
        write!(f, "{}/{}", part(&self.group), part(&self.kind))
    }
}

impl Pattern {
    fn matches(&self, resource: &KindRef) -> bool {
        let same = |part: &Option<String>, of: &str| part.as_deref().is_none_or(|part| part == of);
        same(&self.group, &resource.group) && same(&self.kind, &resource.kind)
    }

    /// How precise the pattern is: group and kind, then a group, then a kind, then `*/*`.
    fn precision(&self) -> u8 {
        2 * u8::from(self.group.is_some()) + u8::from(self.kind.is_some())
    }
}

/// Which kinds may be written.
///
/// Of all patterns that match a kind the most precise one decides; if two are equally precise, the
/// one that denies wins. So `--deny-target '*/*' --allow-target apps/Deployment` allows Deployments
/// only. [`DENIED_GROUPS`] are denied unless a pattern that names the group allows them. Views are
/// always allowed, because only their own Operator can write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPolicy {
    /// The kinds that are allowed.
    pub allow: Vec<Pattern>,
    /// The kinds that are denied.
    pub deny: Vec<Pattern>,
}

/// The error for a kind that may not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{group}/{kind} may not be a target here: {why}")]
pub struct TargetDenied {
    /// The API group.
    pub group: String,
    /// The Kind.
    pub kind: String,
    /// The flag that denies it, or the one that would allow it.
    pub why: String,
}

impl TargetPolicy {
    /// Whether a kind may be written.
    pub fn check(&self, resource: &KindRef) -> Result<(), TargetDenied> {
        if resource.is_view() {
            return Ok(());
        }
        let best = |patterns: &[Pattern]| {
            let matching = patterns.iter().filter(|pattern| pattern.matches(resource));
            matching.max_by_key(|pattern| pattern.precision()).cloned()
        };
        let (allow, deny) = (best(&self.allow), best(&self.deny));
        let allowed = allow.as_ref().map(Pattern::precision);
        let denied = |why: String| TargetDenied {
            group: resource.group.clone(),
            kind: resource.kind.clone(),
            why,
        };
        if let Some(deny) = deny.filter(|deny| allowed.is_none_or(|a| a <= deny.precision())) {
            return Err(denied(format!("--deny-target {deny}")));
        }
        let group = resource.group.as_str();
        let named = allow.is_some_and(|allow| allow.group.is_some());
        if DENIED_GROUPS.contains(&group) && !named {
            let kind = &resource.kind;
            return Err(denied(format!("needs --allow-target {group}/{kind}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allow: &[&str], deny: &[&str], kind: &str) -> bool {
        let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let policy = TargetPolicy {
            allow: patterns(allow),
            deny: patterns(deny),
        };
        let (group, kind) = kind.split_once('/').unwrap();
        let resource = KindRef {
            group: group.to_owned(),
            version: None,
            kind: kind.to_owned(),
        };
        policy.check(&resource).is_ok()
    }

    #[test]
    fn groups_that_grant_permissions_are_denied_unless_they_are_named() {
        let denied = [
            "dcontroller.io",
            "admissionregistration.k8s.io",
            "apiextensions.k8s.io",
            "apiregistration.k8s.io",
            "certificates.k8s.io",
            "rbac.authorization.k8s.io",
        ];
        for group in denied {
            let kind = format!("{group}/Thing");
            assert!(!check(&[], &[], &kind));
            assert!(!check(&["*/*"], &[], &kind));
            assert!(!check(&["*/Thing"], &[], &kind));
            assert!(check(&[&kind], &[], &kind));
            assert!(check(&[&format!("{group}/*")], &[], &kind));
            assert!(!check(&[&format!("{group}/Other")], &[], &kind));
        }
        assert!(check(&[], &[], "apps/Deployment"));
        assert!(check(&[], &[], "/Secret"));
    }

    #[test]
    fn the_more_precise_pattern_decides() {
        assert!(check(&["apps/Deployment"], &["*/*"], "apps/Deployment"));
        assert!(!check(&["apps/Deployment"], &["*/*"], "apps/DaemonSet"));
        assert!(!check(&["apps/*"], &["apps/Deployment"], "apps/Deployment"));
        assert!(check(&["apps/*"], &["*/Deployment"], "apps/Deployment"));
        assert!(!check(&["/Secret"], &["/Secret"], "/Secret"));
        assert!(!check(&[], &["Secret"], "/Secret"));
        assert!(check(&[], &["Secret"], "example.com/Secret"));
    }

    #[test]
    fn views_are_always_allowed() {
        assert!(check(&[], &["*/*"], "op.view.dcontroller.io/Health"));
    }

    #[test]
    fn the_reason_names_the_flag() {
        let resource = KindRef {
            group: "rbac.authorization.k8s.io".to_owned(),
            version: None,
            kind: "Role".to_owned(),
        };
        let denied = TargetPolicy::default().check(&resource).unwrap_err();
        assert_eq!(
            denied.to_string(),
            "rbac.authorization.k8s.io/Role may not be a target here: needs --allow-target rbac.authorization.k8s.io/Role"
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "/", "apps/", "a b/C", "apps/v1/Deployment", "apps/D*"] {
            assert_eq!(text.parse::<Pattern>(), Err(BadPattern), "{text}");
        }
    }
}
