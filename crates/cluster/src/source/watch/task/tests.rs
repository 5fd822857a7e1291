use std::sync::Mutex;

use dataflow::fields::{Fields, HeaderFields, Keep};
use document::{Path, json};
use kube::client::Body;
use object::KindRef;

use super::*;
use crate::client::{Identity, Rate};
use crate::lease::Leadership;
use crate::source::{Reading, Reads};

/// A sink that reads one field and records its calls.
struct Recorder {
    keep: Keep,
    /// Set if it gets the objects of one Operator only.
    operator: Option<&'static str>,
    told: Mutex<Vec<String>>,
}

impl Recorder {
    fn new(field: &str) -> Arc<Self> {
        let mut fields = Fields::default();
        let path = Path::parse(field).unwrap();
        fields.add_path(path.segments(), &Fields::all());
        let keep = Keep::fields(&fields);
        let told = Mutex::default();
        Arc::new(Self {
            keep,
            operator: None,
            told,
        })
    }

    /// A sink that gets the objects of one Operator only.
    fn of(operator: &'static str) -> Arc<Self> {
        let keep = Keep::fields(&Fields::default());
        let told = Mutex::default();
        Arc::new(Self {
            keep,
            operator: Some(operator),
            told,
        })
    }

    fn hears(&self, what: impl Into<String>) {
        self.told.lock().unwrap().push(what.into());
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

impl Sink for Recorder {
    fn reads(&self) -> Reads {
        match self.operator {
            None => Reads::Kept(self.keep.clone(), HeaderFields::default()),
            Some(_) => Reads::Everything,
        }
    }

    fn operator(&self) -> Option<&str> {
        self.operator
    }

    fn apply(&self, name: &ObjectName, object: &Arrival, _listing: bool) {
        let kept = object.kept(&self.keep).unwrap();
        self.hears(format!("apply {name} {}", kept.document()));
    }

    fn delete(&self, name: &ObjectName, _last: Option<&Arrival>) {
        self.hears(format!("delete {name}"));
    }

    fn synced(&self) {
        self.hears("synced");
    }

    fn unavailable(&self, _why: &Unavailable) {}
}

/// A watch whose events the test delivers.
fn watch() -> Watch {
    let silent = tower::service_fn(|_: http::Request<Body>| {
        std::future::pending::<Result<http::Response<Body>, tower::BoxError>>()
    });
    let client = kube::Client::new(silent, "default");
    let watches = Watches::new(
        Clients::new(client, Rate::default(), Leadership::always()),
        Metrics::default(),
    );
    let key = WatchKey {
        resource: KindRef {
            group: String::new(),
            version: None,
            kind: "ConfigMap".to_owned(),
        },
        namespace: None,
        selector: None,
        identity: Identity::default(),
    };
    Watch::new(&watches, key, Arc::default())
}

fn join(watch: &Watch, sink: &Arc<Recorder>) {
    watch.shared.join(sink.clone());
}

fn object(name: &str, reading: &Reading) -> Arrival {
    let object = json!({"metadata": {"name": name}, "data": {"k": name}, "spec": {"n": 1}});
    let read = reading.run(|| serde_json::from_str(&object.to_string()));
    read.unwrap()
}

/// Delivers the events of a stream: a list with one object, then two changes.
fn run(watch: &mut Watch, reading: &Reading) {
    for event in [
        Event::Init,
        Event::InitApply(object("a", reading)),
        Event::InitDone,
        Event::Apply(object("b", reading)),
        Event::Delete(object("a", reading)),
    ] {
        watch.event(event).unwrap();
    }
}

#[tokio::test]
async fn who_joins_a_stream_that_does_not_read_its_fields_waits_for_the_next() {
    let mut watch = watch();
    let (first, late) = (Recorder::new("$.data"), Recorder::new("$.spec"));
    join(&watch, &first);
    watch.begin();
    let reading = watch.shared.reading();
    // The sink joins before the list begins, but after the fields to read were chosen.
    join(&watch, &late);
    run(&mut watch, &reading);
    let all = [
        r#"apply a {"data":{"k":"a"}}"#,
        "synced",
        r#"apply b {"data":{"k":"b"}}"#,
        "delete a",
    ];
    assert_eq!(first.told(), all);
    assert_eq!(late.told(), [""; 0]);
    assert!(watch.somebody_waits());
    watch.begin();
    let reading = watch.shared.reading();
    run(&mut watch, &reading);
    assert!(!watch.somebody_waits());
    assert_eq!(
        first.told()[0],
        all[0],
        "each gets his part of what both read"
    );
    assert_eq!(
        late.told(),
        [
            r#"apply a {"spec":{"n":1}}"#,
            "delete b",
            "synced",
            r#"apply b {"spec":{"n":1}}"#,
            "delete a"
        ]
    );
}

#[tokio::test]
async fn a_list_that_breaks_off_deletes_nothing_and_what_it_showed_may_go() {
    let mut watch = watch();
    let sink = Recorder::new("$.none");
    join(&watch, &sink);
    watch.begin();
    let reading = watch.shared.reading();
    let mut deliver = |events: &mut dyn Iterator<Item = Event<Arrival>>| {
        events.for_each(|event| watch.event(event).unwrap());
        sink.told()
    };
    let list = |names: &[&str]| {
        let shown = names
            .iter()
            .map(|name| Event::InitApply(object(name, &reading)));
        [Event::Init].into_iter().chain(shown.collect::<Vec<_>>())
    };
    deliver(&mut list(&["a", "b"]).chain([Event::InitDone]));
    assert_eq!(deliver(&mut list(&["c"])), ["apply c {}"]);
    let told = deliver(&mut list(&["b"]).chain([Event::InitDone]));
    assert_eq!(told, ["apply b {}", "delete a", "delete c", "synced"]);
}

#[tokio::test]
async fn a_sink_of_an_operator_gets_the_objects_that_its_label_names() {
    let mut watch = watch();
    let (all, a, b) = (
        Recorder::new("$.none"),
        Recorder::of("a"),
        Recorder::of("b"),
    );
    for sink in [&all, &a, &b] {
        join(&watch, sink);
    }
    watch.begin();
    let reading = watch.shared.reading();
    let labelled = |name: &str, operator: &str| -> Arrival {
        let labels = json!({"dcontroller.io/operator": operator});
        let object = json!({"metadata": {"name": name, "labels": labels}});
        let read = reading.run(|| serde_json::from_str(&object.to_string()));
        read.unwrap()
    };
    let mut check = |event: Event<Arrival>, expect: [&[&str]; 3]| {
        watch.event(event).unwrap();
        assert_eq!([all.told(), a.told(), b.told()], expect);
    };
    let (x, y) = ("apply x {}", "apply y {}");
    check(Event::Init, [&[], &[], &[]]);
    check(Event::InitApply(labelled("x", "a")), [&[x], &[x], &[]]);
    check(Event::InitApply(labelled("y", "b")), [&[y], &[], &[y]]);
    let done = ["synced"];
    check(Event::InitDone, [&done, &done, &done]);
    // The label changes: to another Operator, to an unknown one, and back.
    let gone = ["delete x"];
    check(Event::Apply(labelled("x", "b")), [&[x], &gone, &[x]]);
    check(Event::Apply(labelled("x", "c")), [&[x], &[], &gone]);
    check(Event::Apply(labelled("x", "a")), [&[x], &[x], &[]]);
    check(Event::Apply(object("x", &reading)), [&[x], &gone, &[]]);
    check(Event::Apply(labelled("x", "a")), [&[x], &[x], &[]]);
    let gone = ["delete y"];
    check(Event::Delete(labelled("y", "b")), [&gone, &[], &gone]);
    // An object that the next list does not show.
    check(Event::Init, [&[], &[], &[]]);
    let gone = ["delete x", "synced"];
    check(Event::InitDone, [&gone, &gone, &done]);
}
