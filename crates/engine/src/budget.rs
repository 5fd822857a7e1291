//! What one Operator may use.

use std::time::Duration;

use document::Bounds;

/// What one Operator may use. Over it, that Operator stops with `BudgetExceeded`, and
/// the others go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Objects that the sources of a controller hold together.
    pub documents: usize,
    /// Bytes that these take; not counted if `None`.
    pub bytes: Option<usize>,
    /// Documents that one step may look at to join them.
    pub candidates: u64,
    /// Objects that a controller may derive, and documents that its joins may give in one
    /// step.
    pub outputs: usize,
    /// Operators and list items that one evaluation may take.
    pub steps: u64,
    /// What one `@cel` expression may cost.
    pub cel_cost: u64,
    /// How many bytes a derived document may have, written out.
    pub derived_bytes: u32,
    /// How long one step may take.
    pub step_time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        let (circuit, limits) = (dataflow::Budget::default(), expr::Limits::default());
        Self {
            documents: 1_000_000,
            bytes: Some(1 << 30),
            candidates: circuit.candidates,
            outputs: 1_000_000,
            steps: limits.steps,
            cel_cost: limits.cel_cost,
            derived_bytes: limits.bounds.bytes,
            step_time: Duration::from_secs(30),
        }
    }
}

impl Budget {
    /// The part that the engine keeps.
    pub fn circuit(&self) -> dataflow::Budget {
        dataflow::Budget {
            documents: self.documents,
            bytes: self.bytes,
            candidates: self.candidates,
            outputs: self.outputs,
        }
    }

    /// The part that expressions keep.
    pub fn limits(&self) -> expr::Limits {
        expr::Limits {
            steps: self.steps,
            cel_cost: self.cel_cost,
            bounds: Bounds {
                bytes: self.derived_bytes,
                ..Bounds::default()
            },
        }
    }
}
