//! The resources that one Operator may use.

use std::time::Duration;

use document::Bounds;

/// The resources that one Operator may use. An Operator that exceeds one of these limits stops
/// with `BudgetExceeded`; others are not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Objects in the sources of all controllers together. An object that two sources read counts
    /// twice.
    pub documents: usize,
    /// Bytes of memory for these; unlimited if `None`.
    pub bytes: Option<usize>,
    /// Documents that one batch may compare to join them.
    pub candidates: u64,
    /// Objects that all controllers together may derive, and documents that the joins of one
    /// controller may yield in one batch.
    pub outputs: usize,
    /// Functions and list items that one evaluation of an expression may process.
    pub steps: u64,
    /// The cost of one `@cel` expression.
    pub cel_cost: u64,
    /// The size of a derived document in bytes, as JSON.
    pub derived_bytes: u32,
    /// How long a controller may work on one batch.
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

/// What the other controllers of an Operator use of its budget.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UsedByOthers {
    /// What their circuits hold, and the candidates that were checked in this batch.
    pub(crate) circuits: dataflow::Usage,
    /// The objects that they derive.
    pub(crate) outputs: usize,
}

impl Budget {
    /// The limits that a circuit enforces.
    pub fn circuit(&self) -> dataflow::Budget {
        dataflow::Budget {
            documents: self.documents,
            bytes: self.bytes,
            candidates: self.candidates,
            outputs: self.outputs,
        }
    }

    /// The limits that expressions enforce.
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
