//! Random writes, watches and paged lists, compared with a naive model. A failure prints its
//! seed; `RANDOM_SEED` runs a single one.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;
#[path = "random/model.rs"]
mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use common::with_history;
use document::{Key, Map, Value, json};
use model::{Content, FINALIZERS, LABELS, Labels, Model, Op, Outcome, Verb, Wanted, Who, admits};
use object::{GroupKind, LabelSelector, ObjectName};
use seeded::Random;
use store::{
    Caller, Change, Error, Event, Expired, FieldTerm, Preconditions, Selector, Start, Store,
    Version, Watch, Write,
};

const SEEDS: u64 = 300;
const STEPS: usize = 400;

/// A watch, and its position in the model's log.
struct Reader {
    watch: Watch,
    collection: usize,
    wanted: Wanted,
    position: u64,
    initial: Vec<Event>,
}

/// A paged list, and the model's objects at its version that are still to come.
struct Listing {
    collection: usize,
    wanted: Wanted,
    limit: usize,
    version: u64,
    token: String,
    /// The name of the last listed object.
    last: usize,
    rest: Vec<model::Object>,
}

struct Run {
    random: Random,
    store: Store,
    model: Model,
    collections: [GroupKind; 2],
    readers: Vec<Reader>,
    listings: Vec<Listing>,
    /// How often each outcome occurred. The test proves nothing about outcomes that never do.
    seen: BTreeMap<String, usize>,
}

#[test]
fn the_store_equals_a_naive_model() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeded::seeds(SEEDS) {
        let run = std::panic::catch_unwind(|| run(seed));
        let counts = run.unwrap_or_else(|_| panic!("run it alone with RANDOM_SEED={seed}"));
        for (name, count) in counts {
            *seen.entry(name).or_default() += count;
        }
    }
    if !seeded::alone() {
        for name in [
            "Created",
            "Updated",
            "Unchanged",
            "Deleted",
            "NotFound",
            "AlreadyExists",
            "Changed",
            "Derived",
            "Held",
            "Terminating",
            "Rule",
            "expired",
            "event",
            "next page",
            "page of an old version",
            "expired page",
            "initial events of an old version",
        ] {
            assert!(seen.get(name).is_some_and(|n| *n > 100), "{name}: {seen:?}");
        }
    }
}

fn run(seed: u64) -> BTreeMap<String, usize> {
    let mut random = Random::new(seed);
    let history = *random.pick(&[1, 4, 16]);
    let mut run = Run {
        random,
        store: with_history(history),
        model: Model::new(100, history),
        collections: [0, 1]
            .map(|i| GroupKind::new("shop.view.dcontroller.io", &format!("View{i}"))),
        readers: Vec::new(),
        listings: Vec::new(),
        seen: BTreeMap::new(),
    };
    for _ in 0..STEPS {
        match run.random.below(11) {
            0 => run.start(),
            1 | 2 => run.read(),
            3 => run.first_page(),
            4 | 5 => run.next_page(),
            _ => run.write(),
        }
    }
    run.lists();
    run.seen
}

impl Run {
    fn count(&mut self, name: impl Into<String>) {
        *self.seen.entry(name.into()).or_default() += 1;
    }

    fn op(&mut self) -> Op {
        let random = &mut self.random;
        let mut labels = Labels::new();
        let mut finalizers = BTreeSet::new();
        for name in LABELS {
            if random.below(3) == 0 {
                labels.insert(name, *random.pick(&[0, 1]));
            }
        }
        for finalizer in FINALIZERS {
            if random.below(3) == 0 {
                finalizers.insert(finalizer);
            }
        }
        let (collection, name) = (random.below(2), random.below(4));
        let live = self.model.objects.get(&(collection, name));
        let version = match (random.below(4), live) {
            (0, Some(live)) => Some(live.value()),
            _ => None,
        };
        let version = version
            .and_then(|live| {
                live.get("metadata")
                    .get("resourceVersion")
                    .as_str()?
                    .parse()
                    .ok()
            })
            .map(|version: u64| version - random.below(2) as u64);
        let (a, b, c) = (("a", "one"), ("a", "two"), ("b", "one"));
        Op {
            who: match random.below(6) {
                0..=2 => Who::User,
                3 => Who::Controller(a.0, a.1),
                4 => Who::Controller(b.0, b.1),
                _ => Who::Controller(c.0, c.1),
            },
            verb: *random.pick(&[
                Verb::Create,
                Verb::Replace,
                Verb::Replace,
                Verb::Status,
                Verb::Put,
                Verb::Derive,
                Verb::Derive,
                Verb::Derive,
                Verb::Derive,
                Verb::Delete,
            ]),
            collection,
            name,
            content: Content {
                labels,
                finalizers,
                spec: *random.pick(&[0, 1]),
                status: [None, Some(0), Some(1)][random.below(3)],
                version,
            },
        }
    }

    fn write(&mut self) {
        let op = self.op();
        let expect = self.model.apply(&op);
        let collection = &self.collections[op.collection];
        let answer = self
            .store
            .write(&caller(op.who), collection, &to_write(&op));
        assert_eq!(outcome(&answer), expect, "{op:#?}");
        assert_eq!(self.store.version(), Version(self.model.version));
        self.count(format!("{expect:?}"));
    }

    fn start(&mut self) {
        let collection = self.random.below(2);
        let wanted = *self.random.pick(&Wanted::ALL);
        let selector = selector(wanted);
        let now = self.random.below(3) == 0;
        let first = self.model.version.saturating_sub(12).max(99);
        let from = first + self.random.below((self.model.version - first) as usize + 2) as u64;
        let start = if now {
            Start::Now
        } else {
            Start::After(Version(from))
        };
        let watch = self
            .store
            .watch(&self.collections[collection], selector, start);
        let known = now || (self.model.logs[collection].1..=self.model.version).contains(&from);
        assert_eq!(watch.is_ok(), known, "{start:?}");
        let Ok(watch) = watch else {
            return self.count("expired");
        };
        let version = self.model.version;
        let mut initial = Vec::new();
        if now {
            let objects = self.objects(collection, wanted, None).into_iter();
            initial.extend(objects.map(|object| Event::Added(object.value())));
            initial.push(Event::Bookmark {
                version: Version(version),
                initial: true,
            });
        }
        self.readers.push(Reader {
            watch,
            collection,
            wanted,
            position: if now { version } else { from },
            initial,
        });
    }

    /// A watch catches up.
    fn read(&mut self) {
        if self.readers.is_empty() {
            return;
        }
        let at = self.random.below(self.readers.len());
        let reader = &mut self.readers[at];
        let (log, forgotten) = &self.model.logs[reader.collection];
        let mut expect = std::mem::take(&mut reader.initial);
        let expired = reader.position < *forgotten;
        let old = !expect.is_empty() && reader.position < self.model.version;
        if expired {
            expect.clear();
        } else {
            let news = log.iter().filter(|record| record.0 > reader.position);
            expect.extend(news.filter_map(|record| event(record, reader.wanted)));
            reader.position = self.model.version;
        }
        let mut found = Vec::new();
        let end = loop {
            match reader.watch.try_next() {
                Ok(Some(event)) => found.push(event),
                Ok(None) => break Ok(reader.watch.bookmark().unwrap()),
                Err(expired) => break Err(expired),
            }
        };
        let from = Version(reader.position);
        assert_eq!(found, expect);
        let bookmark = Event::Bookmark {
            version: from,
            initial: false,
        };
        let expect = if expired {
            Err(Expired { from })
        } else {
            Ok(Some(bookmark))
        };
        assert_eq!(end, expect);
        if expired {
            self.readers.remove(at);
            self.count("expired");
        } else if old {
            self.count("initial events of an old version");
        }
        for _ in found {
            self.count("event");
        }
    }

    /// The current objects of the model after this name.
    fn objects(
        &self,
        collection: usize,
        wanted: Wanted,
        after: Option<usize>,
    ) -> Vec<model::Object> {
        let objects = self.model.objects.values();
        let objects = objects.filter(|o| o.collection == collection && admits(wanted, o));
        let objects = objects.filter(|o| after.is_none_or(|after| o.name > after));
        objects.cloned().collect()
    }

    fn first_page(&mut self) {
        let collection = self.random.below(2);
        let wanted = *self.random.pick(&Wanted::ALL);
        let limit = 1 + self.random.below(2);
        let (rest, version) = (self.objects(collection, wanted, None), self.model.version);
        self.page(None, collection, wanted, limit, version, rest);
    }

    /// Continues a list, possibly after writes.
    fn next_page(&mut self) {
        if self.listings.is_empty() {
            return;
        }
        let at = self.random.below(self.listings.len());
        let Listing {
            collection,
            wanted,
            limit,
            version,
            mut token,
            last,
            mut rest,
        } = self.listings.remove(at);
        let mut of = version;
        if version < self.model.logs[collection].1 {
            let limit = NonZeroUsize::new(limit);
            let of_collection = &self.collections[collection];
            let answer =
                self.store
                    .list_page(of_collection, &selector(wanted), limit, Some(&token));
            let Err(Error::Expired { from, fresh }) = answer else {
                panic!("{version} is forgotten: {answer:?}");
            };
            assert_eq!(from, Version(version));
            self.count("expired page");
            // Continues with the current objects.
            token = fresh.unwrap();
            rest = self.objects(collection, wanted, Some(last));
            of = self.model.version;
        } else if version < self.model.version {
            self.count("page of an old version");
        }
        self.count("next page");
        self.page(Some(&token), collection, wanted, limit, of, rest);
    }

    /// Requests a page, and compares it with the next expected objects.
    fn page(
        &mut self,
        token: Option<&str>,
        collection: usize,
        wanted: Wanted,
        limit: usize,
        version: u64,
        mut rest: Vec<model::Object>,
    ) {
        let of = &self.collections[collection];
        let page = self
            .store
            .list_page(of, &selector(wanted), NonZeroUsize::new(limit), token);
        let page = page.unwrap();
        let listed: Vec<_> = rest.drain(..limit.min(rest.len())).collect();
        let expect: Vec<Value> = listed.iter().map(model::Object::value).collect();
        assert_eq!(page.items, expect);
        assert_eq!(page.version, Version(version));
        assert_eq!(page.token.is_some(), !rest.is_empty());
        if token.is_none() {
            assert_eq!(
                page.remaining.is_some(),
                !rest.is_empty() && wanted == Wanted::All
            );
        }
        assert!(
            page.remaining
                .is_none_or(|remaining| remaining == rest.len())
        );
        self.listings.extend(page.token.map(|token| Listing {
            collection,
            wanted,
            limit,
            version,
            token,
            last: listed.last().map_or(0, |object| object.name),
            rest,
        }));
    }

    fn lists(&self) {
        for (i, collection) in self.collections.iter().enumerate() {
            let objects = self.model.objects.values().filter(|o| o.collection == i);
            let expect: Vec<Value> = objects.map(model::Object::value).collect();
            let list = self.store.list(collection, &Selector::default());
            assert_eq!(list.items, expect);
            assert_eq!(list.version, Version(self.model.version));
        }
    }
}

fn selector(wanted: Wanted) -> Selector {
    match wanted {
        Wanted::All => Selector::default(),
        Wanted::Label(name) => Selector {
            labels: Some(LabelSelector::from_query(name).unwrap()),
            ..Selector::default()
        },
        Wanted::NotNamed(name) => Selector {
            fields: vec![FieldTerm::Name {
                value: name.to_string(),
                equal: false,
            }],
            ..Selector::default()
        },
    }
}

fn event(record: &model::Record, wanted: Wanted) -> Option<Event> {
    let (version, old, new) = record;
    let old = old.as_ref().filter(|object| admits(wanted, object));
    let new = new.as_ref().filter(|object| admits(wanted, object));
    match (old, new) {
        (None, None) => None,
        (None, Some(new)) => Some(Event::Added(new.value())),
        (Some(_), Some(new)) => Some(Event::Modified(new.value())),
        (Some(old), None) => Some(Event::Deleted(old.at(*version))),
    }
}

fn caller(who: Who) -> Caller {
    match who {
        Who::User => Caller::user("alice"),
        Who::Controller(operator, controller) => Caller::controller(operator, controller),
    }
}

fn to_write(op: &Op) -> Write {
    let content = &op.content;
    let name = op.name.to_string();
    if op.verb == Verb::Delete {
        let version = content.version.map(|version| version.to_string());
        return Write::Delete(
            ObjectName::new("", &name),
            Preconditions { uid: None, version },
        );
    }
    let finalizers: Value = content.finalizers.iter().map(|f| Value::from(*f)).collect();
    let mut metadata = vec![
        (Key::new("name"), name.into()),
        (Key::new("labels"), model::labels(&content.labels)),
        (Key::new("finalizers"), finalizers),
    ];
    if let Some(version) = content.version {
        metadata.push((Key::new("resourceVersion"), version.to_string().into()));
    }
    let metadata = Value::from(Map::from_entries(metadata));
    let mut object = json!({
        "apiVersion": "shop.view.dcontroller.io/v1alpha1",
        "kind": (format!("View{}", op.collection)),
        "metadata": metadata,
        "spec": (content.spec)
    });
    if let Some(status) = content.status {
        object = common::with_field(&object, "status", status.into());
    }
    match op.verb {
        Verb::Create => Write::Create(object),
        Verb::Replace => Write::Replace(object),
        Verb::Status => Write::Status(object),
        Verb::Put => Write::Put(object),
        Verb::Derive => common::derive(object),
        Verb::Delete => unreachable!("handled above"),
    }
}

fn outcome(answer: &Result<store::Written, Error>) -> Outcome {
    match answer {
        Ok(written) => match written.change {
            Change::Created => Outcome::Created,
            Change::Updated => Outcome::Updated,
            Change::Unchanged => Outcome::Unchanged,
            Change::Deleted => Outcome::Deleted,
        },
        Err(Error::NotFound { .. }) => Outcome::NotFound,
        Err(Error::AlreadyExists { .. }) => Outcome::AlreadyExists,
        Err(Error::Changed { .. }) => Outcome::Changed,
        Err(Error::Derived { .. }) => Outcome::Derived,
        Err(Error::Held { .. }) => Outcome::Held,
        Err(Error::Terminating { .. }) => Outcome::Terminating,
        Err(Error::Rule { .. } | Error::Form { .. }) => Outcome::Rule,
        Err(other) => panic!("unexpected error of a write: {other}"),
    }
}
