//! `@gather: [key, path]`: combines all documents with the same key into one.
//!
//! The document of a group is a copy of its first member, the template. It contains the list of
//! the values of all members at the path. Members are in the order of their origins:
//!
//! ```text
//! @gather: ["$.ns", "$.port"]
//!
//! {ns: x, port: 80, app: a}      the template
//! {ns: x, port: 81, app: b}      ─▶ {ns: x, port: [80, 81], app: a}
//! ```
//!
//! A group may have many members, and a change must not cost as much as the whole group. The
//! values are in a [`Sequence`], so that one changed value copies one chunk of the list. Of the
//! members' documents only the template is stored. If the template leaves the group, the stage
//! computes the document of the next member through the stages before ([`Upstream`]).

use document::{Location, Path, Value};
use expr::Env;

use super::sequence::{Edit, Sequence};
use super::{
    Change, Detach, Failing, FailingMap, GroupKey, HashMap, StepContext, TooLarge, Upstream,
    release, scope, sort,
};
use crate::apply;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline;

/// A running `@gather`.
#[derive(Debug)]
pub(crate) struct GatherState {
    rule: pipeline::Gather,
    at: Location,
    groups: HashMap<GroupKey, Group>,
    pub(crate) failing: FailingMap<Option<Contribution>>,
    pub(crate) too_large: TooLarge,
}

/// The contribution of a document to its group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contribution {
    key: Value,
    value: Value,
    document: Value,
}

impl Detach for Contribution {
    fn detach(self) -> Self {
        Self {
            key: self.key.detach(),
            value: self.value.detach(),
            document: self.document.detach(),
        }
    }
}

#[derive(Debug)]
struct Group {
    origin: Origin,
    members: Sequence,
    /// The first member and its document.
    template: (Origin, Value),
    /// The last document that was not too large.
    output: Option<Value>,
}

/// The edits of one group in a step.
#[derive(Default)]
struct Edits {
    values: Vec<Edit>,
    /// The first member that is new or changed, with its document. No other changed member can
    /// be the template.
    first: Option<(Origin, Value)>,
}

impl GatherState {
    pub(crate) fn new(rule: pipeline::Gather, at: Location) -> Self {
        Self {
            rule,
            at,
            groups: HashMap::default(),
            failing: FailingMap::default(),
            too_large: TooLarge::default(),
        }
    }

    pub(crate) fn step(
        &mut self,
        changes: &mut Vec<Change>,
        upstream: &dyn Upstream,
        cx: &mut StepContext<'_>,
    ) {
        let mut groups: Grouped<Edits> = Grouped::default();
        for change in changes.drain(..) {
            if !cx.goes_on() {
                break;
            }
            let (old, new) = self.contributions(&change, cx);
            let origin = change.origin;
            if let Some(old) = &old
                && new.as_ref().is_none_or(|new| new.key != old.key)
            {
                groups.entry(&old.key).values.push((origin.clone(), None));
            }
            if let Some(new) = new
                && old.as_ref() != Some(&new)
            {
                let edits = groups.entry(&new.key);
                edits
                    .values
                    .push((origin.clone(), Some(new.value.detach())));
                if edits
                    .first
                    .as_ref()
                    .is_none_or(|(first, _)| origin < *first)
                {
                    edits.first = Some((origin, new.document));
                }
            }
        }
        for (key, edits) in groups.into_inner() {
            if !cx.goes_on() {
                break;
            }
            changes.extend(self.regroup(key.into(), edits, upstream, cx));
        }
    }

    /// The old and the new contribution of a document.
    fn contributions(
        &mut self,
        change: &Change,
        cx: &mut StepContext<'_>,
    ) -> (Option<Contribution>, Option<Contribution>) {
        let held = release(&mut self.failing, &change.origin);
        let old = match held {
            Some(failing) => failing.held,
            None => change
                .old
                .as_ref()
                .and_then(|document| self.contribution(document, cx.env).ok().flatten()),
        };
        let Some(document) = &change.new else {
            return (old, None);
        };
        match self.contribution(document, cx.env) {
            Ok(new) => (old, new),
            Err(failure) => {
                cx.report(&change.origin, &failure);
                let held = old.clone();
                self.failing
                    .insert(change.origin.clone(), Failing::new(held, failure));
                (old.clone(), old)
            }
        }
    }

    /// `None` for a null key or a null value: the document has no group.
    fn contribution(&self, document: &Value, env: &Env) -> Result<Option<Contribution>, Failure> {
        let key = self.rule.key.eval(&scope(env, document, &env.now, 0))?;
        let value = self.rule.path.first(document, document);
        let Some(value) = value.filter(|value| !value.is_null() && !key.is_null()) else {
            return Ok(None);
        };
        Ok(Some(Contribution {
            key,
            value: value.clone(),
            document: document.clone(),
        }))
    }

    fn regroup(
        &mut self,
        key: GroupKey,
        mut edits: Edits,
        upstream: &dyn Upstream,
        cx: &mut StepContext<'_>,
    ) -> Option<Change> {
        sort::by_origin(&mut edits.values, |(origin, _)| origin, cx);
        let Some(group) = self.groups.get_mut(&key) else {
            let mut members = Sequence::default();
            members.apply(edits.values);
            let first = members.first()?.clone();
            let template = document_of(&first, edits.first, &self.failing, upstream)?;
            let key = key.detach();
            let group = Group {
                origin: Origin::group(key.value.clone()),
                members,
                template: (first, template.detach()),
                output: None,
            };
            let group = self.groups.entry(key).insert(group).into_mut();
            return group.refill(&self.rule.path, &self.at, &mut self.too_large, cx);
        };
        group.members.apply(edits.values);
        let Some(first) = group.members.first() else {
            let group = self.groups.remove(&key)?;
            self.too_large.remove(&group.origin);
            return Change::new(group.origin, group.output, None);
        };
        let changed = edits
            .first
            .as_ref()
            .is_some_and(|(origin, _)| origin == first);
        if changed || *first != group.template.0 {
            let template = document_of(first, edits.first, &self.failing, upstream)?;
            group.template = (first.clone(), template.detach());
        }
        group.refill(&self.rule.path, &self.at, &mut self.too_large, cx)
    }

    /// The current document of a group.
    pub(crate) fn current(&self, key: &Value) -> Option<Value> {
        let group = self.groups.get(&GroupKey::from(key.clone()))?;
        group.output.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.failing.is_empty() && self.too_large.is_empty()
    }
}

impl Group {
    /// Builds the document from the template and the values.
    fn refill(
        &mut self,
        path: &Path,
        at: &Location,
        too_large: &mut TooLarge,
        cx: &mut StepContext<'_>,
    ) -> Option<Change> {
        let output = fill(path, &self.template.1, self.members.to_list());
        if !is_admitted(&output, at, &self.origin, too_large, cx) {
            return None;
        }
        let old = self.output.replace(output.clone());
        Change::new(self.origin.clone(), old, Some(output))
    }
}

/// Checks that the document of a group is within the bounds. Otherwise it records the error of
/// the group and returns false.
pub(crate) fn is_admitted(
    document: &Value,
    at: &Location,
    group: &Origin,
    too_large: &mut TooLarge,
    cx: &mut StepContext<'_>,
) -> bool {
    match apply::admit_group(document, at, cx.env) {
        Ok(()) => {
            if !too_large.is_empty() {
                too_large.remove(group);
            }
            true
        }
        Err(failure) => {
            cx.report(group, &failure);
            too_large.insert(group.clone(), failure);
            false
        }
    }
}

/// The document of a member: from this step, held, or computed by the stages before.
fn document_of(
    member: &Origin,
    changed: Option<(Origin, Value)>,
    failing: &FailingMap<Option<Contribution>>,
    upstream: &dyn Upstream,
) -> Option<Value> {
    if let Some((origin, document)) = changed
        && origin == *member
    {
        return Some(document);
    }
    match failing.get(member) {
        Some(failing) => failing.held.as_ref().map(|held| held.document.clone()),
        None => upstream.document(member),
    }
}

/// The template with the list at the path. It has a value at the path, so a list can be set
/// there.
fn fill(path: &Path, template: &Value, list: Value) -> Value {
    path.set(template, list, template)
        .unwrap_or_else(|_| template.clone())
}

/// Edits by group key, in the order of first appearance. Most steps touch a few groups, but the
/// first list of a source touches many.
#[derive(Debug)]
pub(crate) struct Grouped<T> {
    entries: Vec<(Value, T)>,
    /// Positions by key, once there are more than [`FEW`].
    index: HashMap<GroupKey, usize>,
}

impl<T> Default for Grouped<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            index: HashMap::default(),
        }
    }
}

/// Up to this number of groups a linear search is faster than an index.
const FEW: usize = 8;

impl<T: Default> Grouped<T> {
    pub(crate) fn entry(&mut self, key: &Value) -> &mut T {
        let found = if self.index.is_empty() {
            self.entries.iter().position(|(other, _)| other == key)
        } else {
            self.index.get(&GroupKey::from(key.clone())).copied()
        };
        let at = found.unwrap_or_else(|| {
            self.entries.push((key.clone(), T::default()));
            let at = self.entries.len() - 1;
            if at == FEW {
                let all = self.entries.iter().enumerate();
                let all = all.map(|(i, (key, _))| (GroupKey::from(key.clone()), i));
                self.index.extend(all);
            } else if at > FEW {
                self.index.insert(key.clone().into(), at);
            }
            at
        });
        &mut self.entries[at].1
    }

    pub(crate) fn into_inner(self) -> Vec<(Value, T)> {
        self.entries
    }
}
