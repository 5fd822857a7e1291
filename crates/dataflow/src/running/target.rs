//! A target: which origin writes each object, and which one wins a conflict.
//!
//! Several origins may yield an object with the same name. The first in the order of origins
//! is written. The others are losers: they are reported as conflicts, unless they yield the
//! same object, and become winners when the origins before them are gone. A new winner is a change
//! even if its object is the same: what is written names its origin.
//!
//! ```text
//! name   documents by origin             state                     written
//! web    [a]: {x: 1}                     [a] wins                  {x: 1}
//! web    [a]: {x: 1}, [b]: {x: 2}        contest, [b] loses        {x: 1}
//! web    [b]: {x: 2}                     [b] wins                  {x: 2}
//! ```
//!
//! Conflicts are rare, so a name with one origin stores no document. If a second origin comes,
//! the document of the first is computed again through the stages before. A contest stores all
//! documents.

use std::collections::BTreeMap;

use document::Value;
use expr::Env;
use object::ObjectName;
use smallvec::SmallVec;

use super::output::{Keyed, OutputChange};
use super::{Detach, HashMap};
use crate::apply::same_object;
use crate::origin::Origin;

/// A running target.
#[derive(Debug, Default)]
pub(crate) struct TargetState {
    /// The origin that is written under each name. Without a contest its document is not stored,
    /// because it can be computed.
    winners: HashMap<ObjectName, Origin>,
    /// All documents of the names that several origins yield.
    contested: HashMap<ObjectName, Contest>,
}

/// The documents of several origins for one name. The first is written.
#[derive(Debug, Default)]
struct Contest {
    documents: BTreeMap<Origin, Value>,
}

/// The loser of a conflict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loser {
    pub(crate) key: ObjectName,
    pub(crate) origin: Origin,
    pub(crate) winner: Origin,
}

/// A change of the document that is written under a name, or of its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyChange {
    pub(crate) key: ObjectName,
    /// The origin of the new document; after a delete, that of the old one.
    pub(crate) origin: Origin,
    /// The old document.
    pub(crate) old: Option<Value>,
    /// The new document.
    pub(crate) new: Option<Value>,
}

/// A change of the document of one origin under a name: origin, old, new.
type KeyEdit = (Origin, Option<Value>, Option<Value>);

/// The edits of one name in a step.
type KeyEdits = SmallVec<[KeyEdit; 1]>;

impl TargetState {
    /// Applies the changes of outputs. `current` computes the output of an origin that has no
    /// change. Returns the changes, deletes first and sorted by name, and the conflicts that are
    /// new or have a new winner. Returns early if the step is interrupted.
    pub(crate) fn step(
        &mut self,
        mut changes: Vec<OutputChange>,
        current: &dyn Fn(&Origin) -> Option<Keyed>,
        env: &Env,
    ) -> (Vec<KeyChange>, Vec<Loser>) {
        if self.is_plain_update(&changes)
            && let Some(OutputChange { origin, old, new }) = changes.pop()
            && let (Some((key, old)), Some((_, new))) = (old, new)
        {
            let change = KeyChange::new(key, origin, Some(old), Some(new));
            return (change.into_iter().collect(), Vec::new());
        }
        let mut edits: Vec<(ObjectName, KeyEdit)> = Vec::with_capacity(changes.len());
        for OutputChange { origin, old, new } in changes {
            match (old, new) {
                (Some((old_key, old)), Some((new_key, new))) if old_key == new_key => {
                    edits.push((old_key, (origin, Some(old), Some(new))));
                }
                (old, new) => {
                    if let Some((key, old)) = old {
                        edits.push((key, (origin.clone(), Some(old), None)));
                    }
                    if let Some((key, new)) = new {
                        edits.push((key, (origin, None, Some(new))));
                    }
                }
            }
        }
        edits.sort_by(|a, b| a.0.cmp(&b.0));
        let mut conflicts = Vec::new();
        let mut out: Vec<KeyChange> = Vec::with_capacity(edits.len());
        let mut edits = edits.into_iter().peekable();
        while let Some((key, edit)) = edits.next() {
            let mut all: KeyEdits = smallvec::smallvec![edit];
            while let Some((_, edit)) = edits.next_if(|(other, _)| *other == key) {
                all.push(edit);
            }
            if env.is_interrupted() {
                break;
            }
            out.extend(self.key(key, all, current, &mut conflicts, env));
        }
        out.sort_by_key(|change| change.new.is_some());
        (out, conflicts)
    }

    /// Whether one output changes and keeps its name, and no name is contested. Then the old
    /// document was written, and the winner stays.
    fn is_plain_update(&self, changes: &[OutputChange]) -> bool {
        let [OutputChange { old, new, .. }] = changes else {
            return false;
        };
        let (Some((old, _)), Some((new, _))) = (old, new) else {
            return false;
        };
        self.contested.is_empty() && old == new
    }

    fn key(
        &mut self,
        key: ObjectName,
        mut edits: KeyEdits,
        current: &dyn Fn(&Origin) -> Option<Keyed>,
        conflicts: &mut Vec<Loser>,
        env: &Env,
    ) -> Option<KeyChange> {
        if self.contested.is_empty()
            && let [(_, Some(_), Some(_))] = edits.as_slice()
        {
            // No name is contested, so the old document was written, and the winner stays.
            let (origin, old, new) = edits.remove(0);
            return KeyChange::new(key, origin, old, new);
        }
        let winner = self.winners.get(&key);
        let alone = edits.len() == 1
            && winner.is_none_or(|winner| *winner == edits[0].0)
            && !self.contested.contains_key(&key);
        if alone {
            let (origin, old, new) = edits.remove(0);
            if new.is_none() {
                self.winners.remove(&key);
            } else if winner.is_none() {
                self.winners.insert(key.clone(), origin.clone());
            }
            return KeyChange::new(key, origin, old, new);
        }
        self.contest(key, edits, current, conflicts, env)
    }

    /// Handles a name with several origins: compares the winners before and after.
    fn contest(
        &mut self,
        key: ObjectName,
        edits: KeyEdits,
        current: &dyn Fn(&Origin) -> Option<Keyed>,
        conflicts: &mut Vec<Loser>,
        env: &Env,
    ) -> Option<KeyChange> {
        let mut contest = self.contested.remove(&key).unwrap_or_default();
        if let Some(winner) = self.winners.remove(&key)
            && contest.documents.is_empty()
        {
            let before = match edits.iter().find(|(origin, ..)| *origin == winner) {
                Some((_, old, _)) => old.clone(),
                None => current(&winner).map(|(_, document)| document),
            };
            contest
                .documents
                .extend(before.map(|document| (winner, document.detach())));
        }
        let goes_on = || !env.is_interrupted();
        let losers_before = contest.losers(&key, &goes_on);
        let before = contest.first();
        for (origin, _, new) in edits {
            if !goes_on() {
                break;
            }
            match new {
                Some(new) => contest.documents.insert(origin, new.detach()),
                None => contest.documents.remove(&origin),
            };
        }
        let after = contest.first();
        conflicts.extend(
            contest
                .losers(&key, &goes_on)
                .into_iter()
                .filter(|loser| !losers_before.contains(loser)),
        );
        if let Some((winner, _)) = &after {
            self.winners.insert(key.clone(), winner.clone());
        }
        if contest.documents.len() > 1 {
            self.contested.insert(key.clone(), contest);
        }
        let (old_origin, old) = before.unzip();
        let (new_origin, new) = after.unzip();
        let succeeds = old_origin
            .as_ref()
            .zip(new_origin.as_ref())
            .is_some_and(|(old, new)| old != new);
        let change = KeyChange {
            key,
            origin: new_origin.or(old_origin)?,
            old,
            new,
        };
        (succeeds || change.has_other_object()).then_some(change)
    }

    /// All current conflicts.
    pub(crate) fn conflicts(&self) -> Vec<Loser> {
        // The caller sorts.
        let contests = self.contested.iter();
        contests
            .flat_map(|(key, contest)| contest.losers(key, &|| true))
            .collect()
    }

    /// The names of all objects.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ObjectName> {
        self.winners.keys()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.winners.is_empty() && self.contested.is_empty()
    }
}

impl KeyChange {
    /// A change by the origin that wins the name before and after. `None` if both documents become
    /// the same object.
    fn new(
        key: ObjectName,
        origin: Origin,
        old: Option<Value>,
        new: Option<Value>,
    ) -> Option<Self> {
        let change = Self {
            key,
            origin,
            old,
            new,
        };
        change.has_other_object().then_some(change)
    }

    /// Whether the documents become different objects.
    fn has_other_object(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => !same_object(old, new),
            (old, new) => old.is_some() != new.is_some(),
        }
    }
}

impl Contest {
    /// The document that is written.
    fn first(&self) -> Option<(Origin, Value)> {
        let (origin, document) = self.documents.first_key_value()?;
        Some((origin.clone(), document.clone()))
    }

    /// All origins but the first, without those that yield the same object as the first.
    fn losers(&self, key: &ObjectName, goes_on: &dyn Fn() -> bool) -> Vec<Loser> {
        let Some((winner, written)) = self.documents.first_key_value() else {
            return Vec::new();
        };
        self.documents
            .iter()
            .skip(1)
            .take_while(|_| goes_on())
            .filter(|(_, document)| !same_object(document, written))
            .map(|(origin, _)| Loser {
                key: key.clone(),
                origin: origin.clone(),
                winner: winner.clone(),
            })
            .collect()
    }
}
