//! The memory that a test holds.
//!
//! ```
//! use seeded::memory::{Counting, live, peak_of};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let before = live();
//! let held = vec![0_u8; 1000];
//! assert_eq!(live() - before, 1000);
//! drop(held);
//! assert_eq!(peak_of(|| drop(vec![0_u8; 2000])), 2000);
//! ```

#![allow(unsafe_code)] // An allocator is unsafe by its signature; this one only counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The allocator of the system, which counts the bytes of each thread.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The bytes that this thread has allocated and not freed. Always 0 unless [`Counting`] is the
/// global allocator.
pub fn live() -> isize {
    LIVE.get()
}

/// The most bytes that this thread holds while `run` runs, in addition to those that it held before.
/// Always 0 unless [`Counting`] is the global allocator.
pub fn peak_of(run: impl FnOnce()) -> usize {
    let before = live();
    PEAK.set(before);
    run();
    (PEAK.get() - before).unsigned_abs()
}

fn count(bytes: isize) {
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}
