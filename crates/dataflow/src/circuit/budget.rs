//! The limits of a circuit. A circuit that exceeds one stops: its state is incomplete, so
//! every later step returns the same error.

/// The limits of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Objects in all sources together.
    pub documents: usize,
    /// Bytes of the documents of all sources together, and of the documents that `@unwind` puts out
    /// in one step; `None` for no limit (4 GiB for `@unwind`).
    pub bytes: Option<usize>,
    /// Join candidates that one step may check.
    pub candidates: u64,
    /// Documents that the joins of one step may put out.
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

/// What circuits use of a budget that they share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Objects in their sources.
    pub documents: usize,
    /// Bytes of these objects; 0 without a limit.
    pub bytes: usize,
    /// Join candidates that were checked.
    pub candidates: u64,
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
    #[error("the joins of one step checked more than {0} candidates")]
    Candidates(u64),
    /// Too many joined documents.
    #[error("the joins of one step put out more than {0} documents")]
    Outputs(usize),
    /// Too many elements of lists.
    #[error("the elements that @unwind puts out in one step take more than {0} bytes")]
    Unwound(usize),
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
            Self::Unwound(_) => "budget-unwound",
            Self::Time => "budget-time",
        }
    }
}
