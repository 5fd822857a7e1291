//! No value of a Secret, and nothing that is computed from one, is in the output of `trace` and `why`,
//! on random pipelines. Each Secret has a marker as its value, and the output is searched for the marker
//! and for what the pipelines make of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Location, Value, json};
use expr::{Env, Functions, Items, Scope};
use seeded::Random;

use crate::common::Files;

/// How much of a marker is enough to recognise it.
const PREFIX: usize = 5;

/// The length of a second value, which is too short to be searched for.
const SHORT: usize = 3;

/// What an output must not contain because of a marker.
fn traces(marker: &str) -> Vec<String> {
    let hash = |spec: Value| {
        let at = Location::root();
        let expr = expr::compile(&spec, &at, &Functions::builtin(), Items::None).unwrap();
        let value = expr.eval(&Scope::new(&Env::default(), &Value::NULL));
        value.unwrap().as_str().unwrap().to_owned()
    };
    let prefix = &marker[..PREFIX];
    vec![
        prefix.to_owned(),
        prefix.to_uppercase(),
        prefix.to_lowercase(),
        marker[marker.len() - PREFIX..].to_owned(),
        STANDARD.encode(marker),
        hash(json!({"@hash": marker})),
        hash(json!({"@hash": {"short": (&marker[..SHORT]), "token": marker}})),
    ]
}

struct Pipelines<'a> {
    random: &'a mut Random,
    /// Where the Secret is in the document: `$` or `$.Secret`.
    root: &'static str,
}

impl Pipelines<'_> {
    fn path(&mut self, of: &str) -> Value {
        format!("{}.{of}", self.root).into()
    }

    /// An expression, which often reads the value of the Secret.
    fn value(&mut self, depth: usize) -> Value {
        if depth == 0 || self.random.chance(20) {
            return match self.random.below(5) {
                0 => self.path("metadata.name"),
                1 => json!("text"),
                2 => self.path("data"),
                _ => self.path("data.token"),
            };
        }
        let a = self.value(depth - 1);
        let b = self.value(depth - 1);
        let string = json!({"@string": (a.clone())});
        let object = self.root.replacen('$', "object", 1);
        match self.random.below(18) {
            0 => json!({"@upper": string}),
            1 => json!({"@lower": string}),
            2 => json!({"@substring": [string, 1, 5]}),
            3 => json!({"@hash": a}),
            4 => json!({"@concat": [a, "-", b]}),
            5 => json!({"@split": [string, "q"]}),
            6 => json!({"@replace": [string, "text", "x"]}),
            7 => json!({"@cond": [{"@exists": (a.clone())}, a, b]}),
            8 => json!({"@cond": [{"@eq": [a, "text"]}, "yes", b]}),
            9 => json!({"@definedOr": [a, b]}),
            10 => json!({"@map": [{"@concat": ["$$", "!"]}, [a, b]]}),
            11 => json!({"@filter": [{"@exists": "$$"}, [a, b]]}),
            12 => json!({"k": a, "l": [b]}),
            13 => json!({"@merge": [{"k": a}, {"m": b}]}),
            14 => json!({"@cel": (format!("{object}.data.token.lowerAscii()"))}),
            15 => {
                json!({"@cel": (format!("{{'k': [{object}.data.token], 'n': {object}.metadata.name}}"))})
            }
            16 => json!({"@setField": ["$.made", a]}),
            _ => json!({"@query": (format!("{}.data[*]", self.root))}),
        }
    }

    fn condition(&mut self) -> Value {
        let value = self.value(1);
        match self.random.below(4) {
            0 => json!({"@eq": [value, "text"]}),
            1 => json!({"@and": [{"@exists": value}, {"@ne": [(self.value(1)), "x"]}]}),
            2 => json!({"@not": {"@eq": [value, null]}}),
            _ => json!({"@or": [{"@eq": [(value.clone()), "x"]}, {"@exists": value}]}),
        }
    }

    fn patch(&mut self) -> Value {
        let resource = self.root.replacen('$', "resource", 1);
        let token = format!("{resource}.data.token");
        let path = format!("{}/made", self.root.replace('$', "").replace('.', "/"));
        match self.random.below(4) {
            0 => {
                json!({"operations": [{"op": "add", "path": path, "value": (format!("${{{token}}}"))}]})
            }
            1 => json!({"operations": [
                {"op": "add", "path": path, "value": {"x": (format!("is ${{{token}.upperAscii()}}")), "y": 1}},
            ]}),
            2 => {
                json!({"operations": [{"op": "copy", "from": (path.replace("made", "data/token")), "path": path}]})
            }
            _ => json!({"forEach": (format!("${{[{token}, 'x']}}")), "operations": [
                {"op": "add", "path": path, "value": "${item}"},
            ]}),
        }
    }

    /// Stages, and the name of a result.
    fn stages(&mut self) -> Vec<Value> {
        let mut stages = Vec::new();
        for _ in 0..self.random.below(3) {
            stages.push(match self.random.below(4) {
                0 => json!({"@select": (self.condition())}),
                1 => json!({"@patch": (self.patch())}),
                2 => json!({"@distinct": null}),
                _ => json!({"@project": [{"$.": "$."}, {"$.made": (self.value(2))}]}),
            });
        }
        let plain = json!({"@string": (self.path("metadata.name"))});
        let name = match self.random.below(5) {
            0 => json!({"@concat": ["n-", {"@hash": (self.path("data"))}]}),
            1 => json!({"@lower": {"@string": (self.path("data.token"))}}),
            _ => plain,
        };
        stages.push(json!({"@project": {
            "metadata": {"name": name, "namespace": "ns"},
            "a": (self.value(3)), "b": (self.value(2)), "c": {"@list": (self.value(1))},
        }}));
        match self.random.below(5) {
            0 => stages.push(json!({"@gather": ["$.a", "$.metadata.name"]})),
            1 => stages.push(json!({"@gather": ["$.metadata.namespace", "$.b"]})),
            2 => stages.push(json!({"@unwind": "$.c"})),
            3 => {
                stages.push(json!({"@groupBy": ["$.b", "$.a"]}));
                stages.push(json!({"@project": {
                    "metadata": {"name": {"@concat": ["g", {"@hash": "$.key"}]}, "namespace": "ns"},
                    "group": "$.values", "of": "$.documents",
                }}));
            }
            _ => {}
        }
        stages
    }
}

fn operator(random: &mut Random) -> Value {
    let joins = random.chance(40);
    let mut make = Pipelines {
        root: if joins { "$.Secret" } else { "$" },
        random,
    };
    let mut stages = make.stages();
    let mut sources = vec![json!({"apiGroup": "", "kind": "Secret"})];
    if joins {
        sources.push(json!({"apiGroup": "", "kind": "Pod"}));
        let condition = match make.random.below(3) {
            0 => json!({"@eq": ["$.Secret.data.token", "$.Pod.metadata.labels.app"]}),
            _ => json!({"@eq": ["$.Secret.metadata.name", "$.Pod.metadata.name"]}),
        };
        stages.insert(0, json!({"@join": condition}));
    }
    let copies = json!([
        {"@select": {"@ne": ["$.a", "x"]}},
        {"@project": {"metadata": "$.metadata", "data": {"v": {"@string": "$"}}, "status": "$.a"}},
    ]);
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "op"},
        "spec": {"controllers": [
            {"name": "first", "sources": (Value::list(sources)), "pipeline": (Value::list(stages)),
             "target": {"kind": "V"}},
            {"name": "second", "sources": [{"kind": "V"}], "pipeline": copies,
             "target": {"apiGroup": "", "kind": "ConfigMap"}},
        ]},
    })
}

fn check(random: &mut Random) -> usize {
    let operator = operator(random);
    let letters = ["q", "Q", "z", "Z", "x", "K", "7", "w"];
    let markers: Vec<String> = (0..3)
        .map(|_| format!("jY{}", random.text(10, &letters)))
        .collect();
    let secrets = markers.iter().enumerate().map(|(number, marker)| {
        let data = json!({"token": (STANDARD.encode(marker)), "short": (STANDARD.encode(&marker[..SHORT]))});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": (format!("s{number}")), "namespace": "ns"}, "data": data})
    });
    let pods = (0..3).map(|number| {
        json!({"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": (format!("s{number}")), "namespace": "ns", "labels": {"app": "other"}}})
    });
    let objects: Vec<String> = secrets
        .chain(pods)
        .map(|object| object.to_string())
        .collect();
    let files = Files::new("random-secrets")
        .with("operator.json", &operator.to_string())
        .with("objects.yaml", &objects.join("\n---\n"));
    let given = ["-f", "operator.json", "-f", "objects.yaml"];
    let mut printed = 0;
    for asked in [
        vec!["trace", "secret/s0"],
        vec!["trace"],
        vec!["why", "not", "secret/s1"],
        vec!["why", "not", "secret/s2", "-o", "json"],
        vec!["why", "v/s0", "-o", "json"],
        vec!["why", "configmap/s1"],
        vec!["why", "configmap/s2", "-o", "mermaid"],
    ] {
        let run = files.deltic(&[asked.as_slice(), &given].concat());
        printed += usize::from(run.code == 0);
        for trace in markers.iter().flat_map(|marker| traces(marker)) {
            for text in [&run.stdout, &run.stderr] {
                assert!(
                    !text.contains(&trace),
                    "{trace} of {markers:?} in the output of {asked:?}\n{operator}\n{text}"
                );
            }
        }
    }
    printed
}

#[test]
fn nothing_that_is_derived_from_a_secret_is_shown() {
    let printed = std::cell::Cell::new(0);
    seeded::check(60, |random| printed.set(printed.get() + check(random)));
    let printed = printed.get();
    assert!(seeded::alone() || printed > 150, "only {printed} answers");
}
