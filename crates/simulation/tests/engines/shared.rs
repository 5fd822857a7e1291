//! Two controllers, of one Operator or of two, set the same field of an object that a user has made:
//! one gets it, the other one reports a conflict. Whoever is withdrawn leaves nothing behind.

use document::{Value, json};
use engine::native::ViewStore;
use object::ObjectKey;
use simulation::fields::{at, set};

use super::{Engines, REST, operator};

/// What each Operator wants is the spec of an object of its own kind.
const SOURCES: [&str; 2] = ["Item", "Link"];

/// A value of the user and one of each controller, for a text and for lists without merge keys.
fn fields() -> [[Value; 3]; 4] {
    [
        [json!("user"), json!("first"), json!("second")],
        [json!(["u"]), json!(["1"]), json!(["2"])],
        [
            json!([{"h": "u"}]),
            json!([{"h": "1"}]),
            json!([{"h": "2"}]),
        ],
        [
            json!([{"h": "u", "m": "u"}]),
            json!([{"h": "1", "m": {"a": 1}}]),
            json!([{"h": "2", "m": {"b": 2}}]),
        ],
    ]
}

const TYPES: [[&str; 2]; 4] = [
    ["Patcher", "Patcher"],
    ["Patcher", "Applier"],
    ["Applier", "Patcher"],
    ["Applier", "Applier"],
];

/// The field that both set.
#[derive(Clone, Copy)]
struct SharedField {
    group: &'static str,
    kind: &'static str,
    path: &'static [&'static str],
}

/// A field of a custom resource.
const OF_WIDGET: SharedField = SharedField {
    group: "example.com",
    kind: "Widget",
    path: &["spec", "f"],
};

/// A list of maps with names that is one value to a server-side apply.
const OF_ACCOUNT: SharedField = SharedField {
    group: "",
    kind: "ServiceAccount",
    path: &["imagePullSecrets"],
};

impl SharedField {
    fn key(self) -> ObjectKey {
        ObjectKey::new(self.group, self.kind, "ns", "x")
    }
}

fn controller(field: SharedField, number: usize, kind: &str) -> Value {
    let document = json!({"metadata": {"name": "x", "namespace": "ns"}});
    let document = set(&document, field.path, json!("$.spec.f"));
    json!({
        "name": (["one", "two"][number]),
        "sources": [{"apiGroup": "example.com", "kind": (SOURCES[number])}],
        "pipeline": [{"@project": document}],
        "target": {"apiGroup": (field.group), "kind": (field.kind), "type": (kind)},
    })
}

/// Whose the two controllers are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    OneOperator,
    TwoOperators,
}

struct World(Engines, SharedField);

impl World {
    async fn new(field: SharedField, of: Of, types: [&str; 2], user: Option<&Value>) -> Self {
        let one = controller(field, 0, types[0]);
        let two = controller(field, 1, types[1]);
        let operators = match of {
            Of::OneOperator => vec![operator("both", &[one, two])],
            Of::TwoOperators => vec![operator("one", &[one]), operator("two", &[two])],
        };
        let mut engines = Engines::new(operators);
        let api_version = ["v1", "example.com/v1"][usize::from(!field.group.is_empty())];
        let mut object = json!({"apiVersion": api_version, "kind": (field.kind),
            "metadata": {"name": "x", "namespace": "ns"}, "spec": {"other": 1}});
        if let Some(value) = user {
            object = set(&object, field.path, value.clone());
        }
        engines.server.put(&field.key(), "human", &object);
        engines.restart().await;
        Self(engines, field)
    }

    async fn wants(&self, number: usize, value: &Value) {
        let key = ObjectKey::new("example.com", SOURCES[number], "ns", "x");
        let source = json!({"apiVersion": "example.com/v1", "kind": (SOURCES[number]),
            "metadata": {"name": "x", "namespace": "ns"}, "spec": {"f": (value.clone())}});
        self.0.server.put(&key, "human", &source);
        tokio::time::sleep(REST).await;
    }

    async fn withdraws(&self, number: usize) {
        let key = ObjectKey::new("example.com", SOURCES[number], "ns", "x");
        self.0.server.delete(&key);
        tokio::time::sleep(REST).await;
    }

    /// What is not as expected.
    async fn check(&mut self, expect: &Value, conflicts: [bool; 2]) -> Result<(), String> {
        let live = self.0.server.get(&self.1.key()).unwrap();
        if at(&live, self.1.path) != expect || at(&live, &["spec", "other"]) != &json!(1) {
            return Err(format!("{live}"));
        }
        for (number, codes) in self.0.codes().into_iter().enumerate() {
            let conflict = conflicts[number];
            if codes.is_empty() == conflict || codes.iter().any(|code| code != "conflict") {
                return Err(format!("errors of {number}: {codes:?}"));
            }
        }
        self.0.rest_quietly().await
    }
}

/// The steps of a story: what an Operator wants, the value afterwards, and who has a conflict.
type Steps<'a> = [(usize, Option<&'a Value>, &'a Value, [bool; 2])];

async fn story(
    of: Of,
    types: [&str; 2],
    user: Option<&Value>,
    steps: &Steps<'_>,
) -> Result<(), String> {
    story_on(OF_WIDGET, of, types, user, steps).await
}

async fn story_on(
    field: SharedField,
    of: Of,
    types: [&str; 2],
    user: Option<&Value>,
    steps: &Steps<'_>,
) -> Result<(), String> {
    let mut world = World::new(field, of, types, user).await;
    let mut told = vec![format!("{of:?}, {types:?}, {user:?}")];
    for (number, wanted, expect, conflicts) in steps {
        match wanted {
            Some(value) => world.wants(*number, value).await,
            None => world.withdraws(*number).await,
        }
        told.push(format!("{number} wants {wanted:?}"));
        let checked = world.check(expect, *conflicts).await;
        checked
            .map_err(|why| format!("{}\n  {why}, not {expect} {conflicts:?}", told.join("\n  ")))?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_first_operator_gets_a_field_that_nobody_had() {
    let mut failures = Vec::new();
    for [_, one, two] in fields() {
        let steps = [
            (0, Some(&one), &one, [false, false]),
            (1, Some(&two), &one, [false, true]),
            (0, None, &two, [false, false]),
            (0, Some(&one), &two, [true, false]),
            (1, None, &one, [false, false]),
            (0, None, &Value::NULL, [false, false]),
        ];
        for types in TYPES {
            failures.extend(story(Of::TwoOperators, types, None, &steps).await.err());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Two that agree on a field both have it. Whoever then wants another value gets it when the other
/// one gives it up.
#[tokio::test(start_paused = true)]
async fn whoever_leaves_an_agreement_waits_for_the_other() {
    let mut failures = Vec::new();
    for [_, both, new] in fields() {
        for of in [[0, 1], [1, 0]] {
            let [leaves, stays] = of;
            let mut conflicts = [false, false];
            conflicts[leaves] = true;
            let steps = [
                (0, Some(&both), &both, [false, false]),
                (1, Some(&both), &both, [false, false]),
                (leaves, Some(&new), &both, conflicts),
                (stays, None, &new, [false, false]),
                (leaves, None, &Value::NULL, [false, false]),
            ];
            let types = ["Applier", "Applier"];
            failures.extend(story(Of::TwoOperators, types, None, &steps).await.err());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What each Operator wants goes away while deltic does not run.
#[tokio::test(start_paused = true)]
async fn fields_are_given_up_after_a_restart() {
    let mut failures = Vec::new();
    for ([_, one, two], types) in fields()
        .into_iter()
        .flat_map(|f| TYPES.map(|t| (f.clone(), t)))
    {
        for first in [0, 1] {
            let mut world = World::new(OF_WIDGET, Of::TwoOperators, types, None).await;
            world.wants(0, &one).await;
            world.wants(1, &two).await;
            let second = 1 - first;
            let left = [&one, &two][second];
            for (number, expect) in [(first, left), (second, &Value::NULL)] {
                world.0.stop().await;
                world.withdraws(number).await;
                world.0.restart().await;
                let checked = world.check(expect, [false, false]).await;
                failures.extend(checked.err().map(|why| {
                    format!("{types:?}, {number} of {first} withdrawn: {why}, not {expect}")
                }));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What both want goes away while deltic does not run. One of them is faster afterwards.
#[tokio::test(start_paused = true)]
async fn whoever_is_first_leaves_the_object_to_be_found() {
    let mut failures = Vec::new();
    let fields = ["a", "b"].map(|name| json!({name: 1}));
    for types in TYPES {
        for first in [0, 1] {
            let mut world = World::new(OF_WIDGET, Of::TwoOperators, types, None).await;
            for number in [first, 1 - first] {
                world.wants(number, &fields[number]).await;
            }
            world.0.stop().await;
            for number in [0, 1] {
                world.withdraws(number).await;
            }
            let operator = &world.0.operators[first];
            let alone = world.0.start(operator, &ViewStore::default());
            tokio::time::sleep(REST).await;
            alone.stop().await;
            world.0.restart().await;
            let checked = world.check(&Value::NULL, [false, false]).await;
            let live = world.0.server.get(&OF_WIDGET.key()).unwrap();
            let marks = ["annotations", "labels"].map(|map| at(&live, &["metadata", map]).clone());
            let is_left = marks.iter().any(|marks| !marks.is_null());
            let left = is_left.then(|| format!("marks: {marks:?}"));
            failures.extend(
                checked
                    .err()
                    .or(left)
                    .map(|why| format!("{types:?}, {first}: {why}")),
            );
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Patchers give a user the former value back.
#[tokio::test(start_paused = true)]
async fn the_value_of_a_user_comes_back() {
    let mut failures = Vec::new();
    for [user, one, two] in fields() {
        // An Applier takes nothing from a user.
        let second = |kind: &str| {
            if kind == "Patcher" {
                two.clone()
            } else {
                user.clone()
            }
        };
        for types in [["Patcher", "Patcher"], ["Patcher", "Applier"]] {
            let two_left = second(types[1]);
            let applies = types[1] == "Applier";
            let steps = [
                (0, Some(&one), &one, [false, false]),
                (1, Some(&two), &one, [false, true]),
                (0, None, &two_left, [false, applies]),
                (1, None, &user, [false, false]),
            ];
            failures.extend(
                story(Of::TwoOperators, types, Some(&user), &steps)
                    .await
                    .err(),
            );
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn first_wins([one, two]: [&Value; 2]) -> [(usize, Option<&Value>, &Value, [bool; 2]); 6] {
    [
        (1, Some(two), two, [false, false]),
        (0, Some(one), one, [false, true]),
        (1, None, one, [false, false]),
        (1, Some(two), one, [false, true]),
        (0, None, two, [false, false]),
        (1, None, &Value::NULL, [false, false]),
    ]
}

/// Within an Operator, the first controller in the spec gets the field, whoever came first.
#[tokio::test(start_paused = true)]
async fn the_first_controller_gets_a_field() {
    let mut failures = Vec::new();
    for [_, one, two] in fields() {
        let steps = first_wins([&one, &two]);
        // Those that merge share the maps in an element.
        let merges = |kind: &str| kind == "Patcher" && !two.at(0).get("m").is_null();
        let types = TYPES
            .into_iter()
            .filter(|types| !types.iter().any(|kind| merges(kind)));
        for types in types {
            failures.extend(story(Of::OneOperator, types, None, &steps).await.err());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// So it does a list whose elements have names, if it is one value to a server-side apply. Only those
/// that merge share it.
#[tokio::test(start_paused = true)]
async fn the_first_controller_gets_a_list_that_is_one_value() {
    let (one, two) = (json!([{"name": "1"}]), json!([{"name": "2"}]));
    let all = |names: &[&str]| names.iter().map(|name| json!({"name": (*name)})).collect();
    let (both, left): (Value, Value) = (all(&["1", "2"]), all(&["2"]));
    let mut failures = Vec::new();
    for types in TYPES {
        let shares = types == ["Patcher", "Patcher"];
        let steps = first_wins([&one, &two]);
        let shared = [
            (0, Some(&one), &one, [false, false]),
            (1, Some(&two), &both, [false, false]),
            (0, None, &left, [false, false]),
            (1, None, &Value::NULL, [false, false]),
        ];
        let steps: &Steps<'_> = if shares { &shared } else { &steps };
        let done = story_on(OF_ACCOUNT, Of::OneOperator, types, None, steps).await;
        failures.extend(done.err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Another Operator leaves such a list to the one that applies it.
#[tokio::test(start_paused = true)]
async fn the_first_operator_gets_a_list_that_is_one_value() {
    let (one, two) = (json!([{"name": "1"}]), json!([{"name": "2"}]));
    let mut failures = Vec::new();
    for types in [["Applier", "Applier"], ["Applier", "Patcher"]] {
        let steps = [
            (0, Some(&one), &one, [false, false]),
            (1, Some(&two), &one, [false, true]),
            (0, None, &two, [false, false]),
            (1, None, &Value::NULL, [false, false]),
        ];
        let done = story_on(OF_ACCOUNT, Of::TwoOperators, types, None, &steps).await;
        failures.extend(done.err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A map that one of them creates belongs to both.
#[tokio::test(start_paused = true)]
async fn both_set_fields_of_a_map() {
    let (one, two) = (json!({"a": 1}), json!({"b": 2}));
    let both = json!({"a": 1, "b": 2});
    let mut failures = Vec::new();
    for of in [Of::OneOperator, Of::TwoOperators] {
        for types in TYPES {
            for (first, left) in [(0, &two), (1, &one)] {
                let steps = [
                    (0, Some(&one), &one, [false, false]),
                    (1, Some(&two), &both, [false, false]),
                    (first, None, left, [false, false]),
                    // A server leaves a null where a Patcher has created the map that an Applier empties.
                    (1 - first, None, &Value::NULL, [false, false]),
                ];
                failures.extend(story(of, types, None, &steps).await.err());
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
