//! Reading documents, or parts of them, from JSON.
//!
//! Most of a document is of no interest to the program that reads it. A [`DocumentPart`] describes
//! what is, before the first byte is read. It is asked at every member and every element, and
//! what it does not want is skipped: no value is built for it, and no memory allocated.
//!
//! ```text
//! the part                   the JSON                              the document
//! spec.replicas              {"metadata": {"name": "web"},
//!                             "spec": {"replicas": 3,              {"spec": {"replicas": 3}}
//!                                      "paused": true}}
//! ```
//!
//! How many members a list or a map has is known only at its end, but its memory is allocated
//! in one piece. So values are written to a [`Tape`] first, and the document is built from the
//! tape when all of it has been read: in one allocation ([`Tape::into_packed`]), but for its
//! long texts. The next document reuses the memory of the tape.
//!
//! [`part_of`] takes the same part of a document that is in memory already.

mod part_of;
mod seed;
mod tape;

use crate::key::Key;
use crate::value::Value;

pub use part_of::part_of;
pub use seed::{PartSeed, ValueSeed};
pub use tape::{Start, Tape};

/// A part of a document: what is not in it is skipped while reading.
pub trait DocumentPart: Copy {
    /// What is read of the member of a map.
    fn member(self, name: &str) -> Member<Self>;

    /// What is read of every element of a list; `None` if all are skipped, which leaves
    /// an empty list.
    fn element(self) -> Option<Self>;

    /// The value that is read in place of a text, if it is another one.
    fn text(self, _text: &str) -> Option<Value> {
        None
    }

    /// Whether everything from here on is read, as it is.
    fn is_whole(self) -> bool {
        false
    }
}

/// What is read of the member of a map.
#[derive(Clone, Debug)]
pub enum Member<P> {
    /// This part of it, under this key.
    Read(Key, P),
    /// Nothing.
    Skipped,
    /// Nothing; and a map that has only such members is itself left out.
    Hidden,
}

/// All of a document.
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

/// Which kinds of members a map has, to decide whether it is left out.
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
