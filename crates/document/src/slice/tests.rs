//! Slices and blocks on their own. `just asan` runs these tests under `AddressSanitizer`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use super::*;

/// An element that counts how often it is dropped.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>, Box<usize>);

impl Counted {
    fn new(drops: &Arc<AtomicUsize>, number: usize) -> Self {
        Self(Arc::clone(drops), Box::new(number))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

elements!(
    u64,
    (u32, bool),
    (),
    Counted,
    SharedSlice<u8>,
    (SharedSlice<u64>, SharedSlice<u8>)
);

/// Memory that a test never frees. It stays reachable from here, so that it is not reported
/// as a leak.
static KEPT: Mutex<Vec<NonNullPointer>> = Mutex::new(Vec::new());

struct NonNullPointer(#[allow(dead_code, reason = "it keeps the memory reachable")] NonNull<u8>);

// SAFETY: the pointer is never followed.
unsafe impl Send for NonNullPointer {}

#[test]
fn a_slice_has_the_elements_that_it_is_made_of() {
    for len in 0..50_usize {
        let bytes: Vec<u8> = (0..len as u8).collect();
        assert_eq!(*SharedSlice::bytes(&bytes), bytes);
        let words: Vec<u64> = (0..len as u64).collect();
        assert_eq!(*SharedSlice::new(words.iter().copied()), words);
        let pairs: Vec<(u32, bool)> = (0..len as u32).map(|i| (i, i % 3 == 0)).collect();
        assert_eq!(*SharedSlice::new(pairs.iter().copied()), pairs);
        assert_eq!(SharedSlice::new(vec![(); len].into_iter()).len(), len);
    }
}

#[test]
fn a_size_that_no_memory_has_is_the_greatest() {
    assert_eq!(slice_size::<u8>(0), 8);
    assert_eq!(slice_size::<u8>(9), 24);
    assert_eq!(slice_size::<u64>(2), 24);
    for len in [usize::MAX, usize::MAX / 8, usize::MAX - 8] {
        assert!(slice_size::<u64>(len) > usize::MAX - 16);
    }
}

#[test]
fn elements_are_dropped_once_with_the_last_reference() {
    for len in [0, 1, 7] {
        let drops = Arc::new(AtomicUsize::new(0));
        let slice = SharedSlice::new((0..len).map(|i| Counted::new(&drops, i)));
        let copies = vec![slice.clone(); 10];
        assert!(slice.same(&copies[9]) && !slice.is_unique());
        drop(slice);
        let mut copies = copies;
        let last = copies.pop().unwrap();
        drop(copies);
        assert!(last.is_unique());
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        assert!(last.iter().map(|element| *element.1).eq(0..len));
        drop(last);
        assert_eq!(drops.load(Ordering::Relaxed), len);
    }
}

#[test]
fn a_pointer_owns_the_reference() {
    let drops = Arc::new(AtomicUsize::new(0));
    let slice = SharedSlice::new([Counted::new(&drops, 5)].into_iter());
    let copy = slice.clone();
    let pointer = slice.into_raw();
    drop(copy);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    // SAFETY: it is the pointer of a slice of such elements.
    let slice: SharedSlice<Counted> = unsafe { SharedSlice::from_raw(pointer) };
    assert_eq!(*slice[0].1, 5);
    drop(slice);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn a_measure_is_noted_in_nodes_and_in_blocks() {
    let text = SharedSlice::bytes(b"a text that is longer than a value");
    for count in [1, 5, 40] {
        let own = SharedSlice::new((0..count).map(|i| i as u64));
        let expect = Measure::of_all(&own);
        assert_eq!([own.measure(), own.measure()], [expect; 2]);
        assert_eq!(own.length(), count);
        let lists = lists(count, &text);
        assert_eq!(lists.measure(), Measure::of_all(&lists));
        let last = &lists[count - 1].0;
        assert_eq!((last.measure(), last.len()), (expect, count));
    }
}

#[test]
fn elements_are_dropped_once_by_many_threads() {
    let drops = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let slice = SharedSlice::new((0..3).map(|i| Counted::new(&drops, i)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let slice = slice.clone();
                scope.spawn(move || {
                    let copies: Vec<_> = (0..50).map(|_| slice.clone()).collect();
                    drop(slice);
                    assert!(copies.iter().all(|copy| *copy[2].1 == 2));
                });
            }
            drop(slice);
        });
    }
    assert_eq!(drops.load(Ordering::Relaxed), 300);
}

/// A block of the lists `[0]`, `[0, 1]`, …, each with a text.
fn lists(count: usize, text: &SharedSlice<u8>) -> SharedSlice<(SharedSlice<u64>, SharedSlice<u8>)> {
    let inner = (0..count).map(|at| slice_size::<u64>(at + 1));
    let slices = slice_size::<(SharedSlice<u64>, SharedSlice<u8>)>(count) + inner.sum::<usize>();
    let mut block = Block::new(Room {
        slices,
        texts: count,
    });
    let lists = block.slice(count, |block, at| {
        let list = block.slice(at + 1, |_, i| i as u64);
        (list, block.text(text.clone()))
    });
    block.finish();
    lists
}

#[test]
fn a_block_lives_as_long_as_one_of_its_slices() {
    let text = SharedSlice::bytes(b"a text that is longer than a value");
    let lists = lists(40, &text);
    assert!(lists.is_in_block() && !lists.is_inner() && !text.is_in_block());
    let parts: Vec<SharedSlice<u64>> = lists.iter().map(|(list, _)| list.clone()).collect();
    assert!(
        parts
            .iter()
            .all(|part| part.is_in_block() && part.is_inner())
    );
    let of_block = lists[39].1.clone();
    assert!(of_block.same(&text));
    drop(lists);
    assert!(!text.is_unique());
    for (at, part) in parts.into_iter().enumerate().rev() {
        assert!(part.iter().copied().eq(0..=at as u64));
    }
    drop(of_block);
    assert!(text.is_unique(), "the block has freed its texts");
}

#[test]
fn the_largest_block_has_its_last_texts() {
    let text = SharedSlice::bytes(b"a text that is longer than a value");
    let texts = (LARGEST_BLOCK - size_of::<BlockHead>() - size_of::<Head>()) / 16;
    let room = Room {
        slices: slice_size::<SharedSlice<u8>>(texts),
        texts,
    };
    assert!(room.size() + 16 > LARGEST_BLOCK);
    let mut block = Block::new(room);
    let slice = block.slice(texts, |block, _| block.text(text.clone()));
    block.finish();
    assert!(slice.iter().all(|part| part.same(&text)));
    drop(slice);
    assert!(text.is_unique());
}

#[test]
fn blocks_are_freed_once_by_many_threads() {
    let text = SharedSlice::bytes(b"a text that is longer than a value");
    for _ in 0..100 {
        let lists = lists(5, &text);
        std::thread::scope(|scope| {
            for at in 0..4 {
                let (lists, list) = (lists.clone(), lists[at].0.clone());
                scope.spawn(move || {
                    drop(lists);
                    assert_eq!(list.len(), at + 1);
                });
            }
            drop(lists);
        });
    }
    assert!(text.is_unique());
}

#[test]
fn a_block_that_is_not_finished_frees_nothing() {
    let mut block = Block::new(Room {
        slices: slice_size::<u64>(1),
        texts: 1,
    });
    KEPT.lock().unwrap().push(NonNullPointer(block.memory));
    let slice = block.slice(1, |_, _| 7_u64);
    assert!(catch_unwind(AssertUnwindSafe(|| block.finish())).is_err());
    let copy = slice.clone();
    drop(slice);
    assert_eq!(*copy, [7]);
}

#[test]
#[should_panic(expected = "larger than a block")]
fn a_block_larger_than_the_largest_is_refused() {
    let slices = LARGEST_BLOCK;
    Block::new(Room { slices, texts: 0 });
}
