//! The Operators of a fleet.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::thread::LocalKey;

use document::{Value, json};
use object::{ObjectKey, VIEW_SUFFIX};
use operator::{Controller, Operator};
use seeded::Random;

use crate::fields::{at, set};
use crate::shape::salted;

/// An Operator of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of the Operator, and the prefix of the names of its targets.
    pub name: &'static str,
    /// The other name that the Operator has while it is renamed.
    pub alias: &'static str,
    manifest: &'static str,
    /// Whether each target derives from a single object of the cluster. Then a process derives it
    /// even if it has not read other objects yet.
    pub one_to_one: bool,
    /// Whether it patches Deployments of users instead of creating objects.
    pub patches: bool,
    /// Whether it applies its objects, so that others may add fields to them.
    pub applies: bool,
}

macro_rules! member {
    ($name:literal) => {
        Member {
            name: $name,
            alias: concat!($name, "-two"),
            manifest: include_str!(concat!("../../fleet/", $name, ".yaml")),
            one_to_one: true,
            patches: false,
            applies: false,
        }
    };
}

/// The name of the Operator that may not remove anything because of a list.
pub(super) const LIMITED: &str = "limited";

const PRODUCER: Member = member!("producer");
const MIDDLE: Member = member!("middle");
const LEAF: Member = member!("leaf");
const FAN: Member = member!("fan");
const GROUPS: Member = member!("groups").mixes();
const JOINED: Member = member!("joined").mixes();
const STRICT: Member = member!("strict");
const CAREFUL: Member = member!("careful");
const CAPPED: Member = member!("limited");
const VAULT: Member = member!("vault");
const KEEPER: Member = member!("keeper");
const LENS: Member = member!("lens");
const TIMER: Member = member!("timer");
const TAGGER: Member = member!("tagger").mixes().patcher();
const PAIR: Member = member!("pair");
const APPLIED: Member = member!("applied").applier();
const TENANT: Member = member!("tenant");

/// The name of the fleet whose processes are limited to [`NAMESPACE`].
const BOUNDED: &str = "bounded";
const NAMESPACE: &str = "ns";

/// The namespace that the processes of a fleet are limited to.
pub(super) fn namespace_of(fleet: &str) -> Option<&'static str> {
    (fleet == BOUNDED).then_some(NAMESPACE)
}

/// All fleets, with their names.
pub const FLEETS: &[(&str, &[Member])] = &[
    ("chain", &[PRODUCER, MIDDLE, LEAF]),
    ("fan", &[PRODUCER, FAN, GROUPS]),
    ("join", &[PRODUCER, JOINED, MIDDLE]),
    ("errors", &[STRICT, CAREFUL]),
    ("limits", &[PRODUCER, CAPPED]),
    ("secrets", &[VAULT, KEEPER, LENS]),
    ("patches", &[PRODUCER, TAGGER]),
    ("time", &[PRODUCER, TIMER, FAN]),
    ("pair", &[PRODUCER, PAIR]),
    ("applies", &[PRODUCER, APPLIED]),
    ("tenants", &[PRODUCER, TENANT]),
    (BOUNDED, &[PRODUCER, JOINED, APPLIED]),
    ("all", &[PRODUCER, MIDDLE, LEAF, GROUPS, STRICT, CAREFUL]),
];

/// The spec of a member.
#[expect(clippy::struct_excessive_bools, reason = "independent edits")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edits {
    /// The value of an annotation on all derived objects; 0 for none.
    pub salt: u64,
    /// Whether the first controller has another name.
    pub renamed: bool,
    /// Whether only names that end with `a` are derived.
    pub narrow: bool,
    /// Whether derived objects are deleted with the Operator.
    pub deletes: bool,
    /// Whether the targets have another kind.
    pub other_kind: bool,
    /// Whether the spec is invalid.
    pub invalid: bool,
    /// Whether the Operator has its other name. That is no edit: it is deleted and created.
    pub aliased: bool,
}

impl Edits {
    /// Random edits.
    pub fn random(random: &mut Random) -> Self {
        Self {
            salt: random.range(0..3),
            renamed: random.chance(25),
            narrow: random.chance(25),
            deletes: random.chance(50),
            other_kind: random.chance(20),
            invalid: random.chance(35),
            aliased: false,
        }
    }

    /// Whether the same objects are derived as with the other spec, whatever the sources are.
    pub fn derives_as(self, other: Self) -> bool {
        let decisive = |edits: Self| (edits.narrow, edits.other_kind, edits.invalid);
        decisive(self) == decisive(other)
    }
}

/// What was read of the members, by their names and specs.
type Cache<T> = RefCell<BTreeMap<(&'static str, Edits), T>>;

impl Member {
    const fn mixes(mut self) -> Self {
        self.one_to_one = false;
        self
    }

    const fn applier(mut self) -> Self {
        self.applies = true;
        self
    }

    const fn patcher(mut self) -> Self {
        self.patches = true;
        self
    }

    /// The key of the Operator.
    pub fn key(&self, edits: Edits) -> ObjectKey {
        let name = if edits.aliased { self.alias } else { self.name };
        operator_key(name)
    }

    /// Whether the Operator may be renamed: nobody reads its views, it creates objects, and its
    /// name is not the subject of another check.
    pub fn is_renamable(&self, fleet: &[Self]) -> bool {
        let read = fleet
            .iter()
            .any(|other| other.upstream(fleet).contains(&self));
        !read && !self.patches && !self.is_limited()
    }

    /// Whether it is [`LIMITED`].
    pub fn is_limited(&self) -> bool {
        self.name == LIMITED
    }

    /// Whether this is an object that it derives.
    pub fn derives(&self, key: &ObjectKey) -> bool {
        if self.patches {
            return key.kind.kind.as_str() == "Deployment";
        }
        let rest = key.object_name().strip_prefix(self.name);
        rest.is_some_and(|rest| rest.starts_with('-'))
    }

    /// Whether it reads and writes as a service account.
    pub fn has_account(&self) -> bool {
        self.manifest.contains("serviceAccount:")
    }

    /// Whether it derives something from the time.
    pub fn reads_time(&self) -> bool {
        self.manifest.contains("@now")
    }

    /// The manifest.
    ///
    /// # Panics
    ///
    /// If the file is not YAML.
    pub fn manifest(&self, edits: Edits) -> Value {
        thread_local! {
            static MANIFESTS: Cache<Value> = const { RefCell::new(BTreeMap::new()) };
        }
        self.cached(&MANIFESTS, edits, || self.read_manifest(edits))
    }

    /// Reads a file only once for each spec: most of a history would be spent on it.
    fn cached<T: Clone>(
        &self,
        cache: &'static LocalKey<Cache<T>>,
        edits: Edits,
        read: impl FnOnce() -> T,
    ) -> T {
        let key = (self.name, edits);
        if let Some(found) = cache.with_borrow(|cache| cache.get(&key).cloned()) {
            return found;
        }
        let new = read();
        cache.with_borrow_mut(|cache| cache.insert(key, new.clone()));
        new
    }

    fn read_manifest(&self, edits: Edits) -> Value {
        let manifests = manifest::parse_bytes(self.name, self.manifest.as_bytes().to_vec());
        let mut manifests = manifests.expect("the manifests of the simulation are YAML");
        let manifest = manifests.pop().expect("each file has one").value;
        let controllers = at(&manifest, &["spec", "controllers"]).as_list();
        let controllers = controllers.into_iter().flatten();
        let mut controllers: Vec<Value> = controllers
            .map(|controller| edited(&salted(controller, edits.salt), edits))
            .collect();
        if edits.renamed {
            controllers[0] = set(&controllers[0], &["name"], "renamed".into());
        }
        let manifest = set(&manifest, &["spec", "controllers"], controllers.into());
        let name = self.key(edits).object_name().to_owned();
        let manifest = set(&manifest, &["metadata", "name"], name.into());
        let policy = if edits.deletes { "Delete" } else { "Orphan" };
        set(&manifest, &["spec", "deletionPolicy"], policy.into())
    }

    /// The controllers of a valid spec.
    ///
    /// # Panics
    ///
    /// If the spec is invalid.
    pub fn controllers(&self, edits: Edits) -> Vec<Controller> {
        thread_local! {
            static CONTROLLERS: Cache<Vec<Controller>> = const { RefCell::new(BTreeMap::new()) };
        }
        let valid = Edits {
            invalid: false,
            ..edits
        };
        self.cached(&CONTROLLERS, valid, || self.read_controllers(valid))
    }

    fn read_controllers(&self, valid: Edits) -> Vec<Controller> {
        let manifest = self.manifest(valid);
        let (operator, problems) = operator::read(&manifest, &expr::Functions::builtin());
        let operator = operator.unwrap_or_else(|| panic!("{} is invalid: {problems:?}", self.name));
        operator.controllers
    }

    /// The Operators whose views it reads, among these.
    pub fn upstream<'a>(&self, fleet: &'a [Self]) -> Vec<&'a Self> {
        let reads = |other: &&'a Self| {
            let group = format!("apiGroup: {}{VIEW_SUFFIX}\n", other.name);
            self.manifest.contains(&group)
        };
        fleet.iter().filter(reads).collect()
    }

    /// Whether it reads a kind of the cluster, itself or through views.
    pub fn reads(&self, fleet: &[Self], kind: &str) -> bool {
        let itself = self.manifest.contains(&format!("kind: {kind}\n"));
        let mut upstream = self.upstream(fleet).into_iter();
        itself || upstream.any(|upstream| upstream.reads(fleet, kind))
    }
}

/// Whether a fleet reads Secrets.
pub(super) fn has_secrets(fleet: &[Member]) -> bool {
    let mut members = fleet.iter();
    members.any(|member| member.reads(fleet, "Secret"))
}

/// Whether an Operator of a fleet may not remove anything because of a list.
pub(super) fn has_limit(fleet: &[Member]) -> bool {
    fleet.iter().any(Member::is_limited)
}

/// The key of an Operator.
pub(super) fn operator_key(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
}

/// One Operator with the controllers of several, to run them offline.
pub fn merged(controllers: Vec<Controller>) -> Operator {
    Operator {
        name: "fleet".to_owned(),
        deletion_policy: operator::spec::DeletionPolicy::Orphan,
        service_account: None,
        max_deletions: None,
        controllers,
    }
}

/// A controller with the edits that change its pipeline or target.
fn edited(controller: &Value, edits: Edits) -> Value {
    let mut stages: Vec<Value> = controller
        .get("pipeline")
        .as_list()
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if edits.narrow {
        stages.push(json!({"@select": {"@endswith": ["$.metadata.name", "a"]}}));
    }
    if edits.invalid {
        stages.push(json!({"@nonsense": 1}));
    }
    let controller = set(controller, &["pipeline"], stages.into());
    let kind = at(&controller, &["target", "kind"]).as_str();
    if edits.other_kind && kind == Some("ConfigMap") {
        let target = json!({"apiGroup": "example.com", "kind": "Thing"});
        return set(&controller, &["target"], target);
    }
    controller
}
