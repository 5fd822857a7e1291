//! Compares Kubernetes quantities: `1000m` equals `1`, `1024Mi` equals `1Gi`.

use document::Key;

/// The fields of Kubernetes' own kinds that contain quantities, or maps of quantities.
const FIELDS: [&str; 15] = [
    "averageValue",
    "capacity",
    "default",
    "defaultRequest",
    "divisor",
    "hard",
    "limits",
    "max",
    "maxLimitRequestRatio",
    "min",
    "overhead",
    "requests",
    "sizeLimit",
    "storage",
    "value",
];

/// Whether the field at a path may contain a quantity. `path` has the field names that lead to
/// it.
pub(crate) fn may_be_at(path: &[Key]) -> bool {
    let mut names = path.iter().map(Key::as_str);
    let data = matches!(
        names.next(),
        Some("data" | "stringData" | "binaryData" | "metadata")
    );
    // The field itself, or the map that contains it.
    !data
        && names
            .rev()
            .take(2)
            .any(|name| FIELDS.binary_search(&name).is_ok())
}

/// Whether two texts are equal quantities.
pub(crate) fn equal(a: &str, b: &str) -> bool {
    matches!((nanos(a), nanos(b)), (Some(a), Some(b)) if a == b)
}

/// A quantity in billionths; `None` if the text is not a quantity, or has more digits than any
/// quantity needs.
fn nanos(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    let factor = factor(suffix)?;
    let scaled = mantissa.checked_mul(factor)?;
    let divisor = 10_i128.checked_pow(places)?;
    (scaled % divisor == 0).then(|| sign * scaled / divisor)
}

/// The factor of a suffix, in billionths.
fn factor(suffix: &str) -> Option<i128> {
    const ONE: i128 = 1_000_000_000;
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    if let Some(at) = decimal.iter().position(|unit| *unit == suffix) {
        return 1000_i128.checked_pow(u32::try_from(at).ok()?);
    }
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(at) = binary.iter().position(|unit| *unit == suffix) {
        return ONE.checked_mul(1024_i128.checked_pow(u32::try_from(at).ok()? + 1)?);
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok()?;
    10_i128.checked_pow(u32::try_from(exponent.checked_add(9)?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_amounts_are_equal_quantities() {
        for (a, b) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1e3", "1k"),
            ("+1", "1"),
            ("1.0", "1"),
            ("-2000m", "-2"),
            ("1.5Gi", "1536Mi"),
            ("100e-2", "1"),
        ] {
            assert!(equal(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("1", "2"),
            ("1Gi", "1G"),
            ("1000m", "1x"),
            ("", ""),
            ("m", "m"),
            (".", "."),
            ("1..0", "1"),
            ("1e99999999999", "1e99999999999"),
        ] {
            assert!(!equal(a, b), "{a} {b}");
        }
    }

    #[test]
    fn only_fields_that_contain_quantities_are_compared_as_such() {
        let check = |path: &[&str], expect: bool| {
            let keys: Vec<Key> = path.iter().map(|name| Key::new(name)).collect();
            assert_eq!(may_be_at(&keys), expect, "{path:?}");
        };
        check(
            &["spec", "containers", "resources", "requests", "cpu"],
            true,
        );
        check(&["spec", "resources", "requests", "storage"], true);
        check(
            &["spec", "metrics", "resource", "target", "averageValue"],
            true,
        );
        check(&["spec", "volumes", "emptyDir", "sizeLimit"], true);
        check(&["data", "limits", "cpu"], false);
        check(&["spec", "containers", "image"], false);
        assert!(FIELDS.is_sorted());
    }
}
