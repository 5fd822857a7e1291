//! The record that a Patcher writes: what it sets, and what was there before.

use std::collections::BTreeSet;

use document::Value;
use fieldset::{FieldPath, concerns, is_relative, walk};

use super::Patcher;
use crate::decide::{is_ours, undone};
use crate::layer::{Keeper, Was};
use crate::written::Written;
use fieldset::compare::equal;

impl Patcher<'_> {
    /// The new record: the leaves that we have set or are about to set, and the maps and
    /// elements that we create.
    pub(super) fn written(&self) -> Written {
        let author = &self.layer.desired.author;
        let mut written = Written::new(&author.operator, &author.controller, self.case.key);
        written.origin = self.layer.desired.origin.clone();
        let key = self.case.key;
        let mut keeper = Keeper::new(&key.kind, self.before.kept());
        let foreign = self.foreign();
        let mut root: Option<FieldPath> = None;
        let mut element: Option<FieldPath> = None;
        let document = &self.layer.document;
        let is_in = |place: &FieldPath, map: &Option<FieldPath>| {
            map.as_ref().is_some_and(|map| place.within(map))
        };
        walk(document, &self.case.kind.keys, &mut |place, value, leaf| {
            if foreign.contains(place) {
                return;
            }
            let mut value = value.clone();
            // Others may add fields to a map, so it is ours only if we have created it. An element
            // that is found by its content is recorded with all of that.
            if value.as_map().is_some() && is_in(place, &element) {
                if !leaf {
                    return;
                }
            } else if value.as_map().is_some() {
                let inside = is_in(place, &root);
                let is_new = if inside {
                    place.is_indexed_element()
                } else {
                    self.is_new(place)
                };
                if !is_new {
                    return;
                }
                if place.0.len() == 1 {
                    // It goes when it is empty, and not before.
                    value = Value::empty_map();
                } else {
                    if place.is_indexed_element() {
                        element = Some(place.clone());
                    }
                    if !inside {
                        root = Some(place.clone());
                    }
                    value = without(document, place, &foreign);
                }
            }
            let was = self.was(place, &value, &mut keeper);
            // The former value is wanted: it belongs to others.
            if !was.value().is_some_and(|was| equal(was, &value)) {
                self.note(&mut written, place, &value, was);
            }
        });
        self.keep_inherited(&mut written);
        let replaced = self.replaced(&written);
        written.share(&replaced);
        written.share(&self.rest.foreign);
        written.identify(&self.observed.object);
        written
    }

    /// The paths at which our controllers have replaced values of others, or are about to.
    fn replaced(&self, new: &Written) -> BTreeSet<FieldPath> {
        let known = self.all.iter().flat_map(|written| {
            let places = written.replaced();
            places.filter(|place| is_ours(written, self.observed, place))
        });
        known.chain(new.replaced()).cloned().collect()
    }

    /// The value at a path before our controllers wrote it, if need be from their record.
    fn was(&self, place: &FieldPath, value: &Value, keeper: &mut Keeper) -> Was {
        let live = place.get(&self.observed.object);
        // The record of an Applier does not know the former value.
        let knows = |written: &&Written| !written.applied || written.is_certain(place);
        // An Applier that becomes a Patcher gives up its fields first.
        let given_up =
            |written: &&Written| live.is_null() && written.applied && written.is_certain(place);
        let inherited = match value.as_map() {
            Some(_) if live.as_map().is_some() && self.is_others(place) => return Was::Absent,
            Some(_) if live.as_map().is_some() => self.creators(place).next(),
            Some(_) => None,
            None => {
                let known = self.ours(place).find(knows);
                let own = known.or_else(|| self.ours(place).next());
                own.or_else(|| self.all.iter().find(given_up))
            }
        };
        let was = match inherited {
            // What was applied is removed in the end.
            Some(applied) if !knows(&applied) => Some(Was::Absent),
            Some(written) => written.was(place).cloned(),
            None => None,
        };
        was.unwrap_or_else(|| keeper.keep(place, &self.without_ours(place)))
    }

    /// The object without the values at or inside a path that our controllers wrote. If it is that
    /// of a list element, those beside it that this controller has removed are there.
    fn without_ours(&self, place: &FieldPath) -> Value {
        let object = self.observed.object.clone();
        self.all.iter().fold(object, |object, written| {
            let own = written.controller == self.before.controller;
            let counts = |at: &FieldPath| at.within(place) || (own && at.is_beside(place));
            let places = written.places();
            let places = places.filter(|at| counts(at) && is_ours(written, self.observed, at));
            undone(written, &object, &places.collect::<Vec<_>>())
        })
    }

    /// The records of our controllers that wrote the value at a path.
    fn ours(&self, place: &FieldPath) -> impl Iterator<Item = &Written> {
        let live = place.get(&self.observed.object);
        // The server may have normalized a status that is not recorded as such yet.
        let answered = self.answer(place).is_some_and(|answer| equal(answer, live));
        let own = move |written: &Written| {
            answered && written.controller == self.before.controller && written.is_certain(place)
        };
        let ours = move |written: &&Written| is_ours(written, self.observed, place) || own(written);
        self.all.iter().filter(ours)
    }

    /// The wanted leaves that exist already and were not set by us.
    fn foreign(&self) -> BTreeSet<&FieldPath> {
        let foreign = self.leaves.iter().filter(|(place, value)| {
            value.as_map().is_none()
                && self.is_as_wanted(place, value)
                && self.ours(place).next().is_none()
        });
        foreign.map(|(place, _)| place).collect()
    }

    /// Keeps the entries for values that another layer wants now, until that layer has them in
    /// its own record. Otherwise nobody would know in between that they are ours.
    fn keep_inherited(&self, written: &mut Written) {
        let object = &self.observed.object;
        let others = |other: &&Written| other.controller != self.before.controller;
        for place in self.before.places() {
            let inherited = self.wanted.iter().any(|leaf| concerns(leaf, place))
                && !self.leaves.iter().any(|leaf| concerns(leaf, place))
                && self.is_left(place, place.get(object));
            let mut others = self.all.iter().filter(others);
            // An Applier's own entry does not know the former value.
            if inherited && !others.any(|other| other.is_certain(place)) {
                written.keep(&self.before, place);
            }
        }
    }

    /// Whether a path still has what we wrote, or is a map that we created.
    fn is_left(&self, place: &FieldPath, live: &Value) -> bool {
        let made = live.as_map().is_some() && self.before.is_certain(place);
        made || self.before.holds(place, live)
    }

    /// Whether we create, or have created, this map or element. The object itself, its status and
    /// the maps of its metadata belong to everybody.
    fn is_new(&self, place: &FieldPath) -> bool {
        let live = place.get(&self.observed.object);
        let shared = match place.top() {
            "metadata" => 2,
            "status" => 1,
            _ => 0,
        };
        let made = || self.creators(place).next().is_some() || self.is_others(place);
        place.0.len() > shared && (live.as_map().is_none() || made())
    }

    /// Whether other Operators have created a map: it goes with the last field that one of us gives
    /// up.
    fn is_others(&self, place: &FieldPath) -> bool {
        if self.others.is_empty() || place.is_element() {
            return false;
        }
        let made = |written: &Written| written.is_made(place);
        let applies =
            |written: &Written| written.applied && written.places().any(|own| own.within(place));
        let all = self.others.iter();
        let names: Vec<&str> = all.map(|written| written.operator.as_str()).collect();
        let mut others = self.others.iter();
        others.any(|written| {
            made(written) || (applies(written) && self.observed.is_only_of(&names, place))
        })
    }

    /// The records of our controllers that created a map or an element.
    fn creators(&self, place: &FieldPath) -> impl Iterator<Item = &Written> {
        // What a pipeline changes in an element that another controller appended is no part of that
        // element.
        let own = place.is_indexed_element() && is_relative(&self.layer.document);
        let counts = move |written: &Written| !own || written.controller == self.before.controller;
        // Who applies a value has also created the maps around it, if nobody else has.
        let applies = |written: &Written| {
            let mut places = written.places();
            written.applied && places.any(|own| own.within(place) && !written.is_certain(own))
        };
        let having = self.all.iter();
        let having = having
            .filter(move |written| counts(written) && (written.has(place) || applies(written)));
        let whole = || self.case.kind.keys.atomic(place);
        let alone = move || self.observed.is_only_ours(&whole()) && !self.has_restored(place);
        having.filter(move |written| written.is_certain(place) || alone())
    }

    /// Whether there is a value of others at or inside a place that we have restored: we wrote it
    /// last, and it is in no record.
    fn has_restored(&self, place: &FieldPath) -> bool {
        let records = |written: &Written, field: &FieldPath| {
            let mut certain = written.places().filter(|own| written.is_certain(own));
            certain.any(|own| own.overlaps(field))
        };
        let fields = self.observed.written_inside(place);
        let mut fields = fields.iter();
        fields.any(|field| !self.all.iter().any(|written| records(written, field)))
    }

    fn note(&self, written: &mut Written, place: &FieldPath, value: &Value, was: Was) {
        let live = place.get(&self.observed.object);
        let status = self.case.kind.status && place.top() == "status" && value.as_map().is_none();
        // The status is written after its record. Until then it has the value that one of our
        // controllers wrote before.
        let holds = |written: &Written| written.holds(place, live);
        let unsettled = !equal(live, value) && !self.is_settled(place, value);
        let pending = status && unsettled && self.all.iter().any(holds);
        // In the answer, a map also contains fields of others.
        let answer = self.answer(place).filter(|_| value.as_map().is_none());
        match answer {
            _ if pending => written.record_over(place, value, live, was),
            // The record stays as it is.
            Some(answer) if status && equal(answer, value) => {
                written.keep_or_record(&self.before, place, (value, live), was);
            }
            Some(answer) => written.record(place, value, Some(answer), was),
            None => written.keep_or_record(&self.before, place, (value, live), was),
        }
    }
}

/// The content of a map in a document, without these paths.
fn without(document: &Value, map: &FieldPath, places: &BTreeSet<&FieldPath>) -> Value {
    let inside = places.iter().filter(|place| place.within(map));
    // From the end, so that positions stay valid.
    let left = inside
        .rev()
        .fold(document.clone(), |document, place| place.strike(&document));
    map.get(&left).clone()
}
