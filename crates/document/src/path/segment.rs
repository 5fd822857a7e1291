//! The segments of a path, for code that analyses it.

use super::filter::Filter;
use crate::key::Key;

/// One segment of a path.
///
/// [`Segment::Name`] and [`Segment::Index`] match at most one place, the others any number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `.name`, `['name']`: a member of a map.
    Name(Key),
    /// `[0]`, `[-1]`: an element of a list, from its start or its end.
    Index(i64),
    /// `.*`, `[*]`, `[1:]`, `[?…]`, `['a', 'b']`: children, selector by selector. There is
    /// always a selector, and never just one name or index.
    Several(Box<[Selector]>),
    /// `..name`, `..*`, `..[…]`: children of the value and of everything below it.
    Descendants(Box<[Selector]>),
}

/// Selects children of a value for a [`Segment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// A member of a map.
    Name(Key),
    /// An element of a list.
    Index(i64),
    /// All children.
    Wildcard,
    /// Elements of a list at regular distances.
    Slice(Slice),
    /// The children that satisfy a condition.
    Filter(Filter),
}

/// `[start:end:step]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The first index. The default is the first element, or the last if `step` is negative.
    pub start: Option<i64>,
    /// The index to stop before. The default is the end in the direction of `step`.
    pub end: Option<i64>,
    /// The distance; 1 by default. 0 selects nothing.
    pub step: i64,
}

impl Segment {
    /// The selectors of a segment that can match several places; none for a name or index.
    pub fn selectors(&self) -> &[Selector] {
        match self {
            Self::Name(_) | Self::Index(_) => &[],
            Self::Several(selectors) | Self::Descendants(selectors) => selectors,
        }
    }

    /// The filters of this segment.
    pub fn filters(&self) -> impl Iterator<Item = &Filter> {
        self.selectors().iter().filter_map(|selector| {
            if let Selector::Filter(filter) = selector {
                Some(filter)
            } else {
                None
            }
        })
    }

    /// Whether this segment matches at most one place.
    pub fn is_singular(&self) -> bool {
        matches!(self, Self::Name(_) | Self::Index(_))
    }

    /// The segment of a bracket with these selectors.
    pub(super) fn of(mut selectors: Vec<Selector>) -> Self {
        if selectors.len() == 1 {
            match selectors.pop() {
                Some(Selector::Name(key)) => return Self::Name(key),
                Some(Selector::Index(index)) => return Self::Index(index),
                other => selectors.extend(other),
            }
        }
        Self::Several(selectors.into())
    }
}

impl Slice {
    /// The indexes that this slice selects from a list of `length` elements, in order.
    pub(super) fn indexes(self, length: usize) -> impl Iterator<Item = usize> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let Self { start, end, step } = self;
        let forward = step > 0;
        // Backwards, index -1 means "before the first element".
        let (low, high) = if forward {
            (0, length)
        } else {
            (-1, length - 1)
        };
        let bound = |index: Option<i64>, default| {
            index.map_or(default, |index| from_end(index, length).clamp(low, high))
        };
        let (first, stop) = if forward {
            (bound(start, low), bound(end, high))
        } else {
            (bound(start, high), bound(end, low))
        };
        let mut at = first;
        std::iter::from_fn(move || {
            let inside = if forward {
                at < stop
            } else {
                step != 0 && at > stop
            };
            if !inside {
                return None;
            }
            let index = usize::try_from(at).ok();
            at = at.saturating_add(step);
            index
        })
    }
}

/// Turns an index that may count from the end into one from the start. The result is negative
/// if the list is too short.
fn from_end(index: i64, length: i64) -> i64 {
    if index < 0 {
        length.saturating_add(index)
    } else {
        index
    }
}

/// The position of an index in a list of `length` elements, if it is inside.
pub(super) fn position(index: i64, length: usize) -> Option<usize> {
    let at = from_end(index, i64::try_from(length).ok()?);
    usize::try_from(at).ok().filter(|at| *at < length)
}
