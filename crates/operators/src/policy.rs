//! The rules that the administrator of a cluster sets for Operators.
//!
//! An Operator that breaks a rule is refused like one whose spec is invalid: it gets no engine,
//! and its status names the field and the flag, for example
//!
//! ```text
//! target-denied at spec.controllers[0].target: rbac.authorization.k8s.io/Role may not be a
//! target here: needs --allow-target rbac.authorization.k8s.io/Role
//! ```

use document::{Location, Value};
use expr::Functions;
use operator::spec::DeletionPolicy;
use operator::{Controller, Operator, Problem, Severity};

use super::resource::OperatorObject;
use crate::targets::TargetPolicy;

/// The rules that an Operator must follow to run.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Whether it must have a `serviceAccount`.
    pub require_service_account: bool,
    /// Which kinds it may write.
    pub targets: TargetPolicy,
    /// The only namespace that it may read, besides cluster-scoped objects.
    pub namespace: Option<String>,
}

impl Policy {
    /// Reads an Operator, with its warnings. Returns all errors if it is invalid or refused.
    pub(super) fn read(
        &self,
        object: &OperatorObject,
    ) -> Result<(Operator, Vec<Problem>), Vec<Problem>> {
        if let Some(problem) = object.unreadable() {
            return Err(vec![problem]);
        }
        let (operator, mut problems) = operator::read(&object.value, &Functions::builtin());
        if let Some(operator) = &operator {
            problems.extend(self.refusals(operator, object.spec()));
        }
        let is_error = |problem: &Problem| problem.severity == Severity::Error;
        let (errors, warnings) = problems.into_iter().partition::<Vec<_>, _>(is_error);
        match operator {
            Some(operator) if errors.is_empty() => Ok((operator, warnings)),
            _ => Err(errors),
        }
    }

    /// An Operator without controllers, which removes the objects of one that is being deleted.
    /// Only its account is read from the spec.
    pub(super) fn removal(&self, object: &OperatorObject) -> Result<Operator, Problem> {
        if let Some(problem) = object.unreadable() {
            return Err(problem);
        }
        let mut operator = operator::spec::without_controllers(&object.value)?;
        operator.deletion_policy = DeletionPolicy::Delete;
        let refused = self.refusals(&operator, object.spec()).into_iter().next();
        refused.map_or(Ok(operator), Err)
    }

    /// The rules that an Operator breaks; `spec` is the spec that it was read from.
    pub fn refusals(&self, operator: &Operator, spec: &Value) -> Vec<Problem> {
        let at = Location::root().key("spec");
        let mut refusals = Vec::new();
        if self.require_service_account && operator.service_account.is_none() {
            let message = "this deltic only runs Operators with a serviceAccount";
            let problem = Problem::error("service-account-required", &at, message);
            let help = "set spec.serviceAccount to an account with the permissions it needs";
            refusals.push(problem.with_help(help));
        }
        for (i, controller) in operator.controllers.iter().enumerate() {
            let at = at.key("controllers").index(i);
            let written = spec.get("controllers").at(i);
            refusals.extend(self.outside(controller, &at));
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
                let help = "write another kind, or ask the administrator of deltic to allow it";
                refusals.push(problem.with_help(help));
            }
        }
        refusals
    }

    /// The sources of a controller whose namespace this process does not read.
    fn outside(&self, controller: &Controller, at: &Location) -> Vec<Problem> {
        let sources = controller.sources.iter().enumerate();
        let sources = sources.filter(|(_, source)| !source.resource.is_view());
        let outside = sources.filter_map(|(k, source)| {
            let (only, found) = (self.namespace.as_ref()?, source.namespace.as_ref()?);
            let message = format!("this deltic only reads namespace {only}, found {found}");
            let at = at.key("sources").index(k).key("namespace");
            let problem = Problem::error("outside-namespace", &at, message);
            let help = "remove it, or run the Operator with a deltic of that --namespace";
            (only != found).then(|| problem.with_help(help))
        });
        outside.collect()
    }
}
