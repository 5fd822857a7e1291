//! The changes that wait for a controller until it runs.

use dataflow::SourceEvent;
use dataflow::fields::{Header, Keep, Kept};
use document::Value;
use object::ObjectName;
use operator::predicate::Update;
use operator::spec::Source;

/// What waits for a controller.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The states of objects. Of those of one object, the last one counts.
    inputs: Vec<SourceEvent>,
    /// Whether a Periodic source ticks.
    pub(super) ticks: bool,
}

/// The change of an object from outside or by a controller.
pub(super) struct Change<'a> {
    old: Option<(Header, &'a Value)>,
    new: Option<(Header, &'a Value)>,
}

impl<'a> Change<'a> {
    pub(super) fn new(old: Option<&'a Value>, new: Option<&'a Value>) -> Self {
        let with_header = |object: &'a Value| (Header::of(object), object);
        Self {
            old: old.map(with_header),
            new: new.map(with_header),
        }
    }

    /// Whether the predicate of a source lets it through.
    fn passes(&self, source: &Source) -> bool {
        let (Some((old, before)), Some((new, after))) = (&self.old, &self.new) else {
            return true;
        };
        let whole = Some((*before, *after));
        let predicate = source.predicate.as_ref().filter(|_| source.admits(old));
        predicate.is_none_or(|predicate| predicate.passes(&Update { old, new, whole }))
    }
}

impl Pending {
    /// Adds a change of an object, if the source lets it through.
    pub(super) fn change(
        &mut self,
        (input, name): (usize, &ObjectName),
        source: &Source,
        keep: &Keep,
        change: &Change<'_>,
    ) {
        if !change.passes(source) {
            return;
        }
        let new = change.new.as_ref();
        let admitted = new.filter(|(header, _)| source.admits(header));
        let kept = admitted.map(|(_, object)| keep.of(object));
        self.add(input, name.clone(), kept);
    }

    /// Adds the state of an object; `None` if it is gone.
    pub(super) fn add(&mut self, source: usize, name: ObjectName, object: Option<Kept>) {
        self.inputs.push(SourceEvent {
            source,
            name,
            object,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inputs.is_empty() && !self.ticks
    }

    /// The last state of each object, sorted by input and name.
    pub(super) fn take(&mut self) -> Vec<SourceEvent> {
        let mut events = std::mem::take(&mut self.inputs);
        // The last one of an object becomes the first, which is the one that stays.
        events.reverse();
        events.sort_by(|a, b| (a.source, &a.name).cmp(&(b.source, &b.name)));
        events.dedup_by(|next, first| (next.source, &next.name) == (first.source, &first.name));
        events
    }
}
