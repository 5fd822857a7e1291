//! Random applies, updates and patches of several managers, compared with a naive model. A failure
//! prints its seed; `RANDOM_SEED` runs a single one.
//!
//! The model knows an object as a flat map from fields to values, and a manager as a set of
//! fields. It has none of the merging of the server, which works on nested documents and on
//! `managedFields`.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;

use document::{Key, Map, Value, json};
use futures::FutureExt as _;
use seeded::Random;

use crate::common::{Api, SHOP};

const SEEDS: u64 = 60;
const STEPS: usize = 40;

/// The fields that managers write. The last one is a list, which is owned as a whole.
const FIELDS: [&str; 6] = [
    "ready",
    "spec/a",
    "spec/b/c",
    "spec/b/d",
    "metadata/labels/x",
    "list",
];
const MANAGERS: [&str; 3] = ["one", "two", "three"];
const EARLIER: &str = "before-first-apply";

type Fields = BTreeMap<&'static str, i64>;

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    live: Fields,
    /// By name, and by whether it applies.
    managers: BTreeMap<(&'static str, bool), BTreeSet<&'static str>>,
}

impl Model {
    /// Applies these fields. Returns the conflicts, if there are any.
    fn apply(&mut self, manager: &'static str, fields: &Fields, force: bool) -> BTreeSet<String> {
        let who = (manager, true);
        // What nobody has set belongs to a manager from before the first apply.
        let mut before = self.clone();
        if before.managers.is_empty() && !before.live.is_empty() {
            let all = before.live.keys().copied().collect();
            before.managers.insert((EARLIER, false), all);
        }
        let changed: BTreeSet<&str> = fields
            .iter()
            .filter(|(field, value)| self.live.get(*field) != Some(value))
            .map(|(field, _)| *field)
            .collect();
        let others = before.managers.iter().filter(|(other, _)| **other != who);
        let conflicts: BTreeSet<String> = others
            .flat_map(|(_, owned)| owned.intersection(&changed).map(|field| shown(field)))
            .collect();
        if !conflicts.is_empty() && !force {
            return conflicts;
        }
        *self = before;
        let mut others = BTreeSet::new();
        for (other, owned) in &mut self.managers {
            if *other != who {
                owned.retain(|field| !changed.contains(field));
                others.extend(owned.iter().copied());
            }
        }
        let before = self.managers.remove(&who).unwrap_or_default();
        for field in before {
            if !fields.contains_key(field) && !others.contains(field) {
                self.live.remove(field);
            }
        }
        self.live.extend(fields);
        self.managers.insert(who, fields.keys().copied().collect());
        BTreeSet::new()
    }

    /// Sets and removes fields, without conflicts.
    fn update(&mut self, manager: &'static str, set: &Fields, removed: &BTreeSet<&'static str>) {
        let tracked = !self.managers.is_empty();
        let mut gained = BTreeSet::new();
        for (field, value) in set {
            if self.live.insert(field, *value) != Some(*value) {
                gained.insert(*field);
            }
        }
        let lost = removed
            .iter()
            .filter(|field| self.live.remove(*field).is_some());
        let lost: BTreeSet<&str> = lost.copied().collect();
        for owned in self.managers.values_mut() {
            owned.retain(|field| !gained.contains(field) && !lost.contains(field));
        }
        // An object without managers gets none by an update.
        if tracked {
            let own = self.managers.entry((manager, false));
            own.or_default().extend(gained);
        }
    }
}

/// A field as conflicts show it.
fn shown(field: &str) -> String {
    format!(".{}", field.replace('/', "."))
}

/// A document with these fields.
fn document(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut root = json!({
        "apiVersion": "shop.view.dcontroller.io/v1alpha1", "kind": "Health",
        "metadata": {"name": "web", "namespace": "shop"}
    });
    for (field, value) in fields {
        let steps: Vec<&str> = field.split('/').collect();
        root = set(&root, &steps, value);
    }
    root
}

fn set(value: &Value, steps: &[&str], leaf: Value) -> Value {
    let Some((first, rest)) = steps.split_first() else {
        return leaf;
    };
    let map = value.as_map().cloned();
    let map = map.unwrap_or_else(|| Map::from_sorted(Vec::new()));
    let inner = set(value.get(first), rest, leaf);
    map.with(Key::new(first), inner).into()
}

/// The value of a field: labels are texts, and the list has one element.
fn leaf(field: &str, number: i64) -> Value {
    match field {
        "metadata/labels/x" => number.to_string().into(),
        "list" => json!([number]),
        _ => number.into(),
    }
}

fn leaves(fields: &Fields) -> Vec<(&'static str, Value)> {
    let fields = fields.iter();
    fields.map(|(field, n)| (*field, leaf(field, *n))).collect()
}

/// The object on the server, in the terms of the model.
async fn stored(api: &Api) -> Model {
    let (code, object) = api.get(&format!("{SHOP}/web")).await;
    if code == 404 {
        return Model::default();
    }
    let at = |value: &Value, field: &str, prefix: &str| {
        field.split('/').fold(value.clone(), |value, step| {
            value.get(&format!("{prefix}{step}")).clone()
        })
    };
    let live = FIELDS.iter().filter_map(|field| {
        let value = at(&object, field, "");
        let number = match *field {
            "metadata/labels/x" => value.as_str()?.parse().ok(),
            "list" => value.at(0).as_int(),
            _ => value.as_int(),
        };
        number.map(|number| (*field, number))
    });
    let mut model = Model {
        live: live.collect(),
        ..Model::default()
    };
    let entries = object.get("metadata").get("managedFields").as_list();
    for entry in entries.into_iter().flatten() {
        let name = entry.get("manager").as_str().unwrap();
        let name = MANAGERS
            .into_iter()
            .chain([EARLIER])
            .find(|manager| *manager == name)
            .unwrap();
        let applies = entry.get("operation").as_str() == Some("Apply");
        let owns = |field: &&str| !at(entry.get("fieldsV1"), field, "f:").is_null();
        let owned = FIELDS.into_iter().filter(owns).collect();
        model.managers.insert((name, applies), owned);
    }
    model
}

fn some_fields(random: &mut Random) -> Fields {
    let mut fields = Fields::new();
    for field in FIELDS {
        if random.chance(40) {
            fields.insert(field, i64::try_from(random.below(3)).unwrap());
        }
    }
    fields
}

async fn run(seed: u64) -> [usize; 4] {
    let mut random = Random::new(seed);
    let api = Api::new();
    let mut model = Model::default();
    let mut seen = [0; 4];
    for step in 0..STEPS {
        let manager = *random.pick(&MANAGERS);
        let fields = some_fields(&mut random);
        let exists = step > 0 && stored(&api).await != Model::default();
        if !exists || random.chance(60) {
            let force = random.chance(30);
            let conflicts = model.apply(manager, &fields, force);
            let path = format!("{SHOP}/web?fieldManager={manager}&force={force}");
            let kind = [("content-type", "application/apply-patch+yaml")];
            let body = document(leaves(&fields)).to_string();
            let (code, answer) = api.call_with("PATCH", &path, &kind, &body).await;
            let causes = answer.get("details").get("causes").as_list();
            let causes = causes.into_iter().flatten();
            let found: BTreeSet<String> = causes
                .filter_map(|cause| cause.get("field").as_str().map(str::to_owned))
                .collect();
            assert_eq!(found, conflicts, "step {step}: {answer}");
            assert_eq!(code == 409, !conflicts.is_empty(), "step {step}: {answer}");
            seen[usize::from(code == 409)] += 1;
            seen[2] += usize::from(force);
        } else {
            let candidates = FIELDS.into_iter();
            let gone = candidates.filter(|field| !fields.contains_key(field) && random.chance(20));
            let removed: BTreeSet<&'static str> = gone.collect();
            model.update(manager, &fields, &removed);
            let nulls = removed.iter().map(|field| (*field, Value::NULL));
            let body = document(leaves(&fields).into_iter().chain(nulls)).to_string();
            let path = format!("{SHOP}/web?fieldManager={manager}");
            let kind = [("content-type", "application/merge-patch+json")];
            let (code, answer) = api.call_with("PATCH", &path, &kind, &body).await;
            assert_eq!(code, 200, "step {step}: {answer}");
            seen[3] += 1;
        }
        // Managers without fields are not listed.
        model.managers.retain(|_, owned| !owned.is_empty());
        let mut found = stored(&api).await;
        found.managers.retain(|_, owned| !owned.is_empty());
        assert_eq!(found, model, "step {step} by {manager}");
    }
    seen
}

#[tokio::test]
async fn applies_equal_a_naive_model() {
    let mut seen = [0; 4];
    for seed in seeded::seeds(SEEDS) {
        let run = AssertUnwindSafe(run(seed)).catch_unwind().await;
        let run = run.unwrap_or_else(|_| panic!("run it alone with RANDOM_SEED={seed}"));
        for (all, one) in seen.iter_mut().zip(run) {
            *all += one;
        }
    }
    // The test proves nothing about outcomes that never occur.
    let enough = seen.iter().all(|number| *number > 100);
    assert!(seeded::alone() || enough, "{seen:?}");
}
