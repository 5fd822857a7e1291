//! The parts of a path, for those who analyse it.

use super::filter::Filter;
use crate::key::Key;

/// One step of a path.
///
/// [`Segment::Name`] and [`Segment::Index`] lead to at most one place, the others to any
/// number of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `.name`, `['name']`: a member of a map.
    Name(Key),
    /// `[0]`, `[-1]`: an element of a list, from its start or its end.
    Index(i64),
    /// `.*`, `[*]`, `[1:]`, `[?…]`, `['a', 'b']`: children, selector by selector. Never
    /// empty, and never one name or index alone.
    Several(Box<[Selector]>),
    /// `..name`, `..*`, `..[…]`: children of the value and of everything below it.
    Descendants(Box<[Selector]>),
}

/// What a [`Segment`] picks from the children of a value.
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
    /// The children for which a condition holds.
    Filter(Filter),
}

/// `[start:end:step]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The first index; without one, the first or (backwards) the last element.
    pub start: Option<i64>,
    /// The index to stop before; without one, the end.
    pub end: Option<i64>,
    /// The distance, 1 if not given; 0 selects nothing.
    pub step: i64,
}

impl Segment {
    /// The selectors of a segment that leads to several places; none for a name or an
    /// index.
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

    /// Whether this segment leads to at most one place.
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
        // Backwards, index -1 stands for "before the first element".
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

/// An index that may count from the end, as one from the start; below 0 where the list
/// is too short.
fn from_end(index: i64, length: i64) -> i64 {
    if index < 0 {
        length.saturating_add(index)
    } else {
        index
    }
}

/// The place of an index in a list of `length` elements, if it is inside.
pub(super) fn position(index: i64, length: usize) -> Option<usize> {
    let at = from_end(index, i64::try_from(length).ok()?);
    usize::try_from(at).ok().filter(|at| *at < length)
}
