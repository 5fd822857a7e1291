//! Reading the settings of an Operator and its controllers.

use std::time::Duration;

use document::{Value, json};
use expr::Functions;
use operator::Operator;
use operator::spec::{DeletionPolicy, MaxDeletions, ServiceAccount};

fn read(spec: Value) -> Result<Operator, Vec<String>> {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "op"}, "spec": spec,
    });
    let (operator, problems) = operator::read(&manifest, &Functions::builtin());
    operator.ok_or_else(|| {
        let short = |problem: &operator::Problem| format!("{} {}", problem.code, problem.at);
        problems.iter().map(short).collect()
    })
}

/// An Operator with one controller that has this target and these options.
fn with(target: Value, options: Value) -> Result<Operator, Vec<String>> {
    read(json!({"controllers": [{
        "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [], "target": target, "options": options,
    }]}))
}

/// An Operator with this field next to its controllers.
fn beside(key: &str, value: Value) -> Result<Operator, Vec<String>> {
    let controllers = json!([{"name": "c", "sources": [{"kind": "V"}], "target": {"kind": "W"}}]);
    read(json!({"controllers": controllers, key: value}))
}

fn view() -> Value {
    json!({"kind": "W"})
}

#[test]
fn options_have_defaults() {
    let operator = with(view(), Value::NULL).unwrap();
    let options = &operator.controllers[0].options;
    assert_eq!(options.debounce, Duration::ZERO);
    assert_eq!(options.concurrency, 16);
    assert_eq!(options.resync, None);
    assert_eq!(options.retry_initial, Duration::from_millis(500));
    assert_eq!(options.retry_max, Duration::from_mins(5));
    assert_eq!(options.max_deletions, None);
    assert_eq!(operator.deletion_policy, DeletionPolicy::Orphan);
    assert_eq!(operator.service_account, None);
}

#[test]
fn options_are_read() {
    let options = json!({
        "debounce": "250ms", "concurrency": 3, "resync": "1h30m",
        "retry": {"initial": "1s", "max": "2m"}, "maxDeletions": "10%",
    });
    let options = with(view(), options).unwrap().controllers.remove(0).options;
    assert_eq!(options.debounce, Duration::from_millis(250));
    assert_eq!(options.concurrency, 3);
    assert_eq!(options.resync, Some(Duration::from_mins(90)));
    assert_eq!(options.retry_initial, Duration::from_secs(1));
    assert_eq!(options.retry_max, Duration::from_mins(2));
    assert_eq!(options.max_deletions, Some(MaxDeletions::Percent(10)));
    let count = with(view(), json!({"maxDeletions": 0, "debounce": "0s"})).unwrap();
    let options = &count.controllers[0].options;
    assert_eq!(options.max_deletions, Some(MaxDeletions::Count(0)));
    assert_eq!(options.debounce, Duration::ZERO);
}

#[test]
fn the_limit_on_deletions_of_the_spec_is_the_default_of_all_controllers() {
    let controller = |name: &str, options: Value| {
        json!({"name": name, "sources": [{"kind": "V"}], "target": {"kind": "W"},
            "options": options})
    };
    let own = json!({"maxDeletions": "50%"});
    let controllers = json!([(controller("a", json!({}))), (controller("b", own))]);
    let operator = read(json!({"controllers": controllers, "maxDeletions": 3})).unwrap();
    let of = |number: usize| operator.controllers[number].options.max_deletions;
    assert_eq!(operator.max_deletions, Some(MaxDeletions::Count(3)));
    assert_eq!(of(0), Some(MaxDeletions::Count(3)));
    assert_eq!(of(1), Some(MaxDeletions::Percent(50)));
    assert_eq!(
        beside("deletionPolicy", "Orphan".into())
            .unwrap()
            .max_deletions,
        None
    );
    let refused = beside("maxDeletions", "many".into()).unwrap_err();
    assert_eq!(refused, ["bad-field spec.maxDeletions"]);
}

#[test]
fn a_single_pause_adapts_the_default_of_the_other() {
    let pauses = |retry: Value| {
        let operator = with(view(), json!({"retry": retry})).unwrap();
        let options = &operator.controllers[0].options;
        (options.retry_initial, options.retry_max)
    };
    let (ms, min) = (Duration::from_millis, Duration::from_mins);
    assert_eq!(pauses(json!({"max": "100ms"})), (ms(100), ms(100)));
    assert_eq!(pauses(json!({"initial": "10m"})), (min(10), min(10)));
}

#[test]
fn bad_options_are_refused() {
    for (options, expect) in [
        (json!({"debounce": 5}), "bad-duration .debounce"),
        (json!({"debounce": "soon"}), "bad-duration .debounce"),
        (json!({"resync": "0s"}), "bad-duration .resync"),
        (json!({"concurrency": 0}), "bad-field .concurrency"),
        (json!({"concurrency": "many"}), "bad-field .concurrency"),
        (
            json!({"retry": {"initial": "2s", "max": "1s"}}),
            "bad-field .retry",
        ),
        (
            json!({"retry": {"first": "2s"}}),
            "unknown-field .retry.first",
        ),
        (json!({"maxDeletions": "101%"}), "bad-field .maxDeletions"),
        (json!({"maxDeletions": (-1)}), "bad-field .maxDeletions"),
        (json!({"maxDeletion": 1}), "unknown-field .maxDeletion"),
    ] {
        let (code, at) = expect.split_once(' ').unwrap();
        let expect = format!("{code} spec.controllers[0].options{at}");
        assert_eq!(with(view(), options).unwrap_err(), [expect]);
    }
}

#[test]
fn settings_of_targets_are_read() {
    let target = json!({
        "apiGroup": "apps", "kind": "Deployment", "type": "Applier", "existing": "Refuse",
        "force": true, "recreate": "OnImmutable", "ignore": ["$.spec.replicas"],
    });
    let operator = with(target, Value::NULL).unwrap();
    let target = &operator.controllers[0].targets[0];
    assert!(target.refuse_existing && target.force && target.recreate);
    assert_eq!(target.ignore.len(), 1);
    let plain = with(view(), Value::NULL).unwrap();
    let plain = &plain.controllers[0].targets[0];
    assert!(!plain.refuse_existing && !plain.force && !plain.recreate);
    for (key, value) in [
        ("existing", json!("Keep")),
        ("force", json!("yes")),
        ("recreate", json!(true)),
        ("ignore", json!(["spec.replicas"])),
    ] {
        let errors = with(json!({"kind": "W", key: value}), Value::NULL).unwrap_err();
        assert!(errors[0].contains(&format!("target.{key}")), "{errors:?}");
    }
}

#[test]
fn the_deletion_policy_is_one_of_two() {
    let policy = |policy: &str| beside("deletionPolicy", json!(policy));
    assert_eq!(
        policy("Delete").unwrap().deletion_policy,
        DeletionPolicy::Delete
    );
    assert_eq!(
        policy("Orphan").unwrap().deletion_policy,
        DeletionPolicy::Orphan
    );
    assert_eq!(
        policy("Keep").unwrap_err(),
        ["bad-field spec.deletionPolicy"]
    );
}

#[test]
fn a_service_account_has_a_namespace_and_a_name() {
    let account = |namespace: Value, name: Value| {
        beside(
            "serviceAccount",
            json!({"namespace": namespace, "name": name}),
        )
    };
    let good = account(json!("team-a"), json!("bot.v1")).unwrap();
    let expect = ServiceAccount {
        namespace: "team-a".to_owned(),
        name: "bot.v1".to_owned(),
    };
    assert_eq!(good.service_account, Some(expect));
    // They become part of a user name, which a `:` or a line break would change.
    for (namespace, name, expect) in [
        (
            json!("a:b"),
            json!("bot"),
            "bad-name spec.serviceAccount.namespace",
        ),
        (
            json!("a.b"),
            json!("bot"),
            "bad-name spec.serviceAccount.namespace",
        ),
        (
            json!("a"),
            json!("b\nc"),
            "bad-name spec.serviceAccount.name",
        ),
        (
            json!("a"),
            json!("b..c"),
            "bad-name spec.serviceAccount.name",
        ),
        (
            json!("a"),
            Value::NULL,
            "bad-field spec.serviceAccount.name",
        ),
    ] {
        assert_eq!(account(namespace, name).unwrap_err(), [expect]);
    }
}

#[test]
fn a_controller_with_a_target_and_a_list_of_targets_is_refused() {
    let controller = json!({
        "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
        "target": {"kind": "V"}, "targets": [{"kind": "W"}],
    });
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "op"}, "spec": {"controllers": [controller]},
    });
    let (_, problems) = operator::read(&manifest, &Functions::builtin());
    let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
    let expect = "a controller has a target or a list of targets, not both";
    assert_eq!(messages, [expect]);
}

#[test]
fn the_bare_group_of_views_means_views_of_the_operator() {
    let operator = with(
        json!({"apiGroup": "view.dcontroller.io", "kind": "W"}),
        Value::NULL,
    );
    let target = &operator.unwrap().controllers[0].targets[0].resource;
    assert_eq!(target.group, "op.view.dcontroller.io");
    assert!(target.is_view());
}
