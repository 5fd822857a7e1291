//! Concrete places in a document.

use std::fmt;

use crate::key::Key;

/// A JSON pointer (RFC 6901) to one place: the way that a [`PatchPath`](super::PatchPath)
/// takes through one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointer(Vec<Token>);

/// One step of a [`Pointer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Into a map.
    Key(Key),
    /// Into a list.
    Index(usize),
    /// `-`: after the last element of a list.
    End,
}

impl Pointer {
    /// The place that these steps lead to.
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        Self(tokens)
    }

    /// The steps from the root, in order; none for the document itself.
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// The list or map that the last step leads into.
    pub(super) fn parent(&self) -> Option<Self> {
        let (_, parent) = self.0.split_last()?;
        Some(Self(parent.to_vec()))
    }

    /// Makes this lead to the same element after another place was taken out, which moves
    /// the elements behind it. Where this ends with a position that was written as such,
    /// `literal_end`, that position is meant, and not the element.
    pub(super) fn follow(&mut self, removed: &Self, literal_end: bool) {
        let Some((Token::Index(gone), list)) = removed.0.split_last() else {
            return;
        };
        let is_end = self.0.len() == removed.0.len();
        if !self.0.starts_with(list) || (is_end && literal_end) {
            return;
        }
        if let Some(Token::Index(index)) = self.0.get_mut(list.len())
            && *index > *gone
        {
            *index -= 1;
        }
    }
}

/// The text of RFC 6901; empty for the document itself.
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.0 {
            match token {
                Token::Key(key) => {
                    let escaped = key.as_str().replace('~', "~0").replace('/', "~1");
                    write!(f, "/{escaped}")?;
                }
                Token::Index(index) => write!(f, "/{index}")?,
                Token::End => f.write_str("/-")?,
            }
        }
        Ok(())
    }
}
