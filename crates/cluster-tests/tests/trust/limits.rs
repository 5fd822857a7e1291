//! An Operator over its budget goes on once the reason is gone.

use cluster_tests::{Copies, Installed, await_true, stop_deltic};
use serde_json::json;

#[test]
fn an_operator_over_its_budget_is_ready_again_when_the_cause_is_gone() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "large", &json!({}));
    cluster.apply_many(&copies.sources(0..4, "one"));
    let process = installed.deltic_with(&["--max-documents", "5"]);
    installed.await_reason("large", "Ready");
    cluster.apply_many(&copies.sources(4..8, "one"));
    let message = installed.await_reason("large", "BudgetExceeded");
    assert!(message.contains("more than 5 objects"), "{message}");
    // Nothing is removed on that account.
    let written = copies.live(&installed).len();
    assert!(written >= 4, "{written}");
    cluster.delete_many(&copies.sources(0..4, ""));
    installed.await_reason("large", "Ready");
    copies.converge(&installed);
    await_true("four copies are left", || {
        copies.live(&installed).len() == 4
    });
    bystanders.assert_untouched();
    stop_deltic(process);
}
