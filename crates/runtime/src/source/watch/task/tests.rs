use std::sync::Mutex;

use dataflow::fields::Fields;
use document::{Path, Value, json};
use kube::client::Body;
use kube::discovery::ApiResource;
use operator::spec::Resource;

use super::*;
use crate::client::{Identity, Rate};
use crate::lease::Leadership;

/// A reader of one field, and what it was told.
struct Reader {
    field: &'static str,
    told: Mutex<Vec<String>>,
}

impl Reader {
    fn new(field: &'static str) -> Arc<Self> {
        let told = Mutex::default();
        Arc::new(Self { field, told })
    }

    fn hears(&self, what: impl Into<String>) {
        self.told.lock().unwrap().push(what.into());
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

impl Sink for Reader {
    fn fields(&self) -> Fields {
        let mut fields = Fields::default();
        let path = Path::parse(self.field).unwrap();
        fields.add_path(path.segments(), &Fields::all());
        fields
    }

    fn apply(&self, name: &ObjectName, _object: &Value, _listing: bool) {
        self.hears(format!("apply {name}"));
    }

    fn unreadable(&self, name: &ObjectName, _object: &Value, _why: &Unreadable) {
        self.hears(format!("unreadable {name}"));
    }

    fn delete(&self, name: &ObjectName, _last: Option<&Value>) {
        self.hears(format!("delete {name}"));
    }

    fn synced(&self) {
        self.hears("synced");
    }

    fn unavailable(&self, _why: &Unavailable) {}
}

/// A watch that is driven by hand.
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
        resource: Resource {
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

fn join(watch: &Watch, sink: &Arc<Reader>) {
    let mut readers = watch.shared.readers();
    readers.next += 1;
    let number = readers.next;
    readers.sinks.push((number, sink.clone()));
}

fn object(name: &str) -> Object {
    Object::from(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
}

/// What a stream that was opened now says: a list with an object, and a change.
fn run(watch: &mut Watch) {
    let resolved = Resolved {
        resource: ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&()),
        namespaced: true,
        status: false,
        lists: Vec::new(),
    };
    for event in [
        Event::Init,
        Event::InitApply(object("a")),
        Event::InitDone,
        Event::Apply(object("b")),
        Event::Delete(object("a")),
    ] {
        watch.event(event, &resolved).unwrap();
    }
}

#[tokio::test]
async fn who_joins_a_stream_that_does_not_read_its_fields_waits_for_the_next() {
    let mut watch = watch();
    let (first, late) = (Reader::new("$.data"), Reader::new("$.spec"));
    let all = ["apply a", "synced", "apply b", "delete a"];
    join(&watch, &first);
    watch.begin();
    let fields = watch.shared.fields();
    // Before the list has begun, but after it was said what is read.
    join(&watch, &late);
    run(&mut watch);
    assert_eq!(first.told(), all);
    assert_eq!(late.told(), [""; 0]);
    assert!(watch.somebody_waits());
    assert_ne!(fields, watch.shared.fields());
    watch.begin();
    run(&mut watch);
    assert!(!watch.somebody_waits());
    assert_eq!(
        late.told(),
        ["apply a", "delete b", "synced", "apply b", "delete a"]
    );
}
