//! Pointers to single places in a document.

use std::fmt;

use crate::key::Key;

/// A JSON pointer (RFC 6901): one match of a [`PatchPath`](super::PatchPath) in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointer(Vec<Token>);

/// One token of a [`Pointer`].
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
    /// A pointer of these tokens.
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        Self(tokens)
    }

    /// The tokens from the root, in order; none for the document itself.
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// The pointer to the list or map around this place.
    pub(super) fn parent(&self) -> Option<Self> {
        let (_, parent) = self.0.split_last()?;
        Some(Self(parent.to_vec()))
    }

    /// Adjusts this pointer after the value at `removed` was removed from its list, so that it
    /// leads to the same element: the elements after `removed` have moved. With `literal_end`,
    /// a position at the end of this pointer was written by the user. It means the position,
    /// not the element, and stays.
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
