//! Reads the spec of an Operator, and reports what is wrong with it.

use document::{LocationStep, Value};
use engine::guard::Boundary;
use expr::Functions;
use object::bounded;
use object::marks::ALLOW;
use operator::spec::Draft;
use operator::{Operator, Problem, WHOLE_OBJECT};
use schema::Catalog;

use super::OperatorTask;
use crate::report::{self, OperatorState, Reason};
use crate::resource::OperatorObject;

/// How many findings an Event names.
const SHOWN: usize = 3;
/// The longest text of a finding in an Event, in bytes.
const MAX_FINDING: usize = 300;

impl OperatorTask {
    /// Reads an Operator and checks the policy. If it may not run, its state says why.
    pub(crate) async fn read(&mut self, object: &OperatorObject) -> Option<Operator> {
        self.passed = Boundary::Spec;
        let (shared, name, of) = (self.shared.clone(), self.name.clone(), object.clone());
        // The work grows with the spec, and must not hold up others.
        let read = self.shared.readers.run(move || {
            shared.fail_points.pass(&name, Boundary::Spec);
            shared.policy.read(&of)
        });
        let problems = match read.await {
            Ok((operator, warnings)) => {
                self.warn(object, &warnings);
                return Some(operator);
            }
            Err(problems) => problems,
        };
        let first = problems.first();
        let note = first.map(report::problem).unwrap_or_default();
        if self.engine.is_none() {
            let code = first.map_or("unreadable", |problem| problem.code);
            let why = format!("the Operator is invalid or refused ({code})");
            self.shared.engines.down(&self.name, &why);
        }
        let running = self.engine.as_ref().map(|engine| engine.of.generation());
        let state = OperatorState::Invalid { problems, running };
        if self.state != state {
            self.events.warn(Reason::Invalid.as_str(), &note);
            self.state = state;
            self.publisher.changed();
        }
        None
    }

    /// Sends Events about the warnings of `deltic check`, once for each spec: nothing else shows,
    /// for example, why changes of users do not last. A replica that stands by sends none.
    fn warn(&mut self, object: &OperatorObject, warnings: &[Problem]) {
        let generation = Some(object.generation());
        if !self.leads || self.warned == generation || object.is_leaving() {
            return;
        }
        self.warned = generation;
        let mut whole = warnings.iter();
        if let Some(whole) = whole.find(|problem| problem.code == WHOLE_OBJECT) {
            self.events.warn("WholeObject", &report::problem(whole));
        }
        let (shared, events) = (self.shared.clone(), self.events.clone());
        let manifest = object.value.clone();
        // The Operator does not wait for this, and a panic in it does not concern it.
        tokio::spawn(async move {
            let found = shared.checks.run(move || findings(&manifest)).await;
            if let Some(note) = note(&found) {
                events.warn("Warnings", &note);
            }
        });
    }
}

/// What `deltic check` finds in a valid Operator, except for [`WHOLE_OBJECT`].
fn findings(manifest: &Value) -> Vec<Problem> {
    let (draft, mut found) = Draft::read(manifest, &Functions::builtin());
    let Some(draft) = draft else {
        return found;
    };
    let typed = operator::typed::check(&[(&draft, manifest)], &Catalog::default());
    for problem in typed.into_iter().flatten() {
        // Other Operators are unknown here; the status says whether their views are there.
        let group = LocationStep::Key("apiGroup".to_owned());
        let step = problem.at.parent().map(|(_, step)| step);
        let of_others = problem.code == "unwritten-view" && step == Some(&group);
        // One mistake gives one message.
        if !of_others && found.iter().all(|other| other.at != problem.at) {
            found.push(problem);
        }
    }
    found.retain(|problem| problem.code != WHOLE_OBJECT);
    found
}

/// The note of an Event about findings; `None` if there are none.
fn note(found: &[Problem]) -> Option<String> {
    let shown = found.iter().take(SHOWN);
    let shown = shown.map(|finding| bounded(&report::problem(finding), MAX_FINDING));
    let shown = shown.collect::<Vec<_>>().join("; ");
    let more = match found.len() {
        0 => return None,
        count if count <= SHOWN => String::new(),
        count => format!("; and {} more", count - SHOWN),
    };
    Some(format!(
        "deltic check finds {}: {shown}{more}. List the codes of what is intended in the annotation {ALLOW}",
        found.len()
    ))
}

#[cfg(test)]
mod tests {
    use document::Location;

    use super::*;

    #[test]
    fn a_note_is_bounded() {
        let problem = |number: usize| {
            let at = Location::root().key("spec").index(number);
            Problem::warning("x", &at, "m".repeat(2000))
        };
        let many: Vec<Problem> = (0..100).map(problem).collect();
        let text = note(&many).unwrap();
        assert!(
            text.starts_with("deltic check finds 100: x at spec[0]: mmm"),
            "{text}"
        );
        assert!(
            text.contains("; and 97 more. ") && text.ends_with(ALLOW) && text.len() < 1024,
            "{text}"
        );
        assert_eq!(note(&[]), None);
    }
}
