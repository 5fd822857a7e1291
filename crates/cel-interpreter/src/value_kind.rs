//! What the value of an expression is, as far as its outermost part shows.

use crate::reads::chain;
use crate::tree::{CelExpr, FoldKind};

/// The kind of an expression's value, for code that checks types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A boolean.
    Boolean,
    /// A list.
    List,
    /// A map.
    Map,
    /// A string.
    String,
    /// A member of a variable: the names, the variable first.
    Member(Vec<String>),
    /// Something else, or it is not known.
    Unknown,
}

pub(crate) fn value_kind(tree: &CelExpr, variables: &[String]) -> ValueKind {
    match tree {
        CelExpr::Has(..)
        | CelExpr::Not(_)
        | CelExpr::And(_)
        | CelExpr::Or(_)
        | CelExpr::Relation(..)
        | CelExpr::Equal(..)
        | CelExpr::In(_) => ValueKind::Boolean,
        CelExpr::List(_) => ValueKind::List,
        CelExpr::Map(_) => ValueKind::Map,
        CelExpr::Fold(fold) => match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => ValueKind::Boolean,
            _ => ValueKind::Unknown,
        },
        CelExpr::Call(call) if call.function.name() == "string" => ValueKind::String,
        CelExpr::Conditional(parts) => {
            let [_, then, other] = parts.as_ref();
            let then = value_kind(then, variables);
            if then == value_kind(other, variables) {
                then
            } else {
                ValueKind::Unknown
            }
        }
        CelExpr::Path(_) | CelExpr::Member(..) => {
            chain(tree, variables).map_or(ValueKind::Unknown, ValueKind::Member)
        }
        _ => ValueKind::Unknown,
    }
}
