//! Operators and functions, run on samples of the types of their operands.

use crate::error::EvalError;
use crate::function::{self, Arguments};
use crate::infix;
use crate::meter::Meter;
use crate::tree::{Arithmetic, Call, CelExpr, Relation};
use crate::types::Type;
use crate::value::Val;

use super::{Kinds, samples};

/// How many combinations of types are tried for one operator or call.
const MAX_COMBINATIONS: usize = 400;

/// How many trials there may be for one expression.
const MAX_TRIALS: usize = 40_000;

/// An operator or function.
pub(super) enum Operand<'a> {
    Not,
    Negate,
    Arithmetic(Arithmetic),
    Relation(Relation),
    In,
    Index,
    Call(&'a Call),
}

impl<'a> Operand<'a> {
    /// The operator of an expression; `None` if it has none that depends on types alone.
    pub(super) fn of(node: &'a CelExpr) -> Option<Self> {
        Some(match node {
            CelExpr::Not(_) => Self::Not,
            CelExpr::Negate(_) => Self::Negate,
            CelExpr::Arithmetic(operator, _) => Self::Arithmetic(*operator),
            CelExpr::Relation(operator, _) => Self::Relation(*operator),
            CelExpr::In(_) => Self::In,
            CelExpr::Index { .. } => Self::Index,
            CelExpr::Call(call) => Self::Call(call),
            _ => return None,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Negate => "-",
            Self::Arithmetic(operator) => operator.symbol(),
            Self::Relation(operator) => operator.symbol(),
            Self::In => "in",
            Self::Index => "[]",
            Self::Call(call) => call.function.name(),
        }
    }

    fn apply(&self, args: &[Val], meter: &mut Meter) -> Result<Val, EvalError> {
        match (self, args) {
            (Self::Not, [Val::Bool(value)]) => Ok(Val::Bool(!value)),
            (Self::Negate, [value]) => infix::negate(value),
            (Self::Arithmetic(operator), [a, b]) => infix::arithmetic(*operator, a, b, meter),
            (Self::Relation(operator), [a, b]) => {
                infix::relation(*operator, a, b, meter).map(Val::Bool)
            }
            (Self::In, [a, b]) => infix::contains(a, b, meter).map(Val::Bool),
            // An element of an optional is an optional.
            (Self::Index, [Val::Optional(_), _]) => Err(EvalError::OutOfRange("[]")),
            (Self::Index, [a, b]) => {
                let element = infix::index(a, b)?;
                element.ok_or(EvalError::OutOfRange("[]"))
            }
            (Self::Call(call), _) => function::call(call, Arguments::new(call, args, meter)),
            _ => Err(EvalError::types(
                self.name(),
                args.iter().map(Val::type_name),
            )),
        }
    }

    /// Whether what a sample gives has the type that all values of its type give. What is in a list,
    /// a map or an optional may decide, but not whether the result is a boolean, for example.
    fn decides(&self, args: &[Val], result: &Val) -> bool {
        let counts = matches!(self.name(), "size" | "indexOf" | "lastIndexOf");
        let fixed = matches!(
            result,
            Val::Bool(_) | Val::List(_) | Val::Str(_) | Val::Optional(_) | Val::Type(_)
        );
        counts || fixed || !args.iter().any(is_container)
    }
}

/// Whether a value is a list, a map or an optional, so that a result may depend on what is in it.
fn is_container(value: &Val) -> bool {
    matches!(value, Val::List(_) | Val::Map(_) | Val::Optional(_))
}

/// What trials of one combination of types give.
pub(super) enum Outcome {
    /// All samples are refused because of their types.
    Refused,
    /// The types of the results.
    Accepted(Kinds),
}

/// Counts the trials of an expression.
#[derive(Default)]
pub(super) struct Trials(usize);

impl Trials {
    /// Runs an operation on all samples of these types.
    pub(super) fn run(&mut self, operation: &Operand<'_>, types: &[Type]) -> Outcome {
        let samples: Vec<Vec<&Val>> = types.iter().map(|of| samples::of(*of).collect()).collect();
        let mut result = Kinds::NONE;
        let mut accepted = false;
        for number in 0.. {
            let Some(args) = nth(&samples, number) else {
                break;
            };
            self.0 += 1;
            if self.0 > MAX_TRIALS {
                return Outcome::Accepted(Kinds::ANY);
            }
            match operation.apply(&args, &mut Meter::new(10_000)) {
                Ok(value) if operation.decides(&args, &value) => {
                    accepted = true;
                    result = result.or(Kinds::one(Type::of(&value)));
                }
                Ok(_) => return Outcome::Accepted(Kinds::ANY),
                Err(EvalError::Type { .. }) => {}
                Err(_) => accepted = true,
            }
        }
        match (accepted, result) {
            (false, _) => Outcome::Refused,
            (true, Kinds::NONE) => Outcome::Accepted(Kinds::ANY),
            (true, kinds) => Outcome::Accepted(kinds),
        }
    }
}

/// The n-th choice of one sample for each operand.
fn nth(samples: &[Vec<&Val>], mut number: usize) -> Option<Vec<Val>> {
    let mut chosen = Vec::with_capacity(samples.len());
    for samples in samples {
        chosen.push((*samples.get(number % samples.len().max(1))?).clone());
        number /= samples.len();
    }
    (number == 0).then_some(chosen)
}

/// All choices of one type for each operand; `None` if there are too many.
pub(super) fn combinations(operands: &[Kinds]) -> Option<Vec<Vec<Type>>> {
    let mut all: Vec<Vec<Type>> = vec![Vec::new()];
    for kinds in operands {
        let types: Vec<Type> = kinds.types().collect();
        if types.is_empty() {
            return None;
        }
        if all.len() * types.len() > MAX_COMBINATIONS {
            return None;
        }
        all = all
            .iter()
            .flat_map(|before| {
                types.iter().map(|of| {
                    let mut with = before.clone();
                    with.push(*of);
                    with
                })
            })
            .collect();
    }
    Some(all)
}
