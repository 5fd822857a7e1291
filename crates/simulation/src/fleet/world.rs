//! The users and administrators of a fleet: what they do to sources, targets and Operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use document::{Value, json};
use expr::Time;
use object::ObjectKey;
use object::marks::ALLOW_DELETIONS;
use offline::EventType;
use seeded::Random;
use target::claim::Claim;

use super::identity::{Backup, Identities};
use super::member::{Edits, Member};
use super::truth::{Standing, Truth};
use crate::api::Server;
use crate::api::kind::Kind;
use crate::clock::WallClock;
use crate::fields::{at, set, unset};
use crate::world::sources::{GROUPS, PLACES, healed, item, link, random_item, random_link};
use crate::world::{complete, is_bad, put_bystanders};

/// [`TOKEN`](crate::api::policy::TOKEN) in base64, at the start of a value.
pub(super) const ENCODED_TOKEN: &str = "czNjcjN0";
/// In answers, this text is replaced by a value that is nested too deeply to be read.
const UNREADABLE: &str = "too deep to be read";
/// The fields of Items that may have this text.
const SPOILED: [&str; 2] = ["group", "size"];
/// How many levels such a value has.
const DEPTH: usize = 150;

/// The kinds that the fleets write.
const TARGETS: [(&str, &str); 6] = [
    ("", "ConfigMap"),
    ("", "Secret"),
    ("apps", "Deployment"),
    ("example.com", "Plain"),
    ("example.com", "Thing"),
    ("example.com", "Widget"),
];

/// The users' side of a cluster.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) fleet: &'static [Member],
    /// The namespace that the processes are limited to.
    pub(super) namespace: Option<&'static str>,
    pub(super) operators: BTreeMap<&'static str, AdminState>,
    /// How often Operators were created or edited. Each time, deltic forgets the answers to its
    /// writes.
    pub(super) edited: Arc<AtomicU64>,
    pub(super) truth: Truth,
    /// The objects of users, as they would be without deltic.
    pub(super) user_objects: BTreeMap<ObjectKey, Value>,
    /// The last states of Items that every Operator can evaluate.
    good: BTreeMap<ObjectKey, Value>,
    /// Whether deletions that `maxDeletions` holds are allowed.
    pub(super) allowed: Arc<AtomicBool>,
    /// Objects that look derived but are not. Nobody ever writes them.
    pub(super) bystanders: BTreeMap<ObjectKey, Value>,
    /// The uids of the Operators.
    pub(super) identities: Identities,
    /// The members that were renamed.
    pub(super) renamed: Vec<&'static Member>,
    /// The last backup.
    pub(super) backup: Backup,
    /// The Operator in the backup that is being restored.
    pub(super) restored: Option<Value>,
    pub(super) time: WallClock,
}

/// The state of an Operator as its administrator knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AdminState {
    pub(super) edits: Edits,
    pub(super) exists: bool,
    /// Whether it has been deleted together with its objects.
    leaves: bool,
}

impl World {
    /// A cluster with a fleet.
    pub(super) fn new(
        server: Server,
        fleet: &'static [Member],
        time: WallClock,
        namespace: Option<&'static str>,
    ) -> Self {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(DEPTH), "}".repeat(DEPTH));
        server.with(|state| state.sent_as.push((UNREADABLE, deep)));
        let mut world = Self {
            fleet,
            namespace,
            operators: BTreeMap::new(),
            edited: Arc::default(),
            truth: Truth::new(fleet, time.clone()),
            user_objects: BTreeMap::new(),
            good: BTreeMap::new(),
            allowed: Arc::default(),
            bystanders: BTreeMap::new(),
            identities: Identities::default(),
            renamed: Vec::new(),
            backup: Backup::default(),
            restored: None,
            time,
            server,
        };
        for member in fleet {
            let bystanders = put_bystanders(&world.server, target_kinds()[0], member.name);
            world.bystanders.extend(bystanders);
            world.put_operator(member, Edits::default());
        }
        world
    }

    /// Creates or edits an Operator.
    pub(super) fn put_operator(&mut self, member: &Member, edits: Edits) {
        let old = self.operators.get(member.name).copied().unwrap_or_default();
        // Only `rename_operator` gives it another name.
        let aliased = old.edits.aliased;
        let edits = Edits { aliased, ..edits };
        let key = member.key(edits);
        let there = self.server.get(&key);
        // An Operator that is being deleted cannot be edited any more.
        if there.is_some() && !old.exists {
            return;
        }
        let state = AdminState {
            edits,
            exists: true,
            leaves: false,
        };
        self.operators.insert(member.name, state);
        self.edited.fetch_add(1, Ordering::SeqCst);
        let decisive = !old.exists || !edits.derives_as(old.edits);
        self.tell_truth(member, decisive);
        let manifest = member.manifest(edits);
        if there.is_none() {
            let manifest = self.restored.as_ref().unwrap_or(&manifest);
            self.server.put(&key, "admin", manifest);
            return self.identities.created(&self.server, &key);
        }
        let spec = manifest.get("spec").clone();
        self.server.set(&key, "admin", &["spec"], spec);
    }

    /// Deletes an Operator.
    pub(super) fn delete_operator(&mut self, member: &Member) {
        let Some(state) = self
            .operators
            .get(member.name)
            .filter(|s| s.exists)
            .copied()
        else {
            return;
        };
        let key = member.key(state.edits);
        self.server.delete(&key);
        let waits = self.server.get(&key).is_some();
        let state = AdminState {
            exists: false,
            leaves: waits && state.edits.deletes,
            ..state
        };
        self.operators.insert(member.name, state);
        self.tell_truth(member, true);
    }

    fn tell_truth(&self, changed: &Member, decisive: bool) {
        let standings = self.operators.iter().map(|(name, state)| {
            let standing = match state {
                AdminState { leaves: true, .. } => Standing::Leaves,
                AdminState { exists: false, .. } => Standing::Down,
                AdminState { edits, .. } if edits.invalid => Standing::Down,
                AdminState { edits, .. } => Standing::Runs(*edits),
            };
            (*name, standing)
        });
        let objects = |objects: &BTreeMap<ObjectKey, Value>| {
            let inside = objects.iter().filter(|(key, _)| self.is_inside(key));
            let readable = inside.filter(|(_, object)| is_readable(object));
            let complete = readable.map(|(key, object)| complete(key, object));
            complete.collect()
        };
        self.truth.operator(
            changed,
            decisive,
            &standings.collect(),
            objects(&self.good),
            objects(&self.user_objects),
        );
    }

    /// An Operator that is being deleted.
    pub(super) fn leaving(&self) -> Option<&'static str> {
        let mut fleet = self.fleet.iter();
        let leaves = |member: &&Member| {
            let state = self.operators.get(member.name).copied().unwrap_or_default();
            !state.exists && self.server.get(&member.key(state.edits)).is_some()
        };
        fleet.find(leaves).map(|member| member.name)
    }

    /// Repairs what administrators have broken: all Operators exist and are valid.
    pub(super) fn repair_operators(&mut self) {
        for member in self.fleet {
            let state = self.operators.get(member.name).copied().unwrap_or_default();
            if state.exists && !state.edits.invalid {
                continue;
            }
            let edits = Edits {
                invalid: false,
                ..state.edits
            };
            // One that is being deleted needs a valid spec, too, to find its objects.
            let spec = member.manifest(edits).get("spec").clone();
            self.server
                .set(&member.key(edits), "admin", &["spec"], spec);
            self.put_operator(member, edits);
        }
    }

    /// Allows all deletions that `maxDeletions` holds, or forbids them again.
    pub(super) fn allow_deletions(&self, allow: bool) {
        self.allowed.store(allow, Ordering::SeqCst);
        // The other Operators have to do without a change that wakes them.
        for member in self.fleet.iter().filter(|member| member.is_limited()) {
            let key = member.key(Edits::default());
            self.server.change(&key, "admin", |operator| {
                let path = ["metadata", "annotations", ALLOW_DELETIONS];
                let generation = at(operator, &["metadata", "generation"]).to_string();
                if allow {
                    set(operator, &path, generation.into())
                } else {
                    unset(operator, &path)
                }
            });
        }
    }

    /// The objects that the fleet has created.
    pub(super) fn derived(&self) -> Vec<(ObjectKey, Value)> {
        let all = target_kinds()
            .into_iter()
            .flat_map(|kind| self.server.all(kind));
        let ours = |(key, object): &(ObjectKey, Value)| {
            let claim = Claim::read(object, key);
            let names = names(self.fleet);
            let known = |claim: &Claim| names.contains(&claim.operator.as_str());
            claim.is_some_and(|claim| claim.created && known(&claim))
        };
        all.filter(ours).collect()
    }
}

/// Objects of users.
impl World {
    pub(super) fn put(&mut self, key: &ObjectKey, object: &Value) {
        self.server.put(key, "user", object);
        self.know(key, object.clone());
    }

    fn know(&mut self, key: &ObjectKey, object: Value) {
        let readable = is_readable(&object);
        let kind = EventType::Modified;
        if self.is_inside(key) {
            self.truth
                .change(key, complete(key, &object), kind, readable);
        }
        if readable && !is_failing(key, &object) {
            self.good.insert(key.clone(), object.clone());
        }
        self.user_objects.insert(key.clone(), object);
    }

    pub(super) fn delete(&mut self, key: &ObjectKey) {
        self.server.delete(key);
        self.good.remove(key);
        if let Some(object) = self.user_objects.remove(key)
            && self.is_inside(key)
        {
            let kind = EventType::Deleted;
            self.truth.change(key, complete(key, &object), kind, true);
        }
    }

    /// Whether the processes may read and write an object.
    pub(super) fn is_inside(&self, key: &ObjectKey) -> bool {
        let mut namespace = self.namespace.iter();
        namespace.all(|namespace| *namespace == key.namespace())
    }

    /// The keys of the objects of a kind.
    fn keys(&self, kind: &str) -> Vec<ObjectKey> {
        let keys = self.user_objects.keys();
        keys.filter(|key| key.kind.kind.as_str() == kind)
            .cloned()
            .collect()
    }

    pub(super) fn put_item(&mut self, random: &mut Random) {
        let (key, mut object) = (item(random), random_item(random));
        if self.reads_time() && random.chance(70) {
            let left = *random.pick(&[-60, 2, 20, 300, 3_600, 86_400]);
            let until = Time::of_unix(self.time.now() + left).unwrap_or(Time::EPOCH);
            object = set(&object, &["spec", "until"], until.to_string().into());
        }
        self.put(&key, &object);
    }

    fn reads_time(&self) -> bool {
        self.fleet.iter().any(Member::reads_time)
    }

    /// Whether something changes by itself around this time: the time of an Item is over, or the
    /// next day has begun and not everything has ticked.
    pub(super) fn falls_due(&self) -> bool {
        let now = self.time.now();
        let mut times = self.user_objects.values().filter_map(|object| {
            let until = at(object, &["spec", "until"]).as_str()?;
            Some(Time::parse(until)?.seconds())
        });
        let soon = now - 60..=now + 5;
        self.reads_time() && (now % 86_400 < 180 || times.any(|time| soon.contains(&time)))
    }

    /// Makes an Item unreadable, for all Operators or for some.
    pub(super) fn spoil_item(&mut self, random: &mut Random) {
        let items = self.keys("Item");
        let key = if items.is_empty() || random.chance(20) {
            item(random)
        } else {
            random.pick(&items).clone()
        };
        let old = self.user_objects.get(&key).cloned();
        let mut object = old.unwrap_or_else(|| random_item(random));
        for field in *random.pick(&[&SPOILED[..], &SPOILED[..1], &SPOILED[1..]]) {
            object = set(&object, &["spec", *field], UNREADABLE.into());
        }
        self.put(&key, &object);
    }

    /// Deletes an object of a kind, and possibly creates it again at once.
    pub(super) fn delete_one(&mut self, kind: &str, random: &mut Random) {
        let keys = self.keys(kind);
        if keys.is_empty() {
            return;
        }
        let key = random.pick(&keys).clone();
        let old = self.user_objects.get(&key).cloned();
        self.delete(&key);
        if let Some(old) = old.filter(|_| random.chance(30)) {
            self.put(&key, &old);
        }
    }

    /// Deletes some objects of a kind while no watch can tell of it: processes have to learn it from
    /// a list.
    pub(super) fn lose_some(&mut self, kind: &str, random: &mut Random) {
        let expire = |server: &Server| server.with(|state| state.expire(kind));
        self.truth.hide(true);
        // History expires twice: here for open watches, and after the deletions for new ones.
        expire(&self.server);
        for key in self.keys(kind) {
            if random.chance(50) {
                self.delete(&key);
            }
        }
        expire(&self.server);
        self.truth.hide(false);
    }

    pub(super) fn put_link(&mut self, random: &mut Random) {
        let (key, object) = (link(random), random_link(random));
        self.put(&key, &object);
    }

    pub(super) fn put_secret(&mut self, random: &mut Random) {
        let (place, name) = (*random.pick(&PLACES), *random.pick(&["s0", "s1", "s2"]));
        let key = ObjectKey::new("", "Secret", place, name);
        let source = *random.pick(&GROUPS);
        // `s3cr3t-1`, `s3cr3t-22`, and bytes that are no text.
        let password = *random.pick(&["czNjcjN0LTE=", "czNjcjN0LTIy", "czNjcjN0//79"]);
        let quoted = *random.pick(&["no", "no", "yes"]);
        let labels = json!({"source": source, "quoted": quoted});
        let data = json!({"password": password});
        self.put(&key, &json!({"metadata": {"labels": labels}, "data": data}));
    }

    /// Creates a Deployment that may have the label that an Operator sets, or changes a field
    /// that no Operator sets.
    pub(super) fn put_deployment(&mut self, random: &mut Random) {
        let (place, name) = (*random.pick(&PLACES), *random.pick(&["web", "db"]));
        let key = ObjectKey::new("apps", "Deployment", place, name);
        let replicas = random.below(4);
        if let Some(old) = self.user_objects.get(&key) {
            let change = |object: &Value| set(object, &["spec", "replicas"], replicas.into());
            self.know(&key, change(old));
            return self.server.change(&key, "user", change);
        }
        let mut object = json!({"spec": {"replicas": replicas}});
        if random.chance(60) {
            let team = *random.pick(&GROUPS);
            object = set(&object, &["metadata", "labels", "team"], team.into());
        }
        self.put(&key, &object);
    }

    /// Deletes all Items, Links and Secrets.
    pub(super) fn empty(&mut self) {
        let keys = self.user_objects.keys();
        let sources = keys.filter(|key| key.kind.kind.as_str() != "Deployment");
        for key in sources.cloned().collect::<Vec<_>>() {
            self.delete(&key);
        }
    }

    /// Corrects all objects that cannot be read or evaluated, or whose targets are refused.
    pub(super) fn heal(&mut self) {
        let mut healthy = Vec::new();
        for (key, object) in &self.user_objects {
            let whole = match key.kind.kind.as_str() {
                "Item" if !is_readable(object) => {
                    set(&healed(object), &["spec", "group"], "red".into())
                }
                "Item" if is_bad(object) => healed(object),
                "Secret" if is_failing(key, object) => {
                    let object = set(object, &["metadata", "labels", "quoted"], "no".into());
                    // `1234`
                    set(&object, &["data", "password"], "MTIzNA==".into())
                }
                _ => continue,
            };
            healthy.push((key.clone(), whole));
        }
        for (key, object) in healthy {
            self.put(&key, &object);
        }
    }
}

/// The kinds that the fleets write.
pub(super) fn target_kinds() -> Vec<&'static Kind> {
    let kinds = TARGETS.iter();
    kinds
        .filter_map(|(group, name)| Kind::named(group, name))
        .collect()
}

/// The names of a fleet's Operators, also those that they have while they are renamed.
pub(super) fn names(fleet: &[Member]) -> Vec<&'static str> {
    let names = fleet.iter().flat_map(|member| [member.name, member.alias]);
    let names: BTreeSet<&'static str> = names.collect();
    names.into_iter().collect()
}

fn is_readable(object: &Value) -> bool {
    let mut fields = SPOILED.iter().map(|field| at(object, &["spec", field]));
    fields.all(|field| field.as_str() != Some(UNREADABLE))
}

/// Whether an Operator fails on an object, or the server refuses what derives from it.
fn is_failing(key: &ObjectKey, object: &Value) -> bool {
    match key.kind.kind.as_str() {
        "Item" => is_bad(object),
        "Secret" => {
            let labels = at(object, &["metadata", "labels"]);
            let number = at(object, &["data", "password"]).as_str() == Some("MTIzNA==");
            let fails = labels.get("source").as_str() == Some("red") && !number;
            fails || labels.get("quoted").as_str() == Some("yes")
        }
        _ => false,
    }
}
