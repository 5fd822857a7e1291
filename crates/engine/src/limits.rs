//! How many objects are written at the same time, and how long a failed write pauses.
//!
//! `options.concurrency` and `options.retry` belong to a controller, but several controllers
//! may write one object. The object then gets the largest limit and the longest pauses of them.
//! So no controller waits because of another one's smaller limit, and the server gets the
//! longest pause that any of them asks for.

use std::cmp::Reverse;
use std::sync::Arc;

use controller::Backoff;
use object::ObjectKey;
use operator::Operator;
use operator::spec::Options;

use crate::writer::Writer;

/// The limits of an Operator's controllers, for the objects that they write.
#[derive(Clone)]
pub(super) struct Limits {
    writer: Arc<Writer>,
    /// By name, in the order of the spec.
    controllers: Arc<[(String, Options)]>,
}

impl Limits {
    pub(super) fn new(operator: &Operator, writer: Arc<Writer>) -> Self {
        let controllers = operator.controllers.iter();
        let controllers = controllers.map(|c| (c.name.clone(), c.options.clone()));
        Self {
            writer,
            controllers: controllers.collect(),
        }
    }

    /// The size of each pool: one pool for each controller, and a last one for objects that no
    /// controller of the spec writes, such as leftovers of a removed controller.
    pub(super) fn pools(&self) -> Vec<u16> {
        let controllers = self
            .controllers
            .iter()
            .map(|(_, options)| options.concurrency);
        let all = controllers.chain([Options::default().concurrency]);
        all.map(|limit| u16::try_from(limit).unwrap_or(u16::MAX))
            .collect()
    }

    /// The pool of an object: that of its controller with the largest limit, or the first of
    /// equal ones.
    pub(super) fn pool(&self, key: &ObjectKey) -> usize {
        let writers = self.writers(key);
        let largest = writers.max_by_key(|(position, o)| (o.concurrency, Reverse(*position)));
        largest.map_or(self.controllers.len(), |(position, _)| position)
    }

    /// The pauses after failed writes of an object: the longest of its controllers.
    pub(super) fn backoff(&self, key: &ObjectKey) -> Backoff {
        let pauses = self.writers(key).map(|(_, options)| backoff(options));
        let longest = pauses.reduce(|one, other| Backoff {
            initial: one.initial.max(other.initial),
            max: one.max.max(other.max),
        });
        longest.unwrap_or_else(Self::default_backoff)
    }

    /// The pauses for objects that no controller of the spec writes.
    pub(super) fn default_backoff() -> Backoff {
        backoff(&Options::default())
    }

    /// The controllers that write an object, by position.
    fn writers(&self, key: &ObjectKey) -> impl Iterator<Item = (usize, &Options)> {
        let names = self.writer.controllers_of(key);
        let controllers = self.controllers.iter().enumerate();
        controllers.filter_map(move |(position, (name, options))| {
            names.contains(name).then_some((position, options))
        })
    }
}

/// Refused writes are tried again after twice the longest pause of their controller.
pub(super) fn retry_refused(operator: &Operator, writer: Writer) -> Writer {
    let controllers = operator.controllers.iter();
    controllers.fold(writer, |writer, controller| {
        // 10 minutes with the default of 5 minutes.
        let every = controller.options.retry_max.saturating_mul(2);
        writer.retry_refused(&controller.name, every)
    })
}

fn backoff(options: &Options) -> Backoff {
    Backoff {
        initial: options.retry_initial,
        max: options.retry_max,
    }
}
