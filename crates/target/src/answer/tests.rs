use document::{Value, json};

use super::*;

fn key() -> ObjectKey {
    ObjectKey::new("apps", "Deployment", "ns", "web")
}

fn failure(code: u16, body: &Value) -> Failure {
    Failure::Answer {
        status: Box::new(Status::read(code, body.to_string().as_bytes())),
        retry_after: None,
    }
}

fn check(code: u16, body: &Value, expect: &Outcome) {
    assert_eq!(
        judge(&failure(code, body), &key(), false),
        *expect,
        "{code}"
    );
}

#[test]
fn conflicts_are_decided_anew() {
    check(
        409,
        &json!({"reason": "Conflict", "message": "the object has been modified"}),
        &Outcome::Conflict,
    );
    check(
        409,
        &json!({"reason": "AlreadyExists", "details": {"name": "web"}}),
        &Outcome::Conflict,
    );
    check(
        409,
        &json!({"reason": "Conflict", "details": {"causes": [{
            "reason": "FieldManagerConflict", "field": ".spec.replicas",
            "message": "conflict with \"kubectl\" using apps/v1",
        }]}}),
        &Outcome::Managers(vec![(".spec.replicas".to_owned(), "kubectl".to_owned())]),
    );
}

#[test]
fn a_busy_server_is_asked_later() {
    let later = |after, unknown, message: &str| Outcome::Later {
        after,
        unknown,
        message: message.to_owned(),
    };
    let asked = json!({"message": "slow down", "details": {"retryAfterSeconds": 7}});
    let seven = Some(Duration::from_secs(7));
    check(429, &asked, &later(seven, false, "slow down"));
    check(503, &asked, &later(seven, true, "slow down"));
    check(
        504,
        &json!({"message": "timeout"}),
        &later(None, true, "timeout"),
    );
    let header = Failure::Answer {
        status: Box::new(Status::read(
            429,
            b"Too many requests, please try again later.",
        )),
        retry_after: Some(Duration::from_secs(1)),
    };
    let one = Some(Duration::from_secs(1));
    assert_eq!(
        judge(&header, &key(), false),
        later(one, false, "Too many requests, please try again later.")
    );
    let years = json!({"message": "later", "details": {"retryAfterSeconds": 99_999_999}});
    check(429, &years, &later(Some(MAX_RETRY_AFTER), false, "later"));
    let lost = Failure::Lost("timed out".to_owned());
    assert_eq!(judge(&lost, &key(), false), later(None, true, "timed out"));
}

#[test]
fn a_quota_may_have_room_again_soon() {
    let message = "pods \"a\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, \
                   limited: pods=2";
    let status = json!({"reason": "Forbidden", "message": message, "details": {"name": "a"}});
    let denied = |message: &str| {
        Outcome::Denied(Cause::Refused {
            code: 403,
            message: message.to_owned(),
        })
    };
    check(403, &status, &denied(message));
    assert_eq!(
        judge(&failure(403, &status), &key(), true),
        denied("Forbidden by ResourceQuota few")
    );
}

#[test]
fn missing_things_are_told_apart() {
    let unserved = Outcome::Later {
        after: None,
        unknown: false,
        message: "the API server does not serve the kind (404)".to_owned(),
    };
    check(
        404,
        &json!({"reason": "NotFound", "details": {"name": "web", "group": "apps", "kind": "deployments"}}),
        &Outcome::Gone,
    );
    check(
        404,
        &json!({"reason": "NotFound", "details": {"name": "ns", "kind": "namespaces"}}),
        &Outcome::NoNamespace,
    );
    check(
        404,
        &json!({"reason": "NotFound", "message": "the server could not find the requested resource", "details": {}}),
        &unserved,
    );
    assert_eq!(
        judge(
            &Failure::Answer {
                status: Box::new(Status::read(404, b"404 page not found\n")),
                retry_after: None
            },
            &key(),
            false,
        ),
        unserved
    );
    for code in [403, 405] {
        check(
            code,
            &json!({"message": "gadgets.example.com \"web\" is forbidden: create not allowed while custom resource definition is terminating"}),
            &Outcome::NoKind,
        );
    }
    check(
        403,
        &json!({"reason": "Forbidden", "message": "unable to create new content in namespace ns because it is being terminated", "details": {
            "causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}}),
        &Outcome::NoNamespace,
    );
}

#[test]
fn a_missing_permission_is_named() {
    let forbidden = |verb: &str, group: &str, resource: &str, namespace: &str| {
        Outcome::Denied(Cause::Forbidden {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
        })
    };
    check(
        403,
        &json!({"reason": "Forbidden", "message": r#"deployments.apps is forbidden: User "u" cannot create resource "deployments" in API group "apps" in the namespace "ns""#}),
        &forbidden("create", "apps", "deployments", "ns"),
    );
    check(
        403,
        &json!({"reason": "Forbidden", "message": r#"nodes "n" is forbidden: User "u" cannot patch resource "nodes/status" in API group "" at the cluster scope"#}),
        &forbidden("patch", "", "nodes/status", ""),
    );
}

#[test]
fn refusals_carry_what_the_server_said() {
    let refused = |code, message: &str, fields: &[&str]| {
        Outcome::Refused(Refusal {
            code,
            message: message.to_owned(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            required: Vec::new(),
        })
    };
    let text = "spec.selector: Invalid value: field is immutable";
    check(
        422,
        &json!({"message": text, "details": {"causes": [{"field": "spec.selector"}]}}),
        &refused(422, text, &["spec.selector"]),
    );
    let text = r#"admission webhook "w" denied the request: no"#;
    check(
        403,
        &json!({"reason": "Forbidden", "message": text}),
        &refused(403, text, &[]),
    );
    for code in [400, 413, 405, 415] {
        check(code, &json!({"message": "no"}), &refused(code, "no", &[]));
    }
    let required = json!({"details": {"causes": [
        {"field": "spec.image", "reason": "FieldValueRequired"},
        {"field": "spec.name", "reason": "FieldValueInvalid"},
    ]}});
    let Outcome::Refused(refusal) = judge(&failure(422, &required), &key(), false) else {
        panic!("refused");
    };
    assert_eq!(refusal.required, ["spec.image"]);
    let long = format!("Invalid value: {}: no such field", "é".repeat(2000));
    let Outcome::Refused(refusal) = judge(&failure(422, &json!({"message": long})), &key(), false)
    else {
        panic!("refused");
    };
    let length = refusal.message.len();
    assert!(
        (MAX_MESSAGE - 4..=MAX_MESSAGE).contains(&length),
        "{length}"
    );
    assert!(refusal.message.starts_with("Invalid value: é"));
    assert!(refusal.message.ends_with("é: no such field"));
    let large = "etcdserver: request is too large";
    check(500, &json!({"message": large}), &refused(500, large, &[]));
}

#[test]
fn values_of_secrets_do_not_show() {
    let body = json!({"reason": "Invalid", "message": "data[x]: Invalid value: \"hunter2\"", "details": {
        "causes": [{"field": "data[x]", "message": "Invalid value: \"hunter2\""}]}});
    let secret = ObjectKey::new("", "Secret", "ns", "s");
    let outcome = format!("{:?}", judge(&failure(422, &body), &secret, false));
    assert!(!outcome.contains("hunter2"), "{outcome}");
    assert!(outcome.contains("Invalid: data[x]"), "{outcome}");
}

#[test]
fn where_a_secret_may_be_quoted_only_names_show() {
    let check = |code: u16, body: &Value, expect: &str| {
        let Outcome::Refused(refusal) = judge(&failure(code, body), &key(), true) else {
            panic!("refused");
        };
        assert_eq!(refusal.message, expect);
    };
    let causes = json!([{"field": "metadata.labels", "reason": "FieldValueInvalid", "message": "Invalid value: \"hunter2\""}]);
    check(
        422,
        &json!({"reason": "Invalid", "message": "labels: Invalid value: \"hunter2\"", "details": {"causes": causes}}),
        "Invalid: metadata.labels (FieldValueInvalid)",
    );
    let denied = r#"admission webhook "w.example.com" denied the request: hunter2"#;
    check(
        400,
        &json!({"reason": "BadRequest", "message": denied}),
        "BadRequest by admission webhook w.example.com",
    );
    let denied = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'no-root' with binding 'b' denied request: hunter2";
    check(
        403,
        &json!({"reason": "Forbidden", "message": denied}),
        "Forbidden by ValidatingAdmissionPolicy no-root",
    );
}

#[test]
fn an_object_was_created_by_the_manager_whose_entry_is_as_old_and_the_only_one() {
    let entry = |manager: &str, operation: &str, time: &str| json!({"manager": manager, "operation": operation, "time": time});
    let check = |entries: &[Value], expect: bool| {
        let entries: Value = entries.iter().cloned().collect();
        let object = json!({"metadata": {
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": (entries),
        }});
        assert_eq!(
            was_created_by(&object, "deltic/op/c", "op"),
            expect,
            "{object}"
        );
    };
    let start = "2026-01-01T00:00:00Z";
    let ours = entry("deltic/op/c", "Apply", start);
    check(std::slice::from_ref(&ours), true);
    check(&[ours.clone(), entry("deltic/op/d", "Update", start)], true);
    check(&[], false);
    check(&[ours, entry("kubectl", "Update", start)], false);
    check(&[entry("deltic/op/c", "Update", start)], false);
    check(
        &[entry("deltic/op/c", "Apply", "2026-01-01T00:00:01Z")],
        false,
    );
    check(&[entry("deltic/other/c", "Apply", start)], false);
}
