//! Patchers on views: the values that they set and take back.

use std::sync::Arc;

use document::{Key, json};
use expr::Env;
use fieldset::FieldPath;
use metrics::Metrics;
use object::{GroupKind, ObjectName};
use operator::Operator;
use store::Selector;
use target::in_place::Own;

use super::*;
use crate::budget::UsedByOthers;
use crate::controller_task::ControllerTask;
use crate::echoes::MAX_DEPTH;
use crate::masks::Masks;
use crate::measures::Measures;
use crate::own_views::OwnViews;
use crate::problem_log::ProblemLog;
use crate::status::ReportedError;
use crate::views::Outputs;
use crate::{Budget, EngineEvents, Views};

struct Quiet;

impl EngineEvents for Quiet {
    fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}
    fn reported(&self, _controller: &str, _error: &ReportedError) {}
}

/// Deployments yield objects of a view, and config maps patch them.
fn operator() -> Operator {
    let name = json!({"name": "$.metadata.name", "labels": "$.metadata.labels"});
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [
            {
                "name": "whole", "sources": [{"apiGroup": "apps", "kind": "Deployment"}],
                "pipeline": [{"@project": {"metadata": (name.clone()), "spec": "$.spec"}}],
                "target": {"kind": "V"}
            },
            {
                "name": "patch", "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
                "pipeline": [{"@project": {"metadata": (name), "spec": "$.data", "status": "$.status"}}],
                "target": {"kind": "V", "type": "Patcher"}
            }
        ]}
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

fn view() -> GroupKind {
    GroupKind::new("o.view.dcontroller.io", "V")
}

fn of_view(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "V",
        "metadata": {"name": name}, "spec": (spec)})
}

/// Does what the task of an Operator does with views.
struct Engine {
    operator: Arc<Operator>,
    store: Store,
    views: Views,
    outputs: Outputs,
    own: OwnViews,
    problem_log: ProblemLog,
    tasks: Vec<ControllerTask>,
}

impl Engine {
    fn new() -> Self {
        let store = Store::new(crate::clock::System, store::Config::default());
        let views = Views::new(&store);
        Self::on(store, views)
    }

    fn on(store: Store, views: Views) -> Self {
        Self::of(operator(), store, views)
    }

    fn of(operator: Operator, store: Store, views: Views) -> Self {
        let operator = Arc::new(operator);
        let measures = Measures::new(&Metrics::default(), &operator);
        let masks = Arc::new(Masks::new(&operator, &views));
        let controllers = operator.controllers.iter().enumerate();
        Self {
            outputs: Outputs::new(&views, &operator, &crate::Echoes::default()),
            own: OwnViews::start(&operator, &store, &Arc::default()),
            problem_log: ProblemLog::new(Arc::new(Quiet), Arc::default(), measures, masks),
            tasks: controllers
                .map(|(rank, c)| {
                    ControllerTask::new(
                        &object::OperatorId::new("o", "u"),
                        rank,
                        c,
                        Budget::default(),
                        None,
                    )
                })
                .collect(),
            operator,
            store,
            views,
        }
    }

    /// Another generation of the Operator.
    fn next(self) -> Self {
        Self::on(self.store, self.views)
    }

    fn source(&mut self, number: usize, name: &str, object: Option<Value>) {
        let keep = self.operator.controllers[number].keeps().swap_remove(0);
        let batch = vec![dataflow::SourceEvent {
            source: 0,
            name: ObjectName::new("", name),
            object: object.map(|object| keep.of(&object)),
        }];
        let step = self.tasks[number]
            .step(batch, &Env::default(), &UsedByOthers::default())
            .unwrap();
        for change in step.changes {
            let controller = &self.operator.controllers[number];
            let at = (number, change.target);
            self.outputs.change(at, controller, change.key, change.new);
        }
        self.write();
    }

    /// Delivers an object of the view to a controller that changes it in place, until nothing
    /// changes. Returns the number of changes.
    fn enter(&mut self, number: usize, name: &str) -> usize {
        let key = ObjectKey {
            kind: view(),
            name: ObjectName::new("", name),
        };
        let own = Own::new(&self.operator, &self.operator.controllers[number].name);
        for changes in 0..10 {
            let object = self.store.get(&key.kind, &key.name).unwrap();
            let memories = self.views.memories().clone();
            let before = (self.store.version(), memories.on("o", &key, Some(&object)));
            let entered = before
                .1
                .without(&object, |writer| own.has(controller_of(writer)));
            self.source(number, key.object_name(), Some(entered));
            let memory = memories.on("o", &key, Some(&object));
            if (self.store.version(), memory) == before {
                return changes;
            }
        }
        panic!("it does not settle: {:?}", self.objects());
    }

    fn write(&mut self) {
        let (store, operator, own) = (&self.store, &self.operator, &mut self.own);
        let causes = self.views.causes();
        self.outputs.stage(store, operator, own, causes, || false);
        let doubted = self
            .outputs
            .commit(store, operator, own, causes, &self.problem_log);
        assert!(!doubted);
    }

    /// Removes what the last generation left. Returns the number of objects and patches.
    fn remove_stale(&mut self) -> usize {
        let all = self.outputs.stale(&self.store, &self.operator);
        for stale in &all {
            let (causes, own) = (self.views.causes(), &mut self.own);
            self.outputs
                .remove_stale(&self.store, &self.operator, own, causes, stale);
        }
        self.write();
        all.len()
    }

    fn user(&mut self, write: &Write) {
        let written = self
            .store
            .write(&Caller::user("alice"), &view(), write)
            .unwrap();
        let name = ObjectName::of(&written.object).unwrap();
        self.outputs.repair(&view(), &name);
        self.write();
    }

    /// The objects, with only the name and the labels of their metadata.
    fn objects(&self) -> Vec<Value> {
        let items = self.store.list(&view(), &Selector::default()).items;
        items.iter().map(said).collect()
    }
}

fn said(object: &Value) -> Value {
    let metadata = object.get("metadata");
    let name = metadata.get("name").clone();
    let mut fields = object.as_map().unwrap().clone();
    let labels = metadata.get("labels").clone();
    let kept = json!({"name": (name), "labels": (labels)});
    fields = fields.with(Key::new("metadata"), kept);
    fields.into()
}

fn config(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": (data)})
}

fn deployment(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": (spec)})
}

fn specs(engine: &Engine) -> Vec<Value> {
    let objects = engine.objects();
    objects
        .iter()
        .map(|object| object.get("spec").clone())
        .collect()
}

#[tokio::test]
async fn a_patch_layers_on_what_another_controller_yields() {
    let mut engine = Engine::new();
    engine.source(1, "a", Some(config("a", json!({"x": {"b": 2}}))));
    assert_eq!(specs(&engine), []);
    engine.source(0, "a", Some(deployment("a", json!({"x": {"a": 1}}))));
    assert_eq!(specs(&engine), [json!({"x": {"a": 1, "b": 2}})]);
    engine.source(0, "a", Some(deployment("a", json!({"x": {"a": 3}}))));
    assert_eq!(specs(&engine), [json!({"x": {"a": 3, "b": 2}})]);
    engine.source(1, "a", None);
    assert_eq!(specs(&engine), [json!({"x": {"a": 3}})]);
    engine.source(1, "a", Some(config("a", json!({"x": 1}))));
    engine.source(0, "a", None);
    assert_eq!(specs(&engine), []);
}

#[tokio::test]
async fn what_is_set_on_an_object_of_a_user_is_taken_back_if_it_is_as_written() {
    let mut engine = Engine::new();
    engine.source(1, "u", Some(config("u", json!({"x": 1, "y": {"z": 2}}))));
    engine.user(&Write::Create(of_view("u", json!({"own": true}))));
    assert_eq!(
        specs(&engine),
        [json!({"own": true, "x": 1, "y": {"z": 2}})]
    );
    // Somebody changes a value that we set: it is restored.
    engine.user(&Write::Replace(of_view("u", json!({"own": true, "x": 5}))));
    assert_eq!(
        specs(&engine),
        [json!({"own": true, "x": 1, "y": {"z": 2}})]
    );
    engine.source(1, "u", Some(config("u", json!({"x": 1}))));
    assert_eq!(specs(&engine), [json!({"own": true, "x": 1})]);
    let version = engine.store.version();
    engine.source(1, "u", Some(config("u", json!({"x": 1}))));
    assert_eq!(engine.store.version(), version);
    // Their value is restored.
    engine.source(1, "u", None);
    assert_eq!(specs(&engine), [json!({"own": true, "x": 5})]);
}

#[tokio::test]
async fn what_a_user_has_already_stays() {
    let mut engine = Engine::new();
    let own = json!({"x": 1, "y": {"z": 2}, "l": [{"k": 1}], "s": [1]});
    engine.user(&Write::Create(of_view("u", own.clone())));
    let version = engine.store.version();
    engine.source(1, "u", Some(config("u", own.clone())));
    assert_eq!(engine.store.version(), version, "nothing is written");
    let more = json!({"x": 1, "y": {"z": 2, "new": 1}, "l": [{"k": 1}], "s": [1]});
    engine.source(1, "u", Some(config("u", more.clone())));
    assert_eq!(specs(&engine), std::slice::from_ref(&more));
    // The next generation knows which values were set.
    let mut engine = engine.next();
    engine.source(1, "u", Some(config("u", more)));
    engine.source(1, "u", Some(config("u", json!({"y": {"new": 1}}))));
    engine.source(1, "u", None);
    assert_eq!(specs(&engine), [own]);
}

#[tokio::test]
async fn what_a_user_changes_is_put_back_and_then_ours() {
    let mut engine = Engine::new();
    engine.user(&Write::Create(of_view("u", json!({"x": 1, "own": 1}))));
    engine.source(1, "u", Some(config("u", json!({"x": 1}))));
    engine.user(&Write::Replace(of_view("u", json!({"x": 2, "own": 1}))));
    assert_eq!(specs(&engine), [json!({"x": 1, "own": 1})]);
    engine.source(1, "u", None);
    assert_eq!(specs(&engine), [json!({"x": 2, "own": 1})]);
}

#[tokio::test]
async fn the_status_is_patched_and_taken_back_too() {
    let mut engine = Engine::new();
    engine.user(&Write::Create(of_view("u", json!({}))));
    let mut status = of_view("u", json!({}));
    status = status
        .as_map()
        .unwrap()
        .with(Key::new("status"), json!({"mine": 1}))
        .into();
    engine.user(&Write::Status(status));
    let with_status = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "u"},
        "data": {"x": 1}, "status": {"ours": 2}});
    engine.source(1, "u", Some(with_status));
    let object = engine.objects().remove(0);
    assert_eq!(object.get("status"), &json!({"mine": 1, "ours": 2}));
    assert_eq!(object.get("spec"), &json!({"x": 1}));
    engine.source(1, "u", None);
    let object = engine.objects().remove(0);
    assert_eq!(object.get("status"), &json!({"mine": 1}));
}

/// A status belongs to others if the object is yielded without one.
#[tokio::test]
async fn after_an_edit_a_removed_patcher_leaves_nothing_on_a_yielded_object() {
    let mut engine = Engine::new();
    let mut patch = config("a", json!({"x": 1}));
    patch = FieldPath::of(&["status", "ours"]).set(&patch, &json!(2));
    engine.source(0, "a", Some(deployment("a", json!({"own": true}))));
    engine.source(1, "a", Some(patch));
    let status = |engine: &Engine| engine.objects()[0].get("status").clone();
    assert_eq!(status(&engine), json!({"ours": 2}));
    let mut edited = operator();
    edited.controllers.pop();
    let mut engine = Engine::of(edited, engine.store, engine.views);
    engine.source(0, "a", Some(deployment("a", json!({"own": true}))));
    assert_eq!(status(&engine), json!({"ours": 2}));
    assert_eq!(engine.remove_stale(), 1);
    assert_eq!(specs(&engine), [json!({"own": true})]);
    assert_eq!(status(&engine), Value::NULL);
    assert_eq!(engine.remove_stale(), 0);
}

#[tokio::test]
async fn after_an_edit_only_what_is_no_longer_derived_is_taken_back() {
    let mut engine = Engine::new();
    for name in ["stays", "goes"] {
        engine.user(&Write::Create(of_view(name, json!({"own": (name)}))));
        engine.source(1, name, Some(config(name, json!({"x": 1}))));
    }
    let version = engine.store.version();
    let mut engine = engine.next();
    engine.source(1, "stays", Some(config("stays", json!({"x": 1}))));
    assert_eq!(engine.store.version(), version);
    engine.remove_stale();
    assert_eq!(
        specs(&engine),
        [json!({"own": "goes"}), json!({"own": "stays", "x": 1})]
    );
    engine.outputs.clear(&engine.store, &engine.operator);
    assert_eq!(
        specs(&engine),
        [json!({"own": "goes"}), json!({"own": "stays"})]
    );
}

#[tokio::test]
async fn an_object_that_only_a_patcher_derives_after_an_edit_goes() {
    let mut engine = Engine::new();
    engine.source(0, "a", Some(deployment("a", json!({"own": 1}))));
    engine.source(1, "a", Some(config("a", json!({"x": 1}))));
    let mut engine = engine.next();
    engine.source(1, "a", Some(config("a", json!({"x": 1}))));
    assert_eq!(engine.remove_stale(), 1);
    assert_eq!(specs(&engine), [] as [Value; 0]);
}

/// Config maps yield objects of a view, and another controller changes these, and those of users,
/// in place.
fn in_place() -> Operator {
    let add = json!({"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "x": 1}});
    let count = json!({"op": "replace", "path": "/spec/n", "value": "${resource.spec.n + 1}"});
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [
            {
                "name": "whole", "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
                "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}, "spec": "$.data"}}],
                "target": {"kind": "V"}
            },
            {
                "name": "change", "sources": [{"kind": "V"}],
                "pipeline": [{"@patch": {"operations": [(add), (count)]}}],
                "target": {"kind": "V", "type": "Patcher"}
            }
        ]}
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

#[tokio::test]
async fn a_view_is_changed_in_place() {
    let store = Store::new(crate::clock::System, store::Config::default());
    let views = Views::new(&store);
    let mut engine = Engine::of(in_place(), store, views);
    let spec = |n: i64| json!({"n": (n), "containers": [{"name": "app"}]});
    let changed =
        |n: i64| json!({"n": (n), "containers": [{"name": "app"}, {"name": "side", "x": 1}]});
    engine.user(&Write::Create(of_view("u", spec(1))));
    assert_eq!(engine.enter(1, "u"), 1);
    assert_eq!(specs(&engine), [changed(2)]);
    assert_eq!(engine.enter(1, "u"), 0);
    engine.user(&Write::Replace(of_view("u", changed(7))));
    engine.enter(1, "u");
    assert_eq!(specs(&engine), [changed(8)]);
    // The object of another controller of the Operator.
    engine.source(0, "a", Some(config("a", spec(1))));
    engine.enter(1, "a");
    assert_eq!(specs(&engine), [changed(2), changed(8)]);
    engine.source(0, "a", Some(config("a", spec(5))));
    engine.enter(1, "a");
    assert_eq!(specs(&engine), [changed(6), changed(8)]);
    assert_eq!(engine.enter(1, "a"), 0);
    engine.source(1, "u", None);
    engine.source(1, "a", None);
    assert_eq!(specs(&engine), [spec(5), spec(7)]);
}

#[tokio::test]
async fn a_deletion_ends_the_count_of_writes_but_not_a_cycle() {
    let mut engine = Engine::new();
    let object = || Some(deployment("a", json!({"x": 1})));
    let is_counted = |engine: &Engine| !engine.outputs.views[&view()].streaks.is_empty();
    engine.outputs.depth = 1;
    engine.source(0, "a", object());
    assert!(is_counted(&engine));
    engine.source(0, "a", None);
    assert!(!is_counted(&engine));
    // It is created and deleted in turn.
    engine.outputs.depth = 2 * MAX_DEPTH;
    engine.source(0, "a", object());
    assert!(engine.outputs.has_cycles());
    assert_eq!(specs(&engine), []);
}
