//! Reading in one pass has the same result as three passes: read the whole object, clean it, and
//! prune it.
//!
//! The objects are random JSON, with keys in any order and values of unexpected types. The three
//! passes are implemented here as simply as possible.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dataflow::fields::{Fields, Header, HeaderFields, Intake, Keep, ObjectReader, Versions};
use document::{Key, Map, Value, View};
use object::marks::is_mark;
use seeded::Random;

/// The number of seeds of a normal test run.
const RUNS: u64 = 10_000;

/// The second pass: removes the fields that no pipeline sees.
fn clean(object: &Value, intake: Intake) -> Value {
    let Some(fields) = object.as_map() else {
        return object.clone();
    };
    let fields = fields.iter().map(|(key, value)| {
        let value = match key.as_str() {
            "metadata" => clean_metadata(value, intake),
            "data" if intake.secret => decode(value),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    fields.collect::<Map>().into()
}

fn clean_metadata(metadata: &Value, intake: Intake) -> Value {
    let Some(fields) = metadata.as_map() else {
        return metadata.clone();
    };
    let fields = fields.iter().filter_map(|(key, value)| {
        let value = match key.as_str() {
            "managedFields" => None,
            "resourceVersion" if intake.view || !intake.versions.resource_version => None,
            "generation" if intake.view || !intake.versions.generation => None,
            "uid" | "creationTimestamp" if intake.view => None,
            "labels" | "annotations" => without_marks(value),
            _ => Some(value.clone()),
        };
        Some((key.clone(), value?))
    });
    fields.collect::<Map>().into()
}

/// Labels or annotations without marks; `None` if they consist of marks.
fn without_marks(value: &Value) -> Option<Value> {
    let Some(map) = value.as_map().filter(|map| !map.is_empty()) else {
        return Some(value.clone());
    };
    let rest = map.iter().filter(|(key, _)| !is_mark(key.as_str()));
    let rest: Map = rest.cloned().collect();
    (!rest.is_empty()).then(|| rest.into())
}

fn decode(data: &Value) -> Value {
    let Some(map) = data.as_map() else {
        return data.clone();
    };
    let decoded = map.iter().map(|(key, value)| {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        let value = match bytes {
            Some(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => text.into(),
                Err(_) => Value::bytes(&bytes),
            },
            None => value.clone(),
        };
        (key.clone(), value)
    });
    decoded.collect::<Map>().into()
}

/// The third pass: keeps only these fields of a value.
fn prune(value: &Value, fields: &Fields) -> Value {
    if fields.all {
        return value.clone();
    }
    match value.view() {
        View::Map(map) => {
            let members = map.iter().filter_map(|(key, value)| {
                let named = fields.names.get(key);
                let parts: Vec<&Fields> = named.into_iter().chain(fields.each.as_deref()).collect();
                let (first, rest) = parts.split_first()?;
                let mut below = Fields::clone(first);
                for part in rest {
                    below.add(part);
                }
                Some((key.clone(), prune(value, &below)))
            });
            members.collect::<Map>().into()
        }
        View::List(items) => match &fields.each {
            Some(each) => items.iter().map(|item| prune(item, each)).collect(),
            None => Value::list([]),
        },
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => value.clone(),
    }
}

/// Names of members of objects, of their metadata, and others.
const OBJECT: [&str; 8] = [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "data",
    "status",
    "name",
    "x",
];
const METADATA: [&str; 12] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "labels",
    "annotations",
    "ownerReferences",
    "metadata",
    "x",
];
const LABELS: [&str; 7] = [
    "app",
    "x",
    "dcontroller.io/operator",
    "dcontroller.io/owner",
    "dcontroller.io/set.1234",
    "dcontroller.io/other",
    "kubectl.kubernetes.io/last-applied-configuration",
];
const OTHERS: [&str; 5] = [
    "x",
    "y",
    "metadata",
    "labels",
    "a name that is longer than a value",
];

/// Random fields to keep.
fn fields(random: &mut Random, names: &[&str], depth: usize) -> Fields {
    let mut fields = Fields::default();
    if depth == 4 || random.chance(15) {
        fields.all = true;
        return fields;
    }
    for _ in 0..random.below(4) {
        let name = *random.pick(names);
        let below = self::fields(random, below(name), depth + 1);
        fields.names.insert(Key::new(name), below);
    }
    if random.chance(20) {
        let each = self::fields(random, &OTHERS, depth + 1);
        fields.each = Some(Box::new(each));
    }
    fields
}

/// Likely names inside a member.
fn below(name: &str) -> &'static [&'static str] {
    match name {
        "metadata" => &METADATA,
        "labels" | "annotations" => &LABELS,
        _ => &OTHERS,
    }
}

fn intake(random: &mut Random) -> Intake {
    Intake {
        view: random.chance(30),
        secret: random.chance(30),
        versions: Versions {
            resource_version: random.chance(50),
            generation: random.chance(50),
        },
        uid: random.chance(50),
    }
}

/// The JSON of a map with some of these members, in any order, and some of them twice.
fn map(random: &mut Random, names: &[&'static str], depth: usize) -> String {
    let mut members: Vec<String> = Vec::new();
    let mut names = names.to_vec();
    random.shuffle(&mut names);
    names.truncate(random.below(names.len().min(6) + 1));
    if random.chance(10) && !names.is_empty() {
        names.push(names[0]);
    }
    for name in names {
        let value = match name {
            "metadata" | "labels" | "annotations" if depth < 2 && random.chance(85) => {
                map(random, below(name), depth + 1)
            }
            _ => value(random, depth + 1),
        };
        members.push(format!(r#""{name}": {value}"#));
    }
    format!("{{{}}}", members.join(", "))
}

fn value(random: &mut Random, depth: usize) -> String {
    let deep = if depth > 3 { 0 } else { 10 };
    match random.weighted(&[10, 10, 20, 30, deep, deep]) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => (*random.pick(&[
            "0",
            "-7",
            "2.5",
            "1e300",
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551615",
            "3.0",
        ]))
        .to_owned(),
        3 => (*random.pick(&[
            r#""""#,
            r#""web""#,
            r#""aGVsbG8=""#,
            r#""//79""#,
            r#""a \"text\" \u00e9 that is longer than a value""#,
        ]))
        .to_owned(),
        4 => {
            let items: Vec<String> = (0..random.below(4))
                .map(|_| value(random, depth + 1))
                .collect();
            format!("[{}]", items.join(","))
        }
        _ => map(random, &OTHERS, depth),
    }
}

fn object(random: &mut Random) -> String {
    if random.chance(2) {
        return value(random, 3);
    }
    map(random, &OBJECT, 0)
}

/// The result of the three passes, and the uid that is stored beside the document.
fn three_passes(object: &Value, fields: &Fields, intake: Option<Intake>) -> (Value, Value) {
    let cleaned = intake.map_or_else(|| object.clone(), |intake| clean(object, intake));
    let uid = match intake {
        Some(intake) if intake.uid && !intake.view => object.get("metadata").get("uid").clone(),
        Some(_) | None => Value::NULL,
    };
    (prune(&cleaned, fields), uid)
}

fn run(random: &mut Random) {
    let text = object(random);
    let whole: Value = text.parse().unwrap();
    let cases: Vec<(Fields, Option<Intake>)> = (0..3)
        .map(|_| {
            let fields = fields(random, &OBJECT, 0);
            (fields, random.chance(90).then(|| intake(random)))
        })
        .collect();
    let keeps: Vec<Keep> = cases
        .iter()
        .map(|(fields, intake)| match intake {
            Some(intake) => Keep::new(fields, *intake),
            None => Keep::fields(fields),
        })
        .collect();
    let shared = Keep::union(&keeps).read(text.as_bytes()).unwrap();
    for (keep, (fields, intake)) in keeps.iter().zip(&cases) {
        let (document, uid) = three_passes(&whole, fields, *intake);
        let expect = (&document, &uid);
        let at = format!("{:?} {intake:?} of {text}", fields.describe());
        let read = keep.read(text.as_bytes()).unwrap();
        assert_eq!((read.document(), read.uid()), expect, "read, {at}");
        let taken = keep.of(&whole);
        assert_eq!((taken.document(), taken.uid()), expect, "in memory, {at}");
        let part = keep.of(shared.document());
        assert_eq!(
            (part.document(), part.uid()),
            expect,
            "of a shared watch, {at}"
        );
        let reader = ObjectReader::new(keep.clone(), HeaderFields::ALL);
        let (header, read) = reader.read(&text).unwrap();
        assert_eq!(
            (read.document(), read.uid()),
            expect,
            "beside a header, {at}"
        );
        assert_eq!(header, Header::of(&whole), "{at}");
    }
}

#[test]
fn one_pass_gives_what_reading_cleaning_and_pruning_give() {
    seeded::check(RUNS, run);
}
