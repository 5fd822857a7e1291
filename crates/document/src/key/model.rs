//! The interner under loom, which runs each test in the orders that threads can take.

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::*;
use crate::sync::Seen;

/// An interner that makes no lasting keys, because those are not counted.
fn interner() -> Arc<Mutex<Interner>> {
    Arc::new(Mutex::new(Interner {
        lasting: LASTING_KEYS,
        ..Interner::new()
    }))
}

fn intern(interner: &Mutex<Interner>) -> Key {
    interner.lock().unwrap().intern(1, "key")
}

fn sweep(interner: &Mutex<Interner>) -> usize {
    let mut interner = interner.lock().unwrap();
    interner.sweep();
    interner.keys.len()
}

#[test]
fn two_threads_get_the_same_key() {
    loom::model(|| {
        let interner = interner();
        let other = Arc::clone(&interner);
        let thread = thread::spawn(move || intern(&other));
        let key = intern(&interner);
        let theirs = thread.join().unwrap();
        assert_eq!(key, theirs);
        assert_eq!((key.as_str(), key.quick_hash()), ("key", 1));
        drop(theirs);
        assert_eq!(sweep(&interner), 1, "it is in use");
        drop(key);
        assert_eq!(sweep(&interner), 0);
    });
}

#[test]
fn a_key_is_swept_while_it_is_dropped() {
    let seen = Seen::default();
    let outcomes = seen.clone();
    loom::model(move || {
        let interner = interner();
        let key = intern(&interner);
        let (other, outcomes) = (Arc::clone(&interner), outcomes.clone());
        let sweeping = thread::spawn(move || outcomes.note(sweep(&other) == 0));
        let copy = key.clone();
        drop(key);
        assert_eq!(copy.as_str(), "key");
        drop(copy);
        sweeping.join().unwrap();
        assert_eq!(sweep(&interner), 0);
    });
    seen.check();
}

#[test]
fn a_key_is_made_again_while_it_is_dropped_and_swept() {
    let seen = Seen::default();
    let outcomes = seen.clone();
    loom::model(move || {
        let interner = interner();
        let key = intern(&interner);
        let (other, outcomes) = (Arc::clone(&interner), outcomes.clone());
        let sweeping = thread::spawn(move || outcomes.note(sweep(&other) == 0));
        let other = Arc::clone(&interner);
        let making = thread::spawn(move || {
            let key = intern(&other);
            assert_eq!(key.as_str(), "key");
            key
        });
        drop(key);
        sweeping.join().unwrap();
        let key = making.join().unwrap();
        assert_eq!(key, intern(&interner), "it is in the table");
    });
    seen.check();
}
