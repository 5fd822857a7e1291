//! The serde side of reading: scalars become values, lists and maps are written to a tape.

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::{DocumentPart, Member, Seen, Tape, Whole};
use crate::excess::Excess;
use crate::key::Key;
use crate::number::Number;
use crate::value::Value;

/// Reads a [`DocumentPart`] of a document.
///
/// ```
/// use document::{Key, Member, DocumentPart, PartSeed, Value};
/// use serde::de::DeserializeSeed;
///
/// /// The member `a` of the document, with everything in it.
/// #[derive(Clone, Copy)]
/// enum A { Document, Below }
///
/// impl DocumentPart for A {
///     fn member(self, name: &str) -> Member<Self> {
///         match self {
///             A::Document if name != "a" => Member::Skipped,
///             A::Document | A::Below => Member::Read(Key::new(name), A::Below),
///         }
///     }
///     fn element(self) -> Option<Self> {
///         Some(self)
///     }
/// }
///
/// let mut json = serde_json::Deserializer::from_str(r#"{"a": {"b": 1}, "c": [1, 2]}"#);
/// let value = PartSeed::new(A::Document).deserialize(&mut json)?;
/// assert_eq!(value.to_string(), r#"{"a":{"b":1}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PartSeed<'a, P> {
    part: P,
    /// In how many lists and maps the document is nested.
    depth: usize,
    /// Records that a document exceeds the limits; without it, that is an error.
    excess: Option<&'a Excess>,
}

impl<P: DocumentPart> PartSeed<'static, P> {
    /// Reads this part of a document. One that is nested too deep is an error.
    pub fn new(part: P) -> Self {
        Self::at(part, 0, None)
    }
}

impl<'a, P: DocumentPart> PartSeed<'a, P> {
    /// Reads this part of a document to its end, even if it exceeds the limits: lists and maps
    /// that are nested too deep are left empty. `excess` records whether there were any, and
    /// how large the part is.
    pub fn noting(part: P, excess: &'a Excess) -> Self {
        Self::at(part, 0, Some(excess))
    }

    /// Reads this part of a value that is nested in `depth` lists and maps.
    pub(super) fn at(part: P, depth: usize, excess: Option<&'a Excess>) -> Self {
        Self {
            part,
            depth,
            excess,
        }
    }

    fn tape(self) -> Tape<'a> {
        Tape::at(self.depth, self.excess)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PartSeed::new(Whole).deserialize(deserializer)
    }
}

impl<'de, P: DocumentPart> DeserializeSeed<'de> for PartSeed<'_, P> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Only lists and maps need a tape.
impl<'de, P: DocumentPart> Visitor<'de> for PartSeed<'_, P> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::NULL)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::NULL)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(b.into())
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(i.into())
    }

    fn visit_u64<E: de::Error>(self, u: u64) -> Result<Value, E> {
        match i64::try_from(u) {
            Ok(i) => Ok(i.into()),
            Err(_) => self.visit_f64(u as f64),
        }
    }

    fn visit_f64<E: de::Error>(self, f: f64) -> Result<Value, E> {
        Value::number(Number::Float(f))
            .ok_or_else(|| E::custom("NaN and infinity are not JSON numbers"))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        if let Some(excess) = self.excess {
            excess.count(s.len());
        }
        Ok(self.part.text(s).unwrap_or_else(|| s.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Value, A::Error> {
        let mut tape = self.tape();
        tape.value(None, self.part).visit_seq(seq)?;
        Ok(tape.into_value())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        let mut tape = self.tape();
        tape.value(None, self.part).visit_map(map)?;
        Ok(tape.into_value())
    }
}

/// Reads a value onto a tape; made by [`Tape::value`].
#[derive(Debug)]
pub struct ValueSeed<'t, 'a, P> {
    tape: &'t mut Tape<'a>,
    key: Option<Key>,
    part: P,
}

impl<'t, 'a, P: DocumentPart> ValueSeed<'t, 'a, P> {
    pub(super) fn new(tape: &'t mut Tape<'a>, key: Option<Key>, part: P) -> Self {
        Self { tape, key, part }
    }

    fn push(self, value: Value) {
        self.tape.push(self.key, value);
    }

    /// Reads a value that is neither list nor map.
    fn scalar(&self) -> PartSeed<'a, P> {
        self.tape.seed(self.part)
    }
}

impl<'de, P: DocumentPart> DeserializeSeed<'de> for ValueSeed<'_, '_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: DocumentPart> Visitor<'de> for ValueSeed<'_, '_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.push(Value::NULL);
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.push(Value::NULL);
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, b: bool) -> Result<(), E> {
        self.push(b.into());
        Ok(())
    }

    fn visit_i64<E>(self, i: i64) -> Result<(), E> {
        self.push(i.into());
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, u: u64) -> Result<(), E> {
        let value = self.scalar().visit_u64(u)?;
        self.push(value);
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, f: f64) -> Result<(), E> {
        let value = self.scalar().visit_f64(f)?;
        self.push(value);
        Ok(())
    }

    fn visit_str<E: de::Error>(self, s: &str) -> Result<(), E> {
        let value = self.scalar().visit_str(s)?;
        self.push(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let element = match self.part.element() {
            Some(element) => self.tape.begin()?.map(|start| (element, start)),
            None => None,
        };
        let Some((element, start)) = element else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            self.push(Value::list([]));
            return Ok(());
        };
        while seq
            .next_element_seed(self.tape.value(None, element))?
            .is_some()
        {}
        self.tape.end_list(start, self.key)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // A map counts as a level even if nothing of it is read.
        let Some(start) = self.tape.begin()? else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.push(Value::empty_map());
            return Ok(());
        };
        let mut seen = Seen::default();
        while let Some(member) = map.next_key_seed(MemberSeed(self.part))? {
            seen.note(&member);
            if let Member::Read(key, part) = member {
                map.next_value_seed(self.tape.value(Some(key), part))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if seen.only_hidden() {
            self.tape.forget(start);
            self.tape.leave_out(self.key);
            return Ok(());
        }
        self.tape.end_map(start, self.key)
    }
}

/// Reads the name of a member and decides how the member is read.
struct MemberSeed<P>(P);

impl<'de, P: DocumentPart> DeserializeSeed<'de> for MemberSeed<P> {
    type Value = Member<P>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<P: DocumentPart> Visitor<'_> for MemberSeed<P> {
    type Value = Member<P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.member(name))
    }
}
