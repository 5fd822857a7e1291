//! Keeps a panic inside one Operator.
//!
//! An engine consists of several tasks, and parts of its code run in tasks of others: a shared
//! watch calls the sinks of all Operators that read the kind. A panic in any of these places ends
//! the engine, which is then started again (`supervisor.rs`). Otherwise an Operator whose reader
//! of a view has failed would look alive and do nothing.
//!
//! The task of an Operator, which starts and stops its engine and writes its status, catches its own
//! panics. The tasks that belong to no Operator are in `background.rs`.
//!
//! Each place is a [`Boundary`]. Tests make the code fail there with [`FailPoints`].

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::background::Chore;
use crate::turns::Turn;

/// A part of the code in which a panic is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The start of the engine, and its main task.
    Engine,
    /// A batch: the steps of the circuits, and writing views.
    Batch,
    /// A deadline or a tick: what is due is found.
    Time,
    /// The removal of all objects, because the Operator is being deleted.
    Removal,
    /// The status, as the engine computes it.
    Report,
    /// The end of the engine.
    Stop,
    /// The delivery of a source's objects.
    Source,
    /// The delivery of a target kind's objects.
    Target,
    /// The reader of a view.
    View,
    /// The queue of the writer.
    Queue,
    /// One run of the writer, for one object.
    Write,
    /// The watch of namespaces that objects wait for.
    Namespaces,
    /// The task of the Operator.
    Operator,
    /// Reading the spec, and the policy for it.
    Spec,
    /// Adding or removing the finalizer.
    Finalizer,
    /// Writing the status to the Operator.
    Publish,
    /// A task of the process.
    Chore(Chore),
}

impl Boundary {
    /// All boundaries of an Operator.
    pub const ALL: [Self; 16] = [
        Self::Engine,
        Self::Batch,
        Self::Time,
        Self::Removal,
        Self::Report,
        Self::Stop,
        Self::Source,
        Self::Target,
        Self::View,
        Self::Queue,
        Self::Write,
        Self::Namespaces,
        Self::Operator,
        Self::Spec,
        Self::Finalizer,
        Self::Publish,
    ];
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Engine => "the engine",
            Self::Batch => "a batch",
            Self::Time => "a deadline or tick",
            Self::Removal => "the removal of all objects",
            Self::Report => "the report of the status",
            Self::Stop => "the end of the engine",
            Self::Source => "the delivery of a source",
            Self::Target => "the delivery of a target",
            Self::View => "the reader of a view",
            Self::Queue => "the queue of the writer",
            Self::Write => "the write of an object",
            Self::Namespaces => "the watch of namespaces",
            Self::Operator => "the task of the Operator",
            Self::Spec => "the reading of the spec",
            Self::Finalizer => "the write of the finalizer",
            Self::Publish => "the write of the status",
            Self::Chore(chore) => chore.name(),
        })
    }
}

/// A function that is called with the name of an Operator whenever its code passes a
/// [`Boundary`]; the name is empty for a task of the process. A test panics in it. The boundaries
/// are passed once for each batch, list or write, not for each object that is read.
#[derive(Clone, Default)]
pub struct FailPoints(Option<Arc<Pass>>);

type Pass = dyn Fn(&str, Boundary) + Send + Sync;

impl FailPoints {
    /// Calls `pass` at each boundary.
    pub fn new(pass: impl Fn(&str, Boundary) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(pass)))
    }

    /// The code of an Operator passes a boundary.
    pub fn pass(&self, operator: &str, boundary: Boundary) {
        if let Some(pass) = &self.0 {
            pass(operator, boundary);
        }
    }
}

impl fmt::Debug for FailPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FailPoints")
            .field(&self.0.is_some())
            .finish()
    }
}

/// Reports the panics of one engine to its supervisor. Clones belong to the same engine.
#[derive(Clone, Debug, Default)]
pub struct Guard(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    operator: String,
    points: FailPoints,
    crashed: watch::Sender<Option<Boundary>>,
    /// All tasks of the engine hold a guard. The next engine of the Operator starts when they
    /// have ended.
    _turn: Turn,
}

impl Guard {
    pub(crate) fn new(operator: &str, points: FailPoints, turn: Turn) -> Self {
        Self(Arc::new(Shared {
            operator: operator.to_owned(),
            points,
            crashed: watch::Sender::default(),
            _turn: turn,
        }))
    }

    /// Passes a boundary, where a test may panic.
    pub(crate) fn pass(&self, boundary: Boundary) {
        self.0.points.pass(&self.0.operator, boundary);
    }

    /// Runs a part of the engine. A panic in it is reported and passed on.
    pub(crate) fn run<T>(&self, boundary: Boundary, part: impl FnOnce() -> T) -> T {
        let done = catch_unwind(AssertUnwindSafe(|| {
            self.pass(boundary);
            part()
        }));
        done.unwrap_or_else(|panic| {
            self.crashed(boundary);
            resume_unwind(panic)
        })
    }

    /// Reports a panic.
    pub(crate) fn crashed(&self, boundary: Boundary) {
        self.0.crashed.send_if_modified(|first| {
            let news = first.is_none();
            first.get_or_insert(boundary);
            news
        });
    }

    /// The first panic so far.
    pub(crate) fn first(&self) -> Option<Boundary> {
        *self.0.crashed.borrow()
    }

    /// Waits for the first panic.
    pub(crate) async fn crash(&self) -> Boundary {
        let mut crashed = self.0.crashed.subscribe();
        match crashed.wait_for(Option::is_some).await.map(|first| *first) {
            Ok(Some(boundary)) => boundary,
            // The sender is in `self`.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Spawns a task of the engine, and reports it if it panics.
    pub(crate) fn spawn(
        &self,
        boundary: Boundary,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let guard = self.clone();
        tokio::spawn(async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                guard.crashed(boundary);
            }
        })
    }
}
