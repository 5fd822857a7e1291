//! `@gather`: members grouped by a key; the group's document is its first member with
//! the list of all values in it.

use document::{Path, Value};
use expr::Env;

use super::sequence::{Edit, Sequence};
use super::{Change, Cx, Failing, FailingMap, HashMap, Upstream, release, scope};
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline;

/// A running `@gather`.
#[derive(Debug)]
pub(crate) struct Gather {
    rule: pipeline::Gather,
    groups: HashMap<Value, Group>,
    pub(crate) failing: FailingMap<Option<Contribution>>,
}

/// What a document gives to a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contribution {
    key: Value,
    value: Value,
    document: Value,
}

#[derive(Debug)]
struct Group {
    origin: Origin,
    members: Sequence,
    /// The first member and its document.
    template: (Origin, Value),
    output: Value,
}

/// What happens to one group in a step.
#[derive(Default)]
struct Edits {
    values: Vec<Edit>,
    /// The first of the members that are new or changed, with its document: if one of
    /// them is the template, it is this one.
    first: Option<(Origin, Value)>,
}

impl Gather {
    pub(crate) fn new(rule: pipeline::Gather) -> Self {
        Self {
            rule,
            groups: HashMap::default(),
            failing: FailingMap::default(),
        }
    }

    pub(crate) fn step(
        &mut self,
        changes: &mut Vec<Change>,
        upstream: &dyn Upstream,
        cx: &mut Cx<'_>,
    ) {
        let mut groups: Grouped<Edits> = Grouped::default();
        for change in changes.drain(..) {
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
                // A member stays while the documents around it come and go.
                let value = new.value.detached();
                edits.values.push((origin.clone(), Some(value)));
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
            changes.extend(self.regroup(key, edits, upstream));
        }
    }

    /// What the document gave before, and what it gives now.
    fn contributions(
        &mut self,
        change: &Change,
        cx: &mut Cx<'_>,
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
                    .insert(change.origin.clone(), Failing { held, failure });
                (old.clone(), old)
            }
        }
    }

    /// `None` for a null key or a null value: such a document is skipped.
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

    fn regroup(&mut self, key: Value, mut edits: Edits, upstream: &dyn Upstream) -> Option<Change> {
        edits.values.sort_by(|a, b| a.0.cmp(&b.0));
        let Some(group) = self.groups.get_mut(&key) else {
            let mut members = Sequence::default();
            members.apply(edits.values);
            let first = members.first()?.clone();
            let template = document_of(&first, edits.first, &self.failing, upstream)?;
            let output = fill(&self.rule.path, &template, members.to_list());
            let origin = Origin::group(key.clone());
            let group = Group {
                origin: origin.clone(),
                members,
                template: (first, template),
                output: output.clone(),
            };
            self.groups.insert(key, group);
            return Change::new(origin, None, Some(output));
        };
        group.members.apply(edits.values);
        let Some(first) = group.members.first() else {
            let group = self.groups.remove(&key)?;
            return Change::new(group.origin, Some(group.output), None);
        };
        let changed = edits
            .first
            .as_ref()
            .is_some_and(|(origin, _)| origin == first);
        if changed || *first != group.template.0 {
            let template = document_of(first, edits.first, &self.failing, upstream)?;
            group.template = (first.clone(), template);
        }
        let output = fill(&self.rule.path, &group.template.1, group.members.to_list());
        let old = std::mem::replace(&mut group.output, output.clone());
        Change::new(group.origin.clone(), Some(old), Some(output))
    }

    /// The current document of a group.
    pub(crate) fn current(&self, key: &Value) -> Option<Value> {
        self.groups.get(key).map(|group| group.output.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.failing.is_empty()
    }
}

/// The document of a member: from this step, held, or as it reaches this stage.
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

/// The template with the list in it. The template has a value at the path, so a list
/// can stand there.
fn fill(path: &Path, template: &Value, list: Value) -> Value {
    path.set(template, list, template)
        .unwrap_or_else(|_| template.clone())
}

/// Work by group key, in order of first appearance. A step touches few groups, or it is
/// a load and touches many.
#[derive(Debug)]
pub(crate) struct Grouped<T> {
    entries: Vec<(Value, T)>,
    /// Positions by key, once there are more than a few.
    index: HashMap<Value, usize>,
}

impl<T> Default for Grouped<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            index: HashMap::default(),
        }
    }
}

const FEW: usize = 8;

impl<T: Default> Grouped<T> {
    pub(crate) fn entry(&mut self, key: &Value) -> &mut T {
        let found = if self.index.is_empty() {
            self.entries.iter().position(|(other, _)| other == key)
        } else {
            self.index.get(key).copied()
        };
        let at = found.unwrap_or_else(|| {
            self.entries.push((key.clone(), T::default()));
            let at = self.entries.len() - 1;
            if at == FEW {
                let all = self.entries.iter().enumerate();
                self.index.extend(all.map(|(i, (key, _))| (key.clone(), i)));
            } else if at > FEW {
                self.index.insert(key.clone(), at);
            }
            at
        });
        &mut self.entries[at].1
    }

    pub(crate) fn into_inner(self) -> Vec<(Value, T)> {
        self.entries
    }
}
