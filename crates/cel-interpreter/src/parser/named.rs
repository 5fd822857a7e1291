//! Parsing of names: variables, functions, methods and macros.

use super::{Parser, Result, Subtree, height, literal, nodes};
use crate::error::CompileError;
use crate::function::{self, Function, pattern::Pattern};
use crate::lexer::{Token, syntax_error};
use crate::tree::{Call, CelExpr, Fold, FoldKind, Path};
use crate::value::Val;

impl<'a> Parser<'a> {
    /// A keyword, a function or a variable.
    pub(super) fn named(&mut self, word: &'a str) -> Result<Subtree> {
        match word {
            "true" => return Ok(literal(Val::Bool(true))),
            "false" => return Ok(literal(Val::Bool(false))),
            "null" => return Ok(literal(Val::Null)),
            "in" => return Err(self.back(&Token::Word(word), "an operand")),
            _ => {}
        }
        if let Some(function) = self.qualified(word) {
            self.next += 3;
            let args = self.arguments()?;
            return call(function, false, args);
        }
        if !self.eat("(") {
            return Ok(Subtree::leaf(self.variable(word)));
        }
        if word == "has" {
            return self.has();
        }
        let args = self.arguments()?;
        call(known(word)?, false, args)
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

    fn has(&mut self) -> Result<Subtree> {
        let at = self.tokens[self.next].1;
        let part = self.expression()?;
        self.expect(")")?;
        let (base, key) = match part.node {
            CelExpr::Path(mut path) if !path.keys.is_empty() => {
                let key = path.keys.pop();
                (Box::new(CelExpr::Path(path)), key)
            }
            CelExpr::Member(base, key) => (base, Some(key)),
            _ => (Box::new(CelExpr::Literal(Val::Null)), None),
        };
        match key {
            Some(key) => Subtree::over(part.height, CelExpr::Has(base, key)),
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

    pub(super) fn method(&mut self, target: Subtree, name: &str) -> Result<Subtree> {
        match name {
            "all" => return self.fold(FoldKind::All, target),
            "exists" => return self.fold(FoldKind::Exists, target),
            "exists_one" | "existsOne" => return self.fold(FoldKind::ExistsOne, target),
            "map" => return self.fold(FoldKind::Map, target),
            "filter" => return self.fold(FoldKind::Filter, target),
            "optMap" | "optFlatMap" => return self.optional_map(target, name == "optFlatMap"),
            _ => {}
        }
        let mut args = self.arguments()?;
        if matches!(name, "or" | "orValue") && args.len() == 1 {
            return optional_or(target, args.remove(0), name == "orValue");
        }
        args.insert(0, target);
        call(known(name)?, true, args)
    }

    /// The variable of a macro, and the comma after it.
    fn local(&mut self) -> Result<()> {
        match (self.peek(), self.ahead(1)) {
            (Token::Word(name), Token::Symbol(",")) => {
                let name = *name;
                self.next += 2;
                self.locals.push(name);
                Ok(())
            }
            _ => Err(self.unexpected("the name of a variable and `,`")),
        }
    }

    fn fold(&mut self, kind: FoldKind, range: Subtree) -> Result<Subtree> {
        self.local()?;
        let first = self.expression()?;
        let second = if kind == FoldKind::Map && self.eat(",") {
            Some(self.expression()?)
        } else {
            None
        };
        self.expect(")")?;
        self.locals.pop();
        let height = range.height.max(first.height);
        let height = height.max(second.as_ref().map_or(0, |part| part.height));
        let (filter, body) = match second {
            Some(body) => (Some(first.node), body.node),
            None => (None, first.node),
        };
        let range = range.node;
        Subtree::over(
            height,
            CelExpr::Fold(Box::new(Fold {
                kind,
                range,
                filter,
                body,
            })),
        )
    }

    fn optional_map(&mut self, optional: Subtree, flat: bool) -> Result<Subtree> {
        self.local()?;
        let body = self.expression()?;
        self.expect(")")?;
        self.locals.pop();
        let height = optional.height.max(body.height);
        let node = CelExpr::OptionalMap {
            optional: optional.boxed(),
            body: body.boxed(),
            flat,
        };
        Subtree::over(height, node)
    }
}

fn optional_or(optional: Subtree, other: Subtree, unwrap: bool) -> Result<Subtree> {
    let height = optional.height.max(other.height);
    let node = CelExpr::OptionalOr {
        optional: optional.boxed(),
        other: other.boxed(),
        unwrap,
    };
    Subtree::over(height, node)
}

fn known(name: &str) -> Result<&'static Function> {
    function::find(name).ok_or_else(|| CompileError::UnknownFunction {
        name: name.to_owned(),
        nearest: function::nearest(name),
    })
}

fn call(function: &'static Function, method: bool, args: Vec<Subtree>) -> Result<Subtree> {
    function.check(method, args.len())?;
    let pattern = match args.get(1).map(|part| &part.node) {
        Some(CelExpr::Literal(Val::Str(pattern))) if function.takes_pattern() => {
            let pattern = Pattern::new(pattern.as_str().unwrap_or_default());
            Some(pattern.map_err(|error| CompileError::Pattern {
                function: function.name,
                reason: error.to_string(),
            })?)
        }
        _ => None,
    };
    let height = height(&args);
    let call = Call {
        function,
        library: function.library_call(method, args.len()),
        pattern,
        args: nodes(args),
    };
    Subtree::over(height, CelExpr::Call(Box::new(call)))
}
