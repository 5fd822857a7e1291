//! deltic: declarative Kubernetes controllers as incremental dataflow.
//!
//! This crate is the entry point of the library: it re-exports the crates that deltic consists of.
//! The following program reads an Operator from a manifest and runs it on objects:
//!
//! ```
//! use deltic::dataflow::Budget;
//! use deltic::document::json;
//! use deltic::expr::{Env, Functions};
//! use deltic::offline::{Event, EventType};
//! use deltic::{manifest, operator};
//!
//! let text = r#"
//! apiVersion: dcontroller.io/v1alpha1
//! kind: Operator
//! metadata: { name: demo }
//! spec:
//!   controllers:
//!   - name: large
//!     sources:
//!     - { apiGroup: apps, kind: Deployment }
//!     pipeline:
//!     - "@select": { "@gt": [$.spec.replicas, 1] }
//!     - "@project": { metadata: { name: $.metadata.name } }
//!     target: { kind: Large }
//! "#;
//! let manifests = manifest::parse_bytes("operator.yaml", text.into())?;
//! let (operator, problems) = operator::read(&manifests[0].value, &Functions::builtin());
//! assert_eq!(problems, []);
//!
//! let mut offline = offline::Offline::new(operator.unwrap(), Budget::default());
//! let web = json!({
//!     "apiVersion": "apps/v1", "kind": "Deployment",
//!     "metadata": {"name": "web"}, "spec": {"replicas": 3},
//! });
//! let added = Event { kind: EventType::Added, object: web };
//! let batch = offline.batch(&[added], &Env::default())?;
//! let large = &batch.events[0];
//! assert_eq!(large.kind.as_str(), "ADDED");
//! assert_eq!(large.object.get("metadata").get("name"), &json!("web"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Pipelines can use your own operators: pure functions, added to [`expr::Functions`].
//!
//! ```
//! use deltic::document::{Location, Value, json};
//! use deltic::expr::{Arity, Env, Functions, Items, Scope, compile};
//!
//! let functions = Functions::builtin().with_function("@initials", Arity::Nary(1, Some(1)), |args| {
//!     let text = args[0].as_str().ok_or("expected a string")?;
//!     let initials: String = text.split('-').filter_map(|word| word.chars().next()).collect();
//!     Ok(Value::from(initials))
//! })?;
//! let spec = json!({"@initials": "$.metadata.name"});
//! let initials = compile(&spec, &Location::root(), &functions, Items::None).unwrap();
//!
//! let object = json!({"metadata": {"name": "shop-front-end"}});
//! let env = Env::default();
//! assert_eq!(initials.eval(&Scope::new(&env, &object)).unwrap(), json!("sfe"));
//!
//! // Pass the same functions to `operator::read`.
//! # Ok::<(), deltic::expr::functions::BadName>(())
//! ```
//!
//! A native reconciler in Rust reads a view that declarative controllers fill, or their targets on
//! the cluster, as a stream and a store ([`native`]); `examples/native-reconciler` is a complete
//! program.
//!
//! ```
//! # #[cfg(feature = "cluster")]
//! # mod with_cluster {
//! use deltic::native::reflected_with;
//! use deltic::cluster::object::Object;
//! use deltic::process::{config::Config, run};
//! use kube::api::{ApiResource, GroupVersionKind};
//!
//! async fn start(client: kube::Client, operator: deltic::operator::Operator) {
//!     let config = Config { files: vec![operator], ..Config::default() };
//!     let views = config.views.clone();
//!     tokio::spawn(run::run(client, config, std::future::pending()));
//!
//!     let group = "demo.view.dcontroller.io";
//!     let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", "Large"));
//!     let events = views.watch_with::<Object>(&kind);
//!     let (objects, store) = reflected_with(events, kind.clone());
//!     let controller = deltic::Controller::for_stream_with(objects, store, kind);
//!     // From here on as with kube: `owns`, `watches`, `run(reconcile, error_policy, context)`.
//! #   let _ = controller;
//! }
//! # }
//! ```
//!
//! Two features are on by default: `cli`, the command line, and `cluster`, which talks to a
//! Kubernetes cluster. A program that needs neither switches the default features off.

#[cfg(feature = "cluster")]
pub use controller::{self, Controller};
pub use dataflow;
pub use document;
pub use expr;
pub use manifest;
pub use object;
pub use offline;
pub use operator;
pub use patch;
#[cfg(feature = "cluster")]
pub use store;
#[cfg(feature = "cluster")]
pub use {cluster, engine, engine::native, operators, process};
