//! Doubles as texts, in the forms of Go.

/// The shortest text that reads as the same double, with an exponent if it is very large or small:
/// `1e+06`, `2.5`.
pub(crate) fn short_text(double: f64) -> String {
    let Some((digits, exponent)) = shortest(double) else {
        return special(double);
    };
    if (-4..6).contains(&exponent) {
        return fixed_text(double);
    }
    let sign = if double.is_sign_negative() { "-" } else { "" };
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{exponent:+03}")
}

/// The shortest text that reads as the same double, without an exponent.
pub(crate) fn fixed_text(double: f64) -> String {
    if double.is_finite() {
        // The `Display` of a double never has an exponent.
        double.to_string()
    } else {
        special(double)
    }
}

pub(super) fn special(double: f64) -> String {
    let text = if double.is_nan() {
        "NaN"
    } else if double > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    };
    text.to_owned()
}

/// The shortest digits of a finite double, and the exponent of the first.
fn shortest(double: f64) -> Option<(String, i32)> {
    let text = double.is_finite().then(|| format!("{:e}", double.abs()))?;
    let (mantissa, exponent) = text.split_once('e')?;
    let digits = mantissa.replace('.', "");
    Some((digits, exponent.parse().ok()?))
}

/// Reads a double as Go does: decimal or hexadecimal, `inf`, `infinity` and `nan` in any case.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    let digits = without_underscores(text)?;
    let text = digits.as_str();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hex) = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")) {
        let double = parse_hex(hex)?;
        return Some(if text.starts_with('-') {
            -double
        } else {
            double
        });
    }
    if unsigned.eq_ignore_ascii_case("nan") {
        // Go reads no sign here.
        return (unsigned.len() == text.len()).then_some(f64::NAN);
    }
    let double: f64 = text.parse().ok()?;
    let named = unsigned.starts_with(['i', 'I']);
    (double.is_finite() || named).then_some(double)
}

/// A text without the underscores that separate digits: `1_000`.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let separates = |at: usize| at > 0 && digit(at - 1) && digit(at + 1);
    let underscores = bytes.iter().enumerate().filter(|(_, c)| **c == b'_');
    let valid = underscores.into_iter().all(|(at, _)| separates(at));
    valid.then(|| text.replace('_', ""))
}

/// `1.8p3`: hexadecimal digits and a binary exponent.
fn parse_hex(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let exponent: i32 = exponent.parse().ok()?;
    if digits.is_empty() || digits.len() > 13 {
        return None;
    }
    let number = u64::from_str_radix(&digits, 16).ok()?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()? * 4)?;
    let double = number as f64 * 2_f64.powi(shift);
    double.is_finite().then_some(double)
}
