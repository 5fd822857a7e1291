//! Reading documents, or parts of them, from JSON.
//!
//! A program rarely needs a whole document. A [`DocumentPart`] describes the part that it needs,
//! before the first byte is read. The reader asks it about every member and element, and skips
//! the rest: no value is built for that, and no memory allocated.
//!
//! ```text
//! the part                   the JSON                              the document
//! spec.replicas              {"metadata": {"name": "web"},
//!                             "spec": {"replicas": 3,              {"spec": {"replicas": 3}}
//!                                      "paused": true}}
//! ```
//!
//! The memory of a list or map is allocated in one piece, but its length is known only when it
//! ends. So values are written to a [`Tape`] first. When the whole document has been read, it is
//! built from the tape in one allocation, except for its long texts
//! ([`Tape::into_packed`]). The next document reuses the memory of the tape.
//!
//! [`part_of`] takes the same part of a document that is already in memory.

mod part_of;
mod seed;
mod tape;

use crate::key::Key;
use crate::value::Value;

pub use part_of::part_of;
pub use seed::{PartSeed, ValueSeed};
pub use tape::{Start, Tape};

/// Describes a part of a document. The rest is skipped while reading.
pub trait DocumentPart: Copy {
    /// How the member `name` of a map is read.
    fn member(self, name: &str) -> Member<Self>;

    /// The part that is read of every element of a list; `None` if the elements are skipped,
    /// which leaves an empty list.
    fn element(self) -> Option<Self>;

    /// The value that replaces a text, if any.
    fn text(self, _text: &str) -> Option<Value> {
        None
    }

    /// Whether everything below is read unchanged.
    fn is_whole(self) -> bool {
        false
    }
}

/// How the member of a map is read.
#[derive(Clone, Debug)]
pub enum Member<P> {
    /// This part of it is read, and stored under this key.
    Read(Key, P),
    /// It is skipped.
    Skipped,
    /// It is skipped, and a map that has only such members is left out itself.
    Hidden,
}

/// A whole document.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

impl DocumentPart for Whole {
    fn member(self, name: &str) -> Member<Self> {
        Member::Read(Key::new(name), self)
    }

    fn element(self) -> Option<Self> {
        Some(self)
    }

    fn is_whole(self) -> bool {
        true
    }
}

/// Which members a map has, to decide whether the map is left out.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    hidden: bool,
    others: bool,
}

impl Seen {
    fn note<P>(&mut self, member: &Member<P>) {
        match member {
            Member::Hidden => self.hidden = true,
            Member::Read(..) | Member::Skipped => self.others = true,
        }
    }

    fn only_hidden(self) -> bool {
        self.hidden && !self.others
    }
}

#[cfg(test)]
mod tests;
