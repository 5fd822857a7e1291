//! Compiles JSON into an [`Expr`].
//!
//! The compiler reports all errors of a spec, not only the first: it records an error, puts
//! null in place of the wrong part, and continues. The result counts only without errors.
//!
//! ```text
//! "$.metadata.name"            Expr::Path
//! {"@add": ["$.a", 1]}         Expr::Call     a single key that starts with `@`
//! {"a": "$.b", "$.c.d": 1}     Expr::Map      plain keys, and setters that start with `$`
//! {"a": [1, 2]}                Expr::Literal  all parts are constants
//! ```

mod forms;
mod patterns;

use std::sync::Arc;

use document::path::{Path, Root};
use document::{Location, Map, Value, View};

use crate::error::{CompileError, CompileErrorKind};
use crate::expr::{Args, Call, Expr, MapExpr, NowSide, PathExpr, Setter};
use crate::function::{Arity, Body, Function, Functions};

pub use patterns::Patterns;

/// Whether an expression may use `$$`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// There is no item.
    None,
    /// The caller provides an item, or a function such as `@map` around the expression does.
    Given,
}

/// Compiles one expression.
pub fn compile(
    spec: &Value,
    at: &Location,
    functions: &Functions,
    items: Items,
) -> Result<Expr, Vec<CompileError>> {
    let mut compiler = Compiler::new(functions);
    let expr = compiler.expr(spec, at, items);
    if compiler.errors.is_empty() {
        Ok(expr)
    } else {
        Err(compiler.errors)
    }
}

/// Compiles expressions and collects their errors.
#[derive(Debug)]
pub struct Compiler<'a> {
    functions: &'a Functions,
    /// The errors so far.
    pub errors: Vec<CompileError>,
    /// The kind of the documents.
    pub documents: DocumentKind,
    /// How many regular expressions may still be compiled.
    pub patterns: Patterns,
}

/// The kind of the documents that an expression reads. The versions of source objects are hidden,
/// see [`PathExpr::hides_versions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DocumentKind {
    /// Documents that a stage has built.
    #[default]
    Derived,
    /// Source objects.
    Source,
    /// Joined documents: source objects by name of the input.
    Joined,
}

impl<'a> Compiler<'a> {
    /// A compiler for expressions on documents that are not source objects.
    pub fn new(functions: &'a Functions) -> Self {
        Self {
            functions,
            errors: Vec::new(),
            documents: DocumentKind::Derived,
            patterns: Patterns::default(),
        }
    }

    /// Compiles an expression. After an error the result is null.
    pub fn expr(&mut self, spec: &Value, at: &Location, items: Items) -> Expr {
        match spec.view() {
            View::Str("@now") => Expr::Now,
            View::Str(text) if text.starts_with('$') => match self.path(text, at, items) {
                Some(path) => Expr::Path(Box::new(path)),
                None => Expr::Literal(Value::NULL),
            },
            View::List(list) => {
                let exprs: Vec<_> = list
                    .iter()
                    .enumerate()
                    .map(|(i, item)| self.expr(item, &at.index(i), items))
                    .collect();
                fold(Expr::List(exprs.into(), at.clone()))
            }
            View::Map(map) => match map.entries() {
                [(name, argument)] if name.as_str().starts_with('@') => {
                    self.function(name.as_str(), argument, &at.key(name.as_str()), items)
                }
                _ => self.map(map, at, items),
            },
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => Expr::Literal(spec.clone()),
        }
    }

    /// Records an error.
    pub fn error(&mut self, at: &Location, kind: CompileErrorKind) {
        self.errors.push(CompileError {
            at: at.clone(),
            kind,
        });
    }

    /// Compiles a path that is read, not set.
    pub fn path(&mut self, text: &str, at: &Location, items: Items) -> Option<PathExpr> {
        let path = self.parse_path(text, at)?;
        if path.root() == Root::Item && items == Items::None {
            self.error(at, CompileErrorKind::ItemOutOfScope);
            return None;
        }
        Some(PathExpr {
            hides_versions: path.root() == Root::Document && self.hides_versions(&path),
            path,
            at: at.clone(),
        })
    }

    fn parse_path(&mut self, text: &str, at: &Location) -> Option<Path> {
        if !self.patterns.take_for(text) {
            self.refuse_pattern(at);
            return None;
        }
        match Path::parse(text) {
            Ok(path) => Some(path),
            Err(error) => {
                self.error(
                    at,
                    CompileErrorKind::Path {
                        path: text.to_owned(),
                        error,
                    },
                );
                None
            }
        }
    }

    /// Whether this path may read a whole source object or its whole metadata.
    fn hides_versions(&self, path: &Path) -> bool {
        use document::path::Segment;
        let mut segments = path.segments();
        match self.documents {
            DocumentKind::Derived => return false,
            DocumentKind::Joined => match segments {
                [] => return true,
                [_, rest @ ..] => segments = rest,
            },
            DocumentKind::Source => {}
        }
        match segments {
            [Segment::Name(name)] => name.as_str() == "metadata",
            // The root, or a wildcard, a union or `..`, which may reach the metadata.
            [] | [_] => true,
            [_, _, ..] => false,
        }
    }

    fn map(&mut self, map: &Map, at: &Location, items: Items) -> Expr {
        let mut copy = None;
        let mut entries = Vec::new();
        let mut setters = Vec::new();
        for (key, spec) in map {
            let at = at.key(key.as_str());
            match key.as_str() {
                "$" => self.error(&at, CompileErrorKind::RootSetter),
                "$." => copy = Some(self.expr(spec, &at, items)),
                text if text.starts_with('$') => {
                    let value = self.expr(spec, &at, items);
                    if let Some(path) = self.setter_path(text, &at) {
                        setters.push(Setter { path, value, at });
                    }
                }
                _ => entries.push((key.clone(), self.expr(spec, &at, items))),
            }
        }
        fold(Expr::Map(Box::new(MapExpr {
            copy,
            entries: entries.into(),
            setters: setters.into(),
            at: at.clone(),
        })))
    }

    fn setter_path(&mut self, text: &str, at: &Location) -> Option<Path> {
        let path = self.parse_path(text, at)?;
        if path.root() == Root::Item {
            self.error(
                at,
                CompileErrorKind::Setter {
                    path: text.to_owned(),
                    message: "a key sets a field of the result, which starts with `$`; to set a field of the item use @setField".to_owned(),
                },
            );
            return None;
        }
        if path.is_root() {
            self.error(at, CompileErrorKind::RootSetter);
            return None;
        }
        if let Err(error) = path.check_settable() {
            self.error(
                at,
                CompileErrorKind::Setter {
                    path: text.to_owned(),
                    message: error.to_string(),
                },
            );
            return None;
        }
        Some(path)
    }

    /// Compiles a call; `at` is the location of the argument.
    pub fn function(&mut self, name: &str, argument: &Value, at: &Location, items: Items) -> Expr {
        let Some(function) = self.functions.get(name).cloned() else {
            let nearest = self.functions.nearest(name).map(str::to_owned);
            self.error(
                at,
                CompileErrorKind::UnknownFunction {
                    name: name.to_owned(),
                    nearest,
                },
            );
            return Expr::Literal(Value::NULL);
        };
        match function.body {
            Body::Form(form) => self.form(form, &function, argument, at, items),
            Body::Each(..) => self.each(function, argument, at, items),
            Body::List(_) => {
                let list = self.list(argument, at, items);
                call(function, [list], at)
            }
            Body::Whole(_) => {
                let whole = if function.list_argument.is_some() {
                    self.list(argument, at, items)
                } else {
                    self.expr(argument, at, items)
                };
                call(function, [whole], at)
            }
            Body::Strict(_)
            | Body::Metered(_)
            | Body::Equality { .. }
            | Body::Order(_)
            | Body::Lazy(_)
            | Body::Own(_) => {
                if function.arity == Arity::Unary {
                    let whole = if function.list_argument.is_some() {
                        self.list(argument, at, items)
                    } else {
                        self.expr(argument, at, items)
                    };
                    return call(function, [whole], at);
                }
                let args = self.args(&function, argument, at, items);
                if function.name == "@regexp" {
                    self.check_pattern(&args, at);
                }
                let compares = matches!(function.body, Body::Order(_));
                let now_side = if compares { args.now_side() } else { None };
                Expr::Call(Box::new(Call {
                    function,
                    args,
                    now_side,
                    at: at.clone(),
                }))
            }
        }
    }

    /// The arguments of an n-ary function.
    fn args(&mut self, function: &Function, argument: &Value, at: &Location, items: Items) -> Args {
        if let Some(list) = argument.as_list() {
            if function.joins_one_list
                && list.len() == 1
                && let Some(only) = list.get(0)
            {
                let only = self.expr(only, &at.index(0), items);
                return if only.is_written() {
                    Args::Written(Box::new([only]))
                } else {
                    Args::Yielded(Box::new(only))
                };
            }
            let args: Box<[Expr]> = list
                .iter()
                .enumerate()
                .map(|(i, item)| {
                    if function.list_argument == Some(i) {
                        self.list(item, &at.index(i), items)
                    } else {
                        self.expr(item, &at.index(i), items)
                    }
                })
                .collect();
            self.check_arity(function, args.len(), at);
            return Args::Written(args);
        }
        let only = self.expr(argument, at, items);
        let lazy = matches!(function.body, Body::Lazy(_));
        // Lists are handled above, so a written argument is the only one.
        if lazy || only.is_written() {
            self.check_arity(function, 1, at);
            return Args::Written(Box::new([only]));
        }
        Args::Yielded(Box::new(only))
    }

    fn check_arity(&mut self, function: &Function, found: usize, at: &Location) {
        if !function.arity.allows(found) {
            self.error(
                at,
                CompileErrorKind::Arity {
                    function: function.name.to_owned(),
                    expected: function.arity.to_string(),
                    found,
                    signature: function.signature,
                },
            );
        }
    }

    /// An expression at a position that needs a list: `["$.list"]` may mean the list itself.
    fn list(&mut self, spec: &Value, at: &Location, items: Items) -> Expr {
        if let Some(list) = spec.as_list()
            && list.len() == 1
        {
            let inner = self.expr(list.get(0).unwrap_or(&Value::NULL), &at.index(0), items);
            return match inner {
                Expr::Literal(_) | Expr::List(..) | Expr::Map(_) | Expr::Now => {
                    fold(Expr::List(Box::new([inner]), at.clone()))
                }
                Expr::Path(_)
                | Expr::One(_)
                | Expr::Call(_)
                | Expr::Switch(..)
                | Expr::Query(_)
                | Expr::GetField(..)
                | Expr::SetField(..)
                | Expr::Random(..)
                | Expr::Cel(_) => Expr::One(Box::new(inner)),
            };
        }
        self.expr(spec, at, items)
    }

    fn each(
        &mut self,
        function: Arc<Function>,
        argument: &Value,
        at: &Location,
        items: Items,
    ) -> Expr {
        let Some(args) = argument.as_list().filter(|args| args.len() == 2) else {
            let found = argument.as_list().map_or(1, document::ListRef::len);
            self.check_arity(&function, found, at);
            return Expr::Literal(Value::NULL);
        };
        let body = self.expr(
            args.get(0).unwrap_or(&Value::NULL),
            &at.index(0),
            Items::Given,
        );
        let list = self.list(args.get(1).unwrap_or(&Value::NULL), &at.index(1), items);
        call(function, [body, list], at)
    }

    fn check_pattern(&mut self, args: &Args, at: &Location) {
        let Args::Written(args) = args else { return };
        let pattern = args.first().and_then(Expr::as_literal);
        let Some(pattern) = pattern.and_then(Value::as_str) else {
            return;
        };
        if !self.patterns.take(1) {
            self.refuse_pattern(&at.index(0));
        } else if let Err(error) = crate::functions::string::pattern(pattern) {
            self.error(&at.index(0), CompileErrorKind::Pattern(error));
        }
    }

    /// Reports that there are too many regular expressions, once.
    fn refuse_pattern(&mut self, at: &Location) {
        if self.patterns.refuse() {
            self.error(at, CompileErrorKind::TooManyPatterns);
        }
    }
}

fn call<const N: usize>(function: Arc<Function>, args: [Expr; N], at: &Location) -> Expr {
    Expr::Call(Box::new(Call {
        function,
        args: Args::Written(Box::new(args)),
        now_side: None,
        at: at.clone(),
    }))
}

impl Args {
    /// See [`Call::now_side`].
    fn now_side(&self) -> Option<NowSide> {
        let Self::Written(args) = self else {
            return None;
        };
        match args.as_ref() {
            [Expr::Now, other] if !other.volatile().now => Some(NowSide::Left),
            [other, Expr::Now] if !other.volatile().now => Some(NowSide::Right),
            _ => None,
        }
    }
}

/// Turns a list or map of constants into a constant.
fn fold(expr: Expr) -> Expr {
    let value = if let Expr::List(items, _) = &expr {
        let items: Option<Vec<Value>> = items
            .iter()
            .map(|item| item.as_literal().cloned())
            .collect();
        items.map(Value::from)
    } else if let Expr::Map(map) = &expr
        && map.copy.is_none()
        && map.setters.is_empty()
    {
        let entries: Option<Map> = map
            .entries
            .iter()
            .map(|(key, value)| Some((key.clone(), value.as_literal()?.clone())))
            .collect();
        entries.map(Value::from)
    } else {
        None
    };
    value.map_or(expr, Expr::Literal)
}
