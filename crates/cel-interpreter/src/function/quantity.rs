//! Quantities of resources: `500m`, `1.5Gi`, `1e3`.
//!
//! Kubernetes keeps a quantity in one of two forms, and `isInteger` and `asInteger` depend on it: a
//! quantity of the second form, or with a negative exponent, is never an integer. So this module
//! follows Kubernetes in which form a quantity has.

use std::cmp::Ordering;

use super::decimal::{BINARY_SUFFIXES, Decimal};
use super::{Arguments, Result};
use crate::error::EvalError;
use crate::meter::Meter;
use crate::types::Extension;
use crate::value::Val;

/// A quantity.
#[derive(Clone)]
pub(crate) struct Quantity {
    amount: Amount,
    notation: Notation,
}

/// How a quantity is written. A sum is written as its first operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `500m`, `2G`
    Decimal,
    /// `512Mi`
    Binary,
    /// `1e3`
    Exponent,
}

/// The number of a quantity.
#[derive(Clone)]
enum Amount {
    /// `value × 10^exponent`
    Small {
        value: i64,
        exponent: i32,
    },
    Large(Decimal),
}

/// How many digits the first form has at most.
const DIGITS: i64 = 18;

/// The exponent of the smallest quantity, which others are rounded up to.
const NANO: i32 = -9;

/// The parts of a quantity as it is written.
struct Written<'a> {
    negative: bool,
    /// The number with its sign.
    number: &'a str,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// What a suffix multiplies with.
#[derive(Clone, Copy)]
enum Unit {
    Decimal(i32),
    /// A power of two.
    Binary(u32),
}

impl Quantity {
    /// `None` if the text is not a quantity, or if it has too many digits.
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let written = Written::parse(text)?;
        let unit = Unit::parse(written.suffix)?;
        let amount = match written.small(unit) {
            Some(small) => small,
            None => written.large(unit).map(Amount::Large)?,
        };
        let notation = match unit {
            Unit::Binary(_) => Notation::Binary,
            Unit::Decimal(_) if Unit::is_exponent(written.suffix) => Notation::Exponent,
            Unit::Decimal(_) => Notation::Decimal,
        };
        Some(Self { amount, notation })
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.amount.compare(&other.amount)
    }

    /// The sum, or `None` if it has too many digits.
    fn plus(&self, other: &Self) -> Option<Self> {
        let first = if self.amount.sign() == 0 { other } else { self };
        Some(Self {
            amount: self.amount.plus(&other.amount)?,
            notation: first.notation,
        })
    }

    fn negated(&self) -> Self {
        Self {
            amount: self.amount.negated(),
            notation: self.notation,
        }
    }

    /// The text of the quantity as Kubernetes writes it: without a fraction, and with the largest
    /// suffix that allows that.
    pub(super) fn text(&self) -> String {
        let number = self.amount.decimal();
        if self.notation == Notation::Binary
            && let Some(text) = number.binary_text()
        {
            return text;
        }
        let (digits, exponent) = number.in_thousands();
        let suffix = match self.notation {
            Notation::Exponent => None,
            Notation::Decimal | Notation::Binary => {
                let known = DECIMAL_SUFFIXES.iter();
                let mut known = known.filter(|(power, _)| *power == exponent);
                known.next().map(|(_, suffix)| (*suffix).to_owned())
            }
        };
        let written = || match exponent {
            0 => String::new(),
            exponent => format!("e{exponent}"),
        };
        digits + &suffix.unwrap_or_else(written)
    }
}

impl Amount {
    fn integer(&self) -> Option<i64> {
        match self {
            Self::Small { value, exponent } => scaled(*value, *exponent),
            Self::Large(_) => None,
        }
    }

    fn decimal(&self) -> Decimal {
        match self {
            Self::Small { value, exponent } => Decimal::new(*value, *exponent),
            Self::Large(decimal) => decimal.clone(),
        }
    }

    fn sign(&self) -> i64 {
        match self {
            Self::Small { value, .. } => value.signum(),
            Self::Large(decimal) => decimal.sign(),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.decimal().compare(&other.decimal())
    }

    /// The sum, or `None` if it has too many digits.
    fn plus(&self, other: &Self) -> Option<Self> {
        if let Some(small) = self.plus_small(other) {
            return Some(small);
        }
        self.decimal().plus(&other.decimal()).map(Self::Large)
    }

    /// The sum of two quantities of the first form, if it has that form, too.
    fn plus_small(&self, other: &Self) -> Option<Self> {
        let (
            Self::Small { value: a, exponent },
            Self::Small {
                value: b,
                exponent: other_exponent,
            },
        ) = (self, other)
        else {
            return None;
        };
        if *b == 0 {
            return Some(self.clone());
        }
        if *a == 0 {
            return Some(other.clone());
        }
        let least = *exponent.min(other_exponent);
        let a = scaled(*a, exponent.checked_sub(least)?)?;
        let b = scaled(*b, other_exponent.checked_sub(least)?)?;
        Some(Self::Small {
            value: a.checked_add(b)?,
            exponent: least,
        })
    }

    fn negated(&self) -> Self {
        match self {
            Self::Small { value, exponent } if *value != i64::MIN => Self::Small {
                value: -value,
                exponent: *exponent,
            },
            _ => Self::Large(self.decimal().negated()),
        }
    }

    fn double(&self) -> f64 {
        let (mantissa, exponent) = match self {
            Self::Small { value, exponent } => (*value as f64, *exponent),
            Self::Large(decimal) => (decimal.mantissa(), decimal.exponent),
        };
        match exponent {
            0 => mantissa,
            _ => mantissa * power_of_ten(exponent),
        }
    }
}

/// A power of ten as Go computes it: from two factors that are rounded.
fn power_of_ten(exponent: i32) -> f64 {
    let power = |exponent: i32| format!("1e{exponent}").parse().unwrap_or(f64::NAN);
    match exponent {
        309.. => f64::INFINITY,
        0..309 => power(exponent / 32 * 32) * power(exponent % 32),
        -323..0 => power(exponent / 32 * 32) / power(-(exponent % 32)),
        _ => 0.0,
    }
}

/// `value × 10^exponent`, if that is an int.
fn scaled(value: i64, exponent: i32) -> Option<i64> {
    let power = u32::try_from(exponent).ok()?;
    match value {
        0 => Some(0),
        _ => value.checked_mul(10_i64.checked_pow(power)?),
    }
}

impl<'a> Written<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let rest = unsigned.trim_start_matches('0');
        let (whole, rest) = digits(rest);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        let valid = exponent.bytes().all(|c| c.is_ascii_digit());
        valid.then(|| Self {
            negative,
            number: &text[..text.len() - suffix.len()],
            whole: if whole.is_empty() { "0" } else { whole },
            fraction,
            suffix,
        })
    }

    /// The quantity in the first form, if its digits fit.
    fn small(&self, unit: Unit) -> Option<Amount> {
        let length = i64::try_from(self.whole.len() + self.fraction.len()).ok()?;
        let places = i32::try_from(self.fraction.len()).ok()?;
        let (room, factor, exponent) = match unit {
            Unit::Decimal(exponent) => (DIGITS - length, 1, exponent),
            Unit::Binary(power) if self.fraction.is_empty() => {
                // A power of two has about 0.3 times as many digits as its exponent.
                let digits = i64::from(power) * 3 / 10;
                (15 - length - digits - 1, 1 << power, 0)
            }
            Unit::Binary(_) => return None,
        };
        let exponent = exponent.wrapping_sub(places);
        if room < 0 || exponent < NANO {
            return None;
        }
        let number: i64 = [self.whole, self.fraction].concat().parse().ok()?;
        let value = number.checked_mul(factor)?;
        Some(Amount::Small {
            value: if self.negative { -value } else { value },
            exponent,
        })
    }

    /// The quantity in the second form, rounded up.
    fn large(&self, unit: Unit) -> Option<Decimal> {
        let number = Decimal::parse(self.number)?;
        let number = match unit {
            Unit::Decimal(exponent) => number.shifted(exponent)?,
            Unit::Binary(power) => number.times(1 << power),
        };
        let rounded = match number.sign() {
            0 => number,
            _ => number.rounded_up(NANO)?,
        };
        // Only quantities with a binary suffix have a limit.
        let most = Decimal::new(i64::MAX, 0);
        let capped = matches!(unit, Unit::Binary(_)) && {
            let size = if self.negative {
                rounded.clone().negated()
            } else {
                rounded.clone()
            };
            size.compare(&most).is_gt()
        };
        Some(match (capped, self.negative) {
            (false, _) => rounded,
            (true, false) => most,
            (true, true) => most.negated(),
        })
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// The suffixes of powers of ten.
const DECIMAL_SUFFIXES: [(i32, &str); 10] = [
    (-9, "n"),
    (-6, "u"),
    (-3, "m"),
    (0, ""),
    (3, "k"),
    (6, "M"),
    (9, "G"),
    (12, "T"),
    (15, "P"),
    (18, "E"),
];

impl Unit {
    fn parse(suffix: &str) -> Option<Self> {
        let decimal = DECIMAL_SUFFIXES.iter().find(|(_, known)| *known == suffix);
        if let Some((exponent, _)) = decimal {
            return Some(Self::Decimal(*exponent));
        }
        let binary = BINARY_SUFFIXES.iter().position(|known| *known == suffix);
        if let Some(thousands) = binary.and_then(|position| u32::try_from(position).ok()) {
            return Some(Self::Binary(10 * (thousands + 1)));
        }
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        let exponent: i64 = exponent.parse().ok()?;
        // As in Kubernetes, the upper half is dropped.
        Some(Self::Decimal(exponent as i32))
    }

    /// Whether a valid suffix is an exponent, such as `e3`.
    fn is_exponent(suffix: &str) -> bool {
        suffix.len() > 1
    }
}

pub(super) fn quantity(call: &mut Arguments<'_>) -> Result<Val> {
    Quantity::parse(call.text(0)?)
        .map(value)
        .ok_or_else(|| call.invalid("the string is not a quantity"))
}

fn value(quantity: Quantity) -> Val {
    Val::extension(Extension::Quantity(quantity))
}

pub(super) fn is_quantity(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(is_quantity_text(call.text(0)?)))
}

/// Whether a text is a quantity of Kubernetes, such as `100m` or `1Gi`.
pub fn is_quantity_text(text: &str) -> bool {
    Quantity::parse(text).is_some()
}

pub(super) fn is_integer(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(receiver(call, 0)?.amount.integer().is_some()))
}

pub(super) fn as_integer(call: &mut Arguments<'_>) -> Result<Val> {
    let integer = receiver(call, 0)?.amount.integer();
    integer
        .map(Val::Int)
        .ok_or_else(|| call.invalid("the quantity is not written as a whole number"))
}

pub(super) fn as_float(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Double(receiver(call, 0)?.amount.double()))
}

pub(super) fn sign(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Int(receiver(call, 0)?.amount.sign()))
}

pub(super) fn add(call: &mut Arguments<'_>) -> Result<Val> {
    plus(call.name, receiver(call, 0)?, &operand(call)?, call.meter)
}

pub(super) fn sub(call: &mut Arguments<'_>) -> Result<Val> {
    let negated = operand(call)?.negated();
    plus(call.name, receiver(call, 0)?, &negated, call.meter)
}

/// The sum of two quantities, for the function with this name.
pub(super) fn plus(
    name: &'static str,
    a: &Quantity,
    b: &Quantity,
    meter: &mut Meter,
) -> Result<Val> {
    // Large quantities have up to a thousand digits.
    meter.charge(10)?;
    a.plus(b).map(value).ok_or(EvalError::Overflow(name))
}

/// The quantity, if the value is one.
pub(super) fn of(value: &Val) -> Option<&Quantity> {
    match value {
        Val::Extension(extension) => match extension.as_ref() {
            Extension::Quantity(quantity) => Some(quantity),
            _ => None,
        },
        _ => None,
    }
}

fn receiver<'a>(call: &Arguments<'a>, n: usize) -> Result<&'a Quantity> {
    let quantity = call.args.get(n).and_then(of);
    quantity.ok_or_else(|| call.mismatch())
}

/// The second argument of `add` and `sub`: a quantity or an int.
fn operand(call: &Arguments<'_>) -> Result<Quantity> {
    match &call.args[1] {
        Val::Int(int) => Ok(Quantity {
            amount: Amount::Small {
                value: *int,
                exponent: 0,
            },
            notation: Notation::Decimal,
        }),
        _ => receiver(call, 1).cloned(),
    }
}

/// `compareTo`, `isGreaterThan` and `isLessThan`, of quantities and of versions.
pub(super) fn compare_to(call: &mut Arguments<'_>) -> Result<Val> {
    let order = match (call.extension(0), call.extension(1)) {
        (Some(Extension::Quantity(a)), Some(Extension::Quantity(b))) => a.compare(b),
        (Some(Extension::Version(a)), Some(Extension::Version(b))) => a.compare(b),
        _ => return Err(call.mismatch()),
    };
    Ok(match call.name {
        "isGreaterThan" => Val::Bool(order.is_gt()),
        "isLessThan" => Val::Bool(order.is_lt()),
        _ => Val::Int(order as i64),
    })
}
