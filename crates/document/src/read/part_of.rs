//! Taking a part of a document that is in memory.

use smallvec::SmallVec;

use super::{DocumentPart, Member, Seen};
use crate::key::Key;
use crate::list::ListRef;
use crate::map::Map;
use crate::value::{Value, View};

/// The part of a document that is in memory; `None` if the document itself is left out. Lists
/// and maps that are taken whole are shared with the document.
pub fn part_of<P: DocumentPart>(document: &Value, part: P) -> Option<Value> {
    match take_part(document, part) {
        Taken::Whole => Some(document.clone()),
        Taken::Other(value) => Some(value),
        Taken::Nothing => None,
    }
}

/// The result of taking a part of a value.
enum Taken {
    /// The value itself.
    Whole,
    /// Another value, which replaces it.
    Other(Value),
    /// Nothing: the value is left out of its list or map.
    Nothing,
}

fn take_part<P: DocumentPart>(value: &Value, part: P) -> Taken {
    if part.is_whole() {
        return Taken::Whole;
    }
    match value.view() {
        View::Map(map) => take_members(map, part),
        View::List(items) => take_elements(items, part),
        View::Str(text) => part.text(text).map_or(Taken::Whole, Taken::Other),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => Taken::Whole,
    }
}

fn take_members<P: DocumentPart>(map: &Map, part: P) -> Taken {
    let mut members: SmallVec<[(Key, Value); 8]> = SmallVec::new();
    let mut seen = Seen::default();
    let mut whole = true;
    for (name, value) in map {
        let member = part.member(name.as_str());
        seen.note(&member);
        let taken = match member {
            Member::Read(_, part) => take_part(value, part),
            Member::Skipped | Member::Hidden => Taken::Nothing,
        };
        whole &= matches!(taken, Taken::Whole);
        match taken {
            Taken::Whole => members.push((name.clone(), value.clone())),
            Taken::Other(value) => members.push((name.clone(), value)),
            Taken::Nothing => {}
        }
    }
    if whole {
        Taken::Whole
    } else if seen.only_hidden() {
        Taken::Nothing
    } else {
        Taken::Other(Map::from_sorted_iter(members.into_iter()).into())
    }
}

fn take_elements<P: DocumentPart>(items: ListRef<'_>, part: P) -> Taken {
    if items.is_empty() {
        return Taken::Whole;
    }
    let Some(element) = part.element() else {
        return Taken::Other(Value::list([]));
    };
    let mut elements: SmallVec<[Value; 8]> = SmallVec::new();
    let mut whole = true;
    for item in items {
        let taken = take_part(item, element);
        whole &= matches!(taken, Taken::Whole);
        match taken {
            Taken::Whole => elements.push(item.clone()),
            Taken::Other(value) => elements.push(value),
            Taken::Nothing => {}
        }
    }
    if whole {
        return Taken::Whole;
    }
    Taken::Other(Value::list(elements))
}
