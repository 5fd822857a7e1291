//! Evaluation: a dispatcher over [`Expr`]. What operators do stands in [`crate::ops`].

use std::sync::LazyLock;

use document::path::{Path, Root};
use document::{Key, Location, Map, Value};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind};
use crate::expr::{Args, Call, CelExpr, Expr, FieldPath, MapExpr, PathExpr};
use crate::ops;
use crate::scope::{Scope, mix, stable_hash};
use crate::table::Body;

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
            Self::Path(path) => Ok(path.read(scope)),
            Self::List(items) => eval_all(items, scope).map(Value::list),
            Self::One(inner) => {
                let value = inner.eval(scope)?;
                Ok(match value.as_list() {
                    Some(_) => value,
                    None => Value::list([value]),
                })
            }
            Self::Map(map) => map.eval_onto(None, scope),
            Self::Call(call) => call.eval(scope),
            Self::Switch(pairs, at) => ops::logic::switch(pairs, at, scope),
            Self::Query(path) => path.query(scope),
            Self::GetField(path, at) => {
                let path = computed_path(&path.eval(scope)?, at)?;
                Ok(read(&path, scope).clone())
            }
            Self::SetField(field, at) => set_field(field, at, scope),
            Self::Random(args, at) => random(args, at, scope),
            Self::Cel(cel) => cel.eval(scope),
        }
    }
}

impl MapExpr {
    /// The map on top of what was there: with `None` the map alone.
    ///
    /// `"$."` comes first, then plain keys, then setters.
    pub fn eval_onto(&self, base: Option<&Value>, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let mut result = match base {
            Some(base) => base.clone(),
            None if self.copy.is_none() && self.setters.is_empty() => return self.plain(scope),
            None => Value::empty_map(),
        };
        if let Some(copy) = &self.copy {
            let copied = copy.eval(scope)?;
            if copied.as_map().is_none() {
                return Err(ErrorKind::Type {
                    expected: "a map to copy with \"$.\"",
                    found: copied.kind(),
                }
                .at(&self.at.key("$.")));
            }
            result = document::merge(&result, &copied);
        }
        if !self.entries.is_empty() {
            let plain = self.plain(scope)?;
            result = match base {
                Some(_) => document::merge(&result, &plain),
                None => overwrite(&result, &plain),
            };
        }
        for setter in &self.setters {
            let value = setter.value.eval(scope)?;
            result = setter
                .path
                .set(&result, value, scope.document)
                .map_err(|error| ErrorKind::from(error).at(&setter.at))?;
        }
        Ok(result)
    }

    fn plain(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let mut entries: SmallVec<[(Key, Value); 12]> = SmallVec::with_capacity(self.entries.len());
        for (key, expr) in &self.entries {
            entries.push((key.clone(), expr.eval(scope)?));
        }
        Ok(Map::from_sorted_iter(entries.into_iter()).into())
    }
}

/// The entries of `over` in place of those of `base`.
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

    /// The written arguments; lazy operators have no others.
    fn written(&self) -> &[Expr] {
        match self {
            Self::Written(args) => args,
            Self::Yielded(expr) => std::slice::from_ref(expr),
        }
    }
}

impl Call {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        scope.env.charge(1).map_err(|kind| kind.at(&self.at))?;
        match &self.operator.body {
            Body::Whole(function) => {
                function(&self.args.written()[0].eval(scope)?).map_err(|kind| kind.at(&self.at))
            }
            Body::List(function) => {
                let value = self.args.written()[0].eval(scope)?;
                ops::list(&value)
                    .and_then(|items| {
                        scope.env.charge(items.len())?;
                        function(items)
                    })
                    .map_err(|kind| kind.at(&self.at))
            }
            Body::Strict(function) => {
                let values = self.checked_values(scope)?;
                function(&values).map_err(|kind| kind.at(&self.at))
            }
            Body::Equality { negated } => {
                let values = self.checked_values(scope)?;
                let written_null = match &self.args {
                    Args::Written(args) => args.iter().any(Expr::is_written_null),
                    Args::Yielded(_) => false,
                };
                Ok((ops::compare::equal(&values, written_null) != *negated).into())
            }
            Body::Own(function) => {
                let values = self.checked_values(scope)?;
                function(&values).map_err(|message| ErrorKind::Own(message).at(&self.at))
            }
            Body::Lazy(function) => {
                function(self.args.written(), scope).map_err(|error| self.place(error))
            }
            Body::Each(function) => {
                let [body, list] = self.args.written() else {
                    return Err(ErrorKind::Arity {
                        expected: self.operator.arity.to_string(),
                        found: self.args.written().len(),
                    }
                    .at(&self.at));
                };
                let value = list.eval(scope)?;
                let items = ops::list(&value).map_err(|kind| kind.at(&self.at))?;
                scope
                    .env
                    .charge(items.len())
                    .map_err(|kind| kind.at(&self.at))?;
                function(body, items, scope).map_err(|error| self.place(error))
            }
            // Forms are compiled into variants of their own, or into literals.
            Body::Form(_) => Ok(Value::NULL),
        }
    }

    fn checked_values(&self, scope: &Scope<'_>) -> Result<Values, Box<Error>> {
        let values = self.args.values(scope)?;
        if matches!(self.args, Args::Yielded(_)) && !self.operator.arity.allows(values.len()) {
            return Err(ErrorKind::Arity {
                expected: self.operator.arity.to_string(),
                found: values.len(),
            }
            .at(&self.at));
        }
        Ok(values)
    }

    /// An error of the operator itself, made without knowing where it stands.
    fn place(&self, mut error: Box<Error>) -> Box<Error> {
        if error.at == Location::root() {
            error.at = self.at.clone();
        }
        error
    }
}

fn read<'a>(path: &Path, scope: &Scope<'a>) -> &'a Value {
    static NULL: Value = Value::NULL;
    path.first(scope.document, scope.item_or_null())
        .unwrap_or(&NULL)
}

impl PathExpr {
    fn read(&self, scope: &Scope<'_>) -> Value {
        let value = read(&self.path, scope);
        if self.hides_versions {
            return without_versions(value);
        }
        value.clone()
    }

    fn query(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let matches = self
            .path
            .all(scope.document, scope.item_or_null())
            .map_err(|error| ErrorKind::Path(error.to_string()).at(&self.at))?;
        scope
            .env
            .charge(matches.len())
            .map_err(|kind| kind.at(&self.at))?;
        Ok(matches
            .into_iter()
            .map(|value| {
                if self.hides_versions {
                    without_versions(value)
                } else {
                    value.clone()
                }
            })
            .collect())
    }
}

/// A source object, its metadata, or a compound of source objects, without the two
/// fields that are seen only where a path names them.
pub fn without_versions(value: &Value) -> Value {
    static METADATA: LazyLock<Key> = LazyLock::new(|| Key::new("metadata"));
    let Some(map) = value.as_map() else {
        return value.clone();
    };
    if let Some(metadata) = map.get(&METADATA) {
        let metadata = metadata_without_versions(metadata);
        return map.with(METADATA.clone(), metadata).into();
    }
    if map
        .values()
        .any(|member| !member.get_key(&METADATA).is_null())
    {
        return map
            .iter()
            .map(|(key, member)| (key.clone(), without_versions(member)))
            .collect::<Map>()
            .into();
    }
    metadata_without_versions(value)
}

fn metadata_without_versions(metadata: &Value) -> Value {
    match metadata.as_map() {
        Some(map) => map.without("resourceVersion").without("generation").into(),
        None => metadata.clone(),
    }
}

fn computed_path(text: &Value, at: &Location) -> Result<Path, Box<Error>> {
    let text = ops::text(text).map_err(|kind| kind.at(at))?;
    if !text.starts_with('$') {
        return Err(ErrorKind::Path("it must start with `$`".to_owned()).at(at));
    }
    // The text came out of a document: say where it is wrong, not what it is.
    Path::parse(text)
        .map_err(|error| ErrorKind::Path(format!("wrong at character {}", error.offset + 1)).at(at))
}

fn set_field(
    field: &(FieldPath, Expr),
    at: &Location,
    scope: &Scope<'_>,
) -> Result<Value, Box<Error>> {
    let computed;
    let path = match &field.0 {
        FieldPath::Fixed(path) => path,
        FieldPath::Computed(expr) => {
            computed = computed_path(&expr.eval(scope)?, at)?;
            &computed
        }
    };
    let value = field.1.eval(scope)?;
    let target = match path.root() {
        Root::Document => scope.document,
        Root::Item => scope.item_or_null(),
    };
    path.set(target, value, scope.document)
        .map_err(|error| ErrorKind::from(error).at(at))
}

/// `@rnd`: a keyed hash of the operator, the place, the origin and the item positions,
/// mapped to the range; nothing is remembered, and nothing changes on update or restart.
fn random(args: &Args, at: &Location, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    let values = args.values(scope)?;
    let [low, high] = values.as_slice() else {
        return Err(ErrorKind::Arity {
            expected: "2".to_owned(),
            found: values.len(),
        }
        .at(at));
    };
    let low = ops::int(low).map_err(|kind| kind.at(at))?;
    let high = ops::int(high).map_err(|kind| kind.at(at))?;
    if high <= low {
        return Err(ErrorKind::EmptyRange.at(at));
    }
    let place = stable_hash(&at.to_string());
    let items = scope.item.map_or(0, |item| item.positions);
    let key = mix(mix(scope.env.random_key, place), mix(scope.origin, items));
    Ok(Value::from(random_in(key, low, high)))
}

impl CelExpr {
    fn eval(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let document = || {
            if self.hides_versions {
                without_versions(scope.document)
            } else {
                scope.document.clone()
            }
        };
        let variable = |name: &str| match name {
            "object" => Some(document()),
            "item" => scope.item.map(|item| item.value.clone()),
            name => document()
                .as_map()
                .and_then(|map| map.get_str(name))
                .cloned(),
        };
        let limits = cel_bridge::Limits {
            cost: scope.env.limits.cel_cost,
        };
        self.program
            .eval(&variable, &limits)
            .map_err(|error| ErrorKind::from(error).at(&self.at))
    }
}
