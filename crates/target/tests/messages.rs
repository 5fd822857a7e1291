//! Messages of problems that only occur on a cluster, as the page of errors has them.

use std::time::Duration;

use document::Value;
use object::{Misplaced, Unreadable};
use target::problem::{Cause, OwnerProblem, Problem};

/// Checks the message of a cause.
fn check(cause: Cause) {
    let problem = Problem {
        controller: "c".to_owned(),
        origin: Value::NULL,
        cause,
    };
    cases::documented(problem.code(), &problem.to_string());
}

#[test]
fn the_page_of_errors_has_the_messages_of_clusters() {
    let text = str::to_owned;
    check(Cause::Fighting {
        fields: vec![text(".spec.replicas")],
        managers: vec![text("kube-controller-manager")],
        pause: Duration::from_mins(1),
    });
    let invalid = "Deployment.apps \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0";
    check(Cause::Refused {
        code: 422,
        message: text(invalid),
    });
    check(Cause::Forbidden {
        verb: text("create"),
        group: text(""),
        resource: text("configmaps"),
        namespace: text("shop"),
    });
    check(Cause::OwnerDropped {
        index: 0,
        reason: OwnerProblem::NotAnOrigin,
    });
    check(Cause::Misplaced(Misplaced::Outside("shop".into())));
    check(Cause::NoNamespace { unwatched: false });
    check(Cause::NoKind);
    check(Cause::Unavailable(text("etcdserver: leader changed")));
    check(Cause::Unreadable(Unreadable::Deep {
        field: text("spec.tree"),
    }));
}
