use std::sync::Arc;

use document::json;
use expr::Env;
use metrics::Metrics;
use operator::secrets::HIDDEN;
use seeded::memory::{Counting, peak_of};
use store::Store;
use target::problem::{Conflict, OwnedField, without_key_values};

use super::*;
use crate::budget::UsedByOthers;
use crate::{Budget, Views};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct IgnoreEvents;

impl EngineEvents for IgnoreEvents {
    fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}
    fn reported(&self, _controller: &str, _error: &ReportedError) {}
}

/// A controller that fails on objects without `spec.n`, and the problem log of its Operator.
struct World {
    operator: Arc<Operator>,
    views: Views,
    tasks: Vec<ControllerTask>,
    problem_log: ProblemLog,
}

fn operator(name: &str, controller: &Value) -> Arc<Operator> {
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [(controller.clone())]},
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    Arc::new(operator.unwrap_or_else(|| panic!("{problems:?}")))
}

impl World {
    fn new() -> Self {
        Self::of(&json!({
            "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name"},
                "data": {"@add": ["$.spec.n", 1]},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"}
        }))
    }

    fn of(controller: &Value) -> Self {
        let operator = operator("o", controller);
        let views = Views::new(&Store::new(crate::clock::System, store::Config::default()));
        views.secrets().set(&operator);
        let measures = Measures::new(&Metrics::default(), &operator);
        let task = ControllerTask::new(
            &object::OperatorId::new("o", "u"),
            0,
            &operator.controllers[0],
            Budget::default(),
            None,
        );
        Self {
            problem_log: ProblemLog::new(
                Arc::new(IgnoreEvents),
                Arc::default(),
                measures,
                Arc::new(Masks::new(&operator, &views)),
            ),
            tasks: vec![task],
            operator,
            views,
        }
    }

    /// Steps one batch of source objects, by name and `spec`.
    fn step(&mut self, objects: &[(&str, Value)]) {
        let keep = dataflow::fields::Keep::fields(&dataflow::fields::Fields::all());
        let batch = objects.iter().map(|(name, spec)| dataflow::SourceEvent {
            source: 0,
            name: ObjectName::new("", name),
            object: Some(keep.of(&json!({"metadata": {"name": (*name)}, "spec": (spec.clone())}))),
        });
        let step = self.tasks[0].step(batch.collect(), &Env::default(), &UsedByOthers::default());
        let controller = &self.operator.controllers[0];
        self.problem_log.failed(controller, &step.unwrap().errors);
    }

    fn fails(&mut self, names: &[&str]) {
        let objects: Vec<_> = names.iter().map(|name| (*name, json!({}))).collect();
        self.step(&objects);
    }

    fn works(&mut self, name: &str) {
        self.step(&[(name, json!({"n": 1}))]);
    }

    fn unreadable(&mut self, name: &str) {
        let object = (0, ObjectName::new("", name));
        let why = Unreadable::Large;
        let controller = &self.operator.controllers[0];
        self.problem_log.unreadable(controller, &object, &why);
        let task = &mut self.tasks[0];
        let mut unreadable = task.unreadable().clone();
        unreadable.insert(object, why);
        task.set_unreadable(unreadable);
    }

    /// Sets with which status the target of this name is refused, if any.
    fn refused(&self, name: &str, code: Option<u16>) {
        let problems: Vec<_> = code.into_iter().map(|code| refusal(name, code)).collect();
        let key = ObjectKey::new("", "ConfigMap", "", name);
        self.problem_log.problems(&key, &problems);
    }

    /// The number of errors, and the objects of the listed ones.
    fn errors(&self) -> (usize, Vec<String>) {
        let ports = BTreeMap::new();
        let status = self
            .problem_log
            .status(&self.operator, &self.tasks, &ports, |_| None, &[]);
        let controller = &status.controllers[0];
        let name = |error: &ReportedError| match error.origin.at(0).get("name").as_str() {
            Some(name) => name.to_owned(),
            None => error.message.split(':').next().unwrap().to_owned(),
        };
        let names = controller.errors.iter().map(name).collect();
        (controller.counts.errors, names)
    }
}

fn refusal(name: &str, code: u16) -> Problem {
    Problem {
        controller: "c".to_owned(),
        origin: json!([{"source": "Pod", "name": name}]),
        cause: Cause::Refused {
            code,
            message: String::new(),
        },
    }
}

#[test]
fn errors_of_all_kinds_are_listed_newest_first() {
    let mut world = World::new();
    world.fails(&["pod-b"]);
    world.refused("target", Some(422));
    world.fails(&["pod-a"]);
    world.unreadable("large");
    let key = ObjectKey::new("o.view.dcontroller.io", "V", "", "v");
    world.problem_log.view(
        "c",
        &key,
        Some(RefusedWrite::new("conflict", "no".to_owned())),
    );
    world.fails(&["pod-c"]);
    world.problem_log.held("c", &key, true);
    let (count, names) = world.errors();
    assert_eq!(count, 7);
    let in_view = format!("{} {}", key.kind, key.name);
    assert_eq!(
        names,
        [
            &in_view, "pod-c", &in_view, "large", "pod-a", "target", "pod-b"
        ]
    );
}

#[test]
fn older_errors_are_listed_again_when_newer_ones_are_cleared() {
    let mut world = World::new();
    let name = |number: usize| format!("pod-{number:02}");
    for number in 0..15 {
        world.fails(&[&name(number)]);
    }
    let expect: Vec<_> = (5..15).rev().map(name).collect();
    assert_eq!(world.errors(), (15, expect));
    for number in 12..15 {
        world.works(&name(number));
    }
    let expect: Vec<_> = (2..12).rev().map(name).collect();
    assert_eq!(world.errors(), (12, expect));
}

#[test]
fn an_error_that_occurs_again_keeps_its_position() {
    let mut world = World::new();
    world.fails(&["a"]);
    world.refused("t", Some(422));
    world.fails(&["b"]);
    let before = world.errors();
    world.step(&[("a", json!({"other": 1}))]);
    world.refused("t", Some(422));
    assert_eq!(world.errors(), before);
    // An error that was cleared, or has another code, is new.
    world.works("a");
    world.errors();
    world.fails(&["a"]);
    world.refused("t", Some(403));
    assert_eq!(
        world.errors(),
        (3, ["t", "a", "b"].map(str::to_owned).into())
    );
}

#[test]
fn a_status_costs_the_same_however_many_errors_there_are() {
    let cost = |errors: usize| {
        let mut world = World::new();
        let names: Vec<String> = (0..errors).map(|number| format!("{number:06}")).collect();
        world.fails(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for name in &names {
            world.refused(name, Some(422));
            let key = ObjectKey::new("o.view.dcontroller.io", "V", "", name);
            world.problem_log.held("c", &key, true);
        }
        // The first status after a step reads the errors of the pipeline.
        let (count, newest) = world.errors();
        assert_eq!((count, newest.len()), (3 * errors, 10));
        peak_of(|| drop(world.errors()))
    };
    let (few, many) = (cost(20), cost(10_000));
    assert!(few > 1000, "{few} bytes");
    assert!(many <= few + 1000, "{few} bytes, and {many}");
}

#[test]
fn errors_of_one_batch_keep_their_order() {
    let mut world = World::new();
    world.fails(&["old"]);
    world.fails(&["b", "c", "a"]);
    let expect = ["a", "b", "c", "old"].map(str::to_owned);
    assert_eq!(world.errors(), (4, expect.into()));
}

#[test]
fn cleared_errors_are_forgotten() {
    let mut world = World::new();
    world.fails(&["a", "b"]);
    world.errors();
    world.works("a");
    world.works("b");
    assert_eq!(world.errors(), (0, Vec::new()));
    assert!(world.problem_log.entries().numbers.is_empty());
}

#[test]
fn a_name_that_is_a_value_of_a_secret_is_hidden() {
    for (name, shown) in [("$.data.pw", HIDDEN), ("$.metadata.name", "pw-of-s")] {
        let world = World::of(&json!({
            "name": "c", "sources": [{"apiGroup": "", "kind": "Secret"}],
            "pipeline": [{"@project": {"metadata": {"name": name}}}],
            "target": {"apiGroup": "", "kind": "ConfigMap"}
        }));
        world.refused("pw-of-s", Some(422));
        let key = ObjectKey::new("", "ConfigMap", "", "pw-of-s");
        world.problem_log.held("c", &key, true);
        let refused = Some(RefusedWrite::new("conflict", "it exists".to_owned()));
        world.problem_log.view("c", &key, refused);
        let (count, errors) = world.problem_log.errors("c", None);
        assert_eq!(count, 3);
        for error in errors {
            let message = error.message;
            assert!(message.contains(shown), "{message}");
            assert_eq!(message.contains("pw-of-s"), shown != HIDDEN, "{message}");
        }
    }
}

#[test]
fn values_of_key_fields_that_may_come_from_a_secret_are_hidden() {
    let field = || r#".spec.users[name="pw"].role"#.to_owned();
    let owned = OwnedField {
        field: field(),
        manager: "kubectl".to_owned(),
        gone: None,
    };
    let causes = [
        Cause::Conflict(Conflict::Field {
            field: field(),
            winner: "d".to_owned(),
            origin: json!([]),
        }),
        Cause::Conflict(Conflict::Record {
            field: field(),
            theirs: "p".to_owned(),
        }),
        Cause::Conflict(Conflict::Managers(vec![owned])),
        Cause::NotKept { field: field() },
        Cause::Fighting {
            fields: vec![field()],
            managers: Vec::new(),
            pause: std::time::Duration::ZERO,
        },
    ];
    for (name, shown) in [
        ("$.data.user", "[name=***].role"),
        ("$.metadata.name", r#"[name="pw"].role"#),
    ] {
        let world = World::of(&json!({
            "name": "c", "sources": [{"apiGroup": "", "kind": "Secret"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "x"}, "spec": {"users": [{"name": name, "role": "admin"}]},
            }}],
            "target": {"apiGroup": "example.com", "kind": "Team"}
        }));
        let key = |number: usize| ObjectKey::new("example.com", "Team", "", &number.to_string());
        for (number, cause) in causes.iter().enumerate() {
            let problem = Problem {
                controller: "c".to_owned(),
                origin: json!([]),
                cause: cause.clone(),
            };
            world.problem_log.problems(&key(number), &[problem]);
        }
        let refused = RefusedWrite {
            code: "conflict",
            message: field(),
            hidden: without_key_values(&field()),
        };
        world.problem_log.view("c", &key(9), Some(refused));
        let (count, errors) = world.problem_log.errors("c", None);
        assert_eq!(count, 6);
        for error in errors {
            assert!(error.message.contains(shown), "{}", error.message);
        }
    }
}

/// The view `V` of an Operator `p`, whose objects have this name.
fn producer(name: &str) -> Arc<Operator> {
    let controller = json!({
        "name": "c", "sources": [{"apiGroup": "", "kind": "Secret"}],
        "pipeline": [{"@project": {"metadata": {"name": name}}}], "target": {"kind": "V"}
    });
    operator("p", &controller)
}

#[test]
fn names_that_views_of_others_take_from_secrets_are_hidden() {
    let world = World::of(&json!({
        "name": "c", "sources": [{"apiGroup": "p.view.dcontroller.io", "kind": "V"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"}
    }));
    let key = ObjectKey::new("", "ConfigMap", "", "pw");
    let origin = json!([{"source": "V", "name": "pw"}]);
    let problem = Problem {
        controller: "c".to_owned(),
        origin: origin.clone(),
        cause: Cause::Conflict(Conflict::Object {
            winner: "c".to_owned(),
            origin,
        }),
    };
    world.problem_log.problems(&key, &[problem]);
    let shows = || {
        let (_, errors) = world.problem_log.errors("c", None);
        let error = format!("{} {}", errors[0].message, errors[0].origin);
        (
            error.contains("pw"),
            world.problem_log.describe(&key).contains("pw"),
        )
    };
    // Nothing is known about `p`, then it takes names from Secrets, then it does not.
    assert_eq!(shows(), (false, false));
    world.views.secrets().set(&producer("$.data.pw"));
    assert_eq!(shows(), (false, false));
    world.views.secrets().set(&producer("$.metadata.name"));
    assert_eq!(shows(), (true, true));
}

#[test]
fn a_claim_contains_no_name_from_a_secret() {
    let world = World::of(&json!({
        "name": "c", "sources": [{"apiGroup": "p.view.dcontroller.io", "kind": "V"}],
        "pipeline": [{"@project": {"metadata": {"name": "fixed"}}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"}
    }));
    let controller = &world.operator.controllers[0];
    let of = |name| dataflow::Origin::object(0, ObjectName::new("", name));
    let claimed = |name| world.problem_log.masks.claimed(controller, &of(name));
    let clear = json!([{"source": "V", "name": "pw"}]);
    let names = world.views.secrets();
    // An Operator that is not known has no objects yet.
    assert_eq!(claimed("pw"), clear);
    names.set(&producer("$.data.pw"));
    let hidden = claimed("pw");
    // Not even a hash, by which somebody could try values.
    assert_eq!(
        (hidden.clone(), claimed("other")),
        (json!({"hidden": true}), json!({"hidden": true}))
    );
    // It goes, and its objects stay for a while.
    names.remove("p");
    assert_eq!(claimed("pw"), hidden);
    names.set(&producer("$.metadata.name"));
    assert_eq!(claimed("pw"), clear);
}
