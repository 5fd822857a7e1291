use std::collections::{BTreeMap, BTreeSet};

use super::*;
use document::Value;

const SIZES: [usize; 2] = [1_000, 4_000];

fn parsed(generator: Generator) -> Vec<(usize, Value)> {
    let parse = |object: Object| (object.source, parse(&object));
    generator.objects().map(parse).collect()
}

fn parse(object: &Object) -> Value {
    let event: Value = object.line.parse().unwrap();
    event.get("object").clone()
}

fn key(object: &Value) -> String {
    let metadata = object.get("metadata");
    format!("{}/{}", metadata.get("namespace"), metadata.get("name"))
}

#[test]
fn objects_have_1300_bytes_on_average() {
    for workload in Workload::ALL {
        for count in SIZES {
            let generator = Generator::new(workload, count);
            let bytes: usize = generator
                .objects()
                .map(|object| parse(&object).to_string().len())
                .sum();
            let mean = bytes / count;
            assert!(
                (1170..=1430).contains(&mean),
                "{workload:?} at {count}: {mean} bytes"
            );
        }
    }
}

#[test]
fn objects_are_repeatable_and_their_keys_unique() {
    for workload in Workload::ALL {
        let objects = parsed(Generator::new(workload, 4_000));
        assert_eq!(objects, parsed(Generator::new(workload, 4_000)));
        let keys: BTreeSet<_> = objects.iter().map(|(s, o)| (*s, key(o))).collect();
        assert_eq!(keys.len(), objects.len(), "{workload:?}");
        for (source, object) in &objects {
            let (api_version, kind) = workload.sources()[*source];
            assert_eq!(object.get("kind").as_str(), Some(kind));
            assert_eq!(object.get("apiVersion").as_str(), Some(api_version));
        }
    }
}

/// How many services have 0, 1, 2… slices.
fn slices_per_service(count: usize) -> BTreeMap<usize, usize> {
    let objects = parsed(Generator::new(Workload::W1, count));
    let mut slices: BTreeMap<String, usize> = objects
        .iter()
        .filter(|(source, _)| *source == 0)
        .map(|(_, service)| (key(service), 0))
        .collect();
    for (_, slice) in objects.iter().filter(|(source, _)| *source == 1) {
        let metadata = slice.get("metadata");
        let service = metadata.get("labels").get("kubernetes.io/service-name");
        let owner = format!("{}/{}", metadata.get("namespace"), service);
        *slices.get_mut(&owner).unwrap() += 1;
    }
    let mut spread = BTreeMap::new();
    for count in slices.values() {
        *spread.entry(*count).or_default() += 1;
    }
    spread
}

#[test]
fn services_have_one_slice_on_average_some_none_some_more() {
    for count in SIZES {
        let spread = slices_per_service(count);
        let total: usize = spread.iter().map(|(slices, n)| slices * n).sum();
        assert_eq!(total, count / 2);
        assert_eq!(spread.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(spread[&1] > count / 4);
    }
}

#[test]
fn gateways_have_about_ten_routes_at_every_size() {
    for count in SIZES {
        let objects = parsed(Generator::new(Workload::W2, count));
        let mut references = 0;
        for (_, route) in objects.iter().filter(|(source, _)| *source == 1) {
            let parents = route.get("spec").get("parentRefs").as_list().unwrap();
            assert!((1..=2).contains(&parents.len()));
            references += parents.len();
        }
        let mean = references as f64 / (count / 10) as f64;
        assert!((9.0..=11.0).contains(&mean), "{mean} at {count}");
    }
}

#[test]
fn groups_have_about_ten_members_and_the_hot_one_five_percent() {
    for count in SIZES {
        let mut members: BTreeMap<String, usize> = BTreeMap::new();
        for (_, slice) in parsed(Generator::new(Workload::W3, count)) {
            let endpoints = slice.get("endpoints").as_list().unwrap().len();
            assert_eq!(endpoints, 8);
            let service = slice
                .get("metadata")
                .get("labels")
                .get("kubernetes.io/service-name");
            *members.entry(service.to_string()).or_default() += endpoints;
        }
        let hot = *members.values().max().unwrap();
        assert_eq!(hot, count * 8 / 20);
        let mean = (count * 8 - hot) as f64 / (members.len() - 1) as f64;
        assert!((9.5..=10.5).contains(&mean), "{mean} at {count}");
    }
}

#[test]
fn namespaces_hold_about_fifty_objects_at_every_size() {
    for workload in [Workload::W1, Workload::W2, Workload::W3] {
        for count in SIZES {
            let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
            for (_, object) in parsed(Generator::new(workload, count)) {
                let namespace = object.get("metadata").get("namespace").to_string();
                *sizes.entry(namespace).or_default() += 1;
            }
            // W3 has one more, which holds the hot service.
            let hot = if workload == Workload::W3 {
                count / 20
            } else {
                0
            };
            let usual = sizes.len() - usize::from(hot > 0);
            let mean = (count - hot) as f64 / usual as f64;
            assert!((45.0..=55.0).contains(&mean), "{workload:?}: {mean}");
        }
    }
}

#[test]
fn every_update_is_another_version_of_an_object_that_exists() {
    for workload in Workload::ALL {
        let generator = Generator::new(workload, 1_000);
        let mut current: BTreeMap<_, _> = parsed(generator)
            .into_iter()
            .map(|(source, object)| ((source, key(&object)), object))
            .collect();
        for (_, updates) in generator.updates(UPDATES) {
            assert!(updates.len() >= UPDATES / COLD);
            for update in updates {
                let object = parse(&update);
                let stored = current.get_mut(&(update.source, key(&object))).unwrap();
                let spec = |o: &Value| (o.get("spec").clone(), o.get("endpoints").clone());
                assert_ne!(spec(stored), spec(&object), "{workload:?}");
                *stored = object;
            }
        }
    }
}
