//! Keys and the interner. `just asan` runs these tests under `AddressSanitizer`.

use std::collections::BTreeSet;
use std::thread;

use super::*;

/// Lasting keys are never freed. Their table stays reachable from here, so that they are not
/// reported as leaks.
static KEPT: Mutex<Vec<Interner>> = Mutex::new(Vec::new());

fn keep(interner: Interner) {
    KEPT.lock().expect("no test fails here").push(interner);
}

#[test]
fn equal_text_is_one_key() {
    assert_eq!(Key::new("metadata"), Key::new("metadata"));
    assert_ne!(Key::new("metadata"), Key::new("spec"));
    assert!(Key::new("a") < Key::new("b"));
}

#[test]
fn the_hash_has_a_seed_of_its_own_in_every_process() {
    let hash = || Seed::random().hash("metadata");
    assert_ne!(hash(), hash());
    let seed = Seed::new(1);
    assert_eq!(seed.hash("metadata"), seed.hash("metadata"));
}

#[test]
fn keys_are_ordered_by_their_text() {
    let mut keys: Vec<Key> = (0..1000)
        .rev()
        .map(|i| Key::new(&format!("{i:04}")))
        .collect();
    keys.sort();
    let texts: Vec<String> = keys.iter().map(Key::to_string).collect();
    assert!(texts.is_sorted());
}

#[test]
fn the_shards_leave_all_bits_to_the_table_that_it_uses() {
    let seed = Seed::new(1);
    let mut shards: [Vec<u64>; SHARDS] = Default::default();
    for number in 0..64_000 {
        let hash = seed.hash(&format!("key-{number}"));
        shards[shard(hash)].push(hash);
    }
    for hashes in &shards {
        assert!((3000..5000).contains(&hashes.len()), "{}", hashes.len());
        let kinds = |bits: fn(&u64) -> u64| {
            let kinds: BTreeSet<u64> = hashes.iter().map(bits).collect();
            kinds.len()
        };
        assert_eq!(kinds(|hash| hash >> 57), 128, "tags");
        assert_eq!(kinds(|hash| hash & 0x7f), 128, "buckets");
    }
}

fn interned(interner: &mut Interner, numbers: std::ops::Range<usize>) -> Vec<Key> {
    let texts = numbers.map(|number| format!("key-{number}"));
    texts
        .map(|text| interner.intern(KEYS.seed.hash(&text), &text))
        .collect()
}

#[test]
fn unused_keys_are_dropped() {
    let mut interner = Interner::new();
    for number in 0..100_000 {
        interned(&mut interner, number..number + 1);
    }
    assert!(interner.keys.len() <= FIRST_SWEEP + 1);
    assert_eq!(interner.lasting, LASTING_KEYS);
    keep(interner);
}

#[test]
fn used_keys_stay() {
    let mut interner = Interner::new();
    let numbers = 0..LASTING_KEYS + 10;
    let keys = interned(&mut interner, numbers.clone());
    let copies = keys.clone();
    drop(keys);
    interned(&mut interner, 10_000..20_000);
    assert_eq!(interned(&mut interner, numbers), copies);
    assert_eq!(copies.last().unwrap().as_str(), "key-2057");
    assert!(!copies.last().unwrap().is_unused());
    assert!(!copies[0].is_unused(), "it lasts");
    keep(interner);
}

#[test]
fn long_keys_do_not_last() {
    let mut interner = Interner::new();
    let text = "k".repeat(LASTING_LENGTH + 1);
    let key = interner.intern(KEYS.seed.hash(&text), &text);
    assert_eq!((key.as_str(), interner.lasting), (text.as_str(), 0));
    drop(key);
    assert!(interner.keys.iter().all(Key::is_unused));
}

#[test]
fn a_key_is_its_text_of_any_length() {
    for length in 0..300 {
        let text = "é".repeat(length);
        let key = Key::new(&text);
        assert_eq!(key.as_str(), text);
        assert_eq!(key.lasts(), text.len() <= LASTING_LENGTH);
        assert_eq!(key, Key::new(&text));
    }
}

#[test]
fn threads_make_drop_and_sweep_keys() {
    // No key is lasting, so all are counted.
    let interner = Mutex::new(Interner {
        lasting: LASTING_KEYS,
        ..Interner::new()
    });
    thread::scope(|scope| {
        for start in 0..4_usize {
            let interner = &interner;
            scope.spawn(move || {
                let mut held: Vec<Key> = Vec::new();
                for i in 0..20_000_usize {
                    let number = (start * 1000 + i * 7) % 6000;
                    let mut keys = interned(&mut interner.lock().unwrap(), number..number + 1);
                    let key = keys.remove(0);
                    assert_eq!(key.as_str(), format!("key-{number}"));
                    held.push(key);
                    held.truncate(100 - i % 100);
                }
            });
        }
    });
    let mut interner = interner.into_inner().unwrap();
    interner.sweep();
    assert_eq!(interner.keys.len(), 0);
}
