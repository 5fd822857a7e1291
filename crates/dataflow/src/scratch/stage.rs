//! The stages other than `@join`, from scratch: from all input documents to all output
//! documents.

use std::collections::{BTreeMap, BTreeSet};

use document::{Location, Value, json};
use expr::{Env, Scope, Time};

use super::{Documents, Moment};
use crate::apply;
use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::pipeline::{Gather, GroupBy, StageKind};

/// The result of a stage.
#[derive(Default)]
pub(super) struct StageResult {
    /// The outputs.
    pub documents: Documents,
    /// The outputs by input, for the next evaluation.
    pub memory: StageMemory,
    /// The failures by origin.
    pub failures: Vec<(Origin, Failure)>,
}

/// The state that the next evaluation needs if the stage fails then. Each stage fills the fields
/// of its kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StageMemory {
    /// `@join`: the rows after the hard part, and after each soft input.
    pub rows: Vec<Documents>,
    /// `@select`, `@project`, `@patch`, `@unwind`: the outputs by the origin of the input.
    documents: BTreeMap<Origin, Documents>,
    /// `@gather`, `@groupBy`: the contribution of each input; `None` if it has no group.
    members: BTreeMap<Origin, Option<Member>>,
    /// `@gather`, `@groupBy`: the document of each group.
    groups: Documents,
    /// The last evaluation of each input document.
    seen: BTreeMap<Origin, Seen>,
    /// The number of held outputs.
    pub held: usize,
}

/// The evaluation of a document.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    document: Value,
    /// The value of `"@now"`.
    now: Value,
    /// The Unix time at which a comparison with `"@now"` has another outcome.
    deadline: Option<i64>,
}

/// The contribution of a document to its group.
#[derive(Clone, Debug, PartialEq)]
struct Member {
    key: Value,
    value: Value,
    document: Value,
}

impl StageMemory {
    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn without_partner(&self) -> usize {
        let rows = self.rows.last().into_iter().flat_map(BTreeMap::keys);
        rows.filter(|origin| origin.components().contains(&Component::Absent))
            .count()
    }

    /// The value of `"@now"`: that of the last evaluation of this document, unless one of its
    /// deadlines has come, or a Periodic source ticks.
    fn now(&self, origin: &Origin, document: &Value, time: Moment<'_>) -> Value {
        let now = time.env.now.as_str().and_then(Time::parse);
        let is_due = |deadline| now.is_some_and(|now| now.seconds() >= deadline);
        match self.seen.get(origin) {
            Some(seen)
                if seen.document == *document
                    && !time.tick
                    && !seen.deadline.is_some_and(is_due) =>
            {
                seen.now.clone()
            }
            _ => time.env.now.clone(),
        }
    }

    /// The first deadline of all documents.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        let seen = self.seen.values();
        seen.filter_map(|seen| seen.deadline).min()
    }
}

/// Runs a stage other than `@join`.
pub(super) fn run(
    kind: &StageKind,
    at: &Location,
    input: &Documents,
    previous: &StageMemory,
    time: Moment<'_>,
) -> StageResult {
    let mut done = StageResult::default();
    let env = time.env;
    for (origin, document) in input {
        let now = previous.now(origin, document, time);
        env.take_deadline();
        let scope = Scope {
            now: &now,
            origin: origin.stable_hash(),
            ..Scope::new(env, document)
        };
        match kind {
            StageKind::Gather(gather) => {
                let member = gather_member(gather, &scope);
                done.keep_member(origin, member, previous);
            }
            StageKind::GroupBy(group) => {
                let member = group_member(group, &scope);
                done.keep_member(origin, member, previous);
            }
            StageKind::Join(_)
            | StageKind::Select(_)
            | StageKind::Project(_)
            | StageKind::Unwind(_)
            | StageKind::Distinct
            | StageKind::Patch(_) => {
                let documents = one(kind, at, origin, &scope);
                done.keep_documents(origin, documents, previous);
            }
        }
        let seen = Seen {
            document: document.clone(),
            now,
            deadline: env.take_deadline(),
        };
        done.memory.seen.insert(origin.clone(), seen);
    }
    done.documents = match kind {
        StageKind::Gather(gather) => {
            let groups = groups(&done.memory, |members| gathered(gather, members));
            done.keep_groups(groups, at, previous, env)
        }
        StageKind::GroupBy(group) => {
            let groups = groups(&done.memory, |members| grouped(group, members));
            done.keep_groups(groups, at, previous, env)
        }
        StageKind::Join(_)
        | StageKind::Select(_)
        | StageKind::Project(_)
        | StageKind::Unwind(_)
        | StageKind::Distinct
        | StageKind::Patch(_) => {
            let documents = done.memory.documents.values();
            documents.flatten().map(owned).collect()
        }
    };
    done
}

fn owned((origin, document): (&Origin, &Value)) -> (Origin, Value) {
    (origin.clone(), document.clone())
}

impl StageResult {
    /// Stores the outputs of an origin. If the stage fails, the last ones are held.
    fn keep_documents(
        &mut self,
        origin: &Origin,
        documents: Result<Documents, Failure>,
        previous: &StageMemory,
    ) {
        let documents = documents.unwrap_or_else(|failure| {
            self.failures.push((origin.clone(), failure));
            let held = previous.documents.get(origin).cloned().unwrap_or_default();
            self.memory.held += usize::from(!held.is_empty());
            held
        });
        self.memory.documents.insert(origin.clone(), documents);
    }

    /// Stores the contribution of an origin. If the stage fails, the last one is held.
    fn keep_member(
        &mut self,
        origin: &Origin,
        member: Result<Option<Member>, Failure>,
        previous: &StageMemory,
    ) {
        let member = member.unwrap_or_else(|failure| {
            self.failures.push((origin.clone(), failure));
            let held = previous.members.get(origin).cloned().flatten();
            self.memory.held += usize::from(held.is_some());
            held
        });
        self.memory.members.insert(origin.clone(), member);
    }

    /// Stores the documents of groups. If one is too large, the last one is held.
    fn keep_groups(
        &mut self,
        groups: Documents,
        at: &Location,
        previous: &StageMemory,
        env: &Env,
    ) -> Documents {
        for (origin, document) in groups {
            let document = match apply::admit_group(&document, at, env) {
                Ok(()) => Some(document),
                Err(failure) => {
                    self.failures.push((origin.clone(), failure));
                    let held = previous.groups.get(&origin).cloned();
                    self.memory.held += usize::from(held.is_some());
                    held
                }
            };
            let kept = document.map(|document| (origin, document));
            self.memory.groups.extend(kept);
        }
        self.memory.groups.clone()
    }
}

/// The outputs of a stage that looks at one document at a time.
fn one(
    kind: &StageKind,
    at: &Location,
    origin: &Origin,
    scope: &Scope<'_>,
) -> Result<Documents, Failure> {
    let document = scope.document;
    let only = |origin: Origin, document: Value| Documents::from([(origin, document)]);
    match kind {
        StageKind::Select(condition) => Ok(if apply::condition(condition, at, scope)? {
            only(origin.clone(), document.clone())
        } else {
            Documents::new()
        }),
        StageKind::Project(project) => {
            Ok(only(origin.clone(), apply::project(project, at, scope)?))
        }
        StageKind::Unwind(path) => {
            let list = apply::unwind(path, at, document)?;
            let element = |i| Some((origin.with(Component::Index(i as u32)), list.element(i)?));
            Ok((0..list.len()).filter_map(element).collect())
        }
        StageKind::Patch(patch) => {
            let patched = super::patch::patched(patch, at, scope)?;
            Ok(only(origin.clone(), patched))
        }
        StageKind::Distinct => Ok(only(Origin::group(document.clone()), document.clone())),
        // Not called for joins and groups.
        StageKind::Join(_) | StageKind::Gather(_) | StageKind::GroupBy(_) => Ok(Documents::new()),
    }
}

/// The contribution to a `@gather`; `None` for a null key or value. The key is evaluated first,
/// so it may fail even if the value is null.
fn gather_member(gather: &Gather, scope: &Scope<'_>) -> Result<Option<Member>, Failure> {
    let document = scope.document;
    let key = gather.key.eval(scope)?;
    let value = gather.path.first(document, document);
    let value = value.cloned().unwrap_or_default();
    if key.is_null() || value.is_null() {
        return Ok(None);
    }
    Ok(Some(Member {
        key,
        value,
        document: document.clone(),
    }))
}

/// The contribution to a `@groupBy`; `None` for a null key.
fn group_member(group: &GroupBy, scope: &Scope<'_>) -> Result<Option<Member>, Failure> {
    let key = group.key.eval(scope)?;
    if key.is_null() {
        return Ok(None);
    }
    let value = match &group.value {
        Some(value) => value.eval(scope)?,
        None => scope.document.clone(),
    };
    Ok(Some(Member {
        key,
        value,
        document: scope.document.clone(),
    }))
}

/// One document for each key. Its members are in the order of their origins.
fn groups(memory: &StageMemory, make: impl Fn(&[&Member]) -> Option<Value>) -> Documents {
    let mut groups: BTreeMap<&Value, Vec<&Member>> = BTreeMap::new();
    for member in memory.members.values().flatten() {
        groups.entry(&member.key).or_default().push(member);
    }
    groups
        .into_iter()
        .filter_map(|(key, members)| Some((Origin::group(key.clone()), make(&members)?)))
        .collect()
}

/// The document of the first member, with the list of all values at the path.
fn gathered(gather: &Gather, members: &[&Member]) -> Option<Value> {
    let template = &members.first()?.document;
    let values = members.iter().map(|member| member.value.clone()).collect();
    // The template has a value at the path, so a list can be set there.
    gather.path.set(template, values, template).ok()
}

fn grouped(group: &GroupBy, members: &[&Member]) -> Option<Value> {
    let key = &members.first()?.key;
    let documents: Value = members
        .iter()
        .map(|member| member.document.clone())
        .collect();
    let mut seen = BTreeSet::new();
    let values: Value = members
        .iter()
        .map(|member| &member.value)
        .filter(|value| !value.is_null())
        .filter(|value| !group.distinct || seen.insert(*value))
        .cloned()
        .collect();
    Some(json!({"key": (key.clone()), "values": values, "documents": documents}))
}
