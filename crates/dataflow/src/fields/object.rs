//! Reads an object from JSON in one pass, into the document that a source stores and the
//! [`Header`].
//!
//! A source that keeps `spec.replicas` and selects by labels reads this object like this:
//!
//! ```text
//! {"apiVersion": "apps/v1", "kind": "Deployment",    skipped
//!  "metadata": {
//!    "name": "web", "resourceVersion": "7",          into the header
//!    "labels": {"app": "web"},                       into the header
//!    "managedFields": […]},                          skipped
//!  "spec": {"replicas": 3, "template": {…}}}         replicas into the document
//! ```
//!
//! A member of the metadata may go into both.

use std::fmt;

use document::read::{Tape, ValueSeed};
use document::{DocumentPart, Excess, Key, Member, Value};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::header::{Header, HeaderFields, KnownName};
use super::keep::{Keep, Kept, Piece};

/// Reads objects: the fields that a [`Keep`] keeps, and the [`Header`]. All other fields are
/// skipped.
///
/// ```
/// use dataflow::fields::{Fields, HeaderFields, Intake, Keep, ObjectReader};
/// use document::{Path, json};
///
/// let mut fields = Fields::default();
/// fields.add_path(Path::parse("$.spec.replicas")?.segments(), &Fields::all());
/// let reader = ObjectReader::new(Keep::new(&fields, Intake::default()), HeaderFields::default());
/// let object = r#"{"metadata": {"name": "web", "resourceVersion": "7"}, "spec": {"replicas": 3, "paused": true}}"#;
/// let (header, kept) = reader.read(object)?;
/// assert_eq!(header.resource_version, json!("7"));
/// assert_eq!(kept.document(), &json!({"spec": {"replicas": 3}}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ObjectReader {
    keep: Keep,
    header: HeaderFields,
    types: Option<[(Key, Value); 2]>,
}

impl ObjectReader {
    /// A reader for these fields of the document and of the header.
    pub fn new(keep: Keep, mut header: HeaderFields) -> Self {
        header.uid |= keep.keeps_uid();
        Self {
            keep,
            header,
            types: None,
        }
    }

    /// The same, with defaults for `apiVersion` and `kind`: the items of a list omit them.
    #[must_use]
    pub fn with_types(mut self, api_version: &str, kind: &str) -> Self {
        self.types = Some([
            (Key::new("apiVersion"), api_version.into()),
            (Key::new("kind"), kind.into()),
        ]);
        self
    }

    /// Reads an object from a JSON text.
    pub fn read(&self, json: &str) -> Result<(Header, Kept), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(json);
        let object = self.deserialize(&mut json)?;
        json.end()?;
        Ok(object)
    }

    /// Reads an object without failing on its size or depth: lists and maps that are nested too
    /// deep are left empty. `excess` records whether there are any, and the size of the object.
    pub fn noting<'de, D: Deserializer<'de>>(
        &self,
        deserializer: D,
        excess: &Excess,
    ) -> Result<(Header, Kept), D::Error> {
        self.read_onto(Tape::noting(excess), deserializer)
    }

    fn read_onto<'de, D: Deserializer<'de>>(
        &self,
        mut tape: Tape<'_>,
        deserializer: D,
    ) -> Result<(Header, Kept), D::Error> {
        let mut header = Header::default();
        let object = ObjectSeed {
            metadata: false,
            key: None,
            piece: Some(self.keep.piece()),
            reader: self,
            header: &mut header,
            tape: &mut tape,
        };
        object.deserialize(deserializer)?;
        let uid = if self.keep.keeps_uid() {
            header.uid.clone()
        } else {
            Value::NULL
        };
        Ok((header, Kept::new(tape.into_packed(), uid)))
    }

    /// Adds the default `apiVersion` and `kind` that the object does not have, if they are kept.
    fn complete(&self, tape: &mut Tape<'_>, seen: [bool; 2]) {
        for ((key, value), seen) in self.types.iter().flatten().zip(seen) {
            if !seen && let Member::Read(key, _) = self.keep.piece().member(key.as_str()) {
                tape.push(Some(key), value.clone());
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for &ObjectReader {
    type Value = (Header, Kept);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.read_onto(Tape::new(), deserializer)
    }
}

/// Reads an object, or its metadata.
struct ObjectSeed<'a, 't> {
    /// Whether it is the metadata.
    metadata: bool,
    key: Option<Key>,
    /// The cut, if anything is kept.
    piece: Option<Piece<'a>>,
    reader: &'a ObjectReader,
    header: &'a mut Header,
    tape: &'a mut Tape<'t>,
}

impl<'t> ObjectSeed<'_, 't> {
    fn read_object<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        let mut types = [false; 2];
        while let Some((name, member)) = map.next_key_seed(NameSeed(self.piece))? {
            types[0] |= matches!(name, KnownName::ApiVersion);
            types[1] |= matches!(name, KnownName::Kind);
            if matches!(name, KnownName::Metadata) {
                map.next_value_seed(self.metadata(member))?;
            } else {
                read_member(map, self.tape, member)?;
            }
        }
        self.reader.complete(self.tape, types);
        Ok(())
    }

    /// Reads the metadata of the object. If there are several, the last one counts.
    fn metadata<'b>(&'b mut self, member: Member<Piece<'b>>) -> ObjectSeed<'b, 't> {
        *self.header = Header::default();
        let (key, piece) = match member {
            Member::Read(key, piece) => (Some(key), Some(piece)),
            Member::Skipped | Member::Hidden => (None, None),
        };
        ObjectSeed {
            metadata: true,
            key,
            piece,
            reader: self.reader,
            header: &mut *self.header,
            tape: &mut *self.tape,
        }
    }

    fn read_metadata<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        while let Some((name, member)) = map.next_key_seed(NameSeed(self.piece))? {
            let Some(field) = self.header.field(name, self.reader.header) else {
                read_member(map, self.tape, member)?;
                continue;
            };
            *field = map.next_value_seed(self.tape.beside())?;
            if let Member::Read(key, piece) = member {
                match document::part_of(field, piece) {
                    Some(part) => self.tape.push(Some(key), part),
                    None => self.tape.leave_out(Some(key)),
                }
            }
        }
        Ok(())
    }

    /// Reads a value that should be a map, but is not.
    fn other<E>(
        self,
        read: impl FnOnce(ValueSeed<'_, 't, Piece<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.piece {
            Some(piece) => read(self.tape.value(self.key, piece)),
            None => Ok(()),
        }
    }
}

fn read_member<'de, A: MapAccess<'de>>(
    map: &mut A,
    tape: &mut Tape<'_>,
    member: Member<Piece<'_>>,
) -> Result<(), A::Error> {
    match member {
        Member::Read(key, piece) => map.next_value_seed(tape.value(Some(key), piece)),
        Member::Skipped | Member::Hidden => map.next_value::<IgnoredAny>().map(drop),
    }
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        // Two levels are never too deep.
        let Some(start) = self.tape.begin()? else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return self.other(|value| value.visit_unit());
        };
        if self.metadata {
            self.read_metadata(&mut map)?;
        } else {
            self.read_object(&mut map)?;
        }
        if self.piece.is_none() {
            self.tape.forget(start);
            return Ok(());
        }
        self.tape.end_map(start, self.key)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if self.piece.is_none() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        self.other(|value| value.visit_seq(seq))
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.other(|value| value.visit_unit())
    }

    fn visit_bool<E: de::Error>(self, b: bool) -> Result<(), E> {
        self.other(|value| value.visit_bool(b))
    }

    fn visit_i64<E: de::Error>(self, i: i64) -> Result<(), E> {
        self.other(|value| value.visit_i64(i))
    }

    fn visit_u64<E: de::Error>(self, u: u64) -> Result<(), E> {
        self.other(|value| value.visit_u64(u))
    }

    fn visit_f64<E: de::Error>(self, f: f64) -> Result<(), E> {
        self.other(|value| value.visit_f64(f))
    }

    fn visit_str<E: de::Error>(self, s: &str) -> Result<(), E> {
        self.other(|value| value.visit_str(s))
    }
}

/// Reads the name of a member, and finds its cut.
struct NameSeed<'a>(Option<Piece<'a>>);

impl<'de, 'a> DeserializeSeed<'de> for NameSeed<'a> {
    type Value = (KnownName, Member<Piece<'a>>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for NameSeed<'a> {
    type Value = (KnownName, Member<Piece<'a>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let member = self.0.map_or(Member::Skipped, |piece| piece.member(name));
        Ok((KnownName::new(name), member))
    }
}
