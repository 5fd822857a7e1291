//! The compiled expression: the AST that the evaluator walks and that planning analyses.

use std::sync::Arc;

use document::{Key, Location, Path, Value};

use crate::function::Function;

/// A compiled expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant.
    Literal(Value),
    /// `"@now"`: the time at which the stage evaluates the document.
    Now,
    /// A path: the value is its first match, or null.
    Path(Box<PathExpr>),
    /// A list of expressions.
    List(Box<[Expr]>, Location),
    /// A list with one path or function, at a position that needs a list: the value itself
    /// if it is a list, otherwise a list that contains it.
    One(Box<Expr>),
    /// A map with plain keys, setters and an optional `"$."`.
    Map(Box<MapExpr>),
    /// The call of a function.
    Call(Box<Call>),
    /// `@switch`: pairs of case and action. The first case that holds decides.
    Switch(Box<[(Expr, Expr)]>, Location),
    /// `@query`: all matches of a path.
    Query(Box<PathExpr>),
    /// `@getField` with a computed path.
    GetField(Box<Expr>, Location),
    /// `@setField`.
    SetField(Box<(SetFieldPath, Expr)>, Location),
    /// `@rnd`: a number of the range that does not change on updates or restarts.
    Random(Args, Location),
    /// `@cel`.
    Cel(Box<CelExpr>),
}

/// A path with its location in the spec.
#[derive(Clone, Debug)]
pub struct PathExpr {
    /// The path.
    pub path: Path,
    /// Whether `metadata.resourceVersion` and `metadata.generation` of a source object
    /// must be removed from the result: only a path that names these fields reads them.
    pub hides_versions: bool,
    /// Its location in the spec.
    pub at: Location,
}

/// The path of a `@setField`.
#[derive(Clone, Debug)]
pub enum SetFieldPath {
    /// Written in the spec.
    Fixed(Path),
    /// Computed from the document.
    Computed(Expr),
}

/// A CEL program with its location in the spec.
#[derive(Clone, Debug)]
pub struct CelExpr {
    /// The program.
    pub program: cel_interpreter::Program,
    /// See [`PathExpr::hides_versions`].
    pub hides_versions: bool,
    /// Its location in the spec.
    pub at: Location,
}

/// A map that the expression builds.
#[derive(Clone, Debug)]
pub struct MapExpr {
    /// The value of `"$."`. Its keys are copied before all others.
    pub copy: Option<Expr>,
    /// Plain keys, sorted.
    pub entries: Box<[(Key, Expr)]>,
    /// Setters, sorted by their text.
    pub setters: Box<[Setter]>,
    /// Its location in the spec.
    pub at: Location,
}

/// A map key that starts with `$`.
#[derive(Clone, Debug)]
pub struct Setter {
    /// The field to set.
    pub path: Path,
    /// Its new value.
    pub value: Expr,
    /// Its location in the spec.
    pub at: Location,
}

/// The call of a function.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function.
    pub function: Arc<Function>,
    /// Its arguments.
    pub args: Args,
    /// For a comparison of `"@now"` with something that does not read it: the side of `"@now"`. If
    /// the other side is a time, the comparison sets a deadline.
    pub now_side: Option<NowSide>,
    /// Its location in the spec.
    pub at: Location,
}

/// The side of `"@now"` in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NowSide {
    /// `{"@lt": ["@now", …]}`
    Left,
    /// `{"@lt": […, "@now"]}`
    Right,
}

/// The arguments of a call.
#[derive(Clone, Debug)]
pub enum Args {
    /// One expression for each argument.
    Written(Box<[Expr]>),
    /// One expression that yields the list of arguments, or the only argument.
    Yielded(Box<Expr>),
}

impl Expr {
    /// Whether its type shows in the spec. The type of a path or a call does not.
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

    /// The call, if this is a call of the named function.
    pub fn as_call(&self, name: &str) -> Option<&Call> {
        let Self::Call(call) = self else { return None };
        (call.function.name == name).then_some(call)
    }

    /// The arguments, if this is a call of the named function with one expression for each.
    pub fn args_of(&self, name: &str) -> Option<&[Expr]> {
        match &self.as_call(name)?.args {
            Args::Written(args) => Some(args),
            Args::Yielded(_) => None,
        }
    }

    /// The value of a constant.
    pub fn as_literal(&self) -> Option<&Value> {
        let Self::Literal(value) = self else {
            return None;
        };
        Some(value)
    }

    /// Whether it is a null that the user wrote, such as the one in `{"@eq": ["$.a", null]}`.
    pub fn is_written_null(&self) -> bool {
        self.as_literal().is_some_and(Value::is_null) || self.as_call("@nil").is_some()
    }
}
