//! The columns of views: whether their paths exist, and have the type of the column.

use document::{Location, Value};
use object::{Column, ColumnType};
use schema::{Budget, Type};

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
                let at = at.index(i);
                let found = inference.read(&column.path, &at.key("path"), &scope);
                if let Some(problem) = misfit(column, &found, &at) {
                    inference.report(problem);
                }
            }
        }
    }
    inference.problems
}

/// The problem of a column whose values never have its type. A text shows values of any type.
fn misfit(column: &Column, found: &Type, at: &Location) -> Option<Problem> {
    let wanted = match column.kind {
        ColumnType::String => return None,
        ColumnType::Integer => Type::integer(),
        ColumnType::Number => Type::number(),
        ColumnType::Boolean => Type::boolean(),
        ColumnType::Date => Type::string(),
    };
    let found = found.clone().without_null();
    if found.any || found.is_never() || found.overlaps(&wanted) {
        return None;
    }
    let (path, kind) = (&column.path, column.kind.name());
    let message = format!("{path} is {found}, but the column is of type {kind}");
    Some(Problem::warning("wrong-type", &at.key("type"), message))
}
