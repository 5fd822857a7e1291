//! Expressions with the results of Kubernetes 1.36.
//!
//! The test `kubernetes` compares the file with Kubernetes itself, and `UPDATE=1 just cel` rewrites
//! the results: write the expression, run it, and read what Kubernetes says.

#[path = "kubernetes/ours.rs"]
mod ours;

#[test]
fn recorded_results_of_kubernetes_are_ours() {
    let cases = cases::read(include_str!("cases/kubernetes.json"));
    assert!(cases.len() > 500, "{} cases", cases.len());
    cases::all_hold(&cases, |case| {
        let expr = case.get("name").as_str().unwrap_or_default();
        let found = ours::outcome(expr, case.get("variables"));
        let expected = ours::recorded(case);
        if found == expected {
            Ok(())
        } else {
            Err(format!("expected {expected:?}, found {found:?}"))
        }
    });
}
