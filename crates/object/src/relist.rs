//! Finds the objects that are gone when a collection is listed again.
//!
//! A watch can lose events: the server has dropped its history, a connection broke, a view was not
//! available for a while. The reader then lists again. Objects that it knew before and that are not
//! in the new list are gone; no event reports their deletion.
//!
//! Lists are numbered, and the reader remembers for each object the last list that showed it. When
//! a list completes, the objects with an older number are gone:
//!
//! | list | shows | ends | gone |
//! |---|---|---|---|
//! | 1 | a, b | completes | nothing |
//! | 2 | a, c | breaks off | nothing: b may have followed |
//! | 3 | a | completes | b (shown by 1) and c (shown by 2) |
//!
//! [`Known`] does this for a set of names. A reader that has an entry for each object anyway
//! keeps a [`Shown`] in the entry, and uses [`Lists`] alone.

use std::collections::HashMap;
use std::hash::Hash;

/// The lists of one collection. At most one is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lists {
    /// How many lists have begun. It never decreases, so that a [`Shown`] stays comparable.
    begun: u64,
    listing: bool,
    synced: bool,
}

/// When an object was last shown, by a list or by a later event. The default is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown(u64);

impl Shown {
    /// The object was never shown.
    pub const NEVER: Self = Self(0);
    /// It was shown, and every list is newer than that.
    pub const BEFORE_ALL_LISTS: Self = Self(1);
}

impl Lists {
    /// A list begins. One that is under way has broken off.
    pub fn begin(&mut self) {
        self.begun += 1;
        self.listing = true;
    }

    /// The list is complete: the objects that it [missed](Self::missed) are gone. Returns false
    /// if no list is under way.
    pub fn complete(&mut self) -> bool {
        self.synced |= self.listing;
        std::mem::take(&mut self.listing)
    }

    /// The collection does not exist any more. No list is under way or counts as complete.
    pub fn reset(&mut self) {
        self.listing = false;
        self.synced = false;
    }

    /// Whether a list is under way.
    pub fn is_listing(&self) -> bool {
        self.listing
    }

    /// Whether a list has completed.
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// The mark of an object that is shown now.
    pub fn now(&self) -> Shown {
        Shown(self.begun + Shown::BEFORE_ALL_LISTS.0)
    }

    /// Whether an object was not shown since the last list began.
    pub fn missed(&self, last: Shown) -> bool {
        last < self.now()
    }
}

/// The names of the objects of a collection, as far as a reader has received them.
///
/// ```
/// use object::relist::Known;
///
/// let mut known = Known::default();
/// known.begin();
/// known.show("a");
/// known.show("b");
/// assert_eq!(known.complete(), Some(vec![]));
/// known.show("c"); // an event of the watch
///
/// // The watch breaks, and the collection is listed again.
/// known.begin();
/// known.show("b");
/// assert_eq!(known.complete(), Some(vec!["a", "c"]));
/// ```
#[derive(Clone, Debug)]
pub struct Known<N> {
    lists: Lists,
    names: HashMap<N, Shown>,
}

impl<N> Default for Known<N> {
    fn default() -> Self {
        Self {
            lists: Lists::default(),
            names: HashMap::new(),
        }
    }
}

impl<N: Hash + Ord> Known<N> {
    /// A list begins. All names stay known: if this list breaks off, nothing is gone.
    pub fn begin(&mut self) {
        self.lists.begin();
    }

    /// Whether a list is under way.
    pub fn is_listing(&self) -> bool {
        self.lists.is_listing()
    }

    /// The list, or an event, shows that an object exists.
    pub fn show(&mut self, name: N) {
        self.names.insert(name, self.lists.now());
    }

    /// An event shows that an object is gone.
    pub fn remove(&mut self, name: &N) {
        self.names.remove(name);
    }

    /// The list is complete. Returns the names that were known and that it does not show, in
    /// order, and forgets them. `None` if no list is under way.
    pub fn complete(&mut self) -> Option<Vec<N>> {
        if !self.lists.complete() {
            return None;
        }
        let lists = &self.lists;
        let gone = self.names.extract_if(|_, shown| lists.missed(*shown));
        let mut gone: Vec<N> = gone.map(|(name, _)| name).collect();
        gone.sort();
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins a list and shows names in it.
    fn list(known: &mut Known<&'static str>, names: &[&'static str]) {
        known.begin();
        for name in names {
            known.show(name);
        }
    }

    /// Completes a list with these names, and returns the names that are gone.
    fn relist(known: &mut Known<&'static str>, names: &[&'static str]) -> Vec<&'static str> {
        list(known, names);
        known.complete().expect("a list is under way")
    }

    #[test]
    fn what_a_complete_list_does_not_show_is_gone_once() {
        let mut known = Known::default();
        assert_eq!(relist(&mut known, &["d", "a", "c", "b"]), [""; 0]);
        assert_eq!(relist(&mut known, &["c"]), ["a", "b", "d"], "in order");
        assert_eq!(relist(&mut known, &["c"]), [""; 0]);
        assert_eq!(relist(&mut known, &[]), ["c"]);
    }

    #[test]
    fn events_count_between_lists_and_within_one() {
        let mut known = Known::default();
        assert_eq!(relist(&mut known, &["a", "b"]), [""; 0]);
        known.show("c");
        known.remove(&"a");
        assert_eq!(relist(&mut known, &["b"]), ["c"], "a was gone before");
        list(&mut known, &["b", "d"]);
        known.remove(&"d");
        assert_eq!(known.complete(), Some(vec![]));
        assert_eq!(relist(&mut known, &["b"]), [""; 0], "d was gone before");
    }

    #[test]
    fn a_list_that_breaks_off_removes_nothing() {
        let mut known = Known::default();
        relist(&mut known, &["a", "b"]);
        list(&mut known, &["b"]);
        assert!(known.is_listing());
        assert_eq!(relist(&mut known, &["a", "b"]), [""; 0]);
        assert!(!known.is_listing());
    }

    #[test]
    fn what_only_a_broken_list_has_shown_goes_with_the_next() {
        let mut known = Known::default();
        relist(&mut known, &["a"]);
        list(&mut known, &["a", "b"]);
        list(&mut known, &["c"]);
        assert_eq!(relist(&mut known, &["a"]), ["b", "c"]);
    }

    #[test]
    fn only_a_list_under_way_completes() {
        let mut known = Known::default();
        known.show("a");
        assert_eq!(known.complete(), None);
        assert_eq!(relist(&mut known, &[]), ["a"]);
        assert_eq!(known.complete(), None);
    }

    #[test]
    fn what_was_shown_before_the_first_list_is_older_than_it() {
        let mut lists = Lists::default();
        assert!(lists.missed(Shown::NEVER));
        assert!(!lists.missed(lists.now()));
        assert_eq!(lists.now(), Shown::BEFORE_ALL_LISTS);
        lists.begin();
        assert!(lists.missed(Shown::BEFORE_ALL_LISTS));
    }

    #[test]
    fn a_collection_that_comes_back_begins_with_a_newer_list() {
        let mut lists = Lists::default();
        lists.begin();
        let before = lists.now();
        assert!(lists.complete() && lists.is_synced());
        lists.reset();
        assert!(!lists.is_synced() && !lists.is_listing());
        assert!(!lists.complete(), "no list is under way");
        assert!(!lists.is_synced());
        lists.begin();
        assert!(lists.missed(before));
    }
}
