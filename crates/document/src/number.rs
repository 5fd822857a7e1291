//! Numbers: ints where they fit, floats otherwise, compared exactly.

use std::cmp::Ordering;

/// An integer or a float. The numbers in a [`Value`](crate::Value) are normalised; see
/// [`Number::normal`].
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A 64-bit integer.
    Int(i64),
    /// A 64-bit float.
    Float(f64),
}

/// 2^63, the first float above `i64::MAX`.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// This number, normalised: an integral float that fits an `i64` becomes an int. `None` for
    /// NaN and infinity.
    pub fn normal(self) -> Option<Self> {
        match self {
            Self::Float(f) if !f.is_finite() => None,
            Self::Float(f) if f.fract() == 0.0 && (-LIMIT..LIMIT).contains(&f) => {
                Some(Self::Int(f as i64))
            }
            other => Some(other),
        }
    }

    /// Parses a JSON number, with an optional `+` and without spaces.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('+').unwrap_or(text);
        if text.len() != digits.len() && digits.starts_with('-') {
            return None;
        }
        if !is_json_number(digits.as_bytes()) {
            return None;
        }
        if let Ok(i) = digits.parse::<i64>() {
            return Some(Self::Int(i));
        }
        Self::Float(digits.parse().ok()?).normal()
    }

    /// This number as a float, rounded if necessary.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::Float(f) => f,
        }
    }
}

/// How many characters the decimal form of an integer has.
pub(crate) fn digits(int: i64) -> usize {
    let digits = int.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
    digits as usize + usize::from(int < 0)
}

/// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
fn is_json_number(text: &[u8]) -> bool {
    fn digits(text: &[u8]) -> (usize, &[u8]) {
        let n = text.iter().take_while(|b| b.is_ascii_digit()).count();
        (n, &text[n..])
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (n, mut rest) = digits(text);
    if n == 0 || (n > 1 && text[0] == b'0') {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let (n, after) = digits(fraction);
        if n == 0 {
            return false;
        }
        rest = after;
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent
            .strip_prefix(b"+")
            .or_else(|| exponent.strip_prefix(b"-"))
            .unwrap_or(exponent);
        let (n, after) = digits(exponent);
        return n > 0 && after.is_empty();
    }
    rest.is_empty()
}

impl From<i64> for Number {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<f64> for Number {
    fn from(f: f64) -> Self {
        Self::Float(f)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares by value, exactly: an int is not rounded to be compared with a float.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(&b),
            (Self::Int(a), Self::Float(b)) => cmp_int_float(a, b),
            (Self::Float(a), Self::Int(b)) => cmp_int_float(b, a).reverse(),
        }
    }
}

fn cmp_int_float(int: i64, float: f64) -> Ordering {
    if float >= LIMIT {
        return Ordering::Less;
    }
    if float < -LIMIT {
        return Ordering::Greater;
    }
    // In this range the integral part of the float fits an i64.
    let whole = float.trunc();
    int.cmp(&(whole as i64))
        .then_with(|| 0.0_f64.total_cmp(&(float - whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_floats_are_ints() {
        for (float, int) in [(1.0, 1), (1e3, 1000), (-0.0, 0), (-LIMIT, i64::MIN)] {
            assert!(matches!(Number::Float(float).normal(), Some(Number::Int(i)) if i == int));
        }
        assert!(matches!(
            Number::Float(LIMIT).normal(),
            Some(Number::Float(_))
        ));
        assert!(Number::Float(f64::NAN).normal().is_none());
    }

    #[test]
    fn ints_and_floats_compare_exactly() {
        assert!(Number::Int(i64::MAX) < Number::Float(LIMIT));
        assert!(Number::Int(9_007_199_254_740_993) > Number::Float(9_007_199_254_740_992.5));
        assert!(Number::Int(-1) > Number::Float(-1.5));
        assert!(Number::Float(1.5) > Number::Int(1));
    }

    #[test]
    fn numeric_strings_are_json_numbers_with_an_optional_plus() {
        for text in ["0", "-1", "+5", "1.5", "1e3", "10.0", "-0.5E-2"] {
            assert!(Number::parse(text).is_some(), "{text}");
        }
        for text in [
            "", "+", "-", " 1", "1 ", "01", "1.", ".5", "0x10", "+-1", "1e", "NaN", "inf", "1e999",
            "1_000",
        ] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
        assert!(matches!(Number::parse("1e3"), Some(Number::Int(1000))));
    }
}
