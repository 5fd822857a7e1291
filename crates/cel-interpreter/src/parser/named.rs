//! Parsing of names: variables, functions, methods and macros.

use super::subtree::{Parts, Subtree};
use super::{Parser, Result};
use crate::error::CompileError;
use crate::function::{self, Function, pattern::Pattern};
use crate::lexer::{Token, syntax_error};
use crate::tree::{Call, CelExpr, ExprSpan, Fold, FoldKind, Path};
use crate::value::Val;

/// The variable of the current time. Its value is a string, and expressions see a timestamp.
const NOW: &str = "now";

impl<'a> Parser<'a> {
    /// A keyword, a function or a variable, whose name was just taken.
    pub(super) fn named(&mut self, word: &'a str) -> Result<Subtree> {
        let at = self.tokens[self.next.saturating_sub(1)].1.start;
        match word {
            "true" => return Ok(self.literal(Val::Bool(true), at)),
            "false" => return Ok(self.literal(Val::Bool(false), at)),
            "null" => return Ok(self.literal(Val::Null, at)),
            "in" => return Err(self.back(&Token::Word(word), "an operand")),
            _ => {}
        }
        if !self.is_local(word)
            && let Some(function) = self.qualified(word)
        {
            self.next += 3;
            let args = self.arguments()?;
            return self.call(function, false, args, at);
        }
        if !self.eat("(") {
            let variable = self.variable(word);
            let is_time = word == NOW && matches!(variable, CelExpr::Path(_));
            let variable = Subtree::leaf(variable, self.since(at));
            return if is_time {
                self.call(known("timestamp", at)?, false, vec![variable], at)
            } else {
                Ok(variable)
            };
        }
        if word == "has" {
            return self.has(at);
        }
        let args = self.arguments()?;
        self.call(known(word, at)?, false, args, at)
    }

    /// `.name`: a name of the outermost scope, even if a macro has a variable of that name.
    pub(super) fn outermost(&mut self) -> Result<Subtree> {
        let locals = std::mem::take(&mut self.locals);
        let word = match self.take() {
            Token::Word(word) if !is_keyword(word) => word,
            token => {
                self.locals = locals;
                return Err(self.back(&token, "a name"));
            }
        };
        let called = *self.peek() == Token::Symbol("(") || self.qualified(word).is_some();
        if called {
            // The arguments are in the scope of the macro.
            self.locals = locals;
            return self.named(word);
        }
        let variable = self.named(word);
        self.locals = locals;
        variable
    }

    fn is_local(&self, name: &str) -> bool {
        self.locals.contains(&name)
    }

    /// The function of a call such as `math.abs(…)`, which looks like a method of a variable.
    fn qualified(&self, space: &str) -> Option<&'static Function> {
        match (self.peek(), self.ahead(1), self.ahead(2)) {
            (Token::Symbol("."), Token::Word(name), Token::Symbol("(")) => {
                function::find(&format!("{space}.{name}"))
            }
            _ => None,
        }
    }

    /// Whether the last token, apart from parentheses, closes an index.
    fn is_behind_index(&self) -> bool {
        let mut read = self.tokens[..self.next].iter().rev();
        let last = read.find(|(token, _)| *token != Token::Symbol(")"));
        last.is_some_and(|(token, _)| *token == Token::Symbol("]"))
    }

    fn variable(&mut self, name: &str) -> CelExpr {
        if let Some(local) = self.locals.iter().rposition(|local| *local == name) {
            return CelExpr::Local(local);
        }
        let known = self.variables.iter().position(|known| known == name);
        let variable = known.unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        });
        CelExpr::Path(Path {
            variable,
            keys: Vec::new(),
        })
    }

    /// `has(a.b)`, which starts at the offset `start`.
    fn has(&mut self, start: usize) -> Result<Subtree> {
        let at = self.start();
        let part = self.expression()?;
        let is_index = self.is_behind_index();
        self.expect(")")?;
        let ExprSpan { range, mut parts } = *part.place;
        let (base, key) = match part.node {
            CelExpr::Path(mut path) if !path.keys.is_empty() => {
                let key = path.keys.pop();
                parts.push(ExprSpan {
                    range,
                    parts: Vec::new(),
                });
                (Box::new(CelExpr::Path(path)), key)
            }
            CelExpr::Member(base, key) => (base, Some(key)),
            _ => (Box::new(CelExpr::Literal(Val::Null)), None),
        };
        let parts = Parts {
            height: part.height,
            places: parts,
        };
        match key {
            Some(_) if is_index => Err(syntax_error(
                self.text,
                at,
                "`has` takes a member, as in `has(a.b)`; for a key in brackets write `a.?b['key'].hasValue()`",
            )),
            Some(key) => parts.under(CelExpr::Has(base, key), self.since(start)),
            None => Err(syntax_error(
                self.text,
                at,
                "`has` takes a member, as in `has(a.b)`",
            )),
        }
    }

    /// The arguments up to the closing bracket. A trailing comma is allowed.
    fn arguments(&mut self) -> Result<Vec<Subtree>> {
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.expression()?);
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(args)
    }

    /// A method, whose name is at the offset `at`.
    pub(super) fn method(&mut self, target: Subtree, name: &str, at: usize) -> Result<Subtree> {
        let kind = match name {
            "all" => Some(FoldKind::All),
            "exists" => Some(FoldKind::Exists),
            "exists_one" | "existsOne" => Some(FoldKind::ExistsOne),
            "map" | "transformList" => Some(FoldKind::Map),
            "filter" => Some(FoldKind::Filter),
            "transformMap" => Some(FoldKind::TransformMap),
            "transformMapEntry" => Some(FoldKind::TransformMapEntry),
            "sortBy" => Some(FoldKind::SortBy),
            "optMap" | "optFlatMap" => return self.optional_map(target, name == "optFlatMap"),
            _ => None,
        };
        if let Some(kind) = kind {
            return self.fold(name, kind, target);
        }
        let mut args = self.arguments()?;
        if matches!(name, "or" | "orValue") && args.len() == 1 {
            return self.optional_or(target, args.remove(0), name == "orValue");
        }
        args.insert(0, target);
        self.call(known(name, at)?, true, args, at)
    }

    /// The variable of a macro, and the comma after it.
    fn local(&mut self) -> Result<()> {
        match self.local_ahead() {
            Some(name) => {
                self.next += 2;
                self.locals.push(name);
                Ok(())
            }
            None => Err(self.unexpected("the name of a variable and `,`")),
        }
    }

    /// The name that is next, if a comma follows it.
    fn local_ahead(&self) -> Option<&'a str> {
        match (self.peek(), self.ahead(1)) {
            (Token::Word(name), Token::Symbol(",")) if !is_keyword(name) => Some(name),
            _ => None,
        }
    }

    /// The second variable of a macro that may have one, or must have one.
    fn second_local(&mut self, macro_name: &str) -> Result<bool> {
        let required = macro_name.starts_with("transform");
        let optional = matches!(macro_name, "all" | "exists" | "exists_one" | "existsOne");
        let present = optional && self.local_ahead().is_some();
        if !required && !present {
            return Ok(false);
        }
        if self.local_ahead() == self.locals.last().copied() {
            return Err(self.unexpected("a second variable with another name"));
        }
        self.local()?;
        Ok(true)
    }

    fn fold(&mut self, name: &str, kind: FoldKind, range: Subtree) -> Result<Subtree> {
        let outer = self.locals.len();
        self.local()?;
        let pairs = self.second_local(name)?;
        let first = self.expression()?;
        let filtered = kind == FoldKind::Map || pairs && name.starts_with("transform");
        let second = if filtered && self.eat(",") {
            Some(self.expression()?)
        } else {
            None
        };
        self.expect(")")?;
        self.locals.truncate(outer);
        let mut parts = Parts::default();
        let place = self.since(range.start());
        let range = parts.add(range);
        let (filter, body) = match second {
            Some(body) => (Some(parts.add(first)), parts.add(body)),
            None => (None, parts.add(first)),
        };
        let fold = Fold {
            kind,
            range,
            pairs,
            filter,
            body,
        };
        parts.under(CelExpr::Fold(Box::new(fold)), place)
    }

    fn optional_map(&mut self, optional: Subtree, flat: bool) -> Result<Subtree> {
        self.local()?;
        let body = self.expression()?;
        self.expect(")")?;
        self.locals.pop();
        let range = self.since(optional.start());
        let mut parts = Parts::default();
        let node = CelExpr::OptionalMap {
            optional: parts.boxed(optional),
            body: parts.boxed(body),
            flat,
        };
        parts.under(node, range)
    }

    fn optional_or(&self, optional: Subtree, other: Subtree, unwrap: bool) -> Result<Subtree> {
        let range = self.since(optional.start());
        let mut parts = Parts::default();
        let node = CelExpr::OptionalOr {
            optional: parts.boxed(optional),
            other: parts.boxed(other),
            unwrap,
        };
        parts.under(node, range)
    }

    /// A call of a function, whose name is at the offset `at`.
    fn call(
        &self,
        function: &'static Function,
        method: bool,
        args: Vec<Subtree>,
        at: usize,
    ) -> Result<Subtree> {
        function.check(method, args.len(), at)?;
        let pattern = match args.get(1).map(|part| &part.node) {
            Some(CelExpr::Literal(Val::Str(pattern))) if function.takes_pattern() => {
                let pattern = Pattern::new(pattern.as_str().unwrap_or_default());
                Some(pattern.map_err(|error| CompileError::Pattern {
                    function: function.name(),
                    reason: error.to_string(),
                    offset: at,
                })?)
            }
            _ => None,
        };
        let target = args.first().filter(|_| method);
        let range = self.since(target.map_or(at, Subtree::start));
        let last = args.last().map(|part| &part.node);
        let listed = matches!(last, Some(CelExpr::List(_)));
        let mut parts = Parts::default();
        let call = Call {
            function,
            method,
            listed,
            pattern,
            args: args.into_iter().map(|arg| parts.add(arg)).collect(),
        };
        parts.under(CelExpr::Call(Box::new(call)), range)
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "in")
}

/// The function of a name, which is at the offset `at`.
fn known(name: &str, at: usize) -> Result<&'static Function> {
    function::find(name).ok_or_else(|| CompileError::UnknownFunction {
        name: name.to_owned(),
        nearest: function::nearest(name),
        offset: at,
    })
}
