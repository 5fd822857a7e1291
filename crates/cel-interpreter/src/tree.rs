//! The tree of an expression, which the [`parser`](crate::parser) builds and the interpreter
//! evaluates.
//!
//! Names are resolved: a free identifier is the number of a variable, an identifier of a
//! comprehension the number of a local. A chain of members of a variable is one path, which is
//! read without intermediate values:
//!
//! ```text
//! object.spec.ports.all(p, p.port > base)
//!
//! Fold all
//! ├ range   Path object.spec.ports        variable 0
//! └ body    Relation >
//!           ├ Member port of Local 0
//!           └ Path base                   variable 1
//! ```

use std::ops::Range;
use std::sync::Arc;

use document::Key;

use crate::function::{Function, pattern::Pattern};
use crate::value::Val;

/// An expression or a part of one.
pub(crate) enum CelExpr {
    Literal(Val),
    /// A variable, or a member of one: `object.spec.replicas`.
    Path(Path),
    /// The n-th local, counted from the outermost.
    Local(usize),
    /// `base.key`
    Member(Box<CelExpr>, Key),
    /// `base.?key`
    OptionalMember(Box<CelExpr>, Key),
    /// `has(base.key)`
    Has(Box<CelExpr>, Key),
    /// `base[index]`; `base[?index]` if optional.
    Index {
        base: Box<CelExpr>,
        index: Box<CelExpr>,
        optional: bool,
    },
    /// Elements; the flag marks `?element`.
    List(Vec<(CelExpr, bool)>),
    /// Keys and values; the flag marks `?key: value`.
    Map(Vec<(CelExpr, CelExpr, bool)>),
    Not(Box<CelExpr>),
    Negate(Box<CelExpr>),
    And(Vec<CelExpr>),
    Or(Vec<CelExpr>),
    /// Condition, then, else.
    Conditional(Box<[CelExpr; 3]>),
    Arithmetic(Arithmetic, Box<[CelExpr; 2]>),
    Relation(Relation, Box<[CelExpr; 2]>),
    /// `==`, or `!=` if the flag is false.
    Equal(bool, Box<[CelExpr; 2]>),
    In(Box<[CelExpr; 2]>),
    Call(Box<Call>),
    /// `optional.or(other)`; `orValue` if `unwrap`. `other` is evaluated only if needed.
    OptionalOr {
        optional: Box<CelExpr>,
        other: Box<CelExpr>,
        unwrap: bool,
    },
    /// `optional.optMap(local, body)`; `optFlatMap` if `flat`.
    OptionalMap {
        optional: Box<CelExpr>,
        body: Box<CelExpr>,
        flat: bool,
    },
    Fold(Box<Fold>),
}

/// Where an expression and its parts are in the text. It has the shape of the tree: the parts are
/// those that [`CelExpr::each`] visits, in the same order.
pub(crate) struct ExprSpan {
    pub range: Range<usize>,
    pub parts: Vec<ExprSpan>,
}

/// An expression with its place.
#[derive(Clone, Copy)]
pub(crate) struct Located<'a> {
    pub node: &'a CelExpr,
    pub place: &'a ExprSpan,
}

impl Located<'_> {
    /// The direct subexpressions.
    pub(crate) fn parts(self) -> Vec<Self> {
        let mut parts = Vec::new();
        self.node.each(&mut |node| {
            let place = self.place.parts.get(parts.len()).unwrap_or(self.place);
            parts.push(Self { node, place });
        });
        parts
    }
}

/// A chain of members that starts at a variable.
pub(crate) struct Path {
    /// The number of the variable.
    pub variable: usize,
    pub keys: Vec<Key>,
}

/// A call of a function; the target of a method is its first argument.
pub(crate) struct Call {
    pub function: &'static Function,
    pub args: Vec<CelExpr>,
    /// The compiled second argument of a regular expression function, if it is a literal.
    pub pattern: Option<Arc<Pattern>>,
    /// Whether it is written as a method: `x.f()`.
    pub method: bool,
    /// Whether its last argument is written as a list, so that the number of items is known.
    pub listed: bool,
}

/// A comprehension over the items of a list or the keys of a map.
pub(crate) struct Fold {
    pub kind: FoldKind,
    pub range: CelExpr,
    /// Whether there are two variables: the index and the item, or the key and the value.
    pub pairs: bool,
    /// The condition of `map` with three arguments.
    pub filter: Option<CelExpr>,
    /// The value or condition that is evaluated for each item.
    pub body: CelExpr,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    /// `map`, or `transformList` with two variables.
    Map,
    Filter,
    TransformMap,
    TransformMapEntry,
    SortBy,
}

impl FoldKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Exists => "exists",
            Self::ExistsOne => "exists_one",
            Self::Map => "map",
            Self::Filter => "filter",
            Self::TransformMap => "transformMap",
            Self::TransformMapEntry => "transformMapEntry",
            Self::SortBy => "sortBy",
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Relation {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Relation {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }
}

impl CelExpr {
    /// Visits the direct subexpressions.
    pub(crate) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a CelExpr)) {
        match self {
            Self::Literal(_) | Self::Path(_) | Self::Local(_) => {}
            Self::Member(base, _) | Self::OptionalMember(base, _) | Self::Has(base, _) => {
                visit(base);
            }
            Self::Not(inner) | Self::Negate(inner) => visit(inner),
            Self::Index { base, index, .. } => {
                visit(base);
                visit(index);
            }
            Self::List(items) => items.iter().for_each(|(item, _)| visit(item)),
            Self::Map(entries) => entries.iter().for_each(|(key, value, _)| {
                visit(key);
                visit(value);
            }),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(visit),
            Self::In(pair)
            | Self::Equal(_, pair)
            | Self::Arithmetic(_, pair)
            | Self::Relation(_, pair) => pair.iter().for_each(visit),
            Self::Conditional(parts) => parts.iter().for_each(visit),
            Self::Call(call) => call.args.iter().for_each(visit),
            Self::OptionalOr {
                optional, other, ..
            } => {
                visit(optional);
                visit(other);
            }
            Self::OptionalMap { optional, body, .. } => {
                visit(optional);
                visit(body);
            }
            Self::Fold(fold) => {
                visit(&fold.range);
                fold.filter.iter().for_each(&mut *visit);
                visit(&fold.body);
            }
        }
    }
}
