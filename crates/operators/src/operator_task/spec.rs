//! Reads the spec of an Operator, and reports what is wrong with it.

use engine::guard::Boundary;
use operator::{Operator, Problem, WHOLE_OBJECT};

use super::OperatorTask;
use crate::report::{self, OperatorState, Reason};
use crate::resource::OperatorObject;

impl OperatorTask {
    /// Reads an Operator and checks the policy. If it may not run, its state says why.
    pub(crate) fn read(&mut self, object: &OperatorObject) -> Option<Operator> {
        self.pass(Boundary::Spec);
        let problems = match self.shared.policy.read(object) {
            Ok((operator, warnings)) => {
                self.warn_of_whole_objects(object, &warnings);
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

    /// Sends an Event about pipelines that write back whole objects, once for each spec: nothing
    /// else shows why changes of users do not last.
    fn warn_of_whole_objects(&mut self, object: &OperatorObject, warnings: &[Problem]) {
        let generation = Some(object.generation());
        let mut whole = warnings
            .iter()
            .filter(|problem| problem.code == WHOLE_OBJECT);
        if self.warned != generation
            && let Some(first) = whole.next()
        {
            self.warned = generation;
            self.events.warn("WholeObject", &report::problem(first));
        }
    }
}
