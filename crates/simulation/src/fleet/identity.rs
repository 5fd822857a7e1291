//! Whose objects are: the uids of the Operators of a fleet, renamed Operators, and backups.
//!
//! ```text
//! deleted, created again        another uid: what is not derived again stays
//! renamed                       another name: what is derived again is adopted, and then stays
//! restored from a backup        another uid, and objects with the claims of the former one
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use document::Value;
use object::ObjectKey;
use target::claim::Claim;
use tokio::time::Instant;

use super::member::{Edits, LIMITED, Member, operator_key};
use super::world::World;
use crate::api::{ProcessedWrite, Server};
use crate::fields::{at, set, text, unset};

/// How long an engine may work for an Operator that was deleted, because its process does not
/// know yet.
const LATE: Duration = Duration::from_mins(15);

/// The uids of all Operators, and since when they have them. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Identities(Arc<Mutex<BTreeMap<String, (String, Instant)>>>);

impl Identities {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (String, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An Operator was created.
    pub(super) fn created(&self, server: &Server, key: &ObjectKey) {
        let operator = server.get(key).unwrap_or_default();
        let uid = text(&operator, &["metadata", "uid"]).to_owned();
        let since = Instant::now();
        self.lock()
            .insert(key.object_name().to_owned(), (uid, since));
    }

    /// An object with the uid of a former Operator is not deleted by a process that can know of
    /// the new one.
    pub(super) fn check(
        &self,
        done: &ProcessedWrite<'_>,
        started: Option<Instant>,
    ) -> Result<(), String> {
        let claim = done.old.as_ref().and_then(|old| Claim::read(old, done.key));
        let Some(claim) = claim.filter(|_| done.code == 200) else {
            return Ok(());
        };
        let all = self.lock();
        let Some((uid, since)) = all.get(&claim.operator) else {
            return Ok(());
        };
        let knows = started.is_some_and(|started| started > *since) || since.elapsed() > LATE;
        if claim.uid.as_ref() == Some(uid) || !knows {
            return Ok(());
        }
        let key = done.key;
        Err(format!("{key} is deleted, although its uid is not ours"))
    }
}

/// A backup of the Operators and of what they derived.
#[derive(Clone, Debug, Default)]
pub(super) struct Backup {
    /// The Operators, with their edits.
    operators: Vec<(&'static Member, Edits, Value)>,
    derived: Vec<(ObjectKey, Value)>,
}

impl World {
    /// Deletes an Operator and creates it under its other name.
    pub(super) fn rename_operator(&mut self, member: &'static Member) {
        let state = self.operators.get(member.name).copied().unwrap_or_default();
        let renamable = member.is_renamable(self.fleet) && !self.is_vandalised(member);
        if !state.exists || !renamable {
            return;
        }
        let old = member.key(state.edits);
        self.delete_operator(member);
        // One that deletes its objects first is created again later, under the same name.
        if self.server.get(&old).is_some() {
            return;
        }
        self.renamed.push(member);
        if let Some(state) = self.operators.get_mut(member.name) {
            state.edits.aliased = !state.edits.aliased;
        }
        self.put_operator(member, state.edits);
    }

    /// Whether an Operator of another name may have adopted this object. Then it stays. The engine
    /// of the former Operator may have created it even after the renaming.
    fn may_be_adopted(&self, key: &ObjectKey) -> bool {
        self.renamed.iter().any(|member| member.derives(key))
    }

    /// Makes a backup.
    pub(super) fn back_up(&mut self) {
        let operators = self.fleet.iter().filter_map(|member| {
            let state = self.operators.get(member.name).filter(|s| s.exists)?;
            let operator = self.server.get(&member.key(state.edits))?;
            Some((member, state.edits, operator))
        });
        self.backup = Backup {
            operators: operators.collect(),
            derived: self.derived(),
        };
    }

    /// Deletes the Operators of the backup, creates them as they were in it, and creates derived
    /// objects that are missing.
    pub(super) fn restore(&mut self) {
        let backup = self.backup.clone();
        for (member, edits, operator) in backup.operators {
            let state = self.operators.get(member.name).copied().unwrap_or_default();
            // Objects that come back would count as removed by a list.
            if member.name == LIMITED || state.edits.aliased != edits.aliased {
                continue;
            }
            self.delete_operator(member);
            let key = member.key(edits);
            if self.server.get(&key).is_some() {
                continue;
            }
            self.restored = Some(restored(&operator));
            self.put_operator(member, edits);
            self.restored = None;
            let derived = backup.derived.iter();
            for (key, object) in derived.filter(|(key, _)| member.derives(key)) {
                if self.server.get(key).is_none() {
                    self.server.put(key, "admin", &restored(object));
                }
            }
        }
    }

    /// Whether an object that is not derived may exist: one that an Operator of another name has
    /// adopted and released.
    pub(super) fn may_stay(&self, key: &ObjectKey, live: &Value) -> bool {
        let claim = Claim::read(live, key);
        let exists = |claim: &Claim| self.server.get(&operator_key(&claim.operator)).is_some();
        self.may_be_adopted(key) && !claim.as_ref().is_some_and(exists)
    }

    /// An object as it is compared. What a former Operator set on one that was adopted stays.
    pub(super) fn without_left(&self, key: &ObjectKey, object: &Value) -> Value {
        if !self.may_be_adopted(key) {
            return object.clone();
        }
        let bare = unset(object, &["metadata", "annotations", "example.com/salt"]);
        match at(&bare, &["metadata", "annotations"]).as_map() {
            Some(map) if map.is_empty() => unset(&bare, &["metadata", "annotations"]),
            _ => bare,
        }
    }
}

/// An object from a backup: what the server assigns is new.
fn restored(object: &Value) -> Value {
    let assigned = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "finalizers",
    ];
    let metadata = assigned
        .iter()
        .fold(object.get("metadata").clone(), |metadata, field| {
            unset(&metadata, &[field])
        });
    set(object, &["metadata"], metadata)
}
