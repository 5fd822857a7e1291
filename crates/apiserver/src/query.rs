//! The query parameters of requests.

use std::num::NonZeroUsize;
use std::time::Duration;

use object::LabelSelector;
use store::{FieldTerm, Selector, Version};

use crate::options::Options;
use crate::selector_error;
use crate::status::{Cause, StatusError};

/// The longest selector, in bytes. Each of its terms is compared with every object.
const MAX_SELECTOR: usize = 16 * 1024;

/// The query parameters of a request. Unknown ones are ignored, as kube-apiserver does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    label_selector: String,
    field_selector: String,
    /// Empty if it is not given.
    pub(crate) resource_version: String,
    resource_version_match: String,
    limit: i64,
    /// Empty if it is not given.
    pub(crate) token: String,
    /// Whether changes are watched.
    pub(crate) watch: bool,
    /// Whether the client understands bookmarks.
    pub(crate) bookmarks: bool,
    send_initial_events: Option<bool>,
    timeout_seconds: i64,
    /// The values of `dryRun`.
    pub(crate) dry_run: Vec<String>,
    /// Empty if it is not given.
    pub(crate) field_manager: String,
    field_validation: String,
    /// Whether an apply takes fields from other managers.
    pub(crate) force: Option<bool>,
    /// Whether JSON is indented.
    pub(crate) pretty: bool,
    /// What the rows of a table contain of the objects.
    pub(crate) include_object: IncludeObject,
    /// What is done with dependents; empty if it is not given.
    pub(crate) propagation_policy: String,
}

/// What the rows of a table contain of the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata.
    #[default]
    Metadata,
    /// Everything.
    Object,
}

/// What happens to unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped with a warning.
    Warn,
    /// They are an error.
    Strict,
}

/// The version that a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListVersion {
    /// The newest.
    Newest,
    /// The newest, which must be at least this one.
    NotOlderThan(Version),
    /// Exactly this one.
    Exact(Version),
}

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchStart {
    /// With all objects, then a bookmark that says so if `bookmark` is set. The newest version
    /// must be at least `from`.
    Initial {
        /// The version that the client has seen.
        from: Version,
        /// Whether the end of the list is announced by a bookmark.
        bookmark: bool,
    },
    /// With the changes after this version.
    After(Version),
}

impl Query {
    /// Parses the query string of a URL.
    pub(crate) fn parse(text: &str) -> Result<Self, StatusError> {
        let mut query = Self::default();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            let flag = || boolean(&value);
            match &*key {
                "labelSelector" => query.label_selector = value.into_owned(),
                "fieldSelector" => query.field_selector = value.into_owned(),
                "resourceVersion" => query.resource_version = value.into_owned(),
                "resourceVersionMatch" => query.resource_version_match = value.into_owned(),
                "limit" => query.limit = integer(&value)?,
                "continue" => query.token = value.into_owned(),
                "watch" => query.watch = flag(),
                "allowWatchBookmarks" => query.bookmarks = flag(),
                "sendInitialEvents" => query.send_initial_events = Some(flag()),
                "timeoutSeconds" => query.timeout_seconds = integer(&value)?,
                "dryRun" => query.dry_run.push(value.into_owned()),
                "fieldManager" => query.field_manager = value.into_owned(),
                "fieldValidation" => query.field_validation = value.into_owned(),
                "force" => query.force = Some(flag()),
                "pretty" => query.pretty = flag(),
                "includeObject" => query.include_object = include_object(&value)?,
                "propagationPolicy" => query.propagation_policy = value.into_owned(),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Whether nothing is stored.
    pub(crate) fn dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }

    /// What happens to unknown fields, as it is given.
    pub(crate) fn field_validation_text(&self) -> &str {
        &self.field_validation
    }

    /// What happens to unknown fields.
    pub(crate) fn field_validation(&self) -> FieldValidation {
        match self.field_validation.as_str() {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }

    /// The largest number of objects in a page.
    pub(crate) fn limit(&self) -> Option<NonZeroUsize> {
        usize::try_from(self.limit).ok().and_then(NonZeroUsize::new)
    }

    /// After which time a watch ends, if the client says so.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.timeout_seconds).ok()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// The objects that are selected.
    pub(crate) fn selector(&self, namespace: Option<&str>) -> Result<Selector, StatusError> {
        for (name, text) in [
            ("labelSelector", &self.label_selector),
            ("fieldSelector", &self.field_selector),
        ] {
            if text.len() > MAX_SELECTOR {
                return Err(StatusError::bad_request(format!(
                    "{name} has {} bytes, more than {MAX_SELECTOR}",
                    text.len()
                )));
            }
        }
        let labels = match self.label_selector.as_str() {
            "" => None,
            text => Some(
                LabelSelector::from_query(text)
                    .map_err(|_| StatusError::bad_request(selector_error::message(text)))?,
            ),
        };
        Ok(Selector {
            namespace: namespace.map(str::to_owned),
            name: None,
            labels,
            fields: field_terms(&self.field_selector)?,
        })
    }

    /// The name that the field selector asks for. A list or watch of one name, which is what
    /// `kubectl wait` and `kubectl get NAME --watch` request, needs the permission for that object
    /// only.
    pub(crate) fn exact_name(&self) -> Option<String> {
        let terms = field_terms(&self.field_selector).ok()?;
        let name = terms.into_iter().find_map(|term| match term {
            FieldTerm::Name { value, equal: true } => Some(value),
            _ => None,
        })?;
        let is_segment = !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '%']);
        is_segment.then_some(name)
    }

    /// The version that a list shows.
    pub(crate) fn list_version(&self) -> Result<ListVersion, StatusError> {
        let version = self.version()?;
        if !self.resource_version_match.is_empty() {
            if !self.token.is_empty() {
                return Err(forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if self.resource_version.is_empty() {
                return Err(forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
        }
        if self.send_initial_events.is_some() && !self.watch {
            return Err(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        match self.resource_version_match.as_str() {
            "Exact" if version == Version(0) => Err(forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
            )),
            "Exact" => Ok(ListVersion::Exact(version)),
            "" | "NotOlderThan" if version == Version(0) => Ok(ListVersion::Newest),
            // As in kube-apiserver, a page of a certain version is exactly of that version.
            "" if self.limit > 0 => Ok(ListVersion::Exact(version)),
            "" | "NotOlderThan" => Ok(ListVersion::NotOlderThan(version)),
            value => {
                let supported = ["Exact", "NotOlderThan", ""];
                let cause = Cause::not_supported("resourceVersionMatch", &value.into(), &supported);
                Err(Options::List.invalid(&[cause]))
            }
        }
    }

    /// Where a watch starts.
    pub(crate) fn watch_start(&self) -> Result<WatchStart, StatusError> {
        let version = self.version()?;
        let matches = self.resource_version_match.as_str();
        let Some(initial) = self.send_initial_events else {
            if !matches.is_empty() {
                return Err(forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless \
                     sendInitialEvents is provided",
                ));
            }
            return Ok(if version == Version(0) {
                WatchStart::Initial {
                    from: version,
                    bookmark: false,
                }
            } else {
                WatchStart::After(version)
            });
        };
        if matches != "NotOlderThan" {
            return Err(forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to \
                 NotOlderThan",
            ));
        }
        Ok(match initial {
            true => WatchStart::Initial {
                from: version,
                bookmark: self.bookmarks,
            },
            false if version == Version(0) => WatchStart::After(Version(u64::MAX)),
            false => WatchStart::After(version),
        })
    }

    /// The requested version; 0 if none is given.
    fn version(&self) -> Result<Version, StatusError> {
        match self.resource_version.as_str() {
            "" => Ok(Version(0)),
            text => text.parse().map_err(|_| {
                StatusError::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: {text:?}: \
                     strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            }),
        }
    }
}

/// 422 for a parameter of a list that must not be given.
fn forbidden(field: &str, why: &str) -> StatusError {
    Options::List.invalid(&[Cause::forbidden(field, why)])
}

/// Everything but a text that says no is true, as in kube-apiserver.
fn boolean(text: &str) -> bool {
    !matches!(text, "0" | "false")
}

fn integer(text: &str) -> Result<i64, StatusError> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        StatusError::bad_request(format!(
            "strconv.ParseInt: parsing {text:?}: invalid syntax"
        ))
    })
}

fn include_object(text: &str) -> Result<IncludeObject, StatusError> {
    match text {
        "" | "Metadata" => Ok(IncludeObject::Metadata),
        "None" => Ok(IncludeObject::None),
        "Object" => Ok(IncludeObject::Object),
        _ => Err(StatusError::bad_request(format!(
            "unrecognized includeObject value: {text:?}"
        ))),
    }
}

/// Parses a field selector such as `metadata.name=a,metadata.namespace!=b`.
fn field_terms(text: &str) -> Result<Vec<FieldTerm>, StatusError> {
    let terms = text.split(',').filter(|term| !term.is_empty());
    terms.map(field_term).collect()
}

fn field_term(term: &str) -> Result<FieldTerm, StatusError> {
    let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
        (field, value, false)
    } else if let Some((field, value)) = term.split_once("==") {
        (field, value, true)
    } else if let Some((field, value)) = term.split_once('=') {
        (field, value, true)
    } else {
        return Err(StatusError::bad_request(format!(
            "invalid selector: '{term}'; can't understand '{term}'"
        )));
    };
    let value = value.to_owned();
    match field {
        "metadata.name" => Ok(FieldTerm::Name { value, equal }),
        "metadata.namespace" => Ok(FieldTerm::Namespace { value, equal }),
        _ => Err(StatusError::bad_request(format!(
            "field label not supported: {field}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(text).unwrap()
    }

    #[test]
    fn flags_are_true_unless_they_say_no() {
        for (text, watch) in [
            ("", false),
            ("watch", true),
            ("watch=1", true),
            ("watch=true", true),
            ("watch=0", false),
            ("watch=false", false),
        ] {
            assert_eq!(query(text).watch, watch, "{text}");
        }
    }

    #[test]
    fn lists_show_the_requested_version() {
        let seven = Version(7);
        for (text, expect) in [
            ("", ListVersion::Newest),
            ("resourceVersion=0", ListVersion::Newest),
            ("resourceVersion=7", ListVersion::NotOlderThan(seven)),
            ("resourceVersion=7&limit=2", ListVersion::Exact(seven)),
            (
                "resourceVersion=7&resourceVersionMatch=Exact",
                ListVersion::Exact(seven),
            ),
        ] {
            assert_eq!(query(text).list_version(), Ok(expect), "{text}");
        }
        for text in [
            "resourceVersion=x",
            "resourceVersionMatch=Exact",
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersion=1&resourceVersionMatch=Nearly",
            "sendInitialEvents=true",
        ] {
            assert!(query(text).list_version().is_err(), "{text}");
        }
    }

    #[test]
    fn field_selectors_know_name_and_namespace() {
        let selector = query("fieldSelector=metadata.name%3Da,metadata.namespace!%3Db");
        let fields = selector.selector(None).unwrap().fields;
        let name = FieldTerm::Name {
            value: "a".to_owned(),
            equal: true,
        };
        let namespace = FieldTerm::Namespace {
            value: "b".to_owned(),
            equal: false,
        };
        assert_eq!(fields, [name, namespace]);
        let long = format!("fieldSelector={}", "metadata.name!%3Da,".repeat(1000));
        let values = format!("labelSelector=a in ({})", "x,".repeat(10_000));
        for text in [
            "fieldSelector=spec.a%3D1",
            "fieldSelector=a",
            &long,
            &values,
        ] {
            assert_eq!(query(text).selector(None).unwrap_err().code, 400, "{text}");
        }
    }

    #[test]
    fn options_of_writes_are_checked() {
        assert!(!query("").dry_run() && query("dryRun=All").dry_run());
        let long = format!("fieldManager={}", "x".repeat(129));
        for (options, text, good) in [
            (Options::Create, "dryRun=All&fieldManager=a", true),
            (Options::Create, "dryRun=Some", false),
            (Options::Update, "fieldValidation=Wrong", false),
            (Options::Patch, "force=false", false),
            (Options::Apply, "force=true&fieldManager=a", true),
            (Options::Apply, "", false),
            (Options::Patch, &long, false),
            (Options::Delete, "propagationPolicy=Orphan", true),
            (Options::Delete, "propagationPolicy=Wrong", false),
        ] {
            assert_eq!(options.check(&query(text)).is_ok(), good, "{text}");
        }
    }
}
