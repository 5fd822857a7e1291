//! The infix operators of CEL, and its negation.

use std::cmp::Ordering;

use crate::error::EvalError;
use crate::key::MapKey;
use crate::meter::Meter;
use crate::tree::{Arithmetic, Relation};
use crate::types::Type;
use crate::value::{List, Map, Val};

/// Applies an arithmetic operator. Of an int and a double, the int is converted. Plain CEL refuses
/// that, but a document cannot contain `2.0`: an expression would fail for some numbers of a
/// field and not for others.
pub(crate) fn arithmetic(
    operator: Arithmetic,
    left: &Val,
    right: &Val,
    meter: &mut Meter,
) -> Result<Val, EvalError> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => ints(operator, *a, *b).map(Val::Int),
        (Val::UInt(a), Val::UInt(b)) => uints(operator, *a, *b).map(Val::UInt),
        (Val::Double(a), Val::Double(b)) => doubles(operator, *a, *b),
        (Val::Int(a), Val::Double(b)) => doubles(operator, *a as f64, *b),
        (Val::Double(a), Val::Int(b)) => doubles(operator, *a, *b as f64),
        _ => match operator {
            Arithmetic::Add => add(left, right, meter),
            Arithmetic::Subtract => subtract(left, right),
            Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => {
                Err(mismatch(operator.symbol(), left, right))
            }
        },
    }
}

fn mismatch(operation: &str, left: &Val, right: &Val) -> EvalError {
    EvalError::types(operation, [left.type_name(), right.type_name()])
}

fn ints(operator: Arithmetic, a: i64, b: i64) -> Result<i64, EvalError> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        _ if b == 0 => return Err(EvalError::DivideByZero(operator.symbol())),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => a.checked_rem(b),
    };
    result.ok_or(EvalError::Overflow(operator.symbol()))
}

fn uints(operator: Arithmetic, a: u64, b: u64) -> Result<u64, EvalError> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        _ if b == 0 => return Err(EvalError::DivideByZero(operator.symbol())),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Remainder => a.checked_rem(b),
    };
    result.ok_or(EvalError::Overflow(operator.symbol()))
}

fn doubles(operator: Arithmetic, a: f64, b: f64) -> Result<Val, EvalError> {
    Ok(Val::Double(match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
        Arithmetic::Remainder => return Err(EvalError::types("%", ["double", "double"])),
    }))
}

fn add(left: &Val, right: &Val, meter: &mut Meter) -> Result<Val, EvalError> {
    match (left, right) {
        (Val::Str(_), Val::Str(_)) => {
            let (a, b) = (
                left.as_str().unwrap_or_default(),
                right.as_str().unwrap_or_default(),
            );
            meter.bytes(a.len() + b.len())?;
            Ok(Val::from([a, b].concat()))
        }
        (Val::Bytes(_), Val::Bytes(_)) => {
            let (a, b) = (
                left.as_bytes().unwrap_or_default(),
                right.as_bytes().unwrap_or_default(),
            );
            meter.bytes(a.len() + b.len())?;
            Ok(Val::bytes(&[a, b].concat()))
        }
        (Val::List(a), Val::List(b)) => {
            meter.items(a.len() + b.len())?;
            Ok(a.iter().chain(b.iter()).collect())
        }
        (Val::Duration(a), Val::Duration(b)) => a
            .checked_add(*b)
            .map(Val::Duration)
            .ok_or(EvalError::Overflow("+")),
        (Val::Timestamp(at), Val::Duration(by)) | (Val::Duration(by), Val::Timestamp(at)) => at
            .plus(i128::from(*by))
            .map(Val::Timestamp)
            .ok_or(EvalError::Overflow("+")),
        _ => Err(mismatch("+", left, right)),
    }
}

fn subtract(left: &Val, right: &Val) -> Result<Val, EvalError> {
    match (left, right) {
        (Val::Duration(a), Val::Duration(b)) => a
            .checked_sub(*b)
            .map(Val::Duration)
            .ok_or(EvalError::Overflow("-")),
        (Val::Timestamp(at), Val::Duration(by)) => at
            .plus(-i128::from(*by))
            .map(Val::Timestamp)
            .ok_or(EvalError::Overflow("-")),
        (Val::Timestamp(a), Val::Timestamp(b)) => a
            .since(*b)
            .map(Val::Duration)
            .ok_or(EvalError::Overflow("-")),
        _ => Err(mismatch("-", left, right)),
    }
}

/// `-value`
pub(crate) fn negate(value: &Val) -> Result<Val, EvalError> {
    match value {
        Val::Int(i) => i.checked_neg().map(Val::Int),
        Val::Double(d) => Some(Val::Double(-d)),
        Val::Duration(nanos) => nanos.checked_neg().map(Val::Duration),
        other => return Err(EvalError::types("-", [other.type_name()])),
    }
    .ok_or(EvalError::Overflow("-"))
}

/// `left < right` and the like.
pub(crate) fn relation(
    operator: Relation,
    left: &Val,
    right: &Val,
    meter: &mut Meter,
) -> Result<bool, EvalError> {
    let order = compare(operator.symbol(), left, right, meter)?;
    Ok(match operator {
        Relation::Less => order.is_lt(),
        Relation::LessEqual => order.is_le(),
        Relation::Greater => order.is_gt(),
        Relation::GreaterEqual => order.is_ge(),
    })
}

/// The order of two values of the same type, or of two numbers. NaN has no place in an order, so
/// that it is an error.
pub(crate) fn compare(
    operation: &str,
    left: &Val,
    right: &Val,
    meter: &mut Meter,
) -> Result<Ordering, EvalError> {
    if let (Some(a), Some(b)) = (Numeric::of(left), Numeric::of(right)) {
        return a
            .compare(b)
            .ok_or_else(|| EvalError::Nan(operation.to_owned()));
    }
    Ok(match (left, right) {
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::Str(a), Val::Str(b)) => {
            let (a, b) = (
                a.as_str().unwrap_or_default(),
                b.as_str().unwrap_or_default(),
            );
            meter.bytes(a.len().min(b.len()))?;
            a.cmp(b)
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            meter.bytes(left.as_bytes().map_or(0, <[u8]>::len))?;
            a.cmp(b)
        }
        (Val::Timestamp(a), Val::Timestamp(b)) => a.cmp(b),
        (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
        _ => return Err(mismatch(operation, left, right)),
    })
}

/// A number of any type. A whole number is converted to be compared with a double, so that great
/// numbers are equal to their neighbours.
#[derive(Clone, Copy)]
enum Numeric {
    Int(i64),
    UInt(u64),
    Double(f64),
}

impl Numeric {
    fn of(value: &Val) -> Option<Self> {
        match value {
            Val::Int(i) => Some(Self::Int(*i)),
            Val::UInt(u) => Some(Self::UInt(*u)),
            Val::Double(d) => Some(Self::Double(*d)),
            _ => None,
        }
    }

    /// `None` for NaN.
    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::UInt(a), Self::UInt(b)) => Some(a.cmp(&b)),
            (Self::Int(a), Self::UInt(b)) => Some(i128::from(a).cmp(&i128::from(b))),
            (Self::UInt(a), Self::Int(b)) => Some(i128::from(a).cmp(&i128::from(b))),
            (Self::Double(a), b) => a.partial_cmp(&b.double()),
            (a, Self::Double(b)) => a.double().partial_cmp(&b),
        }
    }

    fn double(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::UInt(u) => u as f64,
            Self::Double(d) => d,
        }
    }
}

/// `left == right`. Lists and maps are compared deeply, numbers by value. Values of different
/// types are unequal.
pub(crate) fn equal(left: &Val, right: &Val, meter: &mut Meter) -> Result<bool, EvalError> {
    meter.charge(1)?;
    if let (Some(a), Some(b)) = (Numeric::of(left), Numeric::of(right)) {
        return Ok(a.compare(b) == Some(Ordering::Equal));
    }
    Ok(match (left, right) {
        (Val::Null, Val::Null) | (Val::Optional(None), Val::Optional(None)) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Str(_), Val::Str(_)) => {
            let (a, b) = (left.as_str(), right.as_str());
            // Strings of different lengths are not read.
            if a.map(str::len) == b.map(str::len) {
                meter.bytes(a.map_or(0, str::len))?;
            }
            a == b
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            meter.bytes(left.as_bytes().map_or(0, <[u8]>::len))?;
            a == b
        }
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Extension(a), Val::Extension(b)) if Type::of(left) == Type::of(right) => a.equal(b),
        // As in Kubernetes, where the type of the left side decides how to compare.
        (Val::Extension(_), _) => return Err(mismatch("==", left, right)),
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b, meter)?,
        (Val::List(a), Val::List(b)) => equal_lists(a, b, meter)?,
        (Val::Map(a), Val::Map(b)) => equal_maps(a, b, meter)?,
        _ => false,
    })
}

fn equal_lists(left: &List, right: &List, meter: &mut Meter) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    meter.charge(1)?;
    for (a, b) in left.iter().zip(right.iter()) {
        if !equal(&a, &b, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(left: &Map, right: &Map, meter: &mut Meter) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    meter.items(1 + left.len())?;
    for (key, a) in left.entries() {
        match right.get(&key) {
            Some(b) if equal(&a, &b, meter)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// `value in container`
pub(crate) fn contains(value: &Val, container: &Val, meter: &mut Meter) -> Result<bool, EvalError> {
    match container {
        Val::List(list) => {
            for item in list.iter() {
                if equal(value, &item, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Val::Map(map) => Ok(MapKey::of(value)?.is_some_and(|key| map.get(&key).is_some())),
        other => Err(mismatch("in", value, other)),
    }
}

/// `container[index]`, or `None` if there is no such element.
pub(crate) fn index(container: &Val, index: &Val) -> Result<Option<Val>, EvalError> {
    match (container, index) {
        (Val::Map(map), _) => Ok(MapKey::of(index)?.and_then(|key| map.get(&key))),
        (Val::List(list), Val::Int(_) | Val::UInt(_) | Val::Double(_)) => {
            Ok(position(index).and_then(|at| list.get(at)))
        }
        _ => Err(mismatch("[]", container, index)),
    }
}

/// A whole number that is not negative.
fn position(index: &Val) -> Option<usize> {
    match MapKey::of(index).ok()?? {
        MapKey::Int(at) => usize::try_from(at).ok(),
        MapKey::UInt(at) => usize::try_from(at).ok(),
        MapKey::Bool(_) | MapKey::Str(_) => None,
    }
}
