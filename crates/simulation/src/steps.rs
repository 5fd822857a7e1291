//! The steps of a history: actions of users, of the network and of machines.

use crate::shape::Shape;
use seeded::Random;

/// One step. The number in it selects the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A user creates or changes an Item.
    PutItem(u64),
    /// A user deletes an Item, and possibly creates it again.
    DeleteItem(u64),
    /// A user creates or changes a Link.
    PutLink(u64),
    /// A user deletes a Link.
    DeleteLink(u64),
    /// A user creates or changes an object that may be patched or copied.
    PutUserObject(u64),
    /// A user deletes one of these.
    DeleteUserObject(u64),
    /// Somebody changes a derived object.
    Vandalise(u64),
    /// Somebody deletes a derived object, and possibly creates another one with that name.
    DeleteDerived(u64),
    /// Users delete all Items and Links, so that nothing is derived.
    Empty,
    /// An administrator edits the Operator, or creates it.
    EditOperator(u64),
    /// An administrator deletes the Operator.
    DeleteOperator,
    /// An administrator deletes the Operator, and creates it again at once.
    ReplaceOperator(u64),
    /// The namespace `far` is deleted or created.
    Namespace,
    /// Sets the percentage of requests that fail.
    Faults(usize),
    /// The server drops its history.
    Compact,
    /// All watches break.
    Cut,
    /// The server starts or stops refusing streaming lists.
    StreamingLists,
    /// deltic dies, and starts again after this many milliseconds.
    Crash(u64),
    /// deltic dies with its next write.
    CrashWithWrite,
    /// deltic is shut down, and starts again.
    Restart,
    /// Time passes, in milliseconds.
    Wait(u64),
    /// Faults end. When the cluster is quiet, it must have the derived state.
    Check,
}

/// A random history for an Operator, which ends with a [`Step::Check`].
pub fn history(random: &mut Random, shape: &Shape, length: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..10).map(|_| source(random, shape)).collect();
    while steps.len() < length {
        match random.below(20) {
            0..=6 => steps.push(source(random, shape)),
            7 => steps.push(disturbance(random)),
            8 => steps.push(uncommon(random)),
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

/// Many steps in a short time, on a bad network.
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

/// A change of a source object.
fn source(random: &mut Random, shape: &Shape) -> Step {
    let number = random.bits();
    let (links, objects) = (shape.reads("Link"), shape.reads_user_objects());
    match random.below(12) {
        0 | 1 if links => Step::PutLink(number),
        2 if links => Step::DeleteLink(number),
        3 | 4 if objects => Step::PutUserObject(number),
        5 if objects => Step::DeleteUserObject(number),
        6 | 7 => Step::DeleteItem(number),
        _ => Step::PutItem(number),
    }
}

/// A change of a derived object.
fn disturbance(random: &mut Random) -> Step {
    let number = random.bits();
    if random.chance(50) {
        Step::Vandalise(number)
    } else {
        Step::DeleteDerived(number)
    }
}

/// An end of the process.
fn end(random: &mut Random) -> Step {
    let crash = Step::Crash(random.range(0..5_000));
    *random.pick(&[crash, Step::CrashWithWrite, Step::Restart])
}

fn uncommon(random: &mut Random) -> Step {
    let edit = Step::EditOperator(random.bits());
    let replace = Step::ReplaceOperator(random.bits());
    *random.pick(&[
        edit,
        edit,
        Step::DeleteOperator,
        replace,
        Step::Empty,
        Step::Namespace,
        Step::StreamingLists,
        Step::Wait(400_000),
    ])
}

fn wait(random: &mut Random, times: &[u64]) -> Step {
    Step::Wait(*random.pick(times))
}
