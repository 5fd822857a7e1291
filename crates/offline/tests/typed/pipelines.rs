//! Random pipelines on objects of built-in kinds: joins, groups, gathered lists, patches,
//! projections.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use document::{Key, Value, json};
use schema::{Fields, KindSchema, Type};
use seeded::Random;

use crate::expressions::{Expressions, Wanted};

/// A kind that a pipeline reads, by group and name, with its schema.
pub(crate) type Kind<'a> = ((&'a str, &'a str), KindSchema);

/// An Operator, and its target.
pub(crate) fn operator(random: &mut Random, kinds: &[Kind<'_>]) -> (Value, Value) {
    let mut stages = Stages {
        list: Vec::new(),
        document: kinds[0].1.object.clone(),
        name: json!("$.metadata.name"),
    };
    stages.first(random, kinds);
    for _ in 0..random.below(3) {
        if stages.document.any {
            break;
        }
        stages.next(random);
    }
    let target = stages.last(random);
    let sources = kinds.iter().map(|((group, kind), _)| {
        json!({"apiGroup": (*group), "kind": (*kind), "labelSelector": {"matchLabels": {"in": "yes"}}})
    });
    let operator = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "op"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": (sources.collect::<Value>()),
            "pipeline": (Value::list(stages.list)),
            "target": (target.clone()),
        }]},
    });
    (operator, target)
}

/// The stages so far.
struct Stages {
    list: Vec<Value>,
    /// The type of the documents after them; `any` if it is not tracked.
    document: Type,
    /// An expression for the name of a result.
    name: Value,
}

impl Stages {
    /// A join, if there are several sources.
    fn first(&mut self, random: &mut Random, kinds: &[Kind<'_>]) {
        let [((_, one), _), ((_, other), _)] = kinds else {
            return;
        };
        let fields = kinds.iter().map(|((_, kind), schema)| {
            let object = schema.object.clone();
            (Key::new(kind), object)
        });
        self.document = Type::map(Fields::closed(fields));
        let names = json!([
            (format!("$.{one}.metadata.name")),
            (format!("$.{other}.metadata.name"))
        ]);
        let condition = if random.chance(60) {
            json!({"@eq": (names.clone())})
        } else {
            let mut make = Expressions::new(random, &self.document);
            json!({"@or": [{"@eq": (names.clone())}, (make.make(Wanted::Boolean, 2))]})
        };
        self.list.push(json!({"@join": condition}));
        self.name = json!({"@concat": names});
    }

    fn next(&mut self, random: &mut Random) {
        let document = self.document.clone();
        let mut make = Expressions::new(random, &document);
        match make.random.below(9) {
            7 | 8 => self.gather(make),
            0 => self
                .list
                .push(json!({"@select": (make.make(Wanted::Boolean, 3))})),
            1 => self
                .list
                .push(json!({"@select": {"@or": [true, (make.make(Wanted::Boolean, 2))]}})),
            2 => {
                if let Some(path) = make.path(Wanted::List) {
                    self.list.push(json!({"@unwind": path}));
                    // The next stages do not know the elements.
                    self.document = Type::any();
                }
            }
            3 => self.group(make),
            4 | 5 => self.patch(make),
            _ => {
                let value = make.make(Wanted::Any, 2);
                self.list
                    .push(json!({"@project": [{"$.": "$."}, {"$.metadata.labels.made": value}]}));
            }
        }
    }

    fn group(&mut self, mut make: Expressions<'_>) {
        let key = make.make(Wanted::Any, 1);
        let value = make.make(Wanted::Any, 2);
        let options = if make.random.chance(50) {
            json!([key, value])
        } else {
            json!([key, value, {"distinct": true}])
        };
        self.list.push(json!({"@groupBy": options}));
        self.document = Type::map(Fields::closed([
            (Key::new("key"), Type::any()),
            (Key::new("values"), Type::list(Type::any())),
            (Key::new("documents"), Type::list(self.document.clone())),
        ]));
        self.name = json!({"@concat": ["g", {"@hash": "$.key"}]});
    }

    fn gather(&mut self, mut make: Expressions<'_>) {
        let key = make.make(Wanted::Any, 1);
        let wanted = *make
            .random
            .pick(&[Wanted::String, Wanted::Map, Wanted::List]);
        let names = make.path(wanted).and_then(|path| names(&path));
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            return;
        };
        let path = names
            .iter()
            .fold("$".to_owned(), |path, name| format!("{path}[\"{name}\"]"));
        self.list.push(json!({"@gather": [key, path]}));
        self.document = gathered(&self.document, &names);
    }

    fn patch(&mut self, mut make: Expressions<'_>) {
        make.variable = "resource";
        let looped = make.random.chance(20);
        let mut operations = Vec::new();
        for _ in 0..=make.random.below(2) {
            let Some((path, wanted)) = make.patch_path() else {
                return;
            };
            let value = patch_value(&mut make, wanted, looped);
            let op = if value.as_map().is_some() {
                *make.random.pick(&["add", "merge"])
            } else {
                *make.random.pick(&["add", "add", "replace"])
            };
            operations.push(json!({"op": op, "path": path, "value": value}));
        }
        let mut patch = vec![(Key::new("operations"), Value::list(operations))];
        if looped {
            let items = if make.random.chance(50) {
                make.literal(Wanted::List)
            } else {
                format!("${{{}}}", make.cel_text(Wanted::List)).into()
            };
            patch.push((Key::new("forEach"), items));
        }
        if make.random.chance(25) {
            patch.push((Key::new("where"), make.cel_text(Wanted::Boolean).into()));
        }
        let patch = patch.into_iter().collect::<document::Map>();
        self.list.push(json!({"@patch": (Value::from(patch))}));
    }

    /// A projection to the target.
    fn last(&mut self, random: &mut Random) -> Value {
        let to_view = random.chance(50);
        let mut make = Expressions::new(random, &self.document);
        let name = if make.random.chance(85) {
            self.name.clone()
        } else {
            make.make(Wanted::String, 1)
        };
        let metadata = if make.random.chance(85) {
            json!({"name": name, "namespace": "ns"})
        } else {
            json!({"name": name})
        };
        let wanted = if make.random.chance(90) && !to_view {
            Wanted::String
        } else {
            Wanted::Any
        };
        let fields = json!({"a": (make.make(wanted, 3)), "b": (make.make(wanted, 2))});
        self.list
            .push(json!({"@project": {"metadata": metadata, "data": fields}}));
        if to_view {
            json!({"kind": "Out"})
        } else {
            json!({"apiGroup": "", "version": "v1", "kind": "ConfigMap"})
        }
    }
}

/// A value for a patch: a literal, or an expression that reads the resource or the loop variable.
fn patch_value(make: &mut Expressions<'_>, wanted: Wanted, looped: bool) -> Value {
    match make.random.below(10) {
        0..=4 => make.literal(wanted),
        5 => make.literal(Wanted::Any),
        6 if looped => "${item}".into(),
        7 if looped => json!({"x": "${item}", "y": "a ${string(item)}"}),
        _ => format!("${{{}}}", make.cel_text(wanted)).into(),
    }
}

/// The names of a path without positions, as [`Expressions::path`] writes it.
fn names(path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix('$')?;
    let inner = inner.strip_prefix("[\"")?.strip_suffix("\"]")?;
    let names: Vec<String> = inner.split("\"][\"").map(str::to_owned).collect();
    let plain = names.iter().all(|name| !name.contains(['[', ']']));
    plain.then_some(names)
}

/// The type of a document with a list of what was at a path.
fn gathered(here: &Type, names: &[String]) -> Type {
    let Some((name, rest)) = names.split_first() else {
        return Type::list(here.clone().without_null());
    };
    let name = Key::new(name);
    let Some(fields) = here.fields() else {
        return Type::any();
    };
    let field = here.field(&name).unwrap_or_else(Type::null);
    let mut named = fields.named.clone();
    named.insert(name, gathered(&field, rest));
    Type::map(Fields::new(named, fields.rest.clone()))
}
