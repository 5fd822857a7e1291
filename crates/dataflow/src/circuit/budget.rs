//! The limits of a circuit. They cannot be exceeded: the circuit stops first.

/// What a circuit may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Objects that all sources hold together.
    pub documents: usize,
    /// Bytes that the documents of all sources take together; not counted if `None`.
    pub bytes: Option<usize>,
    /// Documents that one step may look at to join them.
    pub candidates: u64,
    /// Documents that the joins of one step may give.
    pub outputs: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            documents: 10_000_000,
            bytes: None,
            candidates: 100_000_000,
            outputs: 10_000_000,
        }
    }
}

/// A budget was exceeded: the circuit has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// Too many objects.
    #[error("the sources hold more than {0} objects")]
    Documents(usize),
    /// Too much memory.
    #[error("the documents of the sources take more than {0} bytes")]
    Bytes(usize),
    /// Too many join candidates.
    #[error("a join looked at more than {0} candidates in one step")]
    Candidates(u64),
    /// Too many joined documents.
    #[error("the joins of one step give more than {0} documents")]
    Outputs(usize),
    /// The step was interrupted, see [`expr::Interrupt`].
    #[error("one step takes too long")]
    Time,
}

impl BudgetError {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Documents(_) => "budget-documents",
            Self::Bytes(_) => "budget-bytes",
            Self::Candidates(_) => "budget-candidates",
            Self::Outputs(_) => "budget-outputs",
            Self::Time => "budget-time",
        }
    }
}
