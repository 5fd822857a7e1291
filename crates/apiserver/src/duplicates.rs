//! Fields that a JSON document has twice. Parsers keep the last one silently, but clients that ask
//! for strict validation want to know.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// How many are reported.
const MOST: usize = 100;
/// How much of a path is reported, in bytes.
const MOST_PATH: usize = 1024;

/// The paths of the fields that occur twice in their map, such as `spec.ports[0].name`.
pub(crate) fn duplicates(text: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let scan = Scan {
        path: &mut String::new(),
        found: &mut found,
    };
    // A document that is not valid is refused when it is parsed.
    let _ = scan.deserialize(&mut serde_json::Deserializer::from_slice(text));
    found
}

/// Visits a value at a path.
struct Scan<'a> {
    path: &'a mut String,
    found: &'a mut Vec<String>,
}

impl Scan<'_> {
    /// Reports the field at the path.
    fn report(&mut self) {
        let path = &self.path[..self.path.floor_char_boundary(MOST_PATH)];
        if self.found.len() < MOST && !self.found.iter().any(|found| found == path) {
            self.found.push(path.to_owned());
        }
    }

    /// The scan of a part of the value. The caller restores the path.
    fn inside(&mut self) -> Scan<'_> {
        Scan {
            path: self.path,
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut known: HashSet<String> = HashSet::new();
        let length = self.path.len();
        while let Some(key) = map.next_key::<String>()? {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            if !known.insert(key) {
                self.report();
            }
            map.next_value_seed(self.inside())?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let length = self.path.len();
        for index in 0.. {
            // Writing to a string cannot fail.
            let _ = write!(self.path, "[{index}]");
            let more = list.next_element_seed(self.inside())?;
            self.path.truncate(length);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(IgnoredAny).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_occur_twice_are_found() {
        for (text, expect) in [
            (r#"{"a": 1, "b": {"a": 1}}"#, &[][..]),
            (r#"{"a": 1, "a": 2, "a": 3}"#, &["a"]),
            (
                r#"{"s": [{"x": {}, "x": null}, 1.5], "t": "a"}"#,
                &["s[0].x"],
            ),
            (r#"{"a": 1, "a": "#, &["a"]),
            ("[]", &[]),
        ] {
            assert_eq!(duplicates(text.as_bytes()), expect, "{text}");
        }
    }
}
