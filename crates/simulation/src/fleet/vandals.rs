//! What others do to derived objects.

use document::Value;
use object::marks::{OPERATOR, operator_label};
use seeded::Random;

use super::member::Member;
use super::world::World;
use crate::fields::{at, text};

/// What others write into derived objects.
const JUNK: &str = "anVuaw==";

impl World {
    /// Changes a field of a derived object.
    pub(super) fn vandalise(&self, random: &mut Random) {
        let derived = self.derived();
        if derived.is_empty() {
            return;
        }
        let (key, object) = random.pick(&derived);
        let has_data = !at(object, &["data"]).is_null();
        let top = if has_data { "data" } else { "spec" };
        let mut fleet = self.fleet.iter();
        let applier = fleet.find(|member| member.applies && member.derives(key));
        let field = match applier {
            Some(member) if !self.has_applied(member, object) => return,
            Some(_) => "n",
            None => *random.pick(&["n", "size", "foreign"]),
        };
        self.server.set(key, "vandal", &[top, field], JUNK.into());
    }

    /// Whether an Applier has applied an object under its current name. Otherwise it would be in
    /// conflict with the vandal.
    fn has_applied(&self, member: &Member, object: &Value) -> bool {
        let state = self.operators.get(member.name).copied().unwrap_or_default();
        let name = member.key(state.edits).object_name().to_owned();
        text(object, &["metadata", "labels", OPERATOR]) == operator_label(&name)
    }

    /// Whether others have changed an applied object, and it is not repaired yet. For an Operator
    /// with another name, the change is that of a user.
    pub(super) fn is_vandalised(&self, member: &Member) -> bool {
        let derived = self.derived();
        let mut applied = derived.iter().filter(|(key, _)| member.derives(key));
        member.applies && applied.any(|(_, object)| object.to_string().contains(JUNK))
    }

    /// Deletes a derived object.
    pub(super) fn delete_derived(&self, random: &mut Random) {
        let derived = self.derived();
        if !derived.is_empty() {
            self.server.delete(&random.pick(&derived).0);
        }
    }
}
