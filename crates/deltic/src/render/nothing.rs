//! Why nothing was derived: how many objects each source has, and in which stage their documents
//! are lost.

use std::collections::BTreeMap;
use std::fmt::Write;

use document::{Key, Value};
use object::{GroupKind, group_of};
use offline::Flow;

/// How many objects of each kind were read.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    kinds: BTreeMap<GroupKind, usize>,
    /// Those without an apiVersion, which have the group that a source asks for.
    without_group: BTreeMap<String, usize>,
}

impl Kinds {
    pub(crate) fn note(&mut self, object: &Value) {
        let kind = object.get("kind").as_str().unwrap_or_default();
        let count = match object.get("apiVersion").as_str() {
            Some(version) => {
                let (group, kind) = (Key::new(group_of(version)), Key::new(kind));
                self.kinds.entry(GroupKind { group, kind }).or_default()
            }
            None => self.without_group.entry(kind.to_owned()).or_default(),
        };
        *count += 1;
    }

    fn of(&self, kind: &GroupKind) -> usize {
        let known = self.kinds.get(kind).copied().unwrap_or(0);
        let more = self.without_group.get(kind.kind.as_str()).copied();
        known + more.unwrap_or(0)
    }

    /// Another kind of the same name that was read.
    fn namesake(&self, kind: &GroupKind) -> Option<(&GroupKind, usize)> {
        let mut kinds = self.kinds.iter();
        let found = kinds.find(|(found, _)| {
            found.kind.as_str().eq_ignore_ascii_case(kind.kind.as_str()) && *found != kind
        });
        found.map(|(kind, count)| (kind, *count))
    }
}

/// The explanation, with one line for each source and each stage.
pub(super) fn explained(flows: &[Flow], kinds: &Kinds) -> String {
    let mut text = String::from("nothing was derived:");
    for flow in flows {
        let several = flow.branches.len() > 1;
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  controller {}", flow.controller);
        for (kind, objects) in &flow.sources {
            let _ = write!(text, "\n    source {}", source(kind, *objects, kinds));
        }
        let mut before: usize = flow.sources.iter().map(|(_, objects)| objects).sum();
        for branch in &flow.branches {
            for (stage, documents) in &branch.stages {
                let lost = *documents == 0 && before > 0 && !several;
                let mark = if lost {
                    ": all documents are lost here"
                } else {
                    ""
                };
                let _ = write!(
                    text,
                    "\n    {stage}: {}{mark}",
                    counted(*documents, "document")
                );
                before = *documents;
            }
        }
    }
    text
}

fn source(kind: &GroupKind, admitted: usize, kinds: &Kinds) -> String {
    let read = kinds.of(kind);
    let name = full_name(kind);
    if admitted == 0
        && read == 0
        && let Some((namesake, count)) = kinds.namesake(kind)
    {
        let found = counted(count, "object");
        let group = namesake.group.as_str();
        return format!(
            "{name}: no objects; but {found} of {}: set apiGroup: {group:?} and kind: {}",
            full_name(namesake),
            namesake.kind.as_str()
        );
    }
    if read > admitted {
        let refused = read - admitted;
        return format!(
            "{name}: {}; its namespace or selector excludes {refused} others",
            counted(admitted, "object")
        );
    }
    format!("{name}: {}", counted(admitted, "object"))
}

/// `Deployment.apps`, or `Pod` of the core group.
fn full_name(kind: &GroupKind) -> String {
    match kind.group.as_str() {
        "" => format!("{} (core)", kind.kind.as_str()),
        group => format!("{}.{group}", kind.kind.as_str()),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
