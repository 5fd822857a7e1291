//! Output that may not be written yet.
//!
//! Before a controller is open, all of its output waits. After that, an object waits because of another
//! controller (see [`rivals`](super::rivals)) or an unread source object (see
//! [`unread`](crate::unread)). While it waits, it is judged again only if the outcome may differ:
//!
//! ```text
//! its derived state has changed             this object
//! the target watch has delivered it         this object
//! a controller has opened                   all objects
//! other source objects have been read       all objects of the controllers of its kinds
//! ```
//!
//! So a change costs the same, however many objects wait.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use object::ObjectKey;
use target::Desired;

use super::Task;
use crate::unread::Doubts;

/// The output of a controller that waits, with `None` for removals.
type Objects = BTreeMap<ObjectKey, Option<Desired>>;

/// The output of a controller that waits.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    objects: Objects,
    /// The circumstances in which all objects were last judged.
    judged_by: Circumstances,
}

/// The circumstances that concern all objects of a controller; if they change, all are judged again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Circumstances {
    /// The number of open controllers. It never decreases.
    open: usize,
    doubts: Doubts,
}

impl Pending {
    /// Takes all objects.
    pub(crate) fn take(&mut self) -> Objects {
        mem::take(&mut self.objects)
    }

    /// Whether an object waits to be written.
    pub(crate) fn wants(&self, key: &ObjectKey) -> bool {
        self.objects.get(key).is_some_and(Option::is_some)
    }

    /// Takes the objects that have to be judged again.
    fn take_due(&mut self, now: &Circumstances, delivered: &BTreeSet<ObjectKey>) -> Objects {
        if self.judged_by != *now {
            return self.take();
        }
        let delivered = delivered.iter();
        let due = delivered.filter_map(|key| self.objects.remove_entry(key));
        due.collect()
    }
}

impl Task {
    /// Passes the wanted state of an object to the writer, or stores it until it may be written.
    pub(crate) fn want(
        &mut self,
        number: usize,
        doubts: &Doubts,
        key: ObjectKey,
        desired: Option<Desired>,
    ) {
        let open = self.controllers[number].open;
        let may = open && !self.has_to_wait(number, doubts, &key, desired.as_ref());
        let pending = &mut self.controllers[number].pending.objects;
        if may {
            pending.remove(&key);
            let controller = &self.operator.controllers[number];
            let (depth, removed) = (self.views.depth, desired.is_none());
            self.writes.want_caused(&key, controller, desired, depth);
            if removed {
                self.sweep_predecessor(&key);
            }
        } else if open || desired.is_some() {
            pending.insert(key, desired);
        } else {
            // If an earlier run wrote the object, the sweep removes it.
            pending.remove(&key);
        }
    }

    /// Whether an open controller has to wait with an object.
    fn has_to_wait(
        &self,
        number: usize,
        doubts: &Doubts,
        key: &ObjectKey,
        desired: Option<&Desired>,
    ) -> bool {
        self.waits_for_rival(number, doubts, key, desired)
            || self.is_unread(number, doubts, key, desired)
    }

    /// Writes the pending output of open controllers that no longer has to wait.
    pub(super) fn write_pending(&mut self) {
        let delivered = self.writes.writer.take_delivered();
        let open = self.controllers.iter().filter(|task| task.open).count();
        let mut all_written = true;
        for (number, doubts) in self.doubts().into_iter().enumerate() {
            if !self.controllers[number].open {
                continue;
            }
            let now = Circumstances { open, doubts };
            let due = self.controllers[number].pending.take_due(&now, &delivered);
            for (key, desired) in due {
                if self.has_to_wait(number, &now.doubts, &key, desired.as_ref()) {
                    let pending = &mut self.controllers[number].pending;
                    pending.objects.insert(key, desired);
                } else {
                    let controller = &self.operator.controllers[number];
                    self.writes.want(&key, controller, desired);
                }
            }
            // Set even if nothing waits: objects that are added before the next call are judged in
            // these circumstances.
            let pending = &mut self.controllers[number].pending;
            pending.judged_by = now;
            all_written &= pending.objects.is_empty();
        }
        if all_written {
            self.writes.writer.await_nothing();
        }
    }
}

#[cfg(test)]
mod tests {
    use cluster::object::Unreadable;
    use dataflow::fields::{Fields, Intake, Keep};
    use document::{Value, json};
    use object::marks::OWNER;
    use object::{GroupKind, ObjectName};
    use target::TargetKind;
    use target::claim::Claim;

    use super::*;
    use crate::task::fixture;

    const MANY: usize = 10_000;

    fn copy(name: &str, source: &str) -> Value {
        json!({
            "name": name, "sources": [{"apiGroup": "example.com", "kind": source}],
            "pipeline": [], "target": {"apiGroup": "", "kind": "ConfigMap"},
        })
    }

    fn config_map(number: usize) -> ObjectKey {
        ObjectKey {
            kind: GroupKind::new("", "ConfigMap"),
            name: ObjectName::new("ns", &format!("o{number}")),
        }
    }

    /// A controller that is closed, and one that is open and derives objects that the first one has
    /// written.
    struct World {
        task: Task,
        version: usize,
    }

    impl World {
        fn new() -> Self {
            let task = fixture::task(&[copy("first", "A"), copy("second", "B")]);
            let mut world = Self { task, version: 0 };
            let kind = TargetKind::new(config_map(0).kind, "v1", "configmaps");
            world.task.writes.writer.serve(kind);
            world.task.writes.writer.listing("", "ConfigMap");
            for number in 0..MANY {
                world.show(number, "first");
                world.derive(number);
            }
            world.task.writes.writer.listed("", "ConfigMap");
            world.complete(1);
            world
        }

        /// The target watch delivers an object that this controller wrote.
        fn show(&mut self, number: usize, controller: &str) {
            self.show_derived(number, controller, &Value::NULL);
        }

        /// As [`World::show`], for an object with this origin.
        fn show_derived(&mut self, number: usize, controller: &str, origin: &Value) {
            self.version += 1;
            let (key, writer) = (config_map(number), &self.task.writes.writer);
            let claim = Claim::new(writer.operator(), controller, origin, true).print(&key);
            let (name, version) = (key.object_name(), self.version.to_string());
            let object = json!({"metadata": {
                "name": name, "namespace": "ns", "resourceVersion": version,
                "annotations": {OWNER: claim},
            }});
            writer.observe("", "ConfigMap", &object);
        }

        /// The source object of the second controller changes from which it derives an object.
        fn derive(&mut self, number: usize) {
            self.version += 1;
            let (name, value) = (config_map(number).name, self.version.to_string());
            let object = json!({
                "metadata": {"name": (name.name.clone()), "namespace": "ns"},
                "data": {"k": value},
            });
            let object = Keep::new(&Fields::all(), Intake::default()).of(&object);
            self.task.inbox.put((1, 0), name, Some(object), false);
        }

        /// A controller has received everything that it reads.
        fn complete(&mut self, number: usize) {
            let inbox = &self.task.inbox;
            inbox.set((number, 0), |port| port.listed = true);
            self.task.take();
        }

        /// Processes a batch. Returns how many objects were judged that still have to wait.
        fn judged(&mut self) -> usize {
            self.task.writes.writer.await_nothing();
            self.task.take();
            self.task.writes.writer.awaited()
        }

        /// How many objects wait, and how many have been passed to the writer.
        fn counts(&self) -> (usize, usize) {
            let written = self.task.writes.writer.keys(Some("second"));
            let pending = &self.task.controllers[1].pending;
            (pending.objects.len(), written.len())
        }
    }

    #[tokio::test]
    async fn an_event_does_not_judge_the_objects_that_wait_again() {
        let mut world = World::new();
        assert_eq!(world.counts(), (MANY, 0));
        for number in 0..10 {
            world.derive(number);
            assert_eq!(world.judged(), 1);
        }
        assert_eq!(world.counts(), (MANY, 0));
    }

    #[tokio::test]
    async fn an_object_that_the_target_watch_delivers_is_judged_again() {
        let mut world = World::new();
        world.show(7, "second");
        world.task.take();
        assert_eq!(world.counts(), (MANY - 1, 1));
        // No object is in this list.
        world.task.writes.writer.listing("", "ConfigMap");
        world.task.writes.writer.listed("", "ConfigMap");
        world.task.take();
        assert_eq!(world.counts(), (0, MANY));
    }

    #[tokio::test]
    async fn all_objects_are_judged_again_when_a_controller_opens() {
        let mut world = World::new();
        world.complete(0);
        assert_eq!(world.counts(), (0, MANY));
    }

    #[tokio::test]
    async fn an_object_waits_until_the_source_object_that_it_was_derived_from_is_read() {
        let mut world = World::new();
        world.complete(0);
        let unread = config_map(MANY + 1).name;
        let origin = json!([{"source": "B", "name": (unread.name.clone()), "namespace": "ns"}]);
        world.show_derived(MANY, "second", &origin);
        let inbox = world.task.inbox.clone();
        inbox.put_unreadable((1, 0), unread, Unreadable::Large);
        world.derive(MANY);
        world.task.take();
        assert_eq!(world.counts(), (1, MANY));
        world.derive(MANY + 1);
        world.task.take();
        assert_eq!(world.counts(), (0, MANY + 2));
    }
}
