//! The interpreter: one small function for each kind of expression.
//!
//! It evaluates a tree to a value and charges for every step. As CEL specifies, `&&`, `||`,
//! `all` and `exists` ignore an error on one side if the other side decides the result:
//!
//! ```text
//! 1/0 == 1 || true     true
//! 1/0 == 1 || false    the error
//! ```

use std::sync::Arc;

use document::{Key, Value};
use smallvec::SmallVec;

use crate::error::EvalError;
use crate::function::{self, Arguments};
use crate::infix;
use crate::key::MapKey;
use crate::meter::Meter;
use crate::tree::{Call, CelExpr, Path};
use crate::types::Type;
use crate::value::{MAX_DEPTH, Map, Nested, Val};

mod fold;

pub(crate) struct Interpreter<'a> {
    names: &'a [String],
    lookup: &'a dyn Fn(&str) -> Option<Value>,
    /// The variables by number, each filled in on first use.
    variables: SmallVec<[Option<Value>; 4]>,
    /// The current items of the enclosing comprehensions.
    locals: Vec<Val>,
    pub(crate) meter: Meter,
}

type Result<T> = std::result::Result<T, EvalError>;

impl<'a> Interpreter<'a> {
    pub(crate) fn new(
        names: &'a [String],
        lookup: &'a dyn Fn(&str) -> Option<Value>,
        cost: u64,
    ) -> Self {
        Self {
            names,
            lookup,
            variables: smallvec::smallvec![None; names.len()],
            locals: Vec::new(),
            meter: Meter::new(cost),
        }
    }

    /// Evaluates an expression. The arms only call functions, to keep the stack frame small:
    /// every level of an expression needs one.
    pub(crate) fn eval(&mut self, node: &CelExpr) -> Result<Val> {
        self.meter.charge(1)?;
        let value = match node {
            CelExpr::Literal(value) => Ok(value.clone()),
            CelExpr::Local(local) => Ok(self.locals[*local].clone()),
            CelExpr::Path(path) => self.path(path),
            CelExpr::Member(base, key) => self.member(base, key),
            CelExpr::OptionalMember(base, key) => self.optional_member(base, key),
            CelExpr::Has(base, key) => self.has(base, key),
            CelExpr::Index {
                base,
                index,
                optional,
            } => self.index(base, index, *optional),
            CelExpr::List(items) => self.list(items),
            CelExpr::Map(entries) => self.map(entries),
            CelExpr::Not(inner) => self.not(inner),
            CelExpr::Negate(inner) => self.negate(inner),
            CelExpr::And(parts) => self.decide("&&", parts, false),
            CelExpr::Or(parts) => self.decide("||", parts, true),
            CelExpr::Conditional(parts) => self.conditional(parts),
            CelExpr::Arithmetic(operator, pair) => self.binary(pair, |a, b, meter| {
                infix::arithmetic(*operator, a, b, meter)
            }),
            CelExpr::Relation(operator, pair) => self.binary(pair, |a, b, meter| {
                infix::relation(*operator, a, b, meter).map(Val::Bool)
            }),
            CelExpr::Equal(wanted, pair) => self.binary(pair, |a, b, meter| {
                Ok(Val::Bool(infix::equal(a, b, meter)? == *wanted))
            }),
            CelExpr::In(pair) => self.binary(pair, |a, b, meter| {
                infix::contains(a, b, meter).map(Val::Bool)
            }),
            CelExpr::Call(call) => self.call(call),
            CelExpr::OptionalOr {
                optional,
                other,
                unwrap,
            } => self.optional_or(optional, other, *unwrap),
            CelExpr::OptionalMap {
                optional,
                body,
                flat,
            } => self.optional_map(optional, body, *flat),
            CelExpr::Fold(fold) => self.fold(fold),
        }?;
        if value.depth() > MAX_DEPTH {
            return Err(EvalError::TooDeep);
        }
        Ok(value)
    }

    #[inline(never)]
    fn binary(
        &mut self,
        pair: &[CelExpr; 2],
        apply: impl FnOnce(&Val, &Val, &mut Meter) -> Result<Val>,
    ) -> Result<Val> {
        let left = self.eval(&pair[0])?;
        let right = self.eval(&pair[1])?;
        apply(&left, &right, &mut self.meter)
    }

    fn path(&mut self, path: &Path) -> Result<Val> {
        self.meter.items(path.keys.len())?;
        if self.slot(path.variable).is_none()
            && let Some(named) = self.type_name(path)
        {
            return Ok(Val::Type(named));
        }
        let mut value = self.variable(path.variable)?;
        for key in &path.keys {
            let map = value
                .as_map()
                .ok_or_else(|| no_member(key, &Val::from(value)))?;
            value = map.get(key).ok_or_else(|| no_such_key(key))?;
        }
        Ok(Val::from(value))
    }

    fn variable(&mut self, number: usize) -> Result<&Value> {
        let names = self.names;
        let value = self.slot(number);
        value.ok_or_else(|| EvalError::UndeclaredVariable(names[number].clone()))
    }

    /// The value of a variable, which is asked for on the first use.
    fn slot(&mut self, number: usize) -> Option<&Value> {
        let slot = &mut self.variables[number];
        if slot.is_none() {
            *slot = (self.lookup)(&self.names[number]);
        }
        slot.as_ref()
    }

    /// The type that a path names, if there is no variable of that name.
    fn type_name(&self, path: &Path) -> Option<Type> {
        let keys = path.keys.iter().map(Key::as_str);
        Type::named(&std::iter::once(self.names[path.variable].as_str()).chain(keys))
    }

    fn member(&mut self, base: &CelExpr, key: &Key) -> Result<Val> {
        match self.eval(base)? {
            Val::Map(map) => map.member(key).ok_or_else(|| no_such_key(key)),
            // A member of an optional is an optional.
            Val::Optional(inner) => Ok(Val::optional(find(content(inner.as_ref()), key)?)),
            other => Err(no_member(key, &other)),
        }
    }

    fn optional_member(&mut self, base: &CelExpr, key: &Key) -> Result<Val> {
        Ok(Val::optional(match self.eval(base)? {
            Val::Optional(inner) => find(content(inner.as_ref()), key)?,
            other => find(Some(&other), key)?,
        }))
    }

    fn has(&mut self, base: &CelExpr, key: &Key) -> Result<Val> {
        match self.eval(base)? {
            Val::Map(map) => Ok(Val::Bool(map.member(key).is_some())),
            Val::Optional(inner) => {
                let found = find(content(inner.as_ref()), key)?;
                Ok(Val::Bool(found.is_some()))
            }
            other => Ok(Val::Bool(find(Some(&other), key)?.is_some())),
        }
    }

    fn index(&mut self, base: &CelExpr, index: &CelExpr, optional: bool) -> Result<Val> {
        let base = self.eval(base)?;
        let index = self.eval(index)?;
        if let Val::Optional(inner) = base {
            let found = inner
                .map(|inner| infix::index(&inner, &index))
                .transpose()?;
            return Ok(Val::optional(found.flatten()));
        }
        let found = infix::index(&base, &index)?;
        if optional {
            return Ok(Val::optional(found));
        }
        found.ok_or_else(|| match base {
            Val::List(_) => EvalError::OutOfRange("[]"),
            // The key is a value, which may be a secret.
            _ => EvalError::NoSuchKey("(computed)".to_owned()),
        })
    }

    fn list(&mut self, items: &[(CelExpr, bool)]) -> Result<Val> {
        let mut list = Vec::with_capacity(items.len());
        for (item, optional) in items {
            let value = self.eval(item)?;
            if *optional {
                list.extend(present(value)?);
            } else {
                list.push(value);
            }
        }
        Ok(Val::from(list))
    }

    fn map(&mut self, entries: &[(CelExpr, CelExpr, bool)]) -> Result<Val> {
        let mut map = Vec::with_capacity(entries.len());
        for (name, value, optional) in entries {
            let name = self.eval(name)?;
            let name = match MapKey::of(&name)? {
                Some(key) if !matches!(name, Val::Double(_)) => key,
                _ => return Err(EvalError::types("map key", [name.type_name()])),
            };
            let value = self.eval(value)?;
            let value = if *optional {
                present(value)?
            } else {
                Some(value)
            };
            map.extend(value.map(|value| (name, value)));
        }
        Map::new(map).map(Val::Map).ok_or(EvalError::Argument {
            function: "{}",
            reason: "a key occurs twice",
        })
    }

    fn not(&mut self, inner: &CelExpr) -> Result<Val> {
        Ok(Val::Bool(!self.boolean("!", inner)?))
    }

    fn negate(&mut self, inner: &CelExpr) -> Result<Val> {
        infix::negate(&self.eval(inner)?)
    }

    fn conditional(&mut self, [condition, then, other]: &[CelExpr; 3]) -> Result<Val> {
        let branch = if self.boolean("?:", condition)? {
            then
        } else {
            other
        };
        self.eval(branch)
    }

    fn boolean(&mut self, operation: &str, node: &CelExpr) -> Result<bool> {
        match self.eval(node)? {
            Val::Bool(b) => Ok(b),
            other => Err(EvalError::types(operation, [other.type_name()])),
        }
    }

    /// `&&` and `||`: a part with the value `decisive` decides the result.
    fn decide(&mut self, operation: &str, parts: &[CelExpr], decisive: bool) -> Result<Val> {
        let mut failed = None;
        for part in parts {
            match self.boolean(operation, part) {
                Ok(b) if b == decisive => return Ok(Val::Bool(decisive)),
                Err(error) if error.is_final() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
                Ok(_) => {}
            }
        }
        failed.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn call(&mut self, call: &Call) -> Result<Val> {
        let mut args = SmallVec::<[Val; 3]>::new();
        for arg in &call.args {
            args.push(self.eval(arg)?);
        }
        function::call(call, Arguments::new(call, &args, &mut self.meter))
    }

    fn optional_or(&mut self, optional: &CelExpr, other: &CelExpr, unwrap: bool) -> Result<Val> {
        match self.eval(optional)? {
            Val::Optional(Some(inner)) if unwrap => Ok(Val::clone(&inner)),
            Val::Optional(None) => match self.eval(other)? {
                value if unwrap || matches!(value, Val::Optional(_)) => Ok(value),
                value => Err(EvalError::types("or", ["optional", value.type_name()])),
            },
            some @ Val::Optional(_) => Ok(some),
            value => {
                let operation = if unwrap { "orValue" } else { "or" };
                Err(EvalError::types(operation, [value.type_name()]))
            }
        }
    }

    fn optional_map(&mut self, optional: &CelExpr, body: &CelExpr, flat: bool) -> Result<Val> {
        let operation = if flat { "optFlatMap" } else { "optMap" };
        let inner = match self.eval(optional)? {
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => Val::clone(&inner),
            other => return Err(EvalError::types(operation, [other.type_name()])),
        };
        match self.with_local(inner, body)? {
            value if !flat => Ok(Val::optional(Some(value))),
            value @ Val::Optional(_) => Ok(value),
            value => Err(EvalError::types(operation, [value.type_name()])),
        }
    }

    fn with_local(&mut self, local: Val, body: &CelExpr) -> Result<Val> {
        self.locals.push(local);
        let result = self.eval(body);
        self.locals.pop();
        result
    }
}

/// A member, if there is one. As in Kubernetes, a scalar has none, and a list has elements only.
fn find(base: Option<&Val>, key: &Key) -> Result<Option<Val>> {
    match base {
        Some(Val::Map(map)) => Ok(map.member(key)),
        Some(Val::Optional(inner)) => find(content(inner.as_ref()), key),
        Some(list @ Val::List(_)) => Err(no_member(key, list)),
        _ => Ok(None),
    }
}

fn content(optional: Option<&Arc<Nested<Val>>>) -> Option<&Val> {
    optional.map(|inner| -> &Val { inner })
}

/// The value of an optional element, if there is one.
fn present(value: Val) -> Result<Option<Val>> {
    match value {
        Val::Optional(inner) => Ok(inner.map(|inner| Val::clone(&inner))),
        other => Err(EvalError::types("?", [other.type_name()])),
    }
}

fn no_such_key(key: &Key) -> EvalError {
    EvalError::NoSuchKey(key.as_str().to_owned())
}

fn no_member(key: &Key, base: &Val) -> EvalError {
    EvalError::types(&format!(".{}", key.as_str()), [base.type_name()])
}
