//! Kinds, groups and views that do not exist.

use document::{Location, Value};
use object::kind_names::plural;
use object::{GroupKind, KindRef, VIEW_SUFFIX};
use schema::{Catalog, Found};

use super::Views;
use crate::names::{is_api_group, is_dns_label};
use crate::problem::{Problem, Severity};
use crate::spec::{Operator, SourceKind};

/// The problems of the kinds that an Operator reads and writes.
pub(super) fn check(
    operator: &Operator,
    manifest: &Value,
    catalog: &Catalog,
    views: &Views,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for controller in &operator.controllers {
        let at = &controller.at;
        for (i, source) in controller.sources.iter().enumerate() {
            let at = at.key("sources").index(i);
            if source.resource.is_view() {
                if source.kind == SourceKind::Watcher {
                    let spec = part(manifest, &at);
                    problems.extend(unwritten(
                        &source.resource,
                        operator,
                        catalog,
                        views,
                        &at,
                        spec,
                    ));
                }
            } else {
                problems.extend(missing(&source.resource, catalog, &at));
            }
        }
        for (i, target) in controller.targets.iter().enumerate() {
            let at = target_at(manifest, at, i);
            if !target.resource.is_view() {
                problems.extend(missing(&target.resource, catalog, &at));
            } else if part(manifest, &at).get("apiGroup").is_null()
                && !views.is_read(&target.resource)
            {
                problems.extend(like_built_in(&target.resource, catalog, &at));
            }
        }
    }
    problems
}

/// The location of a target: a controller has one, or a list.
pub(super) fn target_at(manifest: &Value, controller: &Location, target: usize) -> Location {
    if part(manifest, controller).get("targets").is_null() {
        controller.key("target")
    } else {
        controller.key("targets").index(target)
    }
}

/// The part of a manifest at a location.
pub(super) fn part<'a>(manifest: &'a Value, at: &Location) -> &'a Value {
    at.steps()
        .into_iter()
        .fold(manifest, |value, step| match step {
            document::LocationStep::Key(key) => value.get(key),
            document::LocationStep::Index(index) => value.at(*index),
        })
}

/// A view that no controller writes.
fn unwritten(
    view: &KindRef,
    operator: &Operator,
    catalog: &Catalog,
    views: &Views,
    at: &Location,
    spec: &Value,
) -> Option<Problem> {
    let owner = view.group.strip_suffix(VIEW_SUFFIX)?;
    let kind = &view.kind;
    let Some(written) = views.written_by(owner) else {
        return unknown_writer(owner, kind, views, at);
    };
    if written.iter().any(|other| other == kind) {
        return None;
    }
    let own = owner == operator.name;
    let whose = if own {
        "this Operator".to_owned()
    } else {
        format!("the Operator {owner}")
    };
    let message = format!("no controller of {whose} writes the view {kind}");
    let problem = Problem::warning("unwritten-view", &at.key("kind"), message);
    let group = spec
        .get("apiGroup")
        .is_null()
        .then(|| group_of(kind, catalog))
        .flatten();
    let nearest = expr::nearest(kind, written.iter().map(String::as_str));
    let elsewhere = views.writers_of(kind).find(|other| *other != owner);
    if let Some(other) = elsewhere.filter(|_| spec.get("apiGroup").is_null()) {
        return Some(problem.with_help(format!(
            "the Operator {other} writes it: add apiGroup: {other}{VIEW_SUFFIX}"
        )));
    }
    Some(match (group, nearest) {
        (Some(("", kind)), _) => problem.with_help(format!(
            "did you mean the core {kind}? add apiGroup: \"\""
        )),
        (Some((group, kind)), _) => problem.with_help(format!(
            "did you mean {kind} of the group {group}? add apiGroup: {group}"
        )),
        (None, Some(nearest)) => problem.with_help(format!("did you mean {nearest}?")),
        (None, None) => problem.with_help(
            "without apiGroup it is a view, whose objects then come from users alone; if so, allow(unwritten-view)",
        ),
    })
}

/// A view of an Operator that is not known, if one of nearly the same name writes it.
fn unknown_writer(owner: &str, kind: &str, views: &Views, at: &Location) -> Option<Problem> {
    let nearest = expr::nearest(owner, views.writers_of(kind))?;
    let message = format!("there is no Operator {owner} here, whose view {kind} this is");
    let problem = Problem::warning("unwritten-view", &at.key("apiGroup"), message);
    Some(problem.with_help(format!("did you mean {nearest}{VIEW_SUFFIX}?")))
}

/// A group that is nearly one of views, such as `shop.view`.
fn like_a_view(group: &str, at: &Location) -> Option<Problem> {
    let (operator, rest) = group.split_once('.')?;
    let end = VIEW_SUFFIX.trim_start_matches('.');
    let is_cut = end
        .strip_prefix(rest)
        .is_some_and(|cut| cut.starts_with('.'));
    if !is_cut && expr::nearest(rest, [end]).is_none() {
        return None;
    }
    let message = format!("the API group {group} is not one of views");
    let problem = Problem::warning("no-such-group", &at.key("apiGroup"), message);
    let help = "that of the views of the Operator";
    Some(problem.with_help(format!("{help} {operator} is {operator}{VIEW_SUFFIX}")))
}

/// A view that nobody reads and that has the name of a kind: probably the kind is meant.
fn like_built_in(view: &KindRef, catalog: &Catalog, at: &Location) -> Option<Problem> {
    let kind = &view.kind;
    let (group, _) = catalog.kinds().find(|(_, other)| other == kind)?;
    let message = format!("{kind} is written as a view, which no controller reads");
    let problem = Problem::warning("built-in-view", &at.key("kind"), message);
    Some(if group.is_empty() {
        problem.with_help(format!("did you mean the core {kind}? add apiGroup: \"\""))
    } else {
        problem.with_help(format!(
            "did you mean {kind} of the group {group}? add apiGroup: {group}"
        ))
    })
}

/// The group of a known kind with this name, and its spelling.
fn group_of<'a>(kind: &str, catalog: &'a Catalog) -> Option<(&'a str, &'a str)> {
    let mut kinds = catalog.kinds();
    kinds.find(|(_, other)| is_slip(kind, other))
}

/// Whether a kind is another one in lower case or in the plural.
fn is_slip(kind: &str, other: &str) -> bool {
    let lower = kind.to_lowercase();
    let other = other.to_lowercase();
    lower == other || lower == plural(&other)
}

/// A kind or group that does not exist.
fn missing(resource: &KindRef, catalog: &Catalog, at: &Location) -> Option<Problem> {
    let KindRef {
        group,
        version,
        kind,
    } = resource;
    // Others are errors already.
    if !is_api_group(group) || version.as_deref().is_some_and(|v| !is_dns_label(v)) {
        return None;
    }
    match catalog.find(resource) {
        Found::Kind(_) => None,
        Found::Unknown => like_a_view(group, at),
        Found::NoGroup => Some(no_group(resource, catalog, at)),
        Found::NoVersion(versions) => {
            let version = version.as_deref().unwrap_or_default();
            let message = format!("{kind} has no version {version}");
            let problem = Problem::warning("no-such-version", &at.key("version"), message);
            Some(problem.with_help(format!("its versions are {}", versions.join(", "))))
        }
        Found::NoKind => {
            let name = if group.is_empty() {
                "the core group"
            } else {
                group
            };
            let message = format!("{name} has no kind {kind}");
            let mut problem = Problem::error("no-such-kind", &at.key("kind"), message);
            let kinds = || catalog.kinds().filter(|(other, _)| other == group);
            if let Some((_, nearest)) = kinds().find(|(_, other)| is_slip(kind, other)) {
                return Some(problem.with_help(format!("did you mean {nearest}?")));
            }
            // A newer Kubernetes may have it.
            problem.severity = Severity::Warning;
            let nearest = expr::nearest(kind, kinds().map(|(_, kind)| kind));
            let elsewhere = catalog.kinds().find(|(_, other)| other == kind);
            Some(match (elsewhere, nearest) {
                (Some((group, _)), _) => problem.with_help(format!(
                    "{kind} is in the group {group:?}: apiGroup: {group:?}"
                )),
                (None, Some(nearest)) => problem.with_help(format!("did you mean {nearest}?")),
                (None, None) => problem,
            })
        }
    }
}

fn no_group(resource: &KindRef, catalog: &Catalog, at: &Location) -> Problem {
    let group = &resource.group;
    let message = format!("there is no API group {group}");
    let problem = Problem::error("no-such-group", &at.key("apiGroup"), message);
    let core = "the core group is the empty string: apiGroup: \"\"";
    if group == "core" || group == "v1" {
        return problem.with_help(core);
    }
    let groups = catalog
        .kinds()
        .map(|(group, _)| group)
        .filter(|group| !group.is_empty());
    let nearest = expr::nearest(group, groups);
    let slip = GroupKind::new(group, &resource.kind);
    let elsewhere = catalog
        .kinds()
        .find(|(_, kind)| *kind == slip.kind.as_str());
    match (nearest, elsewhere) {
        (Some(nearest), _) => problem.with_help(format!("did you mean {nearest}?")),
        (None, Some(("", _))) => problem.with_help(core),
        (None, Some((group, kind))) => problem.with_help(format!("{kind} is in the group {group}")),
        (None, None) => problem.with_help("the group of a custom resource has a dot"),
    }
}
