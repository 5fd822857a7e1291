//! Decimal numbers of any size, for quantities.

use std::cmp::Ordering;

/// The greatest number of digits. An operation with a larger result fails.
const MAX_DIGITS: usize = 1_000;

/// The suffixes of powers of 1,024.
pub(super) const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// `± digits × 10^exponent`
#[derive(Clone)]
pub(crate) struct Decimal {
    negative: bool,
    /// From the most significant on, each 0 to 9. Invariant: no zeros at the start.
    digits: Vec<u8>,
    pub(super) exponent: i32,
}

impl Decimal {
    pub(super) fn new(int: i64, exponent: i32) -> Self {
        let digits = int.unsigned_abs().to_string();
        Self::from_digits(int < 0, digits.bytes().map(|c| c - b'0'), exponent)
    }

    fn from_digits(negative: bool, digits: impl Iterator<Item = u8>, exponent: i32) -> Self {
        Self {
            negative,
            digits: digits.skip_while(|digit| *digit == 0).collect(),
            exponent,
        }
    }

    /// Reads a number such as `-1.50`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        let plain = digits().all(|c| c.is_ascii_digit());
        let exponent = -i32::try_from(fraction.len()).ok()?;
        let fits = digits().count() <= MAX_DIGITS && digits().count() > 0;
        (plain && fits).then(|| Self::from_digits(negative, digits().map(|c| c - b'0'), exponent))
    }

    pub(super) fn sign(&self) -> i64 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// The product with a power of ten, or `None` if the exponent is out of range.
    pub(super) fn shifted(mut self, power: i32) -> Option<Self> {
        self.exponent = self.exponent.checked_add(power)?;
        Some(self)
    }

    pub(super) fn negated(mut self) -> Self {
        self.negative = !self.negative;
        self
    }

    /// The product with a small number.
    pub(super) fn times(&self, factor: u64) -> Self {
        let mut carry = 0_u128;
        let mut digits: Vec<u8> = Vec::with_capacity(self.digits.len() + 20);
        for digit in self.digits.iter().rev() {
            carry += u128::from(*digit) * u128::from(factor);
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
        Self::from_digits(self.negative, digits.into_iter().rev(), self.exponent)
    }

    /// The same number with a given exponent. Digits that do not fit are dropped, and the number is
    /// rounded away from zero. `None` if it has too many digits.
    pub(super) fn rounded_up(&self, exponent: i32) -> Option<Self> {
        if exponent <= self.exponent {
            return self.extended(exponent);
        }
        let dropped = usize::try_from(i64::from(exponent) - i64::from(self.exponent)).ok()?;
        let kept = self.digits.len().saturating_sub(dropped);
        let inexact = self.digits[kept..].iter().any(|digit| *digit != 0);
        let part = Self {
            negative: self.negative,
            digits: self.digits[..kept].to_vec(),
            exponent,
        };
        if !inexact {
            return Some(part);
        }
        let one = Self::new(if self.negative { -1 } else { 1 }, exponent);
        part.plus(&one)
    }

    /// The same number with a smaller exponent.
    fn extended(&self, exponent: i32) -> Option<Self> {
        let more = usize::try_from(i64::from(self.exponent) - i64::from(exponent)).ok()?;
        let zeros = if self.digits.is_empty() { 0 } else { more };
        if self.digits.len().saturating_add(zeros) > MAX_DIGITS {
            return None;
        }
        let mut digits = self.digits.clone();
        digits.resize(digits.len() + zeros, 0);
        Some(Self {
            negative: self.negative,
            digits,
            exponent,
        })
    }

    /// The sum, or `None` if it has too many digits.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.extended(exponent)?, other.extended(exponent)?);
        if a.negative == b.negative {
            let digits = add(&a.digits, &b.digits);
            return Some(Self::from_digits(a.negative, digits.into_iter(), exponent));
        }
        let (large, small) = match a.compare_size(&b) {
            Ordering::Less => (b, a),
            Ordering::Equal | Ordering::Greater => (a, b),
        };
        let digits = subtract(&large.digits, &small.digits);
        let negative = large.negative;
        Some(Self::from_digits(negative, digits.into_iter(), exponent))
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let signs = self.sign().cmp(&other.sign());
        signs.then_with(|| match self.sign() {
            0 => Ordering::Equal,
            sign if sign < 0 => other.compare_size(self),
            _ => self.compare_size(other),
        })
    }

    /// Compares two numbers that are not zero, without their signs.
    fn compare_size(&self, other: &Self) -> Ordering {
        // The exponent of the first digit decides, and then the digits from there on.
        let first = |number: &Self| i128::from(number.exponent) + number.digits.len() as i128;
        first(self).cmp(&first(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let padded = |number: &Self, at: usize| number.digits.get(at).copied().unwrap_or(0);
            (0..length)
                .map(|at| padded(self, at).cmp(&padded(other, at)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// The whole number and the power of a thousand that it is multiplied with: 1,500 has `1500` and
    /// 0, 2,000 has `2` and 3.
    pub(super) fn in_thousands(&self) -> (String, i32) {
        let mut digits = self.digits.clone();
        let mut exponent = self.exponent;
        while digits.last() == Some(&0) && exponent < i32::MAX {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            return ("0".to_owned(), 0);
        }
        while exponent % 3 != 0 {
            digits.push(0);
            exponent = exponent.saturating_sub(1);
        }
        (self.signed(&digits), exponent)
    }

    /// The number with a binary suffix, if it is whole and its size at least 1,024.
    pub(super) fn binary_text(&self) -> Option<String> {
        let zeros = usize::try_from(self.exponent).ok();
        let mut digits = self.digits.clone();
        match zeros {
            // 2^127 has 39 digits.
            Some(zeros) if digits.len() + zeros < 39 => digits.resize(digits.len() + zeros, 0),
            Some(_) => return None,
            None => {
                let fraction = usize::try_from(self.exponent.unsigned_abs()).ok()?;
                let whole = digits.len().checked_sub(fraction)?;
                if whole >= 39 || digits[whole..].iter().any(|digit| *digit != 0) {
                    return None;
                }
                digits.truncate(whole);
            }
        }
        let mut size = digits
            .iter()
            .fold(0_u128, |size, digit| size * 10 + u128::from(*digit));
        if size < 1024 {
            return None;
        }
        let mut suffix = "";
        for next in BINARY_SUFFIXES {
            if size % 1024 != 0 {
                break;
            }
            size /= 1024;
            suffix = next;
        }
        let sign = if self.negative { "-" } else { "" };
        Some(format!("{sign}{size}{suffix}"))
    }

    fn signed(&self, digits: &[u8]) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = digits.iter().map(|digit| char::from(b'0' + digit));
        sign.chars().chain(digits).collect()
    }

    /// The digits as the nearest double, without the exponent.
    pub(super) fn mantissa(&self) -> f64 {
        self.signed(&self.digits).parse().unwrap_or(0.0)
    }
}

/// Adds two lists of digits.
fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let length = a.len().max(b.len()) + 1;
    let mut sum = Vec::with_capacity(length);
    let mut carry = 0;
    for place in 0..length {
        let digit = carry + from_end(a, place) + from_end(b, place);
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.reverse();
    sum
}

/// Subtracts digits from others that are not less.
fn subtract(large: &[u8], small: &[u8]) -> Vec<u8> {
    let mut difference = Vec::with_capacity(large.len());
    let mut borrowed = 0;
    for place in 0..large.len() {
        let digit = 10 + from_end(large, place) - from_end(small, place) - borrowed;
        difference.push(digit % 10);
        borrowed = u8::from(digit < 10);
    }
    difference.reverse();
    difference
}

fn from_end(digits: &[u8], place: usize) -> u8 {
    let at = digits.len().checked_sub(place + 1);
    at.map_or(0, |at| digits[at])
}
