//! The columns of views: whether their paths exist.

use document::Value;
use schema::Budget;

use super::inference::{Inference, Scope};
use super::{Views, kinds};
use crate::problem::Problem;
use crate::spec::Operator;

/// The problems of columns whose paths no object of their view has.
pub(super) fn check(operator: &Operator, manifest: &Value, views: &Views) -> Vec<Problem> {
    let mut inference = Inference::new(Budget::default(), &[]);
    for controller in &operator.controllers {
        for (number, target) in controller.targets.iter().enumerate() {
            if target.columns.is_empty() {
                continue;
            }
            let scope = Scope::of(views.object(&target.resource));
            let at = kinds::target_at(manifest, &controller.at, number).key("columns");
            for (i, column) in target.columns.iter().enumerate() {
                inference.read(&column.path, &at.index(i).key("path"), &scope);
            }
        }
    }
    inference.problems
}
