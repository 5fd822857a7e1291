//! The history of a run: what users, the network and the machines do.

use crate::shape::Shape;
use seeded::Random;

/// One thing that happens. The numbers choose what exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A user creates or changes an Item.
    PutItem(u64),
    /// A user deletes an Item, and perhaps creates it again.
    DeleteItem(u64),
    /// A user creates or changes a Link.
    PutLink(u64),
    /// A user deletes a Link.
    DeleteLink(u64),
    /// A user creates or changes an object that may be patched or copied.
    PutTheirs(u64),
    /// A user deletes one of these.
    DeleteTheirs(u64),
    /// Somebody changes a derived object.
    Vandalise(u64),
    /// Somebody deletes a derived object, and perhaps puts another one there.
    DeleteDerived(u64),
    /// Users delete all Items and Links: nothing is derived any more.
    Empty,
    /// An administrator edits the Operator, or creates it.
    EditOperator(u64),
    /// An administrator deletes the Operator.
    DeleteOperator,
    /// The namespace `far` goes, or comes back.
    Namespace,
    /// So many of a hundred requests fail.
    Faults(usize),
    /// The server forgets its history.
    Compact,
    /// All watches break.
    Cut,
    /// The server begins to refuse streaming lists, or to allow them.
    StreamingLists,
    /// deltic dies, and starts again after so many milliseconds.
    Crash(u64),
    /// deltic dies with its next write.
    CrashWithWrite,
    /// deltic ends well, and starts again.
    Restart,
    /// Time passes, in milliseconds.
    Wait(u64),
    /// Faults cease until all is quiet; then the cluster must be as derived.
    Check,
}

/// A random history of an Operator. It ends with a [`Step::Check`].
pub fn history(random: &mut Random, shape: &Shape, length: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..10).map(|_| source(random, shape)).collect();
    while steps.len() < length {
        match random.below(20) {
            0..=6 => steps.push(source(random, shape)),
            7 => steps.push(disturbance(random)),
            8 => steps.push(rare(random)),
            9 | 10 => storm(random, shape, &mut steps),
            11 | 12 => steps.push(*random.pick(&[Step::Compact, Step::Cut])),
            13 | 14 => steps.push(end(random)),
            15 if random.chance(25) => steps.push(Step::Check),
            _ => steps.push(wait(random, &[20, 200, 2_000, 20_000, 90_000])),
        }
    }
    steps.push(Step::Check);
    if random.chance(30) {
        steps.extend([Step::Empty, Step::Check]);
    }
    steps
}

/// Much happens in a short time, while the network is bad.
fn storm(random: &mut Random, shape: &Shape, steps: &mut Vec<Step>) {
    steps.push(Step::Faults(*random.pick(&[5, 20, 60])));
    for _ in 0..3 + random.below(8) {
        let step = match random.below(8) {
            0..=2 => source(random, shape),
            3 | 4 => disturbance(random),
            5 => *random.pick(&[Step::Compact, Step::Cut]),
            6 if random.chance(30) => end(random),
            _ => wait(random, &[5, 50, 500, 2_000]),
        };
        steps.push(step);
    }
    steps.push(Step::Faults(0));
}

/// A change of what the Operator reads.
fn source(random: &mut Random, shape: &Shape) -> Step {
    let number = random.bits();
    let (links, theirs) = (shape.reads("Link"), shape.reads_theirs());
    match random.below(12) {
        0 | 1 if links => Step::PutLink(number),
        2 if links => Step::DeleteLink(number),
        3 | 4 if theirs => Step::PutTheirs(number),
        5 if theirs => Step::DeleteTheirs(number),
        6 | 7 => Step::DeleteItem(number),
        _ => Step::PutItem(number),
    }
}

/// A change of what is derived.
fn disturbance(random: &mut Random) -> Step {
    let number = random.bits();
    if random.chance(50) {
        Step::Vandalise(number)
    } else {
        Step::DeleteDerived(number)
    }
}

/// The process ends.
fn end(random: &mut Random) -> Step {
    let crash = Step::Crash(random.range(0..5_000));
    *random.pick(&[crash, Step::CrashWithWrite, Step::Restart])
}

fn rare(random: &mut Random) -> Step {
    let edit = Step::EditOperator(random.bits());
    *random.pick(&[
        edit,
        edit,
        Step::DeleteOperator,
        Step::Empty,
        Step::Namespace,
        Step::StreamingLists,
        Step::Wait(400_000),
    ])
}

fn wait(random: &mut Random, times: &[u64]) -> Step {
    Step::Wait(*random.pick(times))
}
