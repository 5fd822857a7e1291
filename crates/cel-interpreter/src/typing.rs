//! Type checks: what is wrong with an expression, given the types of its variables.
//!
//! There are no rules of types here. An operator or function is tried on a sample of each type that
//! its operands may have: if the interpreter refuses all of them because of their types, it refuses
//! all values, and what the samples give is the type of the result.
//!
//! ```text
//! object.metadata.name + 1        string + int      the sample '' + 1 is refused: reported
//! object.spec.replicas + x        int + anything    1 + 1 is accepted: an int, or a double
//! ```

mod operands;
mod samples;

use crate::tree::{CelExpr, Fold, FoldKind};
use crate::types::Type;
use operands::{Operand, Outcome, Trials, combinations};

/// A set of types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// No type.
    pub const NONE: Self = Self(0);
    /// All types: nothing is known.
    pub const ANY: Self = Self(u32::MAX);
    /// Null.
    pub const NULL: Self = Self::one(Type::Null);
    /// Booleans.
    pub const BOOLEAN: Self = Self::one(Type::Bool);
    /// Integers of documents.
    pub const INTEGER: Self = Self::one(Type::Int);
    /// Other numbers.
    pub const DOUBLE: Self = Self::one(Type::Double);
    /// Strings.
    pub const STRING: Self = Self::one(Type::Str);
    /// Lists.
    pub const LIST: Self = Self::one(Type::List);
    /// Maps.
    pub const MAP: Self = Self::one(Type::Map);

    const OPTIONAL: Self = Self::one(Type::Optional);

    const fn one(of: Type) -> Self {
        Self(1 << of as u32)
    }

    /// The types of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a type is in both sets.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all types of this set are in the other.
    pub const fn is_in(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether a value of these types has a JSON form.
    pub fn has_json_form(self) -> bool {
        let without = [
            Type::Quantity,
            Type::Ip,
            Type::Cidr,
            Type::Url,
            Type::Version,
            Type::Format,
        ];
        let without = without
            .into_iter()
            .fold(Self::NONE, |all, of| all.or(Self::one(of)));
        !self.is_in(without)
    }

    /// Whether a value of these types is written to a document as a string.
    pub fn is_text(self) -> bool {
        let texts = [
            Type::Str,
            Type::Bytes,
            Type::Timestamp,
            Type::Duration,
            Type::Meta,
        ];
        let texts = texts
            .into_iter()
            .fold(Self::NONE, |all, of| all.or(Self::one(of)));
        self != Self::NONE && self.is_in(texts)
    }

    /// Whether values of these types may be equal: numbers are compared by value.
    fn may_equal(self, other: Self) -> bool {
        let numbers = Self::INTEGER.or(Self::DOUBLE).or(Self::one(Type::UInt));
        self.overlaps(other) || (self.overlaps(numbers) && other.overlaps(numbers))
    }

    /// The types for a message. Where something else is possible, null is not the point.
    fn shown(self) -> String {
        let other = Self(self.0 & !Self::NULL.0);
        let shown = if self == Self::ANY || other == Self::NONE {
            self
        } else {
            other
        };
        shown.to_string()
    }

    fn types(self) -> impl Iterator<Item = Type> {
        let known = samples::types();
        known.filter(move |of| Self::one(*of).overlaps(self))
    }
}

/// `string or int`
impl std::fmt::Display for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ANY {
            return f.write_str("anything");
        }
        let names: Vec<&str> = self.types().map(Type::name).collect();
        f.write_str(&names.join(" or "))
    }
}

/// The types of documents, for [`Program::check`](crate::Program::check).
pub trait DocumentTypes {
    /// The type of a part of a document.
    type Part: Clone;
    /// The type at a chain of names that starts with a variable; `None` if nothing is known.
    fn path(&mut self, names: &[&str]) -> Option<Self::Part>;
    /// The type of a member; `None` if nothing is known.
    fn member(&mut self, part: &Self::Part, name: &str) -> Option<Self::Part>;
    /// The type of the elements of a list, or of the values of a map.
    fn element(&mut self, part: &Self::Part) -> Option<Self::Part>;
    /// The types of its values.
    fn kinds(&self, part: &Self::Part) -> Kinds;
}

/// Something wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeFinding {
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
    /// The part of a document that it is, if it is one.
    pub part: Option<Part>,
}

impl<Part> Typed<Part> {
    fn of(kinds: Kinds) -> Self {
        Self { kinds, part: None }
    }
}

/// Checks an expression. Returns the type of its value, and the findings.
pub(crate) fn check<T: DocumentTypes>(
    tree: &CelExpr,
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
    fn typed(&mut self, node: &CelExpr) -> Typed<T::Part> {
        if self.depth >= MAX_DEPTH {
            return Typed::of(Kinds::ANY);
        }
        self.depth += 1;
        let typed = self.node(node);
        self.depth -= 1;
        typed
    }

    fn node(&mut self, node: &CelExpr) -> Typed<T::Part> {
        match node {
            CelExpr::Literal(value) => Typed::of(Kinds::one(Type::of(value))),
            CelExpr::Local(local) => self.locals[*local].clone(),
            CelExpr::Path(path) => {
                let variable = self.names[path.variable].as_str();
                let names: Vec<&str> = std::iter::once(variable)
                    .chain(path.keys.iter().map(document::Key::as_str))
                    .collect();
                let part = self.types.path(&names);
                self.part(part)
            }
            CelExpr::Member(base, key) => self.member(base, key.as_str()),
            CelExpr::OptionalMember(base, key) => {
                self.guarded(|checker| checker.member(base, key.as_str()));
                Typed::of(Kinds::OPTIONAL)
            }
            CelExpr::Has(base, key) => {
                self.member(base, key.as_str());
                Typed::of(Kinds::BOOLEAN)
            }
            CelExpr::Index {
                base,
                index,
                optional,
            } => self.index(node, base, index, *optional),
            CelExpr::List(items) => {
                for (item, _) in items {
                    self.typed(item);
                }
                Typed::of(Kinds::LIST)
            }
            CelExpr::Map(entries) => {
                for (key, value, _) in entries {
                    self.typed(key);
                    self.typed(value);
                }
                Typed::of(Kinds::MAP)
            }
            CelExpr::And(parts) | CelExpr::Or(parts) => {
                let operation = if matches!(node, CelExpr::And(_)) {
                    "&&"
                } else {
                    "||"
                };
                self.guarded(|checker| {
                    for part in parts {
                        checker.condition(part, operation);
                    }
                });
                Typed::of(Kinds::BOOLEAN)
            }
            CelExpr::Conditional(parts) => {
                let [condition, then, other] = parts.as_ref();
                self.condition(condition, "? :");
                let (then, other) =
                    self.guarded(|checker| (checker.typed(then), checker.typed(other)));
                Typed::of(then.kinds.or(other.kinds))
            }
            CelExpr::Equal(wanted, pair) => {
                self.equality(pair, !wanted);
                Typed::of(Kinds::BOOLEAN)
            }
            CelExpr::Not(inner) | CelExpr::Negate(inner) => {
                let inner = self.typed(inner).kinds;
                self.operation(node, &[inner])
            }
            CelExpr::Arithmetic(_, pair) | CelExpr::Relation(_, pair) | CelExpr::In(pair) => {
                let kinds = pair.each_ref().map(|operand| self.typed(operand).kinds);
                self.operation(node, &kinds)
            }
            CelExpr::Call(call) => {
                let kinds: Vec<Kinds> = call.args.iter().map(|arg| self.typed(arg).kinds).collect();
                self.operation(node, &kinds)
            }
            CelExpr::OptionalOr {
                optional, other, ..
            } => {
                self.optional(optional, "orValue");
                self.guarded(|checker| checker.typed(other));
                Typed::of(Kinds::ANY)
            }
            CelExpr::OptionalMap { optional, body, .. } => {
                self.optional(optional, "optMap");
                self.locals.push(Typed::of(Kinds::ANY));
                self.guarded(|checker| checker.typed(body));
                self.locals.pop();
                Typed::of(Kinds::ANY)
            }
            CelExpr::Fold(fold) => self.fold(fold),
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

    fn report(&mut self, operation: &str, found: &[Kinds]) {
        let found: Vec<String> = found.iter().map(|kinds| kinds.shown()).collect();
        self.findings.push(TypeFinding::Operands {
            operation: operation.to_owned(),
            found: found.join(", "),
            certain: self.guards == 0,
        });
    }

    fn member(&mut self, base: &CelExpr, key: &str) -> Typed<T::Part> {
        let base = self.typed(base);
        match &base.part {
            Some(part) => {
                let member = self.types.member(part, key);
                self.part(member)
            }
            None => {
                if !base.kinds.overlaps(Kinds::MAP.or(Kinds::OPTIONAL)) {
                    self.report(&format!(".{key}"), &[base.kinds]);
                }
                Typed::of(Kinds::ANY)
            }
        }
    }

    fn index(
        &mut self,
        node: &CelExpr,
        base: &CelExpr,
        index: &CelExpr,
        optional: bool,
    ) -> Typed<T::Part> {
        let base = self.typed(base);
        let index = self.typed(index).kinds;
        self.operation(node, &[base.kinds, index]);
        if optional {
            return Typed::of(Kinds::OPTIONAL);
        }
        let element = base.part.and_then(|part| self.types.element(&part));
        self.part(element)
    }

    fn condition(&mut self, node: &CelExpr, operation: &str) {
        let found = self.typed(node).kinds;
        if !found.overlaps(Kinds::BOOLEAN) {
            self.report(operation, &[found]);
        }
    }

    fn optional(&mut self, node: &CelExpr, operation: &str) {
        let found = self.typed(node).kinds;
        if !found.overlaps(Kinds::OPTIONAL) {
            self.report(operation, &[found]);
        }
    }

    fn equality(&mut self, pair: &[CelExpr; 2], negated: bool) {
        let [one, other] = pair.each_ref().map(|side| self.typed(side).kinds);
        // The sides of a comparison with a wrong operand are unknown.
        if one != Kinds::NONE && other != Kinds::NONE && !one.may_equal(other) {
            self.findings.push(TypeFinding::NeverEqual {
                found: format!("{}, {}", one.shown(), other.shown()),
                negated,
            });
        }
    }

    /// An operator or a call on all combinations of the types of its operands.
    fn operation(&mut self, node: &CelExpr, operands: &[Kinds]) -> Typed<T::Part> {
        let Some(operation) = Operand::of(node) else {
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
            self.report(operation.name(), operands);
            return Typed::of(Kinds::ANY);
        }
        Typed::of(result)
    }

    fn fold(&mut self, fold: &Fold) -> Typed<T::Part> {
        let range = self.typed(&fold.range);
        let containers = Kinds::LIST.or(Kinds::MAP);
        if !range.kinds.overlaps(containers) {
            self.report(fold.kind.name(), &[range.kinds]);
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
        self.guards += 1;
        if let Some(filter) = &fold.filter {
            self.condition(filter, fold.kind.name());
        }
        let decides = matches!(
            fold.kind,
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne | FoldKind::Filter
        );
        if decides {
            self.condition(&fold.body, fold.kind.name());
        } else {
            self.typed(&fold.body);
        }
        self.guards -= 1;
        self.locals.truncate(outer);
        match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => Typed::of(Kinds::BOOLEAN),
            FoldKind::Filter | FoldKind::SortBy => Typed {
                kinds: Kinds::LIST,
                part: range.part.filter(|_| list),
            },
            FoldKind::Map => Typed::of(Kinds::LIST),
            FoldKind::TransformMap | FoldKind::TransformMapEntry => Typed::of(Kinds::MAP),
        }
    }
}
