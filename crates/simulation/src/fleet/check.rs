//! Checks that the cluster has the expected state: the objects of users, and what the offline
//! runner derives from them.

use std::collections::BTreeMap;

use dataflow::Budget;
use document::Value;
use object::{ObjectKey, OperatorId};
use offline::{Event, EventType, Offline};
use target::claim::Claim;
use target::live::is_orphan;

use super::member::{Member, merged, operator_key};
use super::world::{World, target_kinds};
use crate::check::{comparable, is_marked};
use crate::fields::{at, copied, text};
use crate::truth::env_at;
use crate::world::complete;

type Objects = BTreeMap<ObjectKey, Value>;

impl World {
    /// Compares the cluster with the expected state. Returns the first difference.
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, before) in &self.bystanders {
            if self.server.get(key).as_ref() != Some(before) {
                return Err(format!("{key} is not ours, and has been changed"));
            }
        }
        let (users, derived) = self.expected()?;
        let found = self.found();
        for (key, live) in &found {
            let expected = derived.get(key).or_else(|| users.get(key));
            if expected.is_some() && self.is_patched_by_former(key, live) {
                continue;
            }
            if expected.is_none() && self.may_stay(key, live) {
                continue;
            }
            let Some(expected) = expected else {
                self.check_orphan(key, live)?;
                continue;
            };
            if !derived.contains_key(key) && is_marked(live) {
                return Err(format!("{key} is not derived, but has marks: {live}"));
            }
            let comparable = |object: &Value| self.without_left(key, &comparable(key, object));
            let (live, expected) = (comparable(live), comparable(expected));
            if live != expected {
                return Err(format!("{key} is\n  {live}\nexpected\n  {expected}"));
            }
        }
        let mut missing = derived.keys().filter(|key| !found.contains_key(*key));
        if let Some(key) = missing.next() {
            return Err(format!("{key} is missing"));
        }
        self.check_status()
    }

    /// The objects of users, and what is derived from them.
    fn expected(&self) -> Result<(Objects, Objects), String> {
        let controllers = self.fleet.iter().flat_map(|member| {
            let state = self.operators.get(member.name).copied().unwrap_or_default();
            member.controllers(state.edits)
        });
        let mut offline = Offline::new(merged(controllers.collect()), Budget::default());
        let users: Objects = self
            .user_objects
            .iter()
            .map(|(key, object)| {
                let object = complete(key, object);
                // Pipelines may read the uid.
                let live = self.server.get(key).unwrap_or_default();
                (key.clone(), copied(&object, &["metadata", "uid"], &live))
            })
            .collect();
        let read = users.iter().filter(|(key, _)| self.is_inside(key));
        let added = read.map(|(_, object)| Event {
            kind: EventType::Added,
            object: object.clone(),
        });
        let batch = offline.batch(&added.collect::<Vec<_>>(), &env_at(self.time.now()));
        let batch = batch.map_err(|error| format!("render failed: {error}"))?;
        if let Some(error) = batch.errors.first() {
            return Err(format!("an error is left: {}", error.message));
        }
        let kinds = target_kinds();
        let is_target = |key: &ObjectKey| {
            let mut kinds = kinds.iter();
            kinds.any(|kind| {
                kind.group == key.kind.group.as_str() && kind.name == key.kind.kind.as_str()
            })
        };
        let targets = offline.targets().into_iter();
        let derived = targets.filter_map(|object| Some((ObjectKey::of(&object)?, object)));
        Ok((users, derived.filter(|(key, _)| is_target(key)).collect()))
    }

    fn found(&self) -> Objects {
        let all = target_kinds()
            .into_iter()
            .flat_map(|kind| self.server.all(kind));
        all.filter(|(key, _)| !self.bystanders.contains_key(key))
            .collect()
    }

    /// The Operator of a member on the server; null if there is none.
    fn operator(&self, member: &Member) -> Value {
        let state = self.operators.get(member.name).copied().unwrap_or_default();
        let operator = self.server.get(&member.key(state.edits));
        operator.unwrap_or_default()
    }

    /// Whether an object has the record of an earlier Operator of the same name, whose patch
    /// stays.
    fn is_patched_by_former(&self, key: &ObjectKey, live: &Value) -> bool {
        let mut fleet = self.fleet.iter();
        Claim::read(live, key).is_none()
            && fleet.any(|member| {
                let operator = self.operator(member);
                let uid = text(&operator, &["metadata", "uid"]);
                !uid.is_empty() && is_orphan(live, key, &OperatorId::new(member.name, uid))
            })
    }

    /// An object that should not exist, unless an earlier Operator of the same name left it.
    fn check_orphan(&self, key: &ObjectKey, live: &Value) -> Result<(), String> {
        let claim = Claim::read(live, key);
        let is_orphan = claim.is_some_and(|claim| {
            let operator = self.server.get(&operator_key(&claim.operator));
            let operator = operator.unwrap_or_default();
            claim.uid.as_deref() != Some(text(&operator, &["metadata", "uid"]))
        });
        if is_orphan {
            return Ok(());
        }
        Err(format!("{key} should not exist: {live}"))
    }

    /// The versions of all objects of the kinds that the fleet writes, except for those that may
    /// change by themselves.
    pub(super) fn versions(&self) -> BTreeMap<ObjectKey, String> {
        let timed = |key: &ObjectKey| {
            let mut fleet = self.fleet.iter();
            fleet.any(|member| member.reads_time() && member.derives(key))
        };
        let found = self.found().into_iter();
        let versions = found.filter(|(key, _)| !timed(key)).map(|(key, object)| {
            let version = text(&object, &["metadata", "resourceVersion"]);
            (key, version.to_owned())
        });
        versions.collect()
    }

    /// All Operators are ready.
    fn check_status(&self) -> Result<(), String> {
        for member in self.fleet {
            let operator = self.operator(member);
            let status = operator.get("status");
            let name = member.name;
            let generation = at(&operator, &["metadata", "generation"]);
            if status.get("observedGeneration") != generation {
                return Err(format!(
                    "the status of {name} is not for generation {generation}: {status}"
                ));
            }
            let conditions = status.get("conditions").as_list().into_iter().flatten();
            let mut ready = conditions.filter(|c| text(c, &["type"]) == "Ready");
            let ready = ready.next();
            // Users may have deleted the object of a patch.
            let message = ready.map_or("", |c| text(c, &["message"]));
            let waits = name == "tagger" && message.contains("waiting for the object to patch");
            if ready.map_or("", |c| text(c, &["status"])) != "True" && !waits {
                return Err(format!("{name} is not ready: {status}"));
            }
        }
        Ok(())
    }
}
