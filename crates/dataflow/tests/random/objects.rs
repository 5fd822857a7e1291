//! Random objects and histories. Values are from small sets, so that keys match, names collide,
//! and errors come and go.

use std::collections::BTreeMap;

use document::{Map, Value, json};
use object::ObjectName;

use super::{Batch, Event, Random};

type Live = BTreeMap<(usize, ObjectName), Value>;

/// Batches of events for this many sources.
pub(crate) fn history(random: &mut Random, sources: usize) -> Vec<Batch> {
    let (bad, breaks) = *random.pick(&[(0, 0), (0, 20), (0, 50), (3, 30), (15, 15)]);
    let mut writer = Writer {
        bad,
        breaks,
        names: 1 + random.weighted(&[10, 45, 45]),
        namespaced: random.chance(40),
        random,
    };
    let mut live = Live::new();
    let mut batches = Vec::new();
    if writer.random.chance(80) {
        // The first batch creates objects.
        let mut first = Vec::new();
        for _ in 0..2 + sources * 3 {
            writer.event(sources, &mut live, &mut first);
        }
        batches.push(first);
    }
    for _ in 0..3 + writer.random.below(5) {
        batches.push(writer.batch(sources, &mut live));
    }
    let timed = |events| Batch {
        after: random.weighted(&[20, 40, 25, 10, 5]) as u8,
        tick: random.chance(12),
        events,
    };
    batches.into_iter().map(timed).collect()
}

struct Writer<'a> {
    random: &'a mut Random,
    /// The percentage of values that have the wrong type, are null or missing.
    bad: usize,
    /// The percentage of changes that make a value wrong.
    breaks: usize,
    /// The number of names.
    names: usize,
    /// Whether there are two namespaces besides none.
    namespaced: bool,
}

impl Writer<'_> {
    fn batch(&mut self, sources: usize, live: &mut Live) -> Vec<Event> {
        let count = match self.random.below(12) {
            0..2 => 0,
            2..6 => 1,
            _ => 2 + self.random.below(5),
        };
        let mut events = Vec::new();
        while events.len() < count {
            self.event(sources, live, &mut events);
        }
        events
    }

    fn event(&mut self, sources: usize, live: &mut Live, events: &mut Vec<Event>) {
        let source = self.random.below(sources);
        let name = self.name();
        let key = (source, name.clone());
        let old = live.get(&key).cloned();
        let mut send = |object: Option<Value>| {
            match &object {
                Some(object) => live.insert((source, name.clone()), object.clone()),
                None => live.remove(&(source, name.clone())),
            };
            events.push(Event {
                source,
                name: name.clone(),
                object,
            });
        };
        match (self.random.below(20), old) {
            // Delete an object, which may not exist, or may come back.
            (0..3, _) => send(None),
            (3, Some(old)) => {
                send(None);
                let object = if self.random.chance(50) {
                    old
                } else {
                    self.object(&name)
                };
                send(Some(object));
            }
            // An event without a change.
            (4, Some(old)) => send(Some(old)),
            (5..14, Some(old)) => send(Some(self.changed(&old))),
            _ => {
                let object = self.object(&name);
                send(Some(object));
            }
        }
    }

    fn name(&mut self) -> ObjectName {
        let namespace = if self.namespaced {
            *self.random.pick(&["", "x", "y"])
        } else {
            ""
        };
        ObjectName::new(namespace, ["a", "b", "c"][self.random.below(self.names)])
    }

    fn object(&mut self, name: &ObjectName) -> Value {
        let mut metadata = vec![("name".into(), name.name.clone())];
        if name.namespace.as_str() != Some("") {
            metadata.push(("namespace".into(), name.namespace.clone()));
        }
        if self.random.chance(80) {
            metadata.push(("labels".into(), self.field("labels")));
        }
        let mut spec = Vec::new();
        for field in FIELDS {
            if !self.random.chance(self.bad) {
                spec.push((field.into(), self.field(field)));
            }
        }
        json!({"kind": "Any", "metadata": (Map::from_entries(metadata)), "spec": (Map::from_entries(spec))})
    }

    /// The object with one changed field. The pipeline may or may not read it.
    fn changed(&mut self, object: &Value) -> Value {
        let often = ["k", "n", "n", "g", "l", "ll"];
        let field = if self.random.chance(60) {
            *self.random.pick(&often)
        } else {
            *self.random.pick(&FIELDS)
        };
        let value = if self.random.chance(self.breaks) {
            self.wrong()
        } else {
            self.field(field)
        };
        let map = |value: &Value| {
            value
                .as_map()
                .cloned()
                .unwrap_or_else(|| Map::from_entries(Vec::new()))
        };
        if self.random.chance(5) {
            return map(object).with("other".into(), value).into();
        }
        if self.random.chance(10) {
            let labels = self.field("labels");
            let metadata = map(object.get("metadata")).with("labels".into(), labels);
            return map(object).with("metadata".into(), metadata.into()).into();
        }
        let spec = map(object.get("spec")).with(field.into(), value);
        map(object).with("spec".into(), spec.into()).into()
    }

    fn field(&mut self, field: &str) -> Value {
        if self.random.chance(self.bad) {
            return self.wrong();
        }
        match field {
            "k" => self
                .random
                .pick(&[
                    json!(1),
                    json!(1),
                    json!(1),
                    json!(2),
                    json!("1"),
                    json!("a"),
                ])
                .clone(),
            "n" => Value::from(self.random.below(3)),
            "g" => Value::from(*self.random.pick(&["a", "a", "a", "b", "1"])),
            "b" => Value::from(self.random.chance(60)),
            "l" => self.list(Self::number),
            "ll" => self.list(|writer| writer.list(Self::number)),
            "refs" => self.list(|writer| json!({"name": (*writer.random.pick(&["a", "b", "c"]))})),
            "sel" => self.selector(),
            "labels" => self.labels(),
            _ => json!([1, (self.random.below(3))]),
        }
    }

    fn number(&mut self) -> Value {
        Value::from(self.random.below(4))
    }

    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Value) -> Value {
        let count = self.random.below(4);
        let mut items = Vec::new();
        for _ in 0..count {
            let item = if self.random.chance(self.bad / 2) {
                self.wrong()
            } else {
                item(self)
            };
            items.push(item);
        }
        items.into()
    }

    fn labels(&mut self) -> Value {
        let app = *self.random.pick(&["a", "b"]);
        match self.random.below(4) {
            0 => json!({}),
            1 => json!({"app": app, "tier": 1}),
            _ => json!({"app": app}),
        }
    }

    fn selector(&mut self) -> Value {
        let app = *self.random.pick(&["a", "b"]);
        let operator = if self.random.chance(self.bad) {
            "Near"
        } else {
            *self.random.pick(&["In", "NotIn", "Exists"])
        };
        match self.random.below(6) {
            0 => json!({}),
            1 => {
                json!({"matchExpressions": [{"key": "app", "operator": operator, "values": [app]}]})
            }
            2 => {
                json!({"matchLabels": {"tier": "1"}, "matchExpressions": [{"key": "app", "operator": operator, "values": [app]}]})
            }
            3 => json!({"matchLabels": {"app": app}}),
            _ => json!({"app": app}),
        }
    }

    fn wrong(&mut self) -> Value {
        let values = [
            Value::NULL,
            Value::NULL,
            json!("x"),
            json!("2"),
            json!(1.5),
            json!(true),
            json!([]),
            json!([[null], 1]),
            json!({}),
            json!({"name": "a"}),
        ];
        self.random.pick(&values).clone()
    }
}

/// The fields of `spec`.
const FIELDS: [&str; 9] = ["k", "n", "g", "b", "l", "ll", "refs", "sel", "pair"];
