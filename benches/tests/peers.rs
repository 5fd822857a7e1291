//! All peers give the same outputs: after every update, not only in the end.

use std::collections::BTreeMap;

use benches::differential::{Closures, Differential};
use benches::engine::{Engine, FromScratch, SharedWatch};
use benches::{Generator, Object, Outcome, Peer, Workload, hand};

/// What reads an object for a peer.
type Read<P> = Box<dyn Fn(&Object) -> <P as Peer>::Input>;

/// A peer and the target objects that its changes add up to.
struct Fold<P: Peer> {
    peer: P,
    read: Read<P>,
    state: BTreeMap<(String, String), document::Value>,
}

impl<P: Peer> Fold<P> {
    fn new(workload: Workload) -> Self {
        Self {
            peer: P::new(workload),
            read: Box::new(P::reader(workload)),
            state: BTreeMap::new(),
        }
    }

    /// Applies a batch and checks that what a change says was there, was there.
    fn apply<'a>(&mut self, objects: impl IntoIterator<Item = &'a Object>) -> usize {
        let mut changes = Vec::new();
        let objects = objects.into_iter().map(|object| (self.read)(object));
        self.peer.apply(objects, &mut changes);
        for change in &changes {
            let Outcome { key, old, new } = P::outcome(change);
            assert_eq!(P::key(change), key);
            assert_ne!(old, new, "a change that is none: {key:?}");
            let stored = match new {
                Some(new) => self.state.insert(key, new),
                None => self.state.remove(&key),
            };
            assert_eq!(stored, old);
        }
        changes.len()
    }
}

/// Runs two peers side by side.
fn check<A: Peer, B: Peer>(workload: Workload, count: usize, updates: usize) {
    let generator = Generator::new(workload, count);
    let (mut a, mut b) = (Fold::<A>::new(workload), Fold::<B>::new(workload));
    let objects: Vec<_> = generator.objects().collect();
    a.apply(&objects);
    b.apply(&objects);
    assert!(!a.state.is_empty());
    assert_eq!(a.state, b.state);
    for (_, updates) in generator.updates(updates) {
        for update in &updates {
            let changes = a.apply([update]);
            assert!(changes > 0, "an update without a change");
            assert_eq!(changes, b.apply([update]));
            assert_eq!(a.state, b.state);
        }
    }
    // The same objects once more, in one batch: back to where it began.
    a.apply(&objects);
    b.apply(&objects);
    assert_eq!(a.state, b.state);
}

#[test]
fn hand_and_differential_agree() {
    check::<hand::W1, Differential>(Workload::W1, 500, 150);
    check::<hand::W2, Differential>(Workload::W2, 500, 150);
    check::<hand::W3, Differential>(Workload::W3, 500, 150);
}

#[test]
fn the_engine_agrees_with_differential() {
    for workload in Workload::ALL {
        check::<Engine, Differential>(workload, 500, 150);
    }
}

#[test]
fn a_shared_watch_gives_the_same() {
    for workload in Workload::ALL {
        check::<Engine, SharedWatch>(workload, 200, 50);
    }
}

#[test]
fn the_engine_agrees_with_the_from_scratch_evaluator() {
    for workload in Workload::ALL {
        check::<Engine, FromScratch>(workload, 100, 5);
    }
}

#[test]
fn the_pipeline_and_the_program_agree_on_differential() {
    for workload in Workload::ALL {
        check::<Differential, Closures>(workload, 500, 150);
    }
}

/// Objects of W1 with the service name of every slice moved on by one.
fn moved(objects: &[Object]) -> Vec<Object> {
    let label = "\"kubernetes.io/service-name\":\"";
    let name = |object: &Object| {
        let start = object.line.find(label)? + label.len();
        let end = start + object.line[start..].find('"')?;
        Some(start..end)
    };
    let slices: Vec<_> = objects.iter().filter(|o| name(o).is_some()).collect();
    let next = slices.iter().cycle().skip(1);
    let moved = slices.iter().zip(next).filter_map(|(slice, next)| {
        let other = &next.line[name(next)?];
        let mut line = slice.line.clone();
        line.replace_range(name(slice)?, other);
        Some(Object {
            source: slice.source,
            line,
        })
    });
    moved.collect()
}

#[test]
fn peers_agree_when_join_keys_and_group_keys_change() {
    let objects: Vec<_> = Generator::new(Workload::W1, 400).objects().collect();
    let mut hand = Fold::<hand::W1>::new(Workload::W1);
    let mut theirs = Fold::<Differential>::new(Workload::W1);
    for batch in [objects.clone(), moved(&objects), objects] {
        for object in &batch {
            hand.apply([object]);
            theirs.apply([object]);
        }
        assert_eq!(hand.state, theirs.state);
    }
    let objects: Vec<_> = Generator::new(Workload::W3, 200).objects().collect();
    let mut hand = Fold::<hand::W3>::new(Workload::W3);
    let mut theirs = Fold::<Closures>::new(Workload::W3);
    for batch in [objects.clone(), moved(&objects), objects] {
        for object in &batch {
            hand.apply([object]);
            theirs.apply([object]);
        }
        assert_eq!(hand.state, theirs.state);
    }
}
