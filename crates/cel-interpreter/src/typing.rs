//! Type checks: what is wrong with an expression, given the types of its variables.
//!
//! There are no typing rules here. An operator or function is tried on a sample of each type that
//! its operands may have: if the interpreter refuses all of them because of their types, it refuses
//! all values, and what the samples give is the type of the result.
//!
//! ```text
//! object.metadata.name + 1        string + int      the sample '' + 1 is refused: reported
//! object.spec.replicas + x        int + anything    1 + 1 is accepted: an int, or a double
//! ```

mod kinds;
mod operands;
mod samples;

use std::ops::Range;

use document::Value;

use crate::tree::{Arithmetic, CelExpr, Fold, FoldKind, Located};
use crate::types::Type;
use crate::value::Val;
pub use kinds::Kinds;
use operands::{Operand, Outcome, Trials, combinations};

/// The types of documents, for [`Program::check`](crate::Program::check). Places are ranges of bytes
/// of the text.
pub trait DocumentTypes {
    /// The type of a part of a document.
    type Part: Clone;
    /// The type at a chain of names that starts with a variable; `None` if nothing is known.
    fn path(&mut self, names: &[&str], place: &Range<usize>) -> Option<Self::Part>;
    /// The type of a member of a part, which is given with its place; `None` if nothing is known.
    /// `tested` says that a missing one is no error, as in `has`.
    fn member(
        &mut self,
        part: (&Self::Part, &Range<usize>),
        name: &str,
        place: &Range<usize>,
        tested: bool,
    ) -> Option<Self::Part>;
    /// The type of the elements of a list, or of the values of a map.
    fn element(&mut self, part: &Self::Part) -> Option<Self::Part>;
    /// The types of its values.
    fn kinds(&self, part: &Self::Part) -> Kinds;
    /// The type of one value.
    fn literal(&mut self, value: &Value) -> Self::Part;
    /// The type of values of these types, none of which are lists or maps.
    fn scalars(&mut self, kinds: Kinds) -> Self::Part;
    /// The type of a list with elements of these types; `None` if nothing is known of one.
    fn list(&mut self, elements: Vec<Option<Self::Part>>) -> Self::Part;
    /// The type of a map: its keys that are known with the types of their values, and the types of
    /// the other values.
    fn map(
        &mut self,
        named: Vec<(&str, Option<Self::Part>)>,
        others: Vec<Option<Self::Part>>,
    ) -> Self::Part;
    /// The values of both types.
    fn union(&mut self, one: &Self::Part, other: &Self::Part) -> Self::Part;
}

/// Something wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFinding {
    /// Where it is: a range of bytes of the text.
    pub place: Range<usize>,
    /// What is wrong.
    pub mistake: TypeMistake,
}

/// What is wrong with a part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeMistake {
    /// An operator or function that accepts none of the types of its operands.
    Operands {
        /// The operator or function.
        operation: String,
        /// The types of its operands.
        found: String,
        /// Whether every evaluation fails.
        certain: bool,
    },
    /// A comparison of values that are never equal.
    NeverEqual {
        /// The types of the two sides.
        found: String,
        /// Whether it is `!=`, which is then always true.
        negated: bool,
    },
}

/// What is known about the value of an expression.
#[derive(Clone)]
pub struct Typed<Part> {
    /// The types that it may have.
    pub kinds: Kinds,
    /// Its type as a part of a document, if all of it is of types that documents have: a timestamp
    /// is written to a document as a string, but is none in the expression.
    pub part: Option<Part>,
}

impl<Part> Typed<Part> {
    fn of(kinds: Kinds) -> Self {
        Self { kinds, part: None }
    }
}

/// Checks an expression. Returns the type of its value, and the findings.
pub(crate) fn check<T: DocumentTypes>(
    tree: Located<'_>,
    names: &[String],
    types: &mut T,
) -> (Typed<T::Part>, Vec<TypeFinding>) {
    let mut checker = Checker {
        names,
        types,
        locals: Vec::new(),
        trials: Trials::default(),
        guards: 0,
        depth: 0,
        findings: Vec::new(),
    };
    let typed = checker.typed(tree);
    (typed, checker.findings)
}

struct Checker<'a, T: DocumentTypes> {
    /// The variables, by number.
    names: &'a [String],
    types: &'a mut T,
    /// The variables of the enclosing macros.
    locals: Vec<Typed<T::Part>>,
    trials: Trials,
    /// How many operators are around the expression that may ignore its errors, or not evaluate it.
    guards: usize,
    /// How deep the expression is nested.
    depth: usize,
    findings: Vec<TypeFinding>,
}

/// What is nested deeper has an unknown type: the checks need more of the stack than an evaluation.
const MAX_DEPTH: usize = 60;

impl<T: DocumentTypes> Checker<'_, T> {
    fn typed(&mut self, at: Located<'_>) -> Typed<T::Part> {
        if self.depth >= MAX_DEPTH {
            return Typed::of(Kinds::ANY);
        }
        self.depth += 1;
        let typed = self.node(at);
        self.depth -= 1;
        typed
    }

    fn node(&mut self, at: Located<'_>) -> Typed<T::Part> {
        let parts = at.parts();
        match at.node {
            CelExpr::Literal(value) => self.literal(value),
            CelExpr::Local(local) => self.locals[*local].clone(),
            CelExpr::Path(path) => {
                let variable = self.names[path.variable].as_str();
                let names: Vec<&str> = std::iter::once(variable)
                    .chain(path.keys.iter().map(document::Key::as_str))
                    .collect();
                let part = self.types.path(&names, &at.place.range);
                self.part(part)
            }
            CelExpr::Member(_, key) => self.member(at, parts[0], key.as_str(), false),
            CelExpr::OptionalMember(_, key) => {
                self.guarded(|checker| checker.member(at, parts[0], key.as_str(), true));
                Typed::of(Kinds::OPTIONAL)
            }
            CelExpr::Has(_, key) => {
                self.member(at, parts[0], key.as_str(), true);
                Typed::of(Kinds::BOOLEAN)
            }
            CelExpr::Index { optional, .. } => self.index(at, &parts, *optional),
            CelExpr::List(items) => self.list(items, &parts),
            CelExpr::Map(entries) => self.map(entries, &parts),
            CelExpr::And(_) | CelExpr::Or(_) => {
                let and = matches!(at.node, CelExpr::And(_));
                let operation = if and { "&&" } else { "||" };
                self.guarded(|checker| {
                    for part in parts {
                        checker.condition(part, operation);
                    }
                });
                Typed::of(Kinds::BOOLEAN)
            }
            CelExpr::Conditional(_) => {
                self.condition(parts[0], "? :");
                let (then, other) =
                    self.guarded(|checker| (checker.typed(parts[1]), checker.typed(parts[2])));
                self.either(&then, &other)
            }
            CelExpr::Equal(wanted, _) => {
                self.equality(at, &parts, !wanted);
                Typed::of(Kinds::BOOLEAN)
            }
            CelExpr::Arithmetic(Arithmetic::Add, _) => self.addition(at, &parts),
            CelExpr::Not(_)
            | CelExpr::Negate(_)
            | CelExpr::Arithmetic(..)
            | CelExpr::Relation(..)
            | CelExpr::In(_)
            | CelExpr::Call(_) => {
                let kinds: Vec<Kinds> = parts.iter().map(|part| self.typed(*part).kinds).collect();
                self.operation(at, &kinds)
            }
            CelExpr::OptionalOr { .. } => {
                self.optional(parts[0], "orValue");
                self.guarded(|checker| checker.typed(parts[1]));
                Typed::of(Kinds::ANY)
            }
            CelExpr::OptionalMap { .. } => {
                self.optional(parts[0], "optMap");
                self.locals.push(Typed::of(Kinds::ANY));
                self.guarded(|checker| checker.typed(parts[1]));
                self.locals.pop();
                Typed::of(Kinds::ANY)
            }
            CelExpr::Fold(fold) => self.fold(fold, &parts),
        }
    }

    fn guarded<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        self.guards += 1;
        let result = run(self);
        self.guards -= 1;
        result
    }

    fn part(&self, part: Option<T::Part>) -> Typed<T::Part> {
        let kinds = part
            .as_ref()
            .map_or(Kinds::ANY, |part| self.types.kinds(part));
        Typed { kinds, part }
    }

    fn report(&mut self, at: Located<'_>, operation: &str, found: &[Kinds]) {
        let found: Vec<String> = found.iter().map(|kinds| kinds.shown()).collect();
        self.findings.push(TypeFinding {
            place: at.place.range.clone(),
            mistake: TypeMistake::Operands {
                operation: operation.to_owned(),
                found: found.join(", "),
                certain: self.guards == 0,
            },
        });
    }

    fn member(
        &mut self,
        at: Located<'_>,
        base: Located<'_>,
        key: &str,
        tested: bool,
    ) -> Typed<T::Part> {
        let of = &base.place.range;
        let base = self.typed(base);
        match &base.part {
            Some(part) => {
                let member = (self.types).member((part, of), key, &at.place.range, tested);
                self.part(member)
            }
            None => {
                if !base.kinds.overlaps(Kinds::MAP.or(Kinds::OPTIONAL)) {
                    self.report(at, &format!(".{key}"), &[base.kinds]);
                }
                Typed::of(Kinds::ANY)
            }
        }
    }

    fn index(&mut self, at: Located<'_>, parts: &[Located<'_>], optional: bool) -> Typed<T::Part> {
        let base = self.typed(parts[0]);
        let index = self.typed(parts[1]).kinds;
        self.operation(at, &[base.kinds, index]);
        if optional {
            return Typed::of(Kinds::OPTIONAL);
        }
        let element = base.part.and_then(|part| self.types.element(&part));
        self.part(element)
    }

    fn condition(&mut self, at: Located<'_>, operation: &str) {
        let found = self.typed(at).kinds;
        if !found.overlaps(Kinds::BOOLEAN) {
            self.report(at, operation, &[found]);
        }
    }

    fn optional(&mut self, at: Located<'_>, operation: &str) {
        let found = self.typed(at).kinds;
        if !found.overlaps(Kinds::OPTIONAL) {
            self.report(at, operation, &[found]);
        }
    }

    fn equality(&mut self, at: Located<'_>, parts: &[Located<'_>], negated: bool) {
        let [one, other] = [parts[0], parts[1]].map(|side| self.typed(side).kinds);
        // The sides of a comparison with a wrong operand are unknown.
        if one != Kinds::NONE && other != Kinds::NONE && !one.may_equal(other) {
            self.findings.push(TypeFinding {
                place: at.place.range.clone(),
                mistake: TypeMistake::NeverEqual {
                    found: format!("{}, {}", one.shown(), other.shown()),
                    negated,
                },
            });
        }
    }

    /// An operator or a call on all combinations of the types of its operands.
    fn operation(&mut self, at: Located<'_>, operands: &[Kinds]) -> Typed<T::Part> {
        let Some(operation) = Operand::of(at.node) else {
            return Typed::of(Kinds::ANY);
        };
        let Some(combinations) = combinations(operands) else {
            return Typed::of(Kinds::ANY);
        };
        let mut accepted = false;
        let mut result = Kinds::NONE;
        for types in combinations {
            match self.trials.run(&operation, &types) {
                Outcome::Refused => {}
                Outcome::Accepted(kinds) => {
                    accepted = true;
                    result = result.or(kinds);
                }
            }
        }
        if !accepted {
            self.report(at, operation.name(), operands);
            return Typed::of(Kinds::ANY);
        }
        Typed::of(result)
    }

    fn fold(&mut self, fold: &Fold, parts: &[Located<'_>]) -> Typed<T::Part> {
        let range = self.typed(parts[0]);
        let containers = Kinds::LIST.or(Kinds::MAP);
        if !range.kinds.overlaps(containers) {
            self.report(parts[0], fold.kind.name(), &[range.kinds]);
        }
        let list = !range.kinds.overlaps(Kinds::MAP);
        let map = !range.kinds.overlaps(Kinds::LIST);
        let element = range
            .part
            .as_ref()
            .and_then(|part| self.types.element(part));
        let element = self.part(element.filter(|_| list || map));
        let key = if list { Kinds::INTEGER } else { Kinds::ANY };
        let outer = self.locals.len();
        if fold.pairs {
            self.locals.push(Typed::of(key));
            self.locals.push(element);
        } else if list {
            self.locals.push(element);
        } else {
            self.locals.push(Typed::of(Kinds::ANY));
        }
        let body = self.guarded(|checker| checker.for_each(fold, &parts[1..]));
        self.locals.truncate(outer);
        let part = match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => {
                return Typed::of(Kinds::BOOLEAN);
            }
            FoldKind::Filter | FoldKind::SortBy => range.part.filter(|_| list),
            FoldKind::Map => {
                let element = self.in_document(&body);
                Some(self.types.list(vec![element]))
            }
            FoldKind::TransformMap => {
                let value = self.in_document(&body);
                Some(self.types.map(Vec::new(), vec![value]))
            }
            FoldKind::TransformMapEntry => None,
        };
        Typed {
            kinds: match fold.kind {
                FoldKind::TransformMap | FoldKind::TransformMapEntry => Kinds::MAP,
                _ => Kinds::LIST,
            },
            part,
        }
    }

    /// What a macro evaluates for each item: the condition of `map`, if it has one, and the body.
    fn for_each(&mut self, fold: &Fold, parts: &[Located<'_>]) -> Typed<T::Part> {
        if let [filter, _] = parts {
            self.condition(*filter, fold.kind.name());
        }
        let Some(body) = parts.last() else {
            return Typed::of(Kinds::ANY);
        };
        let decides = matches!(
            fold.kind,
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne | FoldKind::Filter
        );
        if decides {
            self.condition(*body, fold.kind.name());
            return Typed::of(Kinds::BOOLEAN);
        }
        self.typed(*body)
    }
}

/// Values that an expression builds.
impl<T: DocumentTypes> Checker<'_, T> {
    fn literal(&mut self, value: &Val) -> Typed<T::Part> {
        let plain = match value {
            Val::Null => Some(Value::NULL),
            Val::Bool(value) => Some((*value).into()),
            Val::Int(value) => Some((*value).into()),
            Val::Str(text) => Some(text.clone()),
            _ => None,
        };
        Typed {
            kinds: Kinds::one(Type::of(value)),
            part: plain.map(|value| self.types.literal(&value)),
        }
    }

    /// The type of a value as a part of a document, if all of it is of types that documents have.
    fn in_document(&mut self, typed: &Typed<T::Part>) -> Option<T::Part> {
        let scalar = typed.kinds != Kinds::NONE && typed.kinds.is_in(Kinds::SCALARS);
        match &typed.part {
            Some(part) => Some(part.clone()),
            None => scalar.then(|| self.types.scalars(typed.kinds)),
        }
    }

    fn either(&mut self, one: &Typed<T::Part>, other: &Typed<T::Part>) -> Typed<T::Part> {
        let parts = self.in_document(one).zip(self.in_document(other));
        Typed {
            kinds: one.kinds.or(other.kinds),
            part: parts.map(|(one, other)| self.types.union(&one, &other)),
        }
    }

    /// `a + b`: two lists become one with the elements of both.
    fn addition(&mut self, at: Located<'_>, parts: &[Located<'_>]) -> Typed<T::Part> {
        let [one, other] = [parts[0], parts[1]].map(|part| self.typed(part));
        let sum = self.operation(at, &[one.kinds, other.kinds]);
        // Null is refused, so the operands are lists.
        let lists = Kinds::LIST.or(Kinds::NULL);
        let both = [&one, &other].map(|part| part.kinds.overlaps(Kinds::LIST));
        if both == [true, true] && one.kinds.or(other.kinds).is_in(lists) {
            return Typed {
                kinds: Kinds::LIST,
                ..self.either(&one, &other)
            };
        }
        sum
    }

    fn list(&mut self, items: &[(CelExpr, bool)], parts: &[Located<'_>]) -> Typed<T::Part> {
        let elements = items.iter().zip(parts).map(|((_, optional), part)| {
            let element = self.typed(*part);
            self.in_document(&element).filter(|_| !optional)
        });
        let elements = elements.collect();
        Typed {
            kinds: Kinds::LIST,
            part: Some(self.types.list(elements)),
        }
    }

    fn map(
        &mut self,
        entries: &[(CelExpr, CelExpr, bool)],
        parts: &[Located<'_>],
    ) -> Typed<T::Part> {
        let (mut named, mut others) = (Vec::new(), Vec::new());
        for ((key, _, optional), pair) in entries.iter().zip(parts.chunks(2)) {
            let [key_at, value_at] = pair else {
                continue;
            };
            self.typed(*key_at);
            let value = self.typed(*value_at);
            let value = self.in_document(&value).filter(|_| !optional);
            match key {
                CelExpr::Literal(Val::Str(name)) => {
                    named.push((name.as_str().unwrap_or_default(), value));
                }
                _ => others.push(value),
            }
        }
        Typed {
            kinds: Kinds::MAP,
            part: Some(self.types.map(named, others)),
        }
    }
}
