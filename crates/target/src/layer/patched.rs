//! What a Patcher has set on an object.

use std::collections::BTreeMap;

use document::{Key, Value};
use fieldset::{FieldPath, LeafIndex, MergeKeys, leaves};
use object::{ObjectKey, OperatorId};

use super::{Layer, Was, with_elements};
use crate::relocated::{Entry, identify, outermost, relocate};
use crate::reshaped::{Reshaped, has_changed};
use crate::written::Written;

/// The values that a Patcher has set on an object, by path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patched(pub(super) BTreeMap<FieldPath, PatchedField>);

/// The value that was written to a path, and the former one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PatchedField {
    /// Null if the field was removed. For a map or a list element that we created: the fields
    /// that the server added to it. Those that we set have their own paths.
    sent: Value,
    /// Whether it is a map or a list element that we created.
    pub(super) made: bool,
    /// For a list element without key fields that we added: as we added it, if that is known.
    item: Option<Value>,
    pub(super) was: Was,
    /// A hash of what others have in the list element without key fields that it is in.
    element: Option<String>,
}

impl PatchedField {
    /// Whether a value is what we wrote, or a map to which nobody has added a field.
    fn is(&self, place: &FieldPath, live: &Value) -> bool {
        let added = |key: &Key, value: &Value| self.sent.get_key(key) == value;
        match live.as_map() {
            Some(map) if self.made => map
                .iter()
                .all(|(key, value)| place.is_named_by(key) || added(key, value)),
            // It was removed with its last field.
            None if self.made => live.is_null(),
            Some(_) | None => self.sent == *live,
        }
    }
}

impl Entry for PatchedField {
    fn is_new(&self) -> bool {
        self.was == Was::Absent
    }

    fn adds(&self) -> bool {
        self.made && self.is_new()
    }

    fn holds(&self, live: &Value) -> bool {
        match live.as_map() {
            Some(_) if self.made => true,
            Some(_) | None => !self.made && self.sent == *live,
        }
    }

    fn is_all(&self, inside: &[(FieldPath, &Self)], live: &Value) -> bool {
        let last_first = inside.iter().rev();
        let rest = last_first.fold(live.clone(), |rest, (place, entry)| {
            if entry.is(place, place.get(&rest)) {
                place.take(&rest)
            } else {
                rest
            }
        });
        self.is(&FieldPath::default(), &rest)
    }

    fn element(&self) -> Option<&str> {
        self.element.as_deref()
    }

    fn set_element(&mut self, hash: String) {
        self.element = Some(hash);
    }
}

impl Patched {
    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths, each before the paths inside it.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = &FieldPath> {
        self.0.keys()
    }

    /// Whether a path is recorded.
    pub(crate) fn has(&self, place: &FieldPath) -> bool {
        self.0.contains_key(place)
    }

    /// Whether a path still has what we wrote: the same value, or a map or list element that we
    /// created and to which nobody has added a field.
    pub fn holds(&self, place: &FieldPath, object: &Value) -> bool {
        self.held(place, object).is_some()
    }

    pub(super) fn held(&self, place: &FieldPath, object: &Value) -> Option<&PatchedField> {
        let entry = self.0.get(place)?;
        entry.is(place, place.get(object)).then_some(entry)
    }

    pub(super) fn sent(&self) -> impl Iterator<Item = (FieldPath, Value)> {
        let entries = self.0.iter();
        entries.map(|(place, entry)| {
            let sent = if entry.made {
                Value::empty_map()
            } else {
                entry.sent.clone()
            };
            (place.clone(), sent)
        })
    }

    /// Records a value that is written to a path. The fields of a map are recorded separately.
    pub fn note(&mut self, place: &FieldPath, value: &Value, was: Was) {
        let made = value.as_map().is_some();
        let sent = if made {
            Value::empty_map()
        } else {
            value.clone()
        };
        let item = (made && place.is_indexed_element()).then(|| value.clone());
        let entry = PatchedField {
            sent,
            made,
            item,
            was,
            element: None,
        };
        self.0.insert(place.clone(), entry);
    }

    /// Records a map or a list element that we created, and the fields in it that the server has
    /// added.
    pub(crate) fn note_made(&mut self, place: &FieldPath, added: Value, was: Was) {
        let entry = PatchedField {
            sent: added,
            made: true,
            item: None,
            was,
            element: None,
        };
        self.0.insert(place.clone(), entry);
    }

    /// Records a value that is written as a whole, with all its fields.
    pub(crate) fn note_whole(&mut self, place: &FieldPath, value: &Value, was: Was) {
        let entry = PatchedField {
            sent: value.clone(),
            made: false,
            item: None,
            was,
            element: None,
        };
        self.0.insert(place.clone(), entry);
    }

    /// The object with the former values restored where our values are unchanged. Maps that become
    /// empty are removed. `from` selects the paths.
    pub fn take_back(&self, object: &Value, from: impl Fn(&FieldPath) -> bool) -> Value {
        // From last to first: inner paths come before outer ones, and positions stay valid.
        let last_first = self.places().rev().filter(|place| from(place));
        last_first.fold(
            self.with_elements(object, &from),
            |object, place| match self.held(place, &object) {
                Some(entry) => entry.was.put_back(&object, place),
                None => object,
            },
        )
    }

    /// The object without what is set in another shape now, and the list elements that went as a
    /// whole; `None` if there is nothing. It is no longer recorded.
    pub(super) fn take_back_reshaped(
        &mut self,
        object: &Value,
        wanted: &LeafIndex,
    ) -> Option<(Value, Vec<FieldPath>)> {
        let has_changed = |place: &FieldPath| {
            let Some(entry) = self.0.get(place) else {
                return false;
            };
            let is_removed = !entry.made && entry.sent.is_null();
            let live = place.get(object);
            entry.was != Was::NotKept && has_changed(wanted, place, live, is_removed)
        };
        let is_made = |place: &FieldPath| self.0.get(place).is_some_and(Entry::is_new);
        let reshaped = Reshaped::of(self.0.keys(), has_changed, is_made)?;
        let elements = &reshaped.elements;
        let rest = self.take_back(object, |place| {
            reshaped.places.contains(place) && !elements.iter().any(|whole| place.within(whole))
        });
        // From the end, so that positions stay valid.
        let last_first = elements.iter().rev();
        let rest = last_first.fold(rest, |rest, element| element.take(&rest));
        let rest = reshaped.without_empty_maps(&rest, |place| self.has(place));
        self.0.retain(|place, _| !reshaped.places.contains(place));
        Some((rest, reshaped.elements.into_iter().collect()))
    }

    /// The object with the list elements that we removed. `from` selects the paths.
    fn with_elements(&self, object: &Value, from: impl Fn(&FieldPath) -> bool) -> Value {
        let back = |place: &&FieldPath| from(place) && self.holds(place, object);
        with_elements(object, self.places().filter(back), |place| self.was(place))
    }

    fn was(&self, place: &FieldPath) -> Option<&Was> {
        self.0.get(place).map(|entry| &entry.was)
    }

    /// The object as it enters the pipeline of the controller that set this: as
    /// [`Patched::take_back`], but list elements that it added go as a whole, even if others have
    /// changed them. The controller adds them again.
    pub(crate) fn entered(&self, object: &Value) -> Value {
        let object = self.with_elements(object, |_| true);
        self.0.iter().rev().fold(object, |object, entry| {
            let (place, field) = entry;
            if field.made && field.was == Was::Absent && place.is_element() {
                return place.take(&object);
            }
            match self.held(place, &object) {
                Some(entry) => entry.was.put_back(&object, place),
                None => object,
            }
        })
    }

    /// The paths of the elements without key fields that we added, without those inside others.
    pub(crate) fn appended(&self) -> Vec<FieldPath> {
        outermost(&self.0).into_iter().cloned().collect()
    }

    /// Whether we added this element at a path.
    pub(crate) fn has_appended(&self, place: &FieldPath, item: &Value, keys: &MergeKeys) -> bool {
        let entry = self.0.get(place);
        entry.is_some_and(|entry| match &entry.item {
            Some(own) => own == item,
            // It comes from a record, which has a hash.
            None => self.would_append(place, item, keys),
        })
    }

    /// Whether an element at this path would be recorded as it is.
    fn would_append(&self, place: &FieldPath, item: &Value, keys: &MergeKeys) -> bool {
        let mut list = vec![Value::empty_map(); place.index().unwrap_or_default()];
        list.push(item.clone());
        let list_place = FieldPath(place.0[..place.0.len().saturating_sub(1)].to_vec());
        let patch = list_place.set(&Value::empty_map(), &list.into());
        let is = |(leaf, value): &(FieldPath, Value)| match self.0.get(leaf) {
            Some(entry) if entry.made => value.as_map().is_some(),
            Some(entry) => entry.sent == *value,
            None => false,
        };
        let wanted = leaves(&patch, keys);
        let wanted: Vec<_> = wanted
            .iter()
            .filter(|(leaf, _)| leaf.within(place))
            .collect();
        let own = self
            .0
            .iter()
            .filter(|(own, entry)| own.within(place) && !entry.made);
        let given = wanted.iter().filter(|(_, value)| value.as_map().is_none());
        wanted.iter().all(|leaf| is(leaf)) && own.count() == given.count()
    }

    /// Records what others have in the list elements without key fields in which values are set.
    pub(crate) fn identify(&mut self, object: &Value) {
        identify(&mut self.0, object);
    }

    /// Gives the sets of an object the positions that list elements without key fields have in it.
    pub(crate) fn relocate<'a>(sets: impl Iterator<Item = &'a mut Self>, object: &Value) {
        let mut all: Vec<_> = sets.map(|set| &mut set.0).collect();
        relocate(&mut all, object);
    }

    /// What was set, after list elements were removed, which are sorted.
    pub(crate) fn after_removal(&mut self, elements: &[FieldPath]) {
        let after = |place: FieldPath| {
            let mut last_first = elements.iter().rev();
            last_first.try_fold(place, |place, gone| place.after_removal(gone))
        };
        let entries = std::mem::take(&mut self.0).into_iter();
        self.0 = entries
            .filter_map(|(place, entry)| Some((after(place)?, entry)))
            .collect();
    }

    /// The object without our values, where these are unchanged. `from` selects the paths.
    pub(crate) fn remove(&self, object: &Value, from: impl Fn(&FieldPath) -> bool) -> Value {
        let last_first = self.places().rev().filter(|place| from(place));
        last_first.fold(object.clone(), |object, place| {
            if place.get(&object).is_null() || !self.holds(place, &object) {
                return object;
            }
            place.take(&object)
        })
    }

    /// The first path whose former value is not stored, of those that `counts` selects.
    pub(crate) fn not_kept(&self, counts: impl Fn(&FieldPath) -> bool) -> Option<&FieldPath> {
        let mut entries = self.0.iter();
        let found = entries.find(|(place, entry)| entry.was == Was::NotKept && counts(place));
        found.map(|(place, _)| place)
    }

    /// The size that a record of this has on an object, in bytes.
    pub(crate) fn record_size(&self, operator: &str, controller: &str, key: &ObjectKey) -> usize {
        let mut written = Written::new(&OperatorId::new(operator, ""), controller, key);
        for (place, entry) in &self.0 {
            written.record(place, &entry.sent, None, entry.was.clone());
        }
        written.print().len()
    }

    /// Adds what was set at other paths.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Forgets the former values, so that the fields are removed in the end, except for those that
    /// one of the layers knew: they come from a Patcher, and its successors inherit them.
    pub(super) fn forget_former(&mut self, layers: &[Layer]) {
        for (place, entry) in &mut self.0 {
            let mut known = layers.iter().filter_map(|layer| layer.set.0.get(place));
            if !known.any(|own| own.was == entry.was) {
                entry.was = Was::Absent;
            }
        }
    }

    /// Drops the records of all other paths.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&FieldPath) -> bool) {
        self.0.retain(|place, _| keeps(place));
    }
}
