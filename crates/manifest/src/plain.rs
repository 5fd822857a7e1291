//! The value of a plain scalar: null, a boolean, a number or text.

use document::Value;

/// A plain scalar that is a number which JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoNumber {
    /// `.inf` or `.nan`
    NotFinite,
    /// `1e400`
    OutOfRange,
}

/// The value of a plain scalar, by the core schema of YAML 1.2.
///
/// A leading zero before octal digits makes an octal number, as in YAML 1.1: manifests contain
/// file modes such as `0644`, and `kubectl` reads them this way.
pub(crate) fn resolve(text: &str) -> Result<Value, NoNumber> {
    if is_null(text) {
        return Ok(Value::NULL);
    }
    if let Some(b) = boolean(text) {
        return Ok(b.into());
    }
    Ok(number(text)?.unwrap_or_else(|| text.into()))
}

pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The number, if the text is one.
pub(crate) fn number(text: &str) -> Result<Option<Value>, NoNumber> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(NoNumber::NotFinite);
    }
    let found = match radix(digits) {
        Some((digits, radix)) => in_radix(negative, digits, radix),
        None if is_decimal(digits) => decimal(text),
        None => return Ok(None),
    };
    found.ok_or(NoNumber::OutOfRange).map(Some)
}

/// The digits and the radix of an integer that is not written in decimal.
fn radix(digits: &str) -> Option<(&str, u32)> {
    let (rest, radix) = if let Some(rest) = digits.strip_prefix("0x") {
        (rest, 16)
    } else if let Some(rest) = digits.strip_prefix("0o") {
        (rest, 8)
    } else {
        (digits.strip_prefix('0')?, 8)
    };
    let all = !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix));
    all.then_some((rest, radix))
}

fn in_radix(negative: bool, digits: &str, radix: u32) -> Option<Value> {
    let magnitude = u128::from_str_radix(digits, radix).ok()?;
    let int = i128::try_from(magnitude)
        .ok()
        .map(|int| if negative { -int } else { int })
        .and_then(|int| i64::try_from(int).ok());
    match int {
        Some(int) => Some(int.into()),
        None if negative => Value::number(-(magnitude as f64)),
        None => Value::number(magnitude as f64),
    }
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_decimal(text: &str) -> bool {
    let skip = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let after_int = &text[text.len() - skip(text)..];
    let has_int = after_int.len() < text.len();
    let rest = match after_int.strip_prefix('.') {
        Some(fraction) => {
            let rest = &fraction[fraction.len() - skip(fraction)..];
            if !has_int && rest.len() == fraction.len() {
                return false;
            }
            rest
        }
        None if has_int => after_int,
        None => return false,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !digits.is_empty() && skip(digits) == 0
        }
        None => rest.is_empty(),
    }
}

/// An int, or a float if it is fractional or does not fit.
fn decimal(text: &str) -> Option<Value> {
    if let Ok(int) = text.parse::<i64>() {
        return Some(int.into());
    }
    text.parse::<f64>().ok().and_then(Value::number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let found = match resolve(text) {
            Ok(value) => value.to_string(),
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for text in ["", "~", "null", "Null", "NULL"] {
            check(text, "null");
        }
        for text in ["true", "True", "TRUE"] {
            check(text, "true");
        }
        for text in ["false", "False", "FALSE"] {
            check(text, "false");
        }
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "nULL",
            "tRUE",
            "-",
            "+",
            ".",
            "-.",
            "e3",
            ".e3",
            "1e",
            "1e+",
            "0x",
            "0o",
            "0o8",
            "0xg",
            "0b1",
            "1_000",
            "1:30",
            "1.2.3",
            "10.0.0.1",
            "--1",
            "+-1",
            "-.nan",
            "inf",
            "nan",
            "1 ",
            "١",
            "2001-01-01",
            "5m",
            "100Mi",
        ] {
            check(text, &format!("{text:?}"));
        }
    }

    #[test]
    fn numbers_are_ints_where_they_fit() {
        for (text, expect) in [
            ("0", "0"),
            ("-0", "0"),
            ("+12", "12"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1.", "1"),
            (".5", "0.5"),
            ("-.5e1", "-5"),
            ("1.5", "1.5"),
            ("0x1F", "31"),
            ("-0x1f", "-31"),
            ("0o17", "15"),
            ("0644", "420"),
            ("00", "0"),
            ("08", "8"),
            ("012.5", "12.5"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854776000"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("0x7fffffffffffffff", "9223372036854775807"),
            ("0xffffffffffffffff", "18446744073709552000"),
            ("-0x8000000000000000", "-9223372036854775808"),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn what_json_has_no_number_for_is_refused() {
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"] {
            check(text, "NotFinite");
        }
        check("1e400", "OutOfRange");
        check(&format!("0x{}", "f".repeat(33)), "OutOfRange");
    }
}
