//! `@groupBy: [key, value]`: collects the values and the documents of each key.
//!
//! ```text
//! @groupBy: ["$.ns", "$.port"]
//!
//! {ns: x, port: 80}
//! {ns: x, port: 81}      ─▶ {key: x, values: [80, 81], documents: [{ns: x, port: 80}, …]}
//! ```
//!
//! Members are in the order of their origins. Both lists are [`Sequence`]s, so that one changed
//! member copies one chunk of each. With `distinct: true` equal values are listed once, which
//! needs a pass over all values of the group.

use document::{Key, Location, Map, Value};
use expr::Env;

use super::gather::{Grouped, is_admitted};
use super::sequence::{Edit, Sequence};
use super::times::Times;
use super::{
    Change, Detach, Failing, FailingMap, GroupKey, HashMap, StepContext, TooLarge, release, scope,
    sort,
};
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline;

/// A running `@groupBy`.
#[derive(Debug)]
pub(crate) struct GroupByState {
    rule: pipeline::GroupBy,
    at: Location,
    volatile: expr::Volatile,
    groups: HashMap<GroupKey, Group>,
    pub(crate) failing: FailingMap<Option<Contribution>>,
    pub(crate) too_large: TooLarge,
    pub(crate) times: Times,
}

/// The contribution of a document to its group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contribution {
    key: Value,
    /// Null is not listed in `values`.
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

#[derive(Debug, Default)]
struct Group {
    values: Sequence,
    documents: Sequence,
    /// The last document that was not too large.
    output: Option<Value>,
}

#[derive(Default)]
struct Edits {
    values: Vec<Edit>,
    documents: Vec<Edit>,
}

impl Edits {
    fn push(&mut self, origin: &Origin, contribution: Option<Contribution>) {
        let (value, document) = match contribution {
            Some(new) => (
                (!new.value.is_null()).then(|| new.value.detach()),
                Some(new.document.detach()),
            ),
            None => (None, None),
        };
        self.values.push((origin.clone(), value));
        self.documents.push((origin.clone(), document));
    }
}

impl GroupByState {
    pub(crate) fn new(rule: pipeline::GroupBy, at: Location) -> Self {
        let volatile = rule.volatile();
        Self {
            at,
            volatile,
            rule,
            groups: HashMap::default(),
            failing: FailingMap::default(),
            too_large: TooLarge::default(),
            times: Times::new(volatile.now),
        }
    }

    pub(crate) fn step(&mut self, changes: &mut Vec<Change>, cx: &mut StepContext<'_>) {
        let mut groups: Grouped<Edits> = Grouped::default();
        for change in changes.drain(..) {
            if !cx.goes_on() {
                break;
            }
            let (old, new) = self.contributions(&change, cx);
            if let Some(old) = &old
                && new.as_ref().is_none_or(|new| new.key != old.key)
            {
                groups.entry(&old.key).push(&change.origin, None);
            }
            if let Some(new) = new
                && old.as_ref() != Some(&new)
            {
                let key = new.key.clone();
                groups.entry(&key).push(&change.origin, Some(new));
            }
        }
        for (key, edits) in groups.into_inner() {
            if !cx.goes_on() {
                break;
            }
            changes.extend(self.regroup(&key.into(), edits, cx));
        }
    }

    fn contributions(
        &mut self,
        change: &Change,
        cx: &mut StepContext<'_>,
    ) -> (Option<Contribution>, Option<Contribution>) {
        let held = release(&mut self.failing, &change.origin);
        let old = match (held, &change.old) {
            (Some(failing), _) => failing.held,
            (None, Some(document)) => {
                let now = self.times.now(&change.origin, cx.env);
                self.contribution(document, &change.origin, now, cx.env)
                    .ok()
                    .flatten()
            }
            (None, None) => None,
        };
        let Some(document) = &change.new else {
            self.times.remove(&change.origin);
            return (old, None);
        };
        self.times.begin(cx.env);
        let new = self.contribution(document, &change.origin, &cx.env.now, cx.env);
        self.times.end(&change.origin, cx.env);
        match new {
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

    /// `None` for a null key: the document has no group.
    fn contribution(
        &self,
        document: &Value,
        origin: &Origin,
        now: &Value,
        env: &Env,
    ) -> Result<Option<Contribution>, Failure> {
        let seed = if self.volatile.random {
            origin.stable_hash()
        } else {
            0
        };
        let scope = scope(env, document, now, seed);
        let key = self.rule.key.eval(&scope)?;
        if key.is_null() {
            return Ok(None);
        }
        let value = match &self.rule.value {
            Some(value) => value.eval(&scope)?,
            None => document.clone(),
        };
        Ok(Some(Contribution {
            key,
            value,
            document: document.clone(),
        }))
    }

    fn regroup(
        &mut self,
        key: &GroupKey,
        mut edits: Edits,
        cx: &mut StepContext<'_>,
    ) -> Option<Change> {
        sort::by_origin(&mut edits.values, |(origin, _)| origin, cx);
        sort::by_origin(&mut edits.documents, |(origin, _)| origin, cx);
        let key = match self.groups.get_key_value(key) {
            Some((known, _)) => known.clone(),
            None => key.clone().detach(),
        };
        let origin = Origin::group(key.value.clone());
        let group = self.groups.entry(key.clone()).or_default();
        group.values.apply(edits.values);
        group.documents.apply(edits.documents);
        if group.documents.is_empty() {
            let old = self.groups.remove(&key).and_then(|group| group.output);
            self.too_large.remove(&origin);
            return Change::new(origin, old, None);
        }
        let output = document(&key.value, group, self.rule.distinct, cx);
        if !is_admitted(&output, &self.at, &origin, &mut self.too_large, cx) {
            return None;
        }
        let old = group.output.replace(output.clone());
        Change::new(origin, old, Some(output))
    }

    /// The current document of a group.
    pub(crate) fn current(&self, key: &Value) -> Option<Value> {
        let group = self.groups.get(&GroupKey::from(key.clone()))?;
        group.output.clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let nothing_fails = self.failing.is_empty() && self.too_large.is_empty();
        self.groups.is_empty() && nothing_fails && self.times.is_empty()
    }
}

fn document(key: &Value, group: &Group, distinct: bool, cx: &mut StepContext<'_>) -> Value {
    let values = group.values.to_list();
    let values = if distinct {
        first_of_equal(&values, cx)
    } else {
        values
    };
    Map::from_entries(vec![
        (Key::new("key"), key.clone()),
        (Key::new("values"), values),
        (Key::new("documents"), group.documents.to_list()),
    ])
    .into()
}

/// The list with only the first of equal values.
fn first_of_equal(values: &Value, cx: &mut StepContext<'_>) -> Value {
    let mut seen: HashMap<GroupKey, ()> = HashMap::default();
    let items = values.as_list().into_iter().flatten().cloned();
    let items = items.take_while(|_| cx.goes_on());
    let first = items.filter(|item| seen.insert(item.clone().into(), ()).is_none());
    first.collect()
}
