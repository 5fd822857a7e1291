//! Evaluates an [`Expr`].
//!
//! This module only dispatches, counts steps and checks sizes; the functions themselves are
//! in [`crate::functions`]. A call is charged for the arguments that it reads before it runs,
//! and its result is checked against the bounds afterwards.

mod fields;

use std::cell::OnceCell;

use document::{Key, Kind, Location, Map, OutOfBounds, Value, mix, stable_hash};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind};
use crate::expr::{Args, Call, CelExpr, Expr, MapExpr};
use crate::function::{Body, Cost};
use crate::functions;
use crate::scope::{Env, Scope};
use fields::{computed_path, read, set, set_field};

pub use fields::without_versions;

/// A number in `[low, high)` that depends on the key alone.
fn random_in(key: u64, low: i64, high: i64) -> i64 {
    // The span of two i64 fits a u64.
    let span = high.wrapping_sub(low).cast_unsigned();
    let scaled = (u128::from(key) * u128::from(span)) >> 64;
    low.wrapping_add(scaled as i64)
}

impl Expr {
    /// The value of this expression in a scope.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Now => Ok(scope.now.clone()),
            Self::Path(path) => path.read(scope),
            Self::List(items, at) => list(items, at, scope),
            Self::One(inner) => {
                let value = inner.eval(scope)?;
                Ok(match value.as_list() {
                    Some(_) => value,
                    None => Value::list([value]),
                })
            }
            Self::Map(map) => map.eval_onto(None, scope),
            Self::Call(call) => call.eval(scope),
            Self::Switch(pairs, at) => functions::logic::switch(pairs, at, scope),
            Self::Query(path) => path.query(scope),
            Self::GetField(path, at) => {
                let path = computed_path(&path.eval(scope)?, at)?;
                Ok(read(&path, at, scope)?.clone())
            }
            Self::SetField(field, at) => set_field(field, at, scope),
            Self::Random(args, at) => random(args, at, scope),
            Self::Cel(cel) => cel.eval(scope),
        }
    }
}

impl MapExpr {
    /// Evaluates the map onto a base: `"$."` is applied first, then plain keys, then setters.
    /// Without a base the result is the map alone.
    pub fn eval_onto(&self, base: Option<&Value>, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let mut result = match base {
            Some(base) => base.clone(),
            None if self.copy.is_none() && self.setters.is_empty() => return self.plain(scope),
            None => Value::empty_map(),
        };
        let at = |kind: ErrorKind| kind.at(&self.at);
        if let Some(copy) = &self.copy {
            let copied = copy.eval(scope)?;
            if copied.as_map().is_none() {
                return Err(ErrorKind::Type {
                    expected: "a map to copy with \"$.\"",
                    found: copied.kind(),
                }
                .at(&self.at.key("$.")));
            }
            result = scope.env.merge(&result, &copied).map_err(at)?;
        }
        if !self.entries.is_empty() {
            let plain = self.plain(scope)?;
            result = match base {
                Some(_) => scope.env.merge(&result, &plain).map_err(at)?,
                None => overwrite(&result, &plain),
            };
            scope.env.admit(&result).map_err(at)?;
        }
        for setter in &self.setters {
            let value = setter.value.eval(scope)?;
            result = set(&setter.path, &result, value, &setter.at, scope)?;
        }
        Ok(result)
    }

    fn plain(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let at = |kind: ErrorKind| kind.at(&self.at);
        let out_of_bounds = |error: OutOfBounds| at(error.into());
        scope.env.charge(self.entries.len()).map_err(at)?;
        let mut tally = scope.env.tally();
        let mut entries: SmallVec<[(Key, Value); 12]> = SmallVec::with_capacity(self.entries.len());
        for (key, expr) in &self.entries {
            let value = expr.eval(scope)?;
            tally.member(key, &value).map_err(out_of_bounds)?;
            entries.push((key.clone(), value));
        }
        tally.map(entries.drain(..)).map_err(out_of_bounds)
    }
}

fn list(items: &[Expr], at: &Location, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    scope.env.charge(items.len()).map_err(|kind| kind.at(at))?;
    let out_of_bounds = |error: OutOfBounds| ErrorKind::from(error).at(at);
    let mut tally = scope.env.tally();
    let mut values = Values::with_capacity(items.len());
    for item in items {
        let value = item.eval(scope)?;
        tally.element(&value).map_err(out_of_bounds)?;
        values.push(value);
    }
    tally.list(values).map_err(out_of_bounds)
}

/// `base` with its entries replaced by those of `over`; nothing is merged.
fn overwrite(base: &Value, over: &Value) -> Value {
    match (base.as_map(), over.as_map()) {
        (Some(base), Some(over)) if !base.is_empty() => {
            let entries = base.iter().chain(over).cloned().collect();
            Map::from_entries(entries).into()
        }
        _ => over.clone(),
    }
}

type Values = SmallVec<[Value; 4]>;

fn eval_all(exprs: &[Expr], scope: &Scope<'_>) -> Result<Values, Box<Error>> {
    exprs.iter().map(|expr| expr.eval(scope)).collect()
}

impl Args {
    /// The values of the arguments.
    fn values(&self, scope: &Scope<'_>) -> Result<Values, Box<Error>> {
        match self {
            Self::Written(args) => eval_all(args, scope),
            Self::Yielded(expr) => {
                let value = expr.eval(scope)?;
                Ok(match value.as_list() {
                    Some(items) => items.iter().cloned().collect(),
                    None => smallvec::smallvec![value],
                })
            }
        }
    }

    /// The written arguments. Lazy functions have no others.
    fn written(&self) -> &[Expr] {
        match self {
            Self::Written(args) => args,
            Self::Yielded(expr) => std::slice::from_ref(expr),
        }
    }
}

impl Call {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let value = self.run(scope)?;
        if value.is_small() {
            return Ok(value);
        }
        let paid = scope.env.charge_list(&value);
        paid.and_then(|()| scope.env.admit(&value))
            .map_err(|kind| kind.at(&self.at))?;
        Ok(value)
    }

    fn run(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let at = |kind: ErrorKind| kind.at(&self.at);
        let env = scope.env;
        env.charge(self.args.written().len().max(1)).map_err(at)?;
        match &self.function.body {
            Body::Whole(function) => {
                let value = self.args.written()[0].eval(scope)?;
                let paid = self.pay(std::slice::from_ref(&value), env);
                let result = paid.and_then(|()| function(&value));
                result.map_err(|kind| at(self.with_path(kind, std::slice::from_ref(&value))))
            }
            Body::List(function) => {
                let value = self.args.written()[0].eval(scope)?;
                let paid = self.pay(std::slice::from_ref(&value), env);
                paid.and_then(|()| functions::list(&value))
                    .and_then(|items| {
                        env.charge(items.len())?;
                        function(items)
                    })
                    .map_err(|kind| at(self.with_path(kind, std::slice::from_ref(&value))))
            }
            Body::Strict(function) => {
                let values = self.checked_values(scope)?;
                let paid = self.pay(&values, env);
                let result = paid.and_then(|()| function(&values));
                result.map_err(|kind| at(self.with_path(kind, &values)))
            }
            Body::Metered(function) => {
                let values = self.checked_values(scope)?;
                let paid = self.pay(&values, env);
                let result = paid.and_then(|()| function(&values, env));
                result.map_err(|kind| at(self.with_path(kind, &values)))
            }
            Body::Equality { negated } => {
                let values = self.checked_values(scope)?;
                let sizes = values.iter().map(|value| value.measure().bytes as usize);
                env.charge_bytes(sizes.min().unwrap_or(0)).map_err(at)?;
                let written_null = match &self.args {
                    Args::Written(args) => args.iter().any(Expr::is_written_null),
                    Args::Yielded(_) => false,
                };
                Ok((functions::compare::equal(&values, written_null) != *negated).into())
            }
            Body::Order(relation) => {
                let values = self.checked_values(scope)?;
                let paid = self.pay(&values, env);
                let holds = paid.and_then(|()| functions::compare::is_ordered(*relation, &values));
                if let (Ok(_), Some(side)) = (&holds, self.now_side) {
                    functions::compare::set_deadline(*relation, side, &values, env);
                }
                let holds = holds.map_err(|kind| at(self.with_path(kind, &values)));
                Ok(holds?.into())
            }
            Body::Own(function) => {
                let values = self.checked_values(scope)?;
                self.pay(&values, env).map_err(at)?;
                function(&values).map_err(|message| at(ErrorKind::Own(message)))
            }
            Body::Lazy(function) => {
                function(self.args.written(), scope).map_err(|error| self.place(error))
            }
            Body::Each(function, _) => {
                let [body, list] = self.args.written() else {
                    return Err(at(ErrorKind::Arity {
                        expected: self.function.arity.to_string(),
                        found: self.args.written().len(),
                    }));
                };
                let value = list.eval(scope)?;
                let items = functions::list(&value).map_err(at)?;
                env.charge(items.len()).map_err(at)?;
                function(body, items, scope).map_err(|error| self.place(error))
            }
            // Forms are compiled into variants of their own, or into constants.
            Body::Form(_) => Ok(Value::NULL),
        }
    }

    /// The error with the path that is null, if the function did not expect null.
    fn with_path(&self, kind: ErrorKind, values: &[Value]) -> ErrorKind {
        let (
            ErrorKind::Type {
                expected,
                found: Kind::Null,
            },
            Args::Written(args),
        ) = (&kind, &self.args)
        else {
            return kind;
        };
        let mut nulls = args.iter().zip(values).filter(|(_, value)| value.is_null());
        match nulls.next() {
            Some((Expr::Path(path), _)) => ErrorKind::NoValue {
                expected,
                path: path.path.to_string().into(),
            },
            _ => kind,
        }
    }

    /// Charges for the arguments that the function reads.
    fn pay(&self, values: &[Value], env: &Env) -> Result<(), ErrorKind> {
        for value in values {
            match self.function.cost {
                Cost::Written => env.charge_value(value)?,
                Cost::Shallow => env.charge_bytes(value.as_str().map_or(0, str::len))?,
            }
        }
        Ok(())
    }

    fn checked_values(&self, scope: &Scope<'_>) -> Result<Values, Box<Error>> {
        let values = self.args.values(scope)?;
        if matches!(self.args, Args::Yielded(_)) {
            // Written arguments are charged before they are evaluated.
            let paid = scope.env.charge(values.len());
            paid.map_err(|kind| kind.at(&self.at))?;
            if !self.function.arity.allows(values.len()) {
                return Err(ErrorKind::Arity {
                    expected: self.function.arity.to_string(),
                    found: values.len(),
                }
                .at(&self.at));
            }
        }
        Ok(values)
    }

    /// Adds the location to an error that the function created without one.
    fn place(&self, mut error: Box<Error>) -> Box<Error> {
        if error.at == Location::root() {
            error.at = self.at.clone();
        }
        error
    }
}

/// `@rnd`: a keyed hash of the location in the spec, the origin and the item positions,
/// mapped to the range. It is stateless, so the number survives updates and restarts.
fn random(args: &Args, at: &Location, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    let values = args.values(scope)?;
    let [low, high] = values.as_slice() else {
        return Err(ErrorKind::Arity {
            expected: "2 arguments".to_owned(),
            found: values.len(),
        }
        .at(at));
    };
    let low = functions::int(low).map_err(|kind| kind.at(at))?;
    let high = functions::int(high).map_err(|kind| kind.at(at))?;
    if high <= low {
        return Err(ErrorKind::EmptyRange.at(at));
    }
    let place = stable_hash(&at.to_string());
    let items = scope.item.map_or(0, |item| item.positions);
    let key = mix(mix(scope.env.random_key, place), mix(scope.origin, items));
    Ok(Value::from(random_in(key, low, high)))
}

/// This many units of CEL cost count as one step.
const CEL_UNITS: u64 = 8;

/// The variable of CEL for `"@now"`.
pub const NOW: &str = "now";

impl CelExpr {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let at = |kind: ErrorKind| kind.at(&self.at);
        let shown = OnceCell::new();
        let document = || {
            if self.hides_versions {
                shown.get_or_init(|| without_versions(scope.document))
            } else {
                scope.document
            }
        };
        let variable = |name: &str| match name {
            "object" => Some(document().clone()),
            NOW => Some(scope.now.clone()),
            "item" => scope.item.map(|item| item.value.clone()),
            name => document()
                .as_map()
                .and_then(|map| map.get_str(name))
                .cloned(),
        };
        let limits = cel_interpreter::Limits {
            cost: scope.env.limits.cel_cost,
        };
        let (value, cost) = self.program.eval_with_cost(&variable, &limits);
        let steps = usize::try_from(cost / CEL_UNITS).unwrap_or(usize::MAX);
        scope.env.charge(steps.saturating_add(1)).map_err(at)?;
        let value = value.map_err(|error| at(error.into()))?;
        scope.env.admit(&value).map_err(at)?;
        Ok(value)
    }
}
