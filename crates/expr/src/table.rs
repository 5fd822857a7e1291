//! The operator table: what exists, what it takes, what it does, how it is explained.

use std::sync::{Arc, LazyLock};

use document::{ListRef, Value};

use crate::error::{Error, ErrorKind};
use crate::expr::Expr;
use crate::scope::{Env, Scope};
use crate::{ops, suggest};

/// An operator: one entry of the table.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its name, with the `@`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// How many arguments it takes.
    pub arity: Arity,
    /// What it does.
    pub body: Body,
    /// The position of an argument that must be a list, for `{"@op": [x, ["$.list"]]}`.
    pub list_argument: Option<usize>,
    /// What it reads of its arguments.
    pub cost: Cost,
    /// How it is written.
    pub signature: &'static str,
    /// What it gives, in a sentence or two.
    pub summary: &'static str,
    /// Examples; they run as tests.
    pub examples: &'static [Example],
}

/// An example of an operator as JSON texts: the expression, what `$` is, and what comes
/// out (`error: CODE` for an error).
#[derive(Clone, Copy, Debug)]
pub struct Example(pub &'static str, pub &'static str, pub &'static str);

/// How many arguments an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// One, taken whole: a list is a list.
    Unary,
    /// From so many to so many; `None` for any number.
    Nary(usize, Option<usize>),
}

impl Arity {
    /// Whether so many arguments are right.
    pub fn allows(self, count: usize) -> bool {
        match self {
            Self::Unary => count == 1,
            Self::Nary(least, most) => count >= least && most.is_none_or(|most| count <= most),
        }
    }
}

impl std::fmt::Display for Arity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Unary | Self::Nary(1, Some(1)) => f.write_str("1 argument"),
            Self::Nary(0, None) => f.write_str("any number of arguments"),
            Self::Nary(least, None) => write!(f, "{least} or more arguments"),
            Self::Nary(least, Some(most)) if least == most => write!(f, "{least} arguments"),
            Self::Nary(least, Some(most)) => write!(f, "{least} to {most} arguments"),
        }
    }
}

/// What an operator reads of its arguments, which is what it is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A string, or what stands in a list or map, but nothing further down.
    Shallow,
    /// All of them, as they are written out.
    Written,
}

/// What an operator does.
#[derive(Clone)]
pub enum Body {
    /// A function of its one argument.
    Whole(fn(&Value) -> Result<Value, ErrorKind>),
    /// A function of its one argument, which must be a list.
    List(fn(ListRef<'_>) -> Result<Value, ErrorKind>),
    /// A function of its arguments.
    Strict(fn(&[Value]) -> Result<Value, ErrorKind>),
    /// A function of its arguments that pays for what it does on the way.
    Metered(fn(&[Value], &Env) -> Result<Value, ErrorKind>),
    /// Whether two arguments are equal, or are not: a `null` that is written counts.
    Equality {
        /// `@ne`
        negated: bool,
    },
    /// Evaluates its arguments as it needs them.
    Lazy(fn(&[Expr], &Scope<'_>) -> Result<Value, Box<Error>>),
    /// `[body, list]`: evaluates the body with `$$` for items of the list.
    Each(Each, Yields),
    /// Has a form of its own.
    Form(Form),
    /// A pure function of the embedding program.
    Own(Arc<OwnFunction>),
}

/// The type of functions that [`Table::with_operator`] takes.
pub type OwnFunction = dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync;

/// What an operator with items makes its result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    /// Of what the body gives: of an item only what the body reads matters.
    Results,
    /// Of the items themselves: all of an item matters.
    Items,
}

/// A function of an operator with items: body, list, scope.
pub type Each = fn(&Expr, ListRef<'_>, &Scope<'_>) -> Result<Value, Box<Error>>;

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Whole(_) => "Whole",
            Self::List(_) => "List",
            Self::Strict(_) => "Strict",
            Self::Metered(_) => "Metered",
            Self::Equality { .. } => "Equality",
            Self::Lazy(_) => "Lazy",
            Self::Each(..) => "Each",
            Self::Form(form) => return write!(f, "Form({form:?})"),
            Self::Own(_) => "Own",
        })
    }
}

/// Operators whose argument is not a list of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `@noop`, `@nil`: the argument is ignored.
    Nothing,
    /// `@literal`: the argument verbatim.
    Literal,
    /// `@dict`: a map whose keys are literal.
    Dict,
    /// `@switch`: pairs.
    Switch,
    /// `@query`: a path.
    Query,
    /// `@getField`: a path that may be computed.
    GetField,
    /// `@setField`: a path and a value.
    SetField,
    /// `@rnd`: a range.
    Random,
    /// `@cel`: a CEL expression.
    Cel,
}

/// All operators by name.
#[derive(Clone, Debug)]
pub struct Table {
    operators: Vec<Arc<Operator>>,
}

static BUILTIN: LazyLock<Table> = LazyLock::new(|| {
    let mut operators: Vec<_> = ops::all().map(Arc::new).collect();
    operators.sort_by_key(|operator| operator.name);
    Table { operators }
});

impl Table {
    /// The operators of the language.
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// This table with one more operator: a pure function of its arguments, under a name
    /// of your own. The same arguments must give the same result, or incremental results
    /// go wrong.
    ///
    /// ```
    /// use document::{Location, Value, json};
    /// use expr::{Arity, Env, Scope, Table};
    ///
    /// let table = Table::builtin().with_operator("@double", Arity::Nary(1, Some(1)), |args| {
    ///     args[0].as_int().map(|i| Value::from(i * 2)).ok_or("expected an integer".to_owned())
    /// })?;
    /// let spec = json!({"@double": "$.n"});
    /// let double = expr::compile(&spec, &Location::root(), &table, expr::Items::None).unwrap();
    /// let (env, document) = (Env::default(), json!({"n": 21}));
    /// assert_eq!(double.eval(&Scope::new(&env, &document)).unwrap(), json!(42));
    /// # Ok::<(), expr::ops::BadName>(())
    /// ```
    pub fn with_operator(
        mut self,
        name: &'static str,
        arity: Arity,
        function: impl Fn(&[Value]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Result<Self, ops::BadName> {
        let plain = name.strip_prefix('@').unwrap_or_default();
        if plain.is_empty() || self.get(name).is_some() {
            return Err(ops::BadName(name));
        }
        self.operators.push(Arc::new(Operator {
            name,
            aliases: &[],
            arity,
            body: Body::Own(Arc::new(function)),
            list_argument: None,
            cost: Cost::Written,
            signature: "",
            summary: "",
            examples: &[],
        }));
        Ok(self)
    }

    /// The operator of this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<Operator>> {
        self.operators
            .iter()
            .find(|operator| operator.name == name || operator.aliases.contains(&name))
    }

    /// All operators, by name.
    pub fn operators(&self) -> impl Iterator<Item = &Operator> {
        self.operators.iter().map(Arc::as_ref)
    }

    /// The name that is nearest to this one, if any is near.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        suggest::nearest(
            name,
            self.operators().flat_map(|operator| {
                std::iter::once(operator.name).chain(operator.aliases.iter().copied())
            }),
        )
    }
}
