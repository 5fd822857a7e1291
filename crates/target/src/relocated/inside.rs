//! Finds the list elements of others, without key fields, in which we have set values.
//!
//! A record has the position of such an element, too, and a hash of what others have in it. If
//! somebody moves the element, the values in it are found with it:
//!
//! ```text
//! record   /rules/[0]/log: true, in {host: a}
//! live     rules: [{host: new}, {host: a, log: true}]     ─▶ /rules/[1]/log: true
//! ```
//!
//! If the element is nowhere, somebody has changed it, and its position counts.

use std::collections::{BTreeMap, BTreeSet};

use document::{ListRef, Value};
use fieldset::{FieldPath, PathElement};

use super::{Entry, outermost};
use crate::written::value_hash;

/// What a record has set in elements of one list.
#[derive(Default)]
struct Visits {
    /// The paths from an element of what was set in any of them. What others have in an element is
    /// compared without these.
    touched: BTreeSet<FieldPath>,
    /// By position: the paths from the element.
    inside: BTreeMap<usize, Vec<FieldPath>>,
}

impl Visits {
    /// The lists without key fields in whose elements a record has set values, without the elements
    /// that it added.
    fn of<T: Entry>(entries: &BTreeMap<FieldPath, T>) -> BTreeMap<FieldPath, Self> {
        let mut all: BTreeMap<FieldPath, Self> = BTreeMap::new();
        if !entries.keys().any(FieldPath::is_by_position) {
            return all;
        }
        let own = outermost(entries);
        for place in entries.keys() {
            let list = place.atomic();
            let Some((PathElement::Index(at), inner)) = place.0[list.0.len()..].split_first()
            else {
                continue;
            };
            if inner.is_empty() || own.iter().any(|element| place.within(element)) {
                continue;
            }
            let visits = all.entry(list).or_default();
            let inner = FieldPath(inner.to_vec());
            visits.touched.insert(inner.clone());
            visits.inside.entry(*at).or_default().push(inner);
        }
        all
    }

    /// A hash of what others have in an element.
    fn identity(&self, element: &Value) -> String {
        let inner_first = self.touched.iter().rev();
        value_hash(&inner_first.fold(element.clone(), |element, inner| inner.take(&element)))
    }
}

/// Records what others have in the elements in which values are set.
pub(crate) fn identify<T: Entry>(entries: &mut BTreeMap<FieldPath, T>, object: &Value) {
    for (list, visits) in Visits::of(entries) {
        for (at, inside) in &visits.inside {
            let identity = visits.identity(list.get(object).at(*at));
            for inner in inside {
                if let Some(entry) = entries.get_mut(&place(&list, *at, inner)) {
                    entry.set_element(identity.clone());
                }
            }
        }
    }
}

/// Gives the values in elements of others the positions that these have in an object.
pub(super) fn follow<T: Entry>(entries: &mut BTreeMap<FieldPath, T>, object: &Value) {
    for (list, visits) in Visits::of(entries) {
        let found = visits.find(&list, entries, list.get(object));
        let is_moved = |(at, found): (&usize, &Option<usize>)| Some(*at) != *found;
        if !found.iter().any(is_moved) {
            continue;
        }
        let mut moved = Vec::new();
        for (at, inside) in &visits.inside {
            for inner in inside {
                let entry = entries.remove(&place(&list, *at, inner));
                let found = found.get(at).copied().flatten();
                moved.extend(
                    found
                        .zip(entry)
                        .map(|(found, entry)| (place(&list, found, inner), entry)),
                );
            }
        }
        entries.extend(moved);
    }
}

impl Visits {
    /// Where each element is; `None` if another one has its position.
    fn find<T: Entry>(
        &self,
        list: &FieldPath,
        entries: &BTreeMap<FieldPath, T>,
        live: &Value,
    ) -> BTreeMap<usize, Option<usize>> {
        let known = self.inside.iter().map(|(at, inside)| {
            let first = inside.first().map(|inner| place(list, *at, inner));
            let element = first.and_then(|first| entries.get(&first)?.element());
            (*at, element)
        });
        let known: Vec<(usize, Option<&str>)> = known.collect();
        let is = |at: usize, element: &str| self.identity(live.at(at)) == element;
        let mut found: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        let stays = |(at, element): &&(usize, Option<&str>)| element.is_some_and(|it| is(*at, it));
        found.extend(known.iter().filter(stays).map(|(at, _)| (*at, Some(*at))));
        if found.len() < known.len() {
            let mut taken: BTreeSet<usize> = found.keys().copied().collect();
            let len = live.as_list().map_or(0, ListRef::len);
            // By what others have in them; first in the order of the list.
            let mut others: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for at in (0..len).rev().filter(|at| !taken.contains(at)) {
                others
                    .entry(self.identity(live.at(at)))
                    .or_default()
                    .push(at);
            }
            for (at, element) in &known {
                if let Some(element) = element.filter(|_| !found.contains_key(at))
                    && let Some(other) = others.get_mut(element).and_then(Vec::pop)
                {
                    found.insert(*at, Some(other));
                    taken.insert(other);
                }
            }
            for (at, _) in known {
                found
                    .entry(at)
                    .or_insert((!taken.contains(&at)).then_some(at));
            }
        }
        found
    }
}

/// The path of a value in an element of a list.
fn place(list: &FieldPath, at: usize, inner: &FieldPath) -> FieldPath {
    let element = std::iter::once(PathElement::Index(at));
    let steps = list.0.iter().cloned().chain(element);
    FieldPath(steps.chain(inner.0.iter().cloned()).collect())
}
