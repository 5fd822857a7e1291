//! The fields that a source stores: those that the pipeline reads, without those that no
//! pipeline may see, compiled into one tree.
//!
//! The same [`Keep`] is applied while JSON is parsed ([`ObjectReader`](super::ObjectReader)) and
//! to objects in memory ([`Keep::of`]). A pipeline that reads
//! `metadata.labels` and `data` of Secrets has this tree of [`Cut`]s:
//!
//! ```text
//! Some
//! ├─ metadata: Some
//! │            └─ labels: Unmarked(All)    without deltic's own labels
//! └─ data: Decoded(All)                    texts are decoded from base64
//! ```

use document::path::Segment;
use document::{DocumentPart, FromJsonError, Key, Member, Value};
use serde::de::DeserializeSeed;

use super::header::{Header, HeaderFields};
use super::intake::{Intake, decoded};
use super::object::ObjectReader;
use super::{Fields, Work};
use object::marks::is_mark;

/// The part of an object that a source stores. Only a [`Keep`] creates it, so it never needs
/// further pruning.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    document: Value,
    uid: Value,
}

impl Kept {
    pub(super) fn new(document: Value, uid: Value) -> Self {
        Self { document, uid }
    }

    /// A document that a source has stored.
    pub(crate) fn stored(document: Value) -> Self {
        Self::new(document, Value::NULL)
    }

    /// The document.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The document.
    pub fn into_document(self) -> Value {
        self.document
    }

    /// The uid of the object if [`Intake::uid`] is set, otherwise null.
    pub fn uid(&self) -> &Value {
        &self.uid
    }

    /// The same, in memory of its own: a part of a larger document would keep all of it.
    #[must_use]
    pub fn detached(self) -> Self {
        Self {
            document: self.document.detached(),
            uid: self.uid,
        }
    }
}

/// Selects the fields that a source stores.
///
/// ```
/// use dataflow::fields::{Fields, Intake, Keep};
/// use document::{Path, json};
///
/// let mut fields = Fields::default();
/// fields.add_path(Path::parse("$.metadata.labels")?.segments(), &Fields::all());
/// let keep = Keep::new(&fields, Intake::default());
/// let object = br#"{"metadata": {"uid": "u", "labels": {"app": "web", "dcontroller.io/operator": "o"}}}"#;
/// assert_eq!(keep.read(object)?.document(), &json!({"metadata": {"labels": {"app": "web"}}}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Keep {
    fields: Fields,
    /// `None` if nothing is hidden.
    intake: Option<Intake>,
    cut: Cut,
}

impl Keep {
    /// Keeps these fields, unless the intake hides them.
    pub fn new(fields: &Fields, intake: Intake) -> Self {
        Self {
            cut: Cut::new(fields).of_object(intake),
            fields: fields.clone(),
            intake: Some(intake),
        }
    }

    /// Keeps these fields, and hides nothing.
    pub fn fields(fields: &Fields) -> Self {
        Self {
            cut: Cut::new(fields),
            fields: fields.clone(),
            intake: None,
        }
    }

    /// Keeps what all of these need. An object is then read once, and each of these is applied to
    /// the result.
    pub fn union<'a>(keeps: impl IntoIterator<Item = &'a Self> + Clone) -> Self {
        let mut fields = Fields::default();
        for keep in keeps.clone() {
            fields.add(&keep.fields);
            if keep.keeps_uid() {
                add_metadata(&mut fields, "uid");
            }
        }
        let all: Vec<Option<Intake>> = keeps.into_iter().map(|keep| keep.intake).collect();
        let intakes: Vec<Intake> = all.iter().flatten().copied().collect();
        if intakes.len() == all.len() {
            return Self::new(&fields, Intake::union(&intakes));
        }
        if !intakes.is_empty() {
            // A map that contains only marks is left out. To see that, all labels are needed.
            add_metadata(&mut fields, "labels");
            add_metadata(&mut fields, "annotations");
        }
        Self::fields(&fields)
    }

    /// The stored part of an object in memory. It may share memory with the object.
    pub fn of(&self, object: &Value) -> Kept {
        let uid = if self.keeps_uid() {
            object.get("metadata").get("uid").clone()
        } else {
            Value::NULL
        };
        let document = document::part_of(object, self.piece());
        Kept::new(document.unwrap_or_default(), uid)
    }

    /// The stored part of an object in JSON, which must be UTF-8.
    pub fn read(&self, json: &[u8]) -> Result<Kept, FromJsonError> {
        let reader = ObjectReader::new(self.clone(), HeaderFields::default());
        let mut json = serde_json::Deserializer::from_slice(json);
        let (_, kept): (Header, Kept) = reader.deserialize(&mut json)?;
        json.end()?;
        Ok(kept)
    }

    /// Whether the uid is stored beside the document.
    pub(super) fn keeps_uid(&self) -> bool {
        self.intake.is_some_and(|intake| intake.uid && !intake.view)
    }

    /// The root of the tree.
    pub(super) fn piece(&self) -> Piece<'_> {
        Piece::new(&self.cut)
    }
}

fn add_metadata(fields: &mut Fields, name: &str) {
    let place = ["metadata", name].map(|name| Segment::Name(Key::new(name)));
    fields.add_path(&place, &Fields::all());
}

/// [`Fields`] compiled for fast lookup, without the hidden ones.
#[derive(Clone, Debug, PartialEq)]
enum Cut {
    /// Everything below.
    All,
    /// Some members of a map, or some fields of every element.
    Some {
        /// Members by name, in order. They include the fields of `each`; `None` is hidden.
        members: Box<[(Key, Option<Cut>)]>,
        /// Every element of a list, and every other member of a map.
        each: Option<Box<Cut>>,
    },
    /// Labels or annotations, without marks.
    Unmarked(Box<Cut>),
    /// The data of a Secret: its strings are decoded.
    Decoded(Box<Cut>),
}

impl Cut {
    fn new(fields: &Fields) -> Self {
        let mut work = Work::new();
        let cut = Self::within(fields, &mut work);
        // After the limit the tree is incomplete.
        if work.is_done() { Self::All } else { cut }
    }

    /// Adds the fields of `each` to every name. If both are nested, the tree may double with every
    /// level, so the work is bounded.
    fn within(fields: &Fields, work: &mut Work) -> Self {
        if fields.all {
            return Self::All;
        }
        let members = fields.names.keys().map(|name| {
            let below = fields.below(name, work);
            (name.clone(), Some(Self::within(&below, work)))
        });
        let members = members.collect();
        let each = fields.each.as_ref();
        Self::Some {
            members,
            each: each.map(|each| Box::new(Self::within(each, work))),
        }
    }

    /// The same for an object, without the fields that the intake hides.
    fn of_object(self, intake: Intake) -> Self {
        let object = self.with_member("metadata", |metadata| Some(metadata.of_metadata(intake)));
        if intake.secret {
            return object.with_member("data", |data| Some(Self::Decoded(Box::new(data))));
        }
        object
    }

    fn of_metadata(self, intake: Intake) -> Self {
        let hidden = Intake::HIDDEN.into_iter();
        let hidden = hidden.filter(|name| intake.hides(name));
        let shown = hidden.fold(self, |metadata, name| metadata.with_member(name, |_| None));
        let marked = ["annotations", "labels"].into_iter();
        marked.fold(shown, |metadata, name| {
            metadata.with_member(name, |cut| Some(Self::Unmarked(Box::new(cut))))
        })
    }

    /// Changes the cut of a member, if anything of it is kept.
    fn with_member(self, name: &str, change: impl FnOnce(Self) -> Option<Self>) -> Self {
        let (mut members, each) = match self {
            Self::All => (Vec::new(), Some(Box::new(Self::All))),
            Self::Some { members, each } => (members.into_vec(), each),
            Self::Unmarked(_) | Self::Decoded(_) => return self,
        };
        let key = Key::new(name);
        match members.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(at) => members[at].1 = members[at].1.take().and_then(change),
            Err(at) => {
                if let Some(each) = &each {
                    members.insert(at, (key, change(Self::clone(each))));
                }
            }
        }
        Self::Some {
            members: members.into(),
            each,
        }
    }
}

/// The cut of one value while it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    cut: &'a Cut,
    /// Whether a string is decoded.
    decode: bool,
}

impl<'a> Piece<'a> {
    fn new(cut: &'a Cut) -> Self {
        Self { cut, decode: false }
    }

    /// A member of a map whose members are not listed.
    fn any_member(self, name: &str) -> Member<Self> {
        match self.cut {
            Cut::All => Member::Read(Key::new(name), Self::new(self.cut)),
            Cut::Some { .. } => self.member(name),
            Cut::Unmarked(_) if is_mark(name) => Member::Hidden,
            Cut::Unmarked(cut) => Self::new(cut).member(name),
            Cut::Decoded(cut) => match Self::new(cut).member(name) {
                Member::Read(key, piece) => Member::Read(
                    key,
                    Self {
                        decode: true,
                        ..piece
                    },
                ),
                other @ (Member::Skipped | Member::Hidden) => other,
            },
        }
    }
}

impl DocumentPart for Piece<'_> {
    #[inline]
    fn member(self, name: &str) -> Member<Self> {
        match self.cut {
            Cut::Some { members, each } => {
                match members.iter().find(|(key, _)| key.as_str() == name) {
                    Some((key, Some(cut))) => Member::Read(key.clone(), Self::new(cut)),
                    Some((_, None)) => Member::Skipped,
                    None => each.as_deref().map_or(Member::Skipped, |each| {
                        Member::Read(Key::new(name), Self::new(each))
                    }),
                }
            }
            Cut::All | Cut::Unmarked(_) | Cut::Decoded(_) => self.any_member(name),
        }
    }

    #[inline]
    fn element(self) -> Option<Self> {
        match self.cut {
            Cut::All => Some(Self::new(self.cut)),
            Cut::Some { each, .. } => each.as_deref().map(Self::new),
            Cut::Unmarked(cut) | Cut::Decoded(cut) => Self::new(cut).element(),
        }
    }

    #[inline]
    fn text(self, text: &str) -> Option<Value> {
        self.decode.then(|| decoded(text))
    }

    #[inline]
    fn is_whole(self) -> bool {
        matches!(self.cut, Cut::All) && !self.decode
    }
}

#[cfg(test)]
mod tests;
