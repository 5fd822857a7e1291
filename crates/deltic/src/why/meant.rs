//! Suggests objects when no object has the name that was asked for.

use std::collections::BTreeSet;

use explanation::{Story, Wanted, kinds_of, shown};
use expr::nearest;
use object::{GroupKind, ObjectKey, ObjectName};

/// How many objects are suggested.
const MOST: usize = 3;

/// Suggests what may be meant: an object with a similar name, one of a similar kind, or, if the kind was
/// forgotten, those with the name.
pub(super) fn suggestion(story: &Story<'_>, wanted: &Wanted) -> Option<String> {
    let known = story.known();
    let kinds = kinds(story);
    if kinds.iter().any(|kind| wanted.is_of(kind)) {
        let of_kind = known.iter().filter(|key| wanted.is_of(&key.kind));
        let object = similar(&of_kind.collect::<Vec<_>>(), wanted)?;
        return Some(did_you_mean(&[object]));
    }
    let names = names(&kinds);
    let kind = nearest(&wanted.kind(), names.iter().map(String::as_str));
    if let Some(kind) = kind {
        let named = |(namespace, name)| {
            let wanted = Wanted::at(kind, namespace, name);
            let mut found = known.iter();
            found.find(|key| wanted.is(&key.kind, &key.name))
        };
        return Some(match wanted.places().into_iter().find_map(named) {
            Some(key) => did_you_mean(&[key]),
            None => format!("did you mean the kind {kind}?"),
        });
    }
    let text = wanted.to_string();
    let forgotten = known.iter().filter(|key| place(&key.name) == text);
    let forgotten: Vec<&ObjectKey> = forgotten.take(MOST).collect();
    (!forgotten.is_empty()).then(|| did_you_mean(&forgotten))
}

/// The kinds that there are, if the one that is asked about is not among them.
pub(super) fn other_kinds(story: &Story<'_>, wanted: &Wanted) -> Option<String> {
    let kinds = kinds(story);
    if kinds.iter().any(|kind| wanted.is_of(kind)) {
        return None;
    }
    let names = names(&kinds).into_iter().collect::<Vec<_>>().join(", ");
    let kind = wanted.kind();
    Some(format!(
        "no controller reads or derives the kind {kind}, only {names}"
    ))
}

/// The object whose name differs from the wanted one by a slip, in the name or in the namespace.
fn similar<'a>(of_kind: &[&'a ObjectKey], wanted: &Wanted) -> Option<&'a ObjectKey> {
    let mut places = wanted.places().into_iter();
    places.find_map(|(namespace, name)| {
        let here = |key: &&&ObjectKey| namespace.is_none_or(|one| one == key.namespace());
        let here = || of_kind.iter().filter(here);
        let by_name = nearest(name, here().map(|key| key.object_name()));
        let by_name = by_name.and_then(|name| here().find(|key| key.object_name() == name));
        let by_namespace = || {
            let there = || of_kind.iter().filter(|key| key.object_name() == name);
            let namespace = nearest(namespace?, there().map(|key| key.namespace()))?;
            there().find(|key| key.namespace() == namespace)
        };
        by_name.or_else(by_namespace).copied()
    })
}

fn did_you_mean(keys: &[&ObjectKey]) -> String {
    let names = keys.iter().map(|key| shown(&key.kind, &key.name));
    format!("did you mean {}?", names.collect::<Vec<_>>().join(" or "))
}

/// The kinds that the controllers read and derive.
fn kinds(story: &Story<'_>) -> BTreeSet<GroupKind> {
    let controllers = story.operator.controllers.iter();
    controllers.flat_map(kinds_of).collect()
}

fn names(kinds: &BTreeSet<GroupKind>) -> BTreeSet<String> {
    let names = kinds.iter().map(|kind| kind.kind.as_str().to_lowercase());
    names.collect()
}

/// `NAMESPACE/NAME`
fn place(name: &ObjectName) -> String {
    format!("{}/{}", name.namespace(), name.name())
}
