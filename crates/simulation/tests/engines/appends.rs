//! Controllers of one or two Operators append to one list without merge keys, while users edit it.
//!
//! What each controller appends is in the object: `spec.wants.<controller>`. After each step of a
//! random story the list must have the elements of users and what each controller wants, once each,
//! on a server and offline; then nothing is written any more, also after a restart.

use document::{Key, Map, Value, json};
use engine::Running;
use engine::native::ViewStore;
use expr::Env;
use object::{GroupKind, ObjectKey, ObjectName};
use offline::{Event, EventType, Offline};
use operator::Operator;
use seeded::Random;
use simulation::fields::{at, merge_patch, set, unset};
use store::{Caller, Write};

use super::{Engines, REST};

/// An Operator whose controllers append what an object says: a pod, or one of a view.
fn operator(name: &str, controllers: &[&str], kind: &Value) -> Operator {
    let controllers = controllers.iter().map(|controller| {
        // `m` sets a field in each element.
        let operation = match *controller {
            "m" => json!({"op": "add", "path": "/spec/l[*]/mark", "value": "${item}"}),
            _ => json!({"op": "add", "path": "/spec/l/-", "value": "${item}"}),
        };
        let appends = json!({
            "forEach": (format!("resource.spec.wants.?{controller}.orValue([])")),
            "operations": [operation],
        });
        json!({
            "name": (*controller),
            "sources": [(kind.clone())],
            "pipeline": [{"@patch": appends}],
            "target": (merge_patch(kind, &json!({"type": "Patcher"}))),
        })
    });
    super::operator(name, &controllers.collect::<Vec<_>>())
}

fn pod_kind() -> Value {
    json!({"apiGroup": "", "kind": "Pod"})
}

fn view_kind() -> Value {
    json!({"kind": "Box"})
}

fn pod() -> ObjectKey {
    ObjectKey::new("", "Pod", "ns", "x")
}

/// What somebody does.
#[derive(Clone, Debug)]
enum Step {
    /// A controller wants these elements.
    Wants(&'static str, Vec<Value>),
    /// A user adds an element at the end, or at the start.
    Adds(Value, bool),
    /// A user removes an element.
    Removes(Value),
    /// A user replaces an element.
    Replaces(Value, Value),
    Reverses,
    Restart,
}

/// An object after a step of a user.
fn edited(object: &Value, step: &Step) -> Value {
    let mut list: Vec<Value> = list(object);
    let position = |list: &[Value], item: &Value| list.iter().position(|other| other == item);
    match step {
        Step::Wants(controller, items) => {
            let items: Value = items.iter().cloned().collect();
            return set(object, &["spec", "wants", controller], items);
        }
        Step::Adds(item, true) => list.insert(0, item.clone()),
        Step::Adds(item, false) => list.push(item.clone()),
        Step::Removes(item) => drop(list.remove(position(&list, item).unwrap())),
        Step::Replaces(item, new) => {
            let at = position(&list, item).unwrap();
            list[at] = new.clone();
        }
        Step::Reverses => list.reverse(),
        Step::Restart => return object.clone(),
    }
    if list.is_empty() {
        return unset(object, &["spec", "l"]);
    }
    set(object, &["spec", "l"], list.into())
}

fn list(object: &Value) -> Vec<Value> {
    let list = at(object, &["spec", "l"]).as_list().into_iter().flatten();
    list.cloned().collect()
}

fn sorted(mut list: Vec<Value>) -> Vec<Value> {
    list.sort();
    list
}

struct World {
    engines: Engines,
    /// With one Operator.
    offline: Option<(Offline, Value)>,
    /// With one Operator: one that does the same to an object of a view.
    views: Option<Views>,
    /// The elements that users have.
    users: Vec<Value>,
    /// What each controller wants.
    wants: Vec<(&'static str, Vec<Value>)>,
}

impl World {
    async fn new(operators: &[(&str, &[&'static str])], users: &[Value]) -> Self {
        let read = |(name, controllers): &(&str, &[&'static str])| {
            operator(name, controllers, &pod_kind())
        };
        let all = operators.iter().flat_map(|(_, controllers)| *controllers);
        let mut world = Self {
            engines: Engines::new(operators.iter().map(read).collect()),
            offline: None,
            views: None,
            users: users.to_vec(),
            wants: all.map(|controller| (*controller, Vec::new())).collect(),
        };
        let mut object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "ns"},
            "spec": {"wants": {}},
        });
        if !users.is_empty() {
            object = set(&object, &["spec", "l"], users.to_vec().into());
        }
        world.engines.server.put(&pod(), "human", &object);
        if let [one] = world.engines.operators.as_slice() {
            let offline = Offline::new(one.clone(), dataflow::Budget::default());
            world.offline = Some((offline, Value::NULL));
            world.enter(&object);
            let (name, controllers) = operators[0];
            let object = merge_patch(
                &object,
                &json!({
                    "apiVersion": (format!("{name}.view.dcontroller.io/v1alpha1")), "kind": "Box",
                }),
            );
            let operator = operator(name, controllers, &view_kind());
            world.views = Some(Views::start(&world.engines, operator, &object));
        }
        world.engines.restart().await;
        world
    }

    async fn run(&mut self, step: &Step) {
        if let Step::Restart = step {
            self.engines.restart().await;
            if let Some(views) = &mut self.views {
                views.restart(&self.engines).await;
            }
            return;
        }
        let live = unset(&self.live(), &["metadata", "managedFields"]);
        self.engines
            .server
            .put(&pod(), "human", &edited(&live, step));
        if let Some((_, object)) = &self.offline {
            let object = edited(object, step);
            self.enter(&object);
        }
        if let Some(views) = &self.views {
            views.put(&edited(&views.live(), step));
        }
        match step {
            Step::Wants(controller, items) => {
                let mut all = self.wants.iter_mut();
                all.find(|(name, _)| name == controller)
                    .unwrap()
                    .1
                    .clone_from(items);
            }
            Step::Adds(item, _) => self.users.push(item.clone()),
            // One of a controller comes back.
            Step::Removes(item) => self.take_from_users(item),
            Step::Replaces(item, new) => {
                self.take_from_users(item);
                self.users.push(new.clone());
            }
            Step::Reverses | Step::Restart => {}
        }
        tokio::time::sleep(REST).await;
    }

    fn take_from_users(&mut self, item: &Value) {
        // Without what a controller has set in it.
        let item = &unset(item, &["mark"]);
        if let Some(at) = self.users.iter().position(|own| own == item) {
            self.users.remove(at);
        }
    }

    fn live(&self) -> Value {
        self.engines.server.get(&pod()).unwrap()
    }

    /// An event for the offline runner.
    fn enter(&mut self, object: &Value) {
        let (offline, known) = self.offline.as_mut().unwrap();
        *known = object.clone();
        let events = [Event {
            kind: EventType::Modified,
            object: object.clone(),
        }];
        for event in offline.batch(&events, &Env::default()).unwrap().events {
            *known = event.object;
        }
    }

    /// Checks the lists, and that nothing is written any more.
    async fn check(&mut self, told: &str) {
        let mut expected = self.users.clone();
        let appended = self.wants.iter().filter(|(name, _)| *name != "m");
        expected.extend(appended.flat_map(|(_, items)| items.clone()));
        let mut marks = self.wants.iter().filter(|(name, _)| *name == "m");
        if let Some(mark) = marks.next().and_then(|(_, marks)| marks.last()) {
            for item in &mut expected {
                *item = set(item, &["mark"], mark.clone());
            }
        }
        let expected = sorted(expected);
        let records = self.live().get("metadata").clone();
        assert_eq!(sorted(list(&self.live())), expected, "{told}\n{records}");
        if let Some((_, object)) = &self.offline {
            assert_eq!(sorted(list(object)), expected, "offline: {told}");
        }
        if let Some(views) = &self.views {
            assert_eq!(sorted(list(&views.live())), expected, "view: {told}");
        }
        let quiet = self.engines.rest_quietly().await;
        assert_eq!(quiet, Ok(()), "{told}\n{records}");
    }
}

/// An Operator that patches an object of a view.
struct Views {
    store: ViewStore,
    operator: Operator,
    running: Option<Running>,
}

impl Views {
    fn start(engines: &Engines, operator: Operator, object: &Value) -> Self {
        let store = ViewStore::default();
        let running = Some(engines.start(&operator, &store));
        let views = Self {
            store,
            operator,
            running,
        };
        views.put(object);
        views
    }

    /// As after an edit of the Operator: the objects stay.
    async fn restart(&mut self, engines: &Engines) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        self.running = Some(engines.start(&self.operator, &self.store));
        tokio::time::sleep(REST).await;
    }

    fn key(&self) -> (GroupKind, ObjectName) {
        let group = format!("{}.view.dcontroller.io", self.operator.name);
        (GroupKind::new(&group, "Box"), ObjectName::new("ns", "x"))
    }

    fn live(&self) -> Value {
        let (collection, name) = self.key();
        self.store.store().get(&collection, &name).unwrap()
    }

    fn put(&self, object: &Value) {
        let (collection, _) = self.key();
        let object = unset(object, &["metadata", "resourceVersion"]);
        let put = Write::Put(object);
        let user = Caller::user("human");
        self.store.store().write(&user, &collection, &put).unwrap();
    }
}

/// An element of a controller. Several may be the same.
fn wanted(random: &mut Random) -> Value {
    let mut item = vec![(Key::new("h"), json!(random.below(3)))];
    match random.below(4) {
        0 => item.push((Key::new("ports"), json!([{"port": 80, "protocol": "TCP"}]))),
        1 => item.push((Key::new("g"), json!({"m": (random.below(2)), "e": {}}))),
        2 => item.clear(),
        _ => {}
    }
    Map::from_entries(item).into()
}

fn step(random: &mut Random, world: &World, number: usize) -> Step {
    let own = json!({"u": number});
    let list = list(&world.live());
    let controllers: Vec<&'static str> = world.wants.iter().map(|(name, _)| *name).collect();
    let edits = !list.is_empty();
    match random.below(12) {
        0..=4 => {
            let controller = *random.pick(&controllers);
            let items = (0..random.below(4)).map(|_| wanted(random));
            let items = match controller {
                "m" => (0..random.below(2))
                    .map(|_| json!(random.below(3)))
                    .collect(),
                _ => items.collect(),
            };
            Step::Wants(controller, items)
        }
        5 | 6 => Step::Adds(own, random.chance(50)),
        7 if edits => Step::Removes(random.pick(&list).clone()),
        8 if edits => Step::Replaces(random.pick(&list).clone(), own),
        9 if edits => Step::Reverses,
        _ => Step::Restart,
    }
}

async fn stories(operators: &[(&str, &[&'static str])]) {
    for seed in seeded::seeds(25) {
        let mut random = Random::new(seed);
        let users: Vec<Value> = (0..random.below(3))
            .map(|n| json!({"u": (n + 100)}))
            .collect();
        let mut world = World::new(operators, &users).await;
        let mut told = vec![format!("RANDOM_SEED={seed}: {users:?}")];
        for number in 0..12 {
            let step = step(&mut random, &world, number);
            told.push(format!("{step:?}"));
            world.run(&step).await;
            told.push(format!("  {:?}", list(&world.live())));
            world.check(&told.join("\n")).await;
        }
        let controllers: Vec<&'static str> = world.wants.iter().map(|(name, _)| *name).collect();
        for controller in controllers {
            world.run(&Step::Wants(controller, Vec::new())).await;
            told.push(format!("{controller} ends\n  {:?}", list(&world.live())));
            world.check(&told.join("\n")).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_of_one_operator_append_to_one_list() {
    stories(&[("oa", &["a", "b", "c"])]).await;
}

#[tokio::test(start_paused = true)]
async fn controllers_of_two_operators_append_to_one_list() {
    stories(&[("oa", &["a", "b"]), ("ob", &["c"])]).await;
}

#[tokio::test(start_paused = true)]
async fn elements_that_are_appended_are_marked() {
    stories(&[("oa", &["a", "m"])]).await;
}
