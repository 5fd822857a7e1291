//! What a cluster's administrator lets Operators do.

use document::{Location, Value};
use expr::Functions;
use operator::{Operator, Problem, Severity};

use super::resource::OperatorObject;
use crate::targets::TargetPolicy;

/// What an Operator must keep to.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Whether it must name a `serviceAccount`.
    pub require_service_account: bool,
    /// Which kinds it may write.
    pub targets: TargetPolicy,
}

impl Policy {
    /// Reads an Operator that is to run; otherwise all the errors.
    pub(super) fn read(&self, object: &OperatorObject) -> Result<Operator, Vec<Problem>> {
        if let Some(problem) = object.unreadable() {
            return Err(vec![problem]);
        }
        let (operator, mut problems) = operator::read(&object.value, &Functions::builtin());
        if let Some(operator) = &operator {
            problems.extend(self.refusals(operator, object.spec()));
        }
        problems.retain(|problem| problem.severity == Severity::Error);
        match operator {
            Some(operator) if problems.is_empty() => Ok(operator),
            _ => Err(problems),
        }
    }

    /// Why this Operator may not run; `spec` is where it was read from.
    pub fn refusals(&self, operator: &Operator, spec: &Value) -> Vec<Problem> {
        let at = Location::root().key("spec");
        let mut refusals = Vec::new();
        if self.require_service_account && operator.service_account.is_none() {
            let message = "an Operator without a serviceAccount is refused here";
            let problem = Problem::error("service-account-required", &at, message);
            let help = "set spec.serviceAccount to the account whose rights it is to have";
            refusals.push(problem.with_help(help));
        }
        for (i, controller) in operator.controllers.iter().enumerate() {
            let at = at.key("controllers").index(i);
            let written = spec.get("controllers").at(i);
            for (k, target) in controller.targets.iter().enumerate() {
                let Err(denied) = self.targets.check(&target.resource) else {
                    continue;
                };
                let at = if written.get("targets").is_null() {
                    at.key("target")
                } else {
                    at.key("targets").index(k)
                };
                let problem = Problem::error("target-denied", &at, denied.to_string());
                let help = "write another kind, or ask who runs deltic to allow this one";
                refusals.push(problem.with_help(help));
            }
        }
        refusals
    }
}
