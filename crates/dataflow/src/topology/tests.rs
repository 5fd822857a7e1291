//! Topologies, compared with slow and simple definitions.

// The seeds are printed, so that a failing one can be repeated.
#![allow(clippy::print_stdout)]

use seeded::Random;

use super::Topology;

/// What each actor reads and writes.
type Actors = Vec<(Vec<usize>, Vec<usize>)>;

fn feeds(actors: &Actors, from: usize, to: usize) -> bool {
    let (writes, reads) = (&actors[from].1, &actors[to].0);
    writes.iter().any(|thing| reads.contains(thing))
}

fn slow_order(actors: &Actors) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < actors.len() {
        let waiting: Vec<usize> = (0..actors.len())
            .filter(|actor| !order.contains(actor))
            .collect();
        let ready = waiting.iter().find(|&&i| {
            let mut others = waiting.iter().filter(|&&j| j != i);
            others.all(|&j| !feeds(actors, j, i))
        });
        order.push(*ready.unwrap_or(&waiting[0]));
    }
    order
}

/// For each actor, which actors read what is derived from its output.
fn slow_reached(actors: &Actors) -> Vec<Vec<bool>> {
    (0..actors.len())
        .map(|start| {
            let mut reached = vec![false; actors.len()];
            let mut stack = vec![start];
            while let Some(from) = stack.pop() {
                let next: Vec<usize> = (0..actors.len())
                    .filter(|to| feeds(actors, from, *to) && !reached[*to])
                    .collect();
                for to in &next {
                    reached[*to] = true;
                }
                stack.extend(next);
            }
            reached
        })
        .collect()
}

fn slow_cycles(actors: &Actors) -> Vec<bool> {
    let reached = slow_reached(actors);
    (0..actors.len())
        .map(|actor| reached[actor][actor])
        .collect()
}

fn slow_feeders(actors: &Actors) -> Vec<Vec<usize>> {
    let reached = slow_reached(actors);
    let of = |reader: usize| {
        let others = (0..actors.len()).filter(|&other| other != reader);
        others.filter(|&other| reached[other][reader]).collect()
    };
    (0..actors.len()).map(of).collect()
}

#[test]
fn random_topologies_equal_the_slow_definitions() {
    let seeds = seeded::seeds(2_000);
    println!("seeds {seeds:?}");
    for seed in seeds {
        let mut random = Random::new(seed);
        let things = 1 + random.below(8);
        let mut some = || -> Vec<usize> {
            let count = random.below(3);
            (0..count).map(|_| random.below(things)).collect()
        };
        let actors: Actors = (0..8).map(|_| (some(), some())).collect();
        let topology = Topology::new(actors.iter().cloned());
        assert_eq!(topology.order(), slow_order(&actors), "seed {seed}");
        assert_eq!(
            in_cycles(topology.cycles(|_| true), actors.len()),
            slow_cycles(&actors),
            "seed {seed}"
        );
        assert_eq!(topology.feeders(), slow_feeders(&actors), "seed {seed}");
    }
}

#[test]
fn many_actors_on_one_thing_are_ordered_at_once() {
    let all = vec![(vec![0], vec![0]); 20_000];
    let topology = Topology::new(all.into_iter());
    assert_eq!(topology.order(), (0..20_000).collect::<Vec<_>>());
    let all: Vec<usize> = (0..20_000).collect();
    assert_eq!(topology.cycles(|_| true), [all]);
}

#[test]
fn an_actor_that_does_not_see_its_own_output_is_in_no_cycle() {
    let blind = |actors: &Actors| Topology::new(actors.iter().cloned()).cycles(|_| false);
    let (own, other) = ((vec![0], vec![0]), (vec![0], vec![1]));
    assert!(blind(&vec![own.clone(), other]).is_empty());
    // Each of two sees the output of the other.
    assert_eq!(blind(&vec![own.clone(), own]), [[0, 1]]);
}

#[test]
fn each_cycle_is_listed_once() {
    let actors: Actors = vec![
        (vec![1], vec![0]),
        (vec![2], vec![3]),
        (vec![0], vec![1]),
        (vec![3], vec![2]),
        (vec![0, 2], vec![4]),
    ];
    let topology = Topology::new(actors.into_iter());
    assert_eq!(topology.cycles(|_| true), [[0, 2], [1, 3]]);
}

/// For each actor, whether it is in a cycle.
fn in_cycles(cycles: Vec<Vec<usize>>, actors: usize) -> Vec<bool> {
    let mut found = vec![false; actors];
    for member in cycles.into_iter().flatten() {
        found[member] = true;
    }
    found
}
