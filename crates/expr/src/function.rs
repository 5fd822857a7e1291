//! The functions of the language, such as `@concat`: their names, arguments, bodies and
//! documentation. Users call them operators.
//!
//! The body decides how the compiler and the evaluator treat the arguments:
//!
//! ```text
//! {"@upper":  "$.name"}          Body::Strict   evaluates the arguments, then calls a function
//! {"@and":    ["$.a", "$.b"]}    Body::Lazy     evaluates only the arguments that it needs
//! {"@map":    ["$$.x", "$.l"]}   Body::Each     evaluates the first for every item of the second
//! {"@switch": [["$.a", 1]]}      Body::Form     has a syntax of its own
//! ```

use std::sync::{Arc, LazyLock};

use document::{ListRef, Value};

use crate::error::{Error, ErrorKind};
use crate::expr::Expr;
use crate::scope::{Env, Scope};
use crate::types::{Gives, Types};
use crate::{functions, suggest};

/// A function of the language, with its documentation.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, with the `@`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// How many arguments it takes.
    pub arity: Arity,
    /// The implementation.
    pub body: Body,
    /// The types of its arguments and its result.
    pub types: Types,
    /// The position of an argument that must be a list. There `["$.list"]` means the list
    /// itself, not a list that contains it.
    pub list_argument: Option<usize>,
    /// Whether a list with one path or function may mean the list of all arguments:
    /// `{"@concat": [{"@map": …}]}`.
    pub joins_one_list: bool,
    /// How much of its arguments it reads.
    pub cost: Cost,
    /// The syntax.
    pub signature: &'static str,
    /// A sentence or two about the result.
    pub summary: &'static str,
    /// Examples; they run as tests.
    pub examples: &'static [Example],
}

/// An example as JSON texts: the expression, the value of `$`, and the result
/// (`error: CODE` for an error).
#[derive(Clone, Copy, Debug)]
pub struct Example(pub &'static str, pub &'static str, pub &'static str);

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// One. A list is the argument itself, not a list of arguments.
    Unary,
    /// At least the first number, and at most the second; `None` for no limit.
    Nary(usize, Option<usize>),
}

impl Arity {
    /// Whether it takes this number of arguments.
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

/// How much of its arguments a function reads. An evaluation is charged for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A string, or the elements of a list or map, but nothing inside them.
    Shallow,
    /// The whole arguments: the charge is their size as JSON.
    Written,
}

/// The implementation of a function.
#[derive(Clone)]
pub enum Body {
    /// A function of its one argument.
    Whole(fn(&Value) -> Result<Value, ErrorKind>),
    /// A function of its one argument, which must be a list.
    List(fn(ListRef<'_>) -> Result<Value, ErrorKind>),
    /// A function of all its arguments.
    Strict(fn(&[Value]) -> Result<Value, ErrorKind>),
    /// A function of its arguments that charges for its work while it runs.
    Metered(fn(&[Value], &Env) -> Result<Value, ErrorKind>),
    /// Whether two arguments are equal, or are not. Two nulls are equal only if one of
    /// them is written in the expression.
    Equality {
        /// `@ne`
        negated: bool,
    },
    /// Whether two arguments are in this order. Two RFC 3339 times compare as times.
    Order(Relation),
    /// Evaluates only the arguments that it needs.
    Lazy(fn(&[Expr], &Scope<'_>) -> Result<Value, Box<Error>>),
    /// `[body, list]`: evaluates the body with `$$` for items of the list.
    Each(Each, Yields),
    /// The argument has a syntax of its own.
    Form(Form),
    /// A pure function that the embedding program added.
    Own(Arc<OwnFunction>),
}

/// The relation that `@lt`, `@lte`, `@gt` or `@gte` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `@lt`
    Less,
    /// `@lte`
    LessOrEqual,
    /// `@gt`
    Greater,
    /// `@gte`
    GreaterOrEqual,
}

/// The type of functions that [`Functions::with_function`] takes.
pub type OwnFunction = dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync;

/// What the result of a [`Body::Each`] is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    /// Of the results of the body: only the fields of an item that the body reads matter.
    Results,
    /// Of the items themselves: all fields of an item matter.
    Items,
}

/// The function of a [`Body::Each`]: body, list, scope.
pub type Each = fn(&Expr, ListRef<'_>, &Scope<'_>) -> Result<Value, Box<Error>>;

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Whole(_) => "Whole",
            Self::List(_) => "List",
            Self::Strict(_) => "Strict",
            Self::Metered(_) => "Metered",
            Self::Equality { .. } => "Equality",
            Self::Order(_) => "Order",
            Self::Lazy(_) => "Lazy",
            Self::Each(..) => "Each",
            Self::Form(form) => return write!(f, "Form({form:?})"),
            Self::Own(_) => "Own",
        })
    }
}

/// The functions whose argument is not a list of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `@noop`, `@nil`: the argument is ignored.
    Nothing,
    /// `@literal`: the argument verbatim.
    Literal,
    /// `@dict`: a map with literal keys.
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

/// All functions by name.
#[derive(Clone, Debug)]
pub struct Functions {
    functions: Vec<Arc<Function>>,
}

static BUILTIN: LazyLock<Functions> = LazyLock::new(|| {
    let mut functions: Vec<_> = functions::all().map(Arc::new).collect();
    functions.sort_by_key(|function| function.name);
    Functions { functions }
});

impl Functions {
    /// The functions of the language.
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Adds a function of your own. It must be pure: if the same arguments gave different
    /// results, incremental updates would be wrong.
    ///
    /// ```
    /// use document::{Location, Value, json};
    /// use expr::{Arity, Env, Functions, Scope};
    ///
    /// let functions = Functions::builtin().with_function("@double", Arity::Nary(1, Some(1)), |args| {
    ///     args[0].as_int().map(|i| Value::from(i * 2)).ok_or("expected an integer".to_owned())
    /// })?;
    /// let spec = json!({"@double": "$.n"});
    /// let double = expr::compile(&spec, &Location::root(), &functions, expr::Items::None).unwrap();
    /// let (env, document) = (Env::default(), json!({"n": 21}));
    /// assert_eq!(double.eval(&Scope::new(&env, &document)).unwrap(), json!(42));
    /// # Ok::<(), expr::functions::BadName>(())
    /// ```
    pub fn with_function(
        mut self,
        name: &'static str,
        arity: Arity,
        function: impl Fn(&[Value]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Result<Self, functions::BadName> {
        let plain = name.strip_prefix('@').unwrap_or_default();
        if plain.is_empty() || self.get(name).is_some() {
            return Err(functions::BadName(name));
        }
        self.functions.push(Arc::new(Function {
            name,
            aliases: &[],
            arity,
            body: Body::Own(Arc::new(function)),
            types: Types {
                takes: &[],
                gives: Gives::Anything,
            },
            list_argument: None,
            joins_one_list: false,
            cost: Cost::Written,
            signature: "",
            summary: "",
            examples: &[],
        }));
        Ok(self)
    }

    /// The function with this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions
            .iter()
            .find(|function| function.name == name || function.aliases.contains(&name))
    }

    /// All functions, sorted by name.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().map(Arc::as_ref)
    }

    /// The most similar name, if there is a similar one.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        suggest::nearest(
            name,
            self.functions().flat_map(|function| {
                std::iter::once(function.name).chain(function.aliases.iter().copied())
            }),
        )
    }
}
