//! The type of an expression, and the findings on the way.
//!
//! A finding is an error if every evaluation must fail, and a warning otherwise: if the expression
//! may not be reached, or if it only gives null or false where something else was meant. After a
//! finding the type is unknown, so that one mistake gives one message.

use document::{Key, Location, LocationStep, Value, View};
use expr::{Expr, MapExpr, SetFieldPath};
use schema::{Budget, Fields, Numbers, Origin, Strings, Type};

use super::fractions::Fraction;
use crate::problem::{Problem, Severity};

/// How many findings of one Operator are reported.
pub(super) const MAX_PROBLEMS: usize = 200;

/// Infers types and collects findings.
#[derive(Debug, Default)]
pub(super) struct Inference {
    pub(super) problems: Vec<Problem>,
    pub(super) budget: Budget,
    /// The locations of errors. An expression with an error has an unknown value.
    broken: Vec<Location>,
    /// How many conditions and alternatives are around the expression, which may keep it from being
    /// evaluated.
    alternatives: usize,
    /// The places of numbers that are or may be fractions.
    pub(super) fractions: Vec<Fraction>,
    /// By the location of a stage, the documents that its expressions read.
    pub(super) documents: Vec<(Location, Type)>,
    /// The documents of all targets.
    pub(super) outputs: Vec<super::Output>,
    /// The targets whose objects get nothing but metadata: the controller, the number of the target
    /// and its kind.
    pub(super) only_metadata: Vec<(Location, usize, String)>,
    /// Whether the controller reads a view, whose type is what its writers have built so far.
    pub(super) reads_views: bool,
}

/// What an expression reads.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// `$`
    pub(super) document: Type,
    /// `$$`
    pub(super) item: Type,
}

impl Scope {
    pub(super) fn of(document: Type) -> Self {
        Self {
            document,
            item: Type::any(),
        }
    }

    pub(super) fn with_item(&self, item: Type) -> Self {
        Self {
            item,
            ..self.clone()
        }
    }
}

impl Inference {
    pub(super) fn new(budget: Budget, broken: &[Location]) -> Self {
        Self {
            budget,
            broken: broken.to_vec(),
            ..Self::default()
        }
    }

    /// Whether an expression could not be read: the call itself, a case of a `@switch`, or a setter
    /// of a map.
    fn is_broken(&self, expr: &Expr) -> bool {
        let (at, parts): (_, fn(&LocationStep) -> bool) = match expr {
            Expr::Call(call) => (&call.at, |_| false),
            Expr::Random(_, at) | Expr::SetField(_, at) => (at, |_| false),
            Expr::Switch(_, at) => (at, |_| true),
            Expr::Map(map) => (
                &map.at,
                |step| matches!(step, LocationStep::Key(key) if key.starts_with('$')),
            ),
            Expr::Literal(_)
            | Expr::Now
            | Expr::Path(_)
            | Expr::List(..)
            | Expr::One(_)
            | Expr::Query(_)
            | Expr::GetField(..)
            | Expr::Cel(_) => return false,
        };
        self.broken.iter().any(|error| {
            error == at
                || error
                    .parent()
                    .is_some_and(|(parent, step)| parent == at && parts(step))
        })
    }

    /// Reports a problem, once.
    pub(super) fn report(&mut self, problem: Problem) {
        let same = |other: &Problem| {
            let place = other.code == problem.code && other.at == problem.at;
            place && (other.inside == problem.inside || other.message == problem.message)
        };
        if self.budget.is_spent() || self.problems.iter().any(same) {
            return;
        }
        self.problems.push(problem);
        if self.problems.len() == MAX_PROBLEMS {
            // Nobody reads more, and looking for names is expensive.
            self.budget.spend();
        }
    }

    /// A problem that is an error if the expression is always evaluated.
    pub(super) fn fails(&mut self, code: &'static str, at: &Location, message: String) -> Problem {
        let mut problem = Problem::error(code, at, message);
        if self.alternatives > 0 {
            problem.severity = Severity::Warning;
        }
        problem
    }

    /// Infers the type of an expression that may not be evaluated.
    pub(super) fn alternative(&mut self, expr: &Expr, at: &Location, scope: &Scope) -> Type {
        self.alternatives(|inference| inference.infer(expr, at, scope))
    }

    /// Checks something that may not be evaluated.
    pub(super) fn alternatives<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        self.alternatives += 1;
        let found = check(self);
        self.alternatives -= 1;
        found
    }

    /// Infers types without reporting findings.
    pub(super) fn quietly<T>(&mut self, infer: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.problems.len();
        let found = infer(self);
        self.problems.truncate(before);
        found
    }

    pub(super) fn union(&self, one: &Type, other: &Type) -> Type {
        one.union(other, &self.budget)
    }

    pub(super) fn infer(&mut self, expr: &Expr, at: &Location, scope: &Scope) -> Type {
        if !self.budget.take() {
            return Type::any();
        }
        if !self.broken.is_empty() && self.is_broken(expr) {
            return Type::any();
        }
        match expr {
            Expr::Literal(value) => {
                self.written_fractions(value, at);
                self.literal(value, at)
            }
            Expr::Now => Type::string().written_at(at),
            Expr::Path(path) => {
                self.first_match(&path.path, &path.at);
                self.read(&path.path, &path.at, scope)
            }
            Expr::List(items, at) => self.list(items, at, scope),
            Expr::One(inner) => {
                let mut found = self.infer(inner, &at.index(0), scope);
                if found.any {
                    return Type::list(Type::any());
                }
                let elements = found.list.take();
                let elements = elements.map_or_else(Type::default, |list| (*list).clone());
                Type::list(self.union(&elements, &found)).written_at(at)
            }
            Expr::Map(map) => self.map(map, None, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::Switch(pairs, at) => self.switch(pairs, at, scope),
            Expr::Query(path) => {
                let element = self.read(&path.path, &path.at, scope).without_null();
                Type::list(element).written_at(&path.at)
            }
            Expr::GetField(path, at) => {
                let path = self.infer(path, at, scope);
                self.expect(&path, &Type::string(), "@getField", at);
                Type::any()
            }
            Expr::SetField(field, at) => self.set_field(field, at, scope),
            Expr::Random(args, at) => {
                self.strict_args(args, at, scope);
                Type::integer().written_at(at)
            }
            Expr::Cel(cel) => self.cel(&cel.program, &cel.at, scope),
        }
    }

    fn list(&mut self, items: &[Expr], at: &Location, scope: &Scope) -> Type {
        let mut element = Type::default();
        for (i, item) in items.iter().enumerate() {
            let item = self.infer(item, &at.index(i), scope);
            element = self.union(&element, &item);
        }
        Type::list(element).written_at(at)
    }

    /// The type of a map. With a base, the map is merged into it.
    pub(super) fn map(&mut self, map: &MapExpr, base: Option<&Type>, scope: &Scope) -> Type {
        let merges = base.is_some();
        let mut result = base.cloned();
        if let Some(copy) = &map.copy {
            let at = map.at.key("$.");
            let copied = self.infer(copy, &at, scope);
            self.expect(&copied, &Type::map_of(Type::any()), "\"$.\"", &at);
            let copied = Type {
                null: false,
                ..copied
            };
            result = Some(match result {
                Some(base) => base.merged(&copied, &self.budget),
                None => copied,
            });
        }
        if !map.entries.is_empty() {
            let entries: Vec<(Key, Type)> = map
                .entries
                .iter()
                .map(|(key, value)| {
                    let at = map.at.key(key.as_str());
                    let found = self.infer(value, &at, scope);
                    let at = found.at.clone().unwrap_or(at);
                    (key.clone(), found.written_at(&at))
                })
                .collect();
            result = Some(match result {
                Some(base) if merges => {
                    let entries = Type::map(Fields::closed(entries)).written_at(&map.at);
                    base.merged(&entries, &self.budget)
                }
                Some(base) => self.overwritten(&base, entries),
                None => Type::map(Fields::closed(entries)),
            });
        }
        let mut result = result.unwrap_or_else(|| Type::map(Fields::default()));
        for setter in &map.setters {
            let value = self.infer(&setter.value, &setter.at, scope);
            result = self.set(&result, setter.path.segments(), value, &setter.at);
        }
        result.written_at(&map.at)
    }

    fn switch(&mut self, pairs: &[(Expr, Expr)], at: &Location, scope: &Scope) -> Type {
        let mut result = Type::default();
        let mut always = false;
        for (i, (case, action)) in pairs.iter().enumerate() {
            let (case_at, action_at) = (at.index(i).index(0), at.index(i).index(1));
            let case_type = if i == 0 {
                self.infer(case, &case_at, scope)
            } else {
                self.alternative(case, &case_at, scope)
            };
            self.expect(&case_type, &Type::boolean(), "@switch", &case_at);
            let action = self.alternative(action, &action_at, scope);
            result = self.union(&result, &action);
            always |= case.as_literal().and_then(Value::as_bool) == Some(true);
        }
        if !always {
            result.null = true;
        }
        result.written_at(at)
    }

    fn set_field(&mut self, field: &(SetFieldPath, Expr), at: &Location, scope: &Scope) -> Type {
        let value = self.infer(&field.1, &at.index(1), scope);
        match &field.0 {
            SetFieldPath::Fixed(path) => {
                let start = match path.root() {
                    document::path::Root::Document => &scope.document,
                    document::path::Root::Item => &scope.item,
                };
                self.set(start, path.segments(), value, at)
            }
            SetFieldPath::Computed(path) => {
                self.infer(path, &at.index(0), scope);
                Type::any()
            }
        }
    }

    /// The type of a map in which fields are replaced.
    pub(super) fn overwritten(&self, base: &Type, entries: Vec<(Key, Type)>) -> Type {
        let fields = base.fields();
        let size = fields.as_ref().map_or(0, |fields| fields.named.len());
        if !self.budget.pay(size) {
            return Type::any();
        }
        let named = fields.as_ref().map(|fields| fields.named.clone());
        let mut named = named.unwrap_or_default();
        named.extend(entries);
        let rest = match fields {
            Some(fields) => fields.rest.clone(),
            None => base.any.then(Type::any),
        };
        Type {
            origin: base.origin.as_ref().map(Origin::changed),
            at: base.at.clone(),
            ..Type::map(Fields::new(named, rest))
        }
    }

    /// Reports an operand that can never have a type that is needed.
    pub(super) fn expect(&mut self, found: &Type, wanted: &Type, what: &str, at: &Location) {
        if found.is_never() || found.overlaps(wanted) {
            return;
        }
        let at = found.at.as_ref().unwrap_or(at).clone();
        let message = format!("{what} needs {wanted}, but this is always {found}");
        let problem = self.fails("wrong-type", &at, message);
        // Elsewhere it is CEL.
        let help = boolean_help(found, wanted).filter(|_| what.starts_with('@'));
        self.report(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        });
    }

    /// Reports an operand that can never be a number: numeric strings count as numbers.
    pub(super) fn expect_number(&mut self, found: &Type, what: &str, at: &Location) {
        let numeric = |known: &[Box<str>]| {
            let mut known = known.iter();
            known.any(|text| document::Number::parse(text).is_some())
        };
        let may_be = found.any
            || found.is_never()
            || found.number != Numbers::None
            || match &found.string {
                Strings::None => false,
                Strings::Known(known) => numeric(known),
                Strings::All => true,
            };
        if !may_be {
            let at = found.at.as_ref().unwrap_or(at).clone();
            let message = match found.string.as_known() {
                Some([text]) => format!("{what} needs a number, but this is the string {text:?}"),
                _ => format!("{what} needs a number, but this is always {found}"),
            };
            let problem = self.fails("wrong-type", &at, message);
            let known = found.string.as_known().unwrap_or_default();
            let quantity = known
                .iter()
                .any(|text| cel_interpreter::is_quantity_text(text));
            self.report(if quantity {
                problem.with_help(
                    r#"quantities are in CEL: {"@cel": "quantity('1Gi').asApproximateFloat()"}"#,
                )
            } else {
                problem
            });
        }
    }
}

impl Inference {
    /// The type of a literal. Its parts have their own locations.
    pub(super) fn literal(&self, value: &Value, at: &Location) -> Type {
        match value.view() {
            View::Map(map) => Type::map(Fields::closed(map.iter().map(|(key, value)| {
                let at = at.key(key.as_str());
                (key.clone(), self.literal(value, &at))
            }))),
            View::List(items) => {
                let budget = Budget::default();
                let items = items.iter().enumerate();
                let element = items.fold(Type::default(), |all, (i, item)| {
                    all.union(&self.literal(item, &at.index(i)), &budget)
                });
                Type::list(element)
            }
            // Null is also in the place of what could not be read.
            View::Null if self.broken.iter().any(|error| error.is_in(at)) => Type::any(),
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => Type::of(value),
        }
        .written_at(at)
    }
}

/// What to write where a boolean is needed.
fn boolean_help(found: &Type, wanted: &Type) -> Option<&'static str> {
    if !wanted.boolean || wanted.overlaps(&Type::string()) || wanted.overlaps(&Type::integer()) {
        return None;
    }
    let quoted = |text: &[Box<str>]| text.iter().all(|text| matches!(&**text, "true" | "false"));
    Some(if found.string.as_known().is_some_and(quoted) {
        "write it without quotes"
    } else {
        r#"compare it, as in {"@eq": [<a>, <b>]}, or test it with @exists"#
    })
}
