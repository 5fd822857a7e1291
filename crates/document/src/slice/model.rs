//! Reference counts under loom, which runs each test in the orders that threads can take.
//!
//! loom skips orders that it considers equal to others. It misses that a load of one thread
//! may come after the store of another thread that has just loaded the same atomic. So where a
//! load decides something, the model checks that both outcomes occurred.

use loom::thread;

use super::*;
use crate::sync::Seen;

/// An element that must be dropped once, after all its uses.
struct Tracked {
    access: Access,
    number: u64,
}

impl Tracked {
    fn new(number: u64) -> Self {
        Self {
            access: Access::default(),
            number,
        }
    }

    fn number(&self) -> u64 {
        self.access.uses();
        self.number
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.access.ends();
        assert_ne!(std::mem::take(&mut self.number), 0, "it was dropped before");
    }
}

elements!(u64, Tracked, (SharedSlice<u64>, SharedSlice<u8>));

#[test]
fn the_last_of_three_references_frees_the_slice() {
    loom::model(|| {
        let slice = SharedSlice::new([Tracked::new(7)].into_iter());
        let threads = [slice.clone(), slice.clone()]
            .map(|slice| thread::spawn(move || assert_eq!(slice[0].number(), 7)));
        assert_eq!(slice[0].number(), 7);
        drop(slice);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn references_are_made_while_others_are_dropped() {
    loom::model(|| {
        let slice = SharedSlice::new([Tracked::new(7)].into_iter());
        let other = slice.clone();
        let thread = thread::spawn(move || {
            let copy = other.clone();
            drop(other);
            assert_eq!(copy[0].number(), 7);
        });
        let copy = slice.clone();
        drop(slice);
        assert_eq!(copy[0].number(), 7);
        drop(copy);
        thread.join().unwrap();
    });
}

#[test]
fn a_slice_that_is_unique_is_used_by_nobody_else() {
    let seen = Seen::default();
    let outcomes = seen.clone();
    loom::model(move || {
        let slice = SharedSlice::new([Tracked::new(7)].into_iter());
        let other = slice.clone();
        let outcomes = outcomes.clone();
        let thread = thread::spawn(move || {
            let unique = other.is_unique();
            outcomes.note(unique);
            if unique {
                // As if it were changed in place.
                other[0].access.ends();
            }
        });
        assert_eq!(slice[0].number(), 7);
        drop(slice);
        thread.join().unwrap();
    });
    seen.check();
}

#[test]
fn two_threads_measure_a_slice_at_once() {
    loom::model(|| {
        let slice = SharedSlice::new([1_u64, 2].into_iter());
        let expect = Measure::of_all(&slice);
        let other = slice.clone();
        let thread = thread::spawn(move || assert_eq!(other.measure(), expect));
        assert_eq!(slice.measure(), expect);
        drop(slice);
        thread.join().unwrap();
    });
}

/// `[[1, 2], [3, 4]]` in a block, with a text.
fn block(text: &SharedSlice<u8>) -> SharedSlice<(SharedSlice<u64>, SharedSlice<u8>)> {
    let slices = slice_size::<(SharedSlice<u64>, SharedSlice<u8>)>(2) + 2 * slice_size::<u64>(2);
    let mut block = Block::new(Room { slices, texts: 2 });
    let outer = block.slice(2, |block, at| {
        let first = at as u64 * 2 + 1;
        let inner = block.slice(2, |_, i| first + i as u64);
        (inner, block.text(text.clone()))
    });
    block.finish();
    outer
}

#[test]
fn the_last_part_of_a_block_frees_it() {
    loom::model(|| {
        let text = SharedSlice::bytes(b"text");
        let outer = block(&text);
        let inner = outer[1].0.clone();
        let of_block = outer[0].1.clone();
        let threads = [
            thread::spawn(move || assert_eq!(*inner, [3, 4])),
            thread::spawn(move || assert_eq!(*of_block, *b"text")),
        ];
        assert_eq!(*outer[0].0, [1, 2]);
        drop(outer);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(text.is_unique(), "the block has freed its texts");
    });
}

#[test]
fn parts_are_taken_while_others_are_dropped() {
    loom::model(|| {
        let outer = block(&SharedSlice::bytes(b"text"));
        let other = outer.clone();
        let thread = thread::spawn(move || {
            let inner = other[0].0.clone();
            drop(other);
            assert_eq!(*inner, [1, 2]);
        });
        let inner = outer[1].0.clone();
        drop(outer);
        assert_eq!(*inner, [3, 4]);
        drop(inner);
        thread.join().unwrap();
    });
}
