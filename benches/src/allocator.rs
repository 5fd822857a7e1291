//! The allocator of all peers: mimalloc, which counts requested bytes while asked to.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

use mimalloc::MiMalloc;

/// mimalloc that counts. Counting is off while time is measured.
#[derive(Debug)]
pub struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// Bytes that were requested since counting began and not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Now.
    pub live: isize,
    /// The most at any time.
    pub peak: isize,
}

/// Counts from here on, until the process ends.
pub fn start_counting() {
    COUNTING.store(true, Relaxed);
}

/// The bytes so far.
pub fn bytes() -> Bytes {
    Bytes {
        live: LIVE.load(Relaxed),
        peak: PEAK.load(Relaxed),
    }
}

#[inline]
fn count(change: isize) {
    if COUNTING.load(Relaxed) {
        let live = LIVE.fetch_add(change, Relaxed) + change;
        if change > 0 {
            PEAK.fetch_max(live, Relaxed);
        }
    }
}

/// The size of a layout; no layout is larger than `isize::MAX`.
#[inline]
fn size(layout: Layout) -> isize {
    layout.size().cast_signed()
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: every call is handed to mimalloc as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout));
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size.cast_signed() - size(layout));
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.realloc(pointer, layout, new_size) }
    }
}
