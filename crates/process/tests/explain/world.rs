//! A cluster in memory, the process that runs its Operators, and users who ask.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apiserver::{Access, Attributes, Catalog, Limits, Scope, Server, StatusError, User};
use bytes::Bytes;
use document::{Value, json};
use engine::native::ViewStore;
use explanation::{Detail, Explanation, RecordError, Recorded, SUBRESOURCE, Wanted};
use expr::{Env, Functions};
use futures::future::BoxFuture;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use object::ObjectKey;
use offline::{Event, EventType, Offline};
use operator::Operator;
use process::config::Config;
use process::explain::Explainer;
use process::view_server;
use simulation::api::Caller;
use simulation::fields::set;
use simulation::scene::{Running, Scene};

/// What users may do: `VERB RESOURCE NAMESPACE`, where each may be `*`.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    rules: Arc<Mutex<BTreeSet<String>>>,
    /// Whether the cluster does not answer what users may do with objects.
    hangs: Arc<AtomicBool>,
}

impl Rules {
    pub(crate) fn set(&self, rules: &[&str]) {
        *self.rules.lock().unwrap() = rules.iter().map(|&rule| rule.to_owned()).collect();
    }

    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }
}

impl Access for Rules {
    fn check<'a>(
        &'a self,
        _: &'a User,
        attributes: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>> {
        let Scope::Resource {
            resource,
            subresource,
            namespace,
            ..
        } = &attributes.scope
        else {
            panic!("{attributes:?}");
        };
        let resource = match subresource.as_str() {
            "" => resource.clone(),
            part => format!("*/{part}"),
        };
        let wanted = [attributes.verb.as_ref(), &resource, namespace];
        let is = |rule: &String| {
            let mut parts = rule.split(' ').zip(wanted);
            parts.all(|(allowed, wanted)| allowed == "*" || allowed == wanted)
        };
        let allowed = self.rules.lock().unwrap().iter().any(is);
        let hangs = subresource.is_empty() && self.hangs.load(Ordering::Relaxed);
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok((!allowed).then(String::new))
        })
    }
}

pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) rules: Rules,
    pub(crate) server: Server,
    process: Option<Running>,
}

impl World {
    /// A cluster with these Operators, and a process that has started to run them.
    pub(crate) fn new(operators: &[(&str, Value)], objects: &[(ObjectKey, Value)]) -> Self {
        let scene = Scene::default();
        for (key, object) in objects {
            scene.server.put(key, "user", object);
        }
        for (name, spec) in operators {
            scene.put_operator(name, spec);
        }
        let views = ViewStore::default();
        let config = Config {
            views: views.clone(),
            ..Config::default()
        };
        let process = Some(scene.start(config));
        let rules = Rules::default();
        rules.set(&["* * *"]);
        let access: Arc<dyn Access> = Arc::new(rules.clone());
        let client = scene.server.client(&Caller::new("deltic"));
        let explainer = Explainer::new(views.views().clone(), access.clone(), client);
        let server = Server::new(
            views.store().clone(),
            Catalog::default(),
            access,
            Arc::new(view_server::ViewServerEnv),
            Limits::default(),
        );
        server.extend(SUBRESOURCE, Arc::new(explainer));
        Self {
            scene,
            rules,
            server,
            process,
        }
    }

    /// Asks for a path behind the version.
    pub(crate) async fn get(&self, operator: &str, path: &str) -> (u16, Value) {
        let uri = format!("/apis/{operator}.view.dcontroller.io/v1alpha1/{path}");
        let request = Request::get(uri).body(Full::<Bytes>::default()).unwrap();
        let response = self.server.handle(&alice(), request).await;
        let code = response.status().as_u16();
        let content = response.into_body().collect().await.unwrap().to_bytes();
        (
            code,
            std::str::from_utf8(&content).unwrap().parse().unwrap(),
        )
    }

    /// A client of the user.
    pub(crate) fn client(&self) -> kube::Client {
        let server = self.server.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let server = server.clone();
            async move { Ok::<_, std::convert::Infallible>(server.handle(&alice(), request).await) }
        });
        kube::Client::new(service, "default")
    }

    /// The answer to a question.
    pub(crate) async fn explanation(&self, operator: &str, path: &str) -> Explanation {
        let (code, answer) = self.get(operator, path).await;
        assert_eq!(code, 200, "{path}: {answer}");
        Explanation::from_value(&answer).unwrap()
    }

    /// The message of an error.
    pub(crate) async fn error(&self, operator: &str, path: &str) -> (u16, String) {
        let (code, answer) = self.get(operator, path).await;
        let message = answer.get("message").as_str().unwrap_or_default();
        (code, message.to_owned())
    }

    /// Ends the process.
    pub(crate) async fn stop(&mut self) {
        self.process.take().unwrap().stop().await;
    }
}

fn alice() -> User {
    User {
        name: "alice".to_owned(),
        ..User::default()
    }
}

/// Long enough for everything to be derived and written.
pub(crate) async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

/// The whole answer.
pub(crate) const ALL: Detail<'static> = Detail {
    members: 10,
    documents: true,
    whole: &|_| true,
    bytes: u64::MAX,
};

/// An Operator with objects of files, evaluated again.
pub(crate) fn evaluated(
    operator: &Operator,
    objects: &[(ObjectKey, Value)],
    env: Env,
) -> Result<Recorded, RecordError> {
    let mut offline = Offline::new(operator.clone(), dataflow::Budget::default());
    let events = objects.iter().map(|(key, object)| Event {
        kind: EventType::Added,
        object: with_identity(key, object),
    });
    let events: Vec<Event> = events.collect();
    offline.batch(&events, &Env::default()).unwrap();
    let snapshots = offline.snapshots().map(Some);
    Recorded::new(Arc::new(operator.clone()), snapshots, |_| true, env)
}

/// An object with its kind and its name, as it would be in a file.
fn with_identity(key: &ObjectKey, object: &Value) -> Value {
    let api_version = match key.kind.group.as_str() {
        "" => "v1".to_owned(),
        group => format!("{group}/v1"),
    };
    let identity = [
        (vec!["apiVersion"], Value::from(api_version)),
        (vec!["kind"], key.kind.kind.as_str().into()),
        (vec!["metadata", "namespace"], key.namespace().into()),
        (vec!["metadata", "name"], key.object_name().into()),
    ];
    let identity = identity
        .into_iter()
        .filter(|(_, value)| value.as_str() != Some(""));
    identity.fold(object.clone(), |object, (path, value)| {
        set(&object, &path, value)
    })
}

/// What `deltic why` says about these objects in files.
pub(crate) fn offline(
    operator: &Operator,
    objects: &[(ObjectKey, Value)],
    wanted: &Wanted,
    not: bool,
) -> Option<Explanation> {
    let recorded = evaluated(operator, objects, Env::default()).unwrap();
    let told = recorded.story().explain(wanted, not, &ALL).unwrap();
    told.map(|told| told.explanation)
}

pub(crate) fn read(name: &str, spec: &Value) -> Operator {
    let object = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": name}, "spec": (spec.clone())
    });
    let (operator, problems) = operator::read(&object, &Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}
