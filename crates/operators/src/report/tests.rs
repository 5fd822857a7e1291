//! Tests of rendering a status.

use engine::status::Counts;
use target::problem::Cause;

use super::*;

fn engine(ready: Ready) -> OperatorStatus {
    OperatorStatus {
        controllers: vec![ControllerStatus {
            name: "c".to_owned(),
            ready,
            errors: Vec::new(),
            counts: Counts::default(),
        }],
        ..OperatorStatus::default()
    }
}

fn rendered(ready: Ready, there: &Value, now: &str) -> Value {
    let report = Report {
        name: "o",
        generation: 3,
        state: &OperatorState::Runs,
        engine: &engine(ready),
    };
    render(&report, there, now)
}

#[test]
fn the_transition_time_changes_only_with_the_status() {
    let first = rendered(Ready::False("a".to_owned()), &Value::NULL, "t1");
    let time = |status: &Value| {
        status
            .get("conditions")
            .at(0)
            .get("lastTransitionTime")
            .clone()
    };
    let of_controller = |status: &Value| time(status.get("controllers").at(0));
    assert_eq!(time(&first), json!("t1"));
    let second = rendered(Ready::False("b".to_owned()), &first, "t2");
    assert_eq!(
        (time(&second), of_controller(&second)),
        (json!("t1"), json!("t1"))
    );
    assert!(!same(&second, &first));
    let third = rendered(Ready::True, &second, "t3");
    assert_eq!(
        (time(&third), of_controller(&third)),
        (json!("t3"), json!("t3"))
    );
    assert!(same(&rendered(Ready::True, &third, "t4"), &third));
}

#[test]
fn conditions_of_others_are_kept() {
    let there = json!({"conditions": [{"type": "Theirs", "status": "True"}], "extra": 1});
    let status = rendered(Ready::True, &there, "t1");
    assert_eq!(
        status.get("conditions").at(1),
        there.get("conditions").at(0)
    );
    assert!(same(&status, &rendered(Ready::True, &status, "t2")));
}

#[test]
fn the_worst_controller_decides() {
    let cases = [
        (vec![Ready::True, Ready::Failing], "Unknown"),
        (vec![Ready::Failing, Ready::False("x".to_owned())], "False"),
        (vec![Ready::True, Ready::True], "True"),
        (vec![], "False"),
    ];
    for (controllers, expect) in cases {
        let controllers: Vec<_> = controllers
            .into_iter()
            .flat_map(|ready| engine(ready).controllers)
            .collect();
        assert_eq!(of_all(&controllers, Release::File).reason.status(), expect);
    }
}

#[test]
fn names_cannot_change_how_a_status_is_shown() {
    let mut engine = engine(Ready::Failing);
    engine.controllers[0].errors = vec![ReportedError {
        code: "x".to_owned(),
        stage: String::new(),
        origin: json!([{"source": "Pod", "namespace": "n", "name": "a\n\u{202e}b"}]),
        message: "\u{1b}[2J".to_owned(),
    }];
    let report = Report {
        name: "o",
        generation: 3,
        state: &OperatorState::Runs,
        engine: &engine,
    };
    let status = render(&report, &Value::NULL, "t1");
    let error = r"x for Pod n/a \u{202e}b: \u{1b}[2J";
    let controller = status.get("controllers").at(0);
    assert_eq!(controller.get("lastErrors"), &json!([error]));
    let waits = OperatorState::Waits {
        reason: Reason::NotReady,
        message: "a\u{202e}".to_owned(),
    };
    let report = Report {
        name: "o",
        state: &waits,
        ..report
    };
    let status = render(&report, &Value::NULL, "t1");
    let message = status.get("conditions").at(0).get("message");
    assert_eq!(message.as_str(), Some(r"a\u{202e}"));
}

#[test]
fn a_held_removal_names_the_command_that_allows_it() {
    let held = ReportedError {
        code: DELETION_HELD.to_owned(),
        stage: "target".to_owned(),
        origin: json!([]),
        message: Cause::DeletionHeld.to_string(),
    };
    let mut engine = engine(Ready::Failing);
    engine.controllers[0].errors = vec![held.clone()];
    let report = Report {
        name: "shop",
        generation: 3,
        state: &OperatorState::Runs,
        engine: &engine,
    };
    let status = render(&report, &Value::NULL, "t1");
    let errors = status.get("controllers").at(0).get("lastErrors");
    let error = errors.at(0).as_str().unwrap();
    let message = error.strip_prefix("deletion-held at target: ").unwrap();
    cases::documented(DELETION_HELD, message);
    let condition = status.get("conditions").at(0).get("message");
    assert!(condition.as_str().unwrap().ends_with(error), "{condition}");
    // Operators of files have no annotations.
    let of_file = text(&held, Release::File);
    assert!(
        of_file.contains("raise maxDeletions in the file"),
        "{of_file}"
    );
    assert!(!of_file.contains("kubectl"), "{of_file}");
}
