//! The compiled expression.

use std::sync::Arc;

use document::{Key, Location, Path, Value};

use crate::table::Operator;

/// A compiled expression: what the user wrote, understood.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A value as it is.
    Literal(Value),
    /// `"@now"`: the time of the batch.
    Now,
    /// A path: its first match or null.
    Path(Box<PathExpr>),
    /// A list of expressions.
    List(Box<[Expr]>, Location),
    /// A list of exactly one path or operator, where a list is wanted: the value itself
    /// if that is a list, otherwise a list of it.
    One(Box<Expr>),
    /// A map with plain keys, setters and perhaps `"$."`.
    Map(Box<MapExpr>),
    /// An operator of the table.
    Call(Box<Call>),
    /// `@switch`: the first pair whose case holds.
    Switch(Box<[(Expr, Expr)]>, Location),
    /// `@query`: all matches of a path.
    Query(Box<PathExpr>),
    /// `@getField` with a computed path.
    GetField(Box<Expr>, Location),
    /// `@setField`.
    SetField(Box<(FieldPath, Expr)>, Location),
    /// `@rnd`: a stable number of the range.
    Random(Args, Location),
    /// `@cel`.
    Cel(Box<CelExpr>),
}

/// A path with its place.
#[derive(Clone, Debug)]
pub struct PathExpr {
    /// The path.
    pub path: Path,
    /// Whether `metadata.resourceVersion` and `metadata.generation` of a source object
    /// must be taken out of what this path reads: they are seen only where they are named.
    pub hides_versions: bool,
    /// Where it stands.
    pub at: Location,
}

/// The path of `@setField`.
#[derive(Clone, Debug)]
pub enum FieldPath {
    /// Written.
    Fixed(Path),
    /// Computed.
    Computed(Expr),
}

/// A CEL program with its place.
#[derive(Clone, Debug)]
pub struct CelExpr {
    /// The program.
    pub program: cel_interpreter::Program,
    /// See [`PathExpr::hides_versions`].
    pub hides_versions: bool,
    /// Where it stands.
    pub at: Location,
}

/// A map that is built anew.
#[derive(Clone, Debug)]
pub struct MapExpr {
    /// The value of `"$."`: all its keys are copied first.
    pub copy: Option<Expr>,
    /// Plain keys, sorted.
    pub entries: Box<[(Key, Expr)]>,
    /// Setters, sorted by their text.
    pub setters: Box<[Setter]>,
    /// Where it stands.
    pub at: Location,
}

/// A map key that starts with `$`.
#[derive(Clone, Debug)]
pub struct Setter {
    /// Where to set.
    pub path: Path,
    /// What to set.
    pub value: Expr,
    /// Where it stands.
    pub at: Location,
}

/// An operator with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operator.
    pub operator: Arc<Operator>,
    /// Its arguments.
    pub args: Args,
    /// Where it stands.
    pub at: Location,
}

/// The arguments of an operator.
#[derive(Clone, Debug)]
pub enum Args {
    /// Each one written.
    Written(Box<[Expr]>),
    /// One expression that yields the list of arguments (or the only one).
    Yielded(Box<Expr>),
}

impl Expr {
    /// Whether it is written as a value and not as a path or an operator, which may give
    /// anything.
    pub(crate) fn is_written(&self) -> bool {
        match self {
            Self::Literal(_) | Self::Now | Self::List(..) | Self::Map(_) => true,
            Self::Path(_)
            | Self::One(_)
            | Self::Call(_)
            | Self::Switch(..)
            | Self::Query(_)
            | Self::GetField(..)
            | Self::SetField(..)
            | Self::Random(..)
            | Self::Cel(_) => false,
        }
    }

    /// The call of this operator, if it is one.
    pub fn as_call(&self, name: &str) -> Option<&Call> {
        let Self::Call(call) = self else { return None };
        (call.operator.name == name).then_some(call)
    }

    /// The written arguments, if this is a call of this operator.
    pub fn args_of(&self, name: &str) -> Option<&[Expr]> {
        match &self.as_call(name)?.args {
            Args::Written(args) => Some(args),
            Args::Yielded(_) => None,
        }
    }

    /// The literal value, if it is one.
    pub fn as_literal(&self) -> Option<&Value> {
        let Self::Literal(value) = self else {
            return None;
        };
        Some(value)
    }

    /// Whether the value is written down: `null` in an `@eq` tests for null.
    pub fn is_written_null(&self) -> bool {
        self.as_literal().is_some_and(Value::is_null) || self.as_call("@nil").is_some()
    }
}
