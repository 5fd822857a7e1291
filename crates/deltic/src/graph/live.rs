//! The numbers of a running deltic, for `deltic graph --live`.

use std::time::Duration;

use document::Value;
use expr::Functions;
use operator::Operator;

use super::counts::{Counts, NodeState};
use super::given;
use crate::cli::graph::Graph;
use crate::cluster::{announce, block_on, failed};
use crate::exit::Stop;
use crate::live::format::{count, rate};
use crate::live::{self, Cluster, ControllerNow, Snapshot};
use crate::output::Output;

/// The time over which rates are measured.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reads Operators, from files or the cluster, and what a running deltic says about them.
pub(super) fn read(args: &Graph, output: &mut Output) -> Result<(Vec<Operator>, Counts), Stop> {
    let mut operators = if args.operators.are_given() {
        Some(given(args, output)?)
    } else {
        None
    };
    block_on(async {
        let cluster = Cluster::find(&args.observed.connection).await;
        if let Some(connection) = &cluster.connection {
            announce(connection, output);
        }
        if operators.is_none() {
            let listed = cluster.operators().await.map_err(|why| {
                let message = format!(
                    "the Operators of the cluster cannot be read: {why}; name their files instead"
                );
                failed("no-operators", message)
            })?;
            operators = Some(valid(&listed, output));
        }
        let reader = live::read(&args.observed, &cluster, Some(INTERVAL)).await?;
        for note in live::notes(&reader, &args.observed) {
            output.complain(&format!("warning: {note}"));
        }
        let operators = operators.unwrap_or_default();
        let counts = counts(&operators, &reader.snapshot());
        Ok((operators, counts))
    })
}

/// The Operators that can be drawn.
fn valid(objects: &[Value], output: &mut Output) -> Vec<Operator> {
    let mut valid = Vec::new();
    for object in objects {
        match operator::read(object, &Functions::builtin()) {
            (Some(operator), _) => valid.push(operator),
            (None, _) => {
                let name = object.get("metadata").get("name");
                let name = name.as_str().unwrap_or_default();
                output.complain(&format!(
                    "warning: Operator {name} is invalid and not drawn"
                ));
            }
        }
    }
    valid
}

/// The numbers of these Operators.
fn counts(operators: &[Operator], snapshot: &Snapshot) -> Counts {
    let mut counts = Counts::default();
    for operator in operators {
        for controller in &operator.controllers {
            let (operator, name) = (operator.name.clone(), controller.name.clone());
            let now = snapshot.controller(&operator, &name);
            let sources = now.into_iter().flat_map(|now| &now.sources);
            // What has not been read yet is not zero.
            for (source, (objects, _)) in sources.filter(|(_, (_, synced))| *synced) {
                let place = (operator.clone(), name.clone(), source.clone());
                counts.sources.insert(place, *objects);
            }
            for (kind, objects) in now.into_iter().flat_map(|now| &now.targets) {
                let place = (operator.clone(), name.clone(), kind.clone());
                counts.targets.insert(place, *objects);
            }
            counts.controllers.insert((operator, name), state(now));
        }
    }
    counts
}

/// `12.3 changes/s, 2 errors`
fn state(now: Option<&ControllerNow>) -> NodeState {
    let Some(now) = now else {
        return NodeState {
            text: "does not run".to_owned(),
            failing: true,
        };
    };
    let numbers = &now.numbers;
    let mut parts = Vec::new();
    if numbers.changes.is_some() {
        parts.push(format!("{} changes/s", rate(numbers.changes)));
    } else if numbers.objects.is_some() {
        let (read, derived) = (count(numbers.objects), count(numbers.derived));
        parts.push(format!("{read} read, {derived} derived"));
    }
    let errors = numbers.errors.filter(|errors| *errors > 0.0);
    if let Some(errors) = errors {
        let plural = if errors > 1.0 { "s" } else { "" };
        parts.push(format!("{} error{plural}", count(Some(errors))));
    }
    let waits = now.ready.as_ref().filter(|ready| ready.status != "True");
    if let Some(ready) = waits.filter(|_| errors.is_none()) {
        parts.push(ready.reason.clone());
    }
    NodeState {
        failing: errors.is_some() || waits.is_some_and(|ready| ready.reason != "Syncing"),
        text: parts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{Condition, Numbers};

    fn said(numbers: Numbers, ready: Option<(&str, &str)>) -> (String, bool) {
        let ready = ready.map(|(status, reason)| Condition {
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
        });
        let now = ControllerNow {
            ready,
            numbers,
            ..ControllerNow::default()
        };
        let NodeState { text, failing } = state(Some(&now));
        (text, failing)
    }

    #[test]
    fn a_controller_says_what_it_does() {
        let busy = Numbers {
            changes: Some(12.34),
            ..Numbers::default()
        };
        let is = |found: (String, bool), text: &str, failing: bool| {
            assert_eq!(found, (text.to_owned(), failing));
        };
        is(said(busy.clone(), None), "12.3 changes/s", false);
        is(
            said(busy.clone(), Some(("True", "Ready"))),
            "12.3 changes/s",
            false,
        );
        is(
            said(busy.clone(), Some(("False", "Syncing"))),
            "12.3 changes/s, Syncing",
            false,
        );
        is(
            said(busy.clone(), Some(("False", "NotReady"))),
            "12.3 changes/s, NotReady",
            true,
        );
        let failing = Numbers {
            errors: Some(2.0),
            ..busy
        };
        let reason = Some(("Unknown", "ReconciliationFailed"));
        is(said(failing, reason), "12.3 changes/s, 2 errors", true);
        let status = Numbers {
            objects: Some(5.0),
            derived: Some(3.0),
            ..Numbers::default()
        };
        is(said(status, None), "5 read, 3 derived", false);
        assert_eq!(state(None).text, "does not run");
    }
}
