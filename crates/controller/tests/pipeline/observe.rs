//! Observability: spans, counters and times.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller::{Next, Observer, Runner, queue};
use futures::{StreamExt, future};
use tokio::time::sleep;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{NOW, Why, ms};

/// Records new spans, and events with the span that was entered last.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    spans: Vec<String>,
    entered: Vec<u64>,
    events: Vec<String>,
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Trace {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::INFO
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut text = attributes.metadata().name().to_owned();
        attributes.record(&mut Fields(&mut text));
        let mut inner = self.0.lock().unwrap();
        inner.spans.push(text);
        Id::from_u64(inner.spans.len() as u64)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = String::new();
        event.record(&mut Fields(&mut text));
        let mut inner = self.0.lock().unwrap();
        let span = inner
            .entered
            .last()
            .map_or("", |id| &inner.spans[*id as usize - 1])
            .to_owned();
        inner.events.push(format!("{span}:{text}"));
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn each_run_is_in_a_span_with_its_reason() {
    let trace = Trace::default();
    let _guard = tracing::subscriber::set_default(trace.clone());
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("changed"), NOW);
    queue.trigger("B", Why("resync"), ms(10));
    drop(queue);
    let run = |_: &&str, _: &Why| async {
        sleep(ms(20)).await;
        tracing::info!("writing");
    };
    Runner::new(receiver, run, |_, ()| Next::Done).count().await;
    let inner = trace.0.lock().unwrap();
    let spans = [
        "reconcile object.ref=A object.reason=changed",
        "reconcile object.ref=B object.reason=resync",
    ];
    assert_eq!(inner.spans, spans);
    assert_eq!(
        inner.events,
        spans.map(|span| format!("{span}: message=writing"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_depth_counts_due_keys_that_wait_for_a_slot() {
    let (queue, receiver) = queue(NOW);
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| sleep(ms(1000)),
        |_, ()| Next::Retry(ms(5000)),
    )
    .concurrency(1)
    .shutdown_on(sleep(ms(2500)));
    let feed = async {
        for key in ["A", "B", "B", "C"] {
            queue.trigger(key, Why("changed"), NOW);
        }
        queue.trigger("D", Why("resync"), ms(9000));
        sleep(ms(500)).await;
        queue.trigger("A", Why("changed"), NOW);
        // A runs and is triggered again, and D is delayed.
        assert_eq!(queue.depth(), 2);
        sleep(ms(1000)).await;
        // B runs. A has to run again at once, and not after the pause of its failure.
        assert_eq!(queue.depth(), 2);
    };
    future::join(feed, runner.count()).await;
}

#[derive(Default)]
struct Times(Mutex<Vec<String>>);

impl Observer<&'static str, Why> for Times {
    fn added(&self) {
        self.0.lock().unwrap().push("added".to_owned());
    }

    fn started(&self, key: &&'static str, reason: &Why, waited: Duration) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{key} starts for {reason} after {waited:?}"));
    }

    fn finished(&self, key: &&'static str, _: &Why, took: Duration, next: Next) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{key} took {took:?}: {next:?}"));
    }
}

/// Counts like client-go: a trigger of a waiting key is not an add; one of a running key is, and so
/// are requeues and retries.
#[tokio::test(start_paused = true)]
async fn an_observer_is_called_for_keys_added_to_the_queue() {
    let times = Arc::new(Times::default());
    let (queue, receiver) = queue(NOW);
    let mut left = 2;
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| sleep(ms(1000)),
        move |_, ()| {
            if left == 0 {
                return Next::Done;
            }
            left -= 1;
            Next::Retry(ms(5000))
        },
    );
    let observer: Arc<dyn Observer<_, _>> = times.clone();
    let runner = runner.observe(observer);
    let feed = async move {
        queue.trigger("A", Why("changed"), NOW);
        queue.trigger("A", Why("changed"), NOW);
        sleep(ms(500)).await;
        queue.trigger("A", Why("changed"), NOW);
        queue.trigger("A", Why("changed"), NOW);
        sleep(ms(2000)).await;
        queue.trigger("A", Why("changed"), NOW);
    };
    future::join(feed, runner.count()).await;
    let expect = [
        "added",
        "A starts for changed after 0ns",
        "added",
        "A took 1s: Retry(5s)",
        "A starts for changed after 500ms",
        "added",
        "A took 1s: Retry(5s)",
        "A starts for changed after 0ns",
        "A took 1s: Done",
    ];
    assert_eq!(*times.0.lock().unwrap(), expect);
}

/// While the gate is shut, no key could run: that time is no latency.
#[tokio::test(start_paused = true)]
async fn a_key_waits_since_the_gate_has_opened() {
    let times = Arc::new(Times::default());
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("changed"), NOW);
    queue.trigger("B", Why("changed"), ms(9000));
    drop(queue);
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| sleep(ms(1000)),
        |_, ()| Next::Done,
    );
    let gate = async {
        sleep(ms(8500)).await;
        Ok::<(), String>(())
    };
    let observer: Arc<dyn Observer<_, _>> = times.clone();
    let runner = runner.concurrency(1).gate(gate).observe(observer);
    assert_eq!(runner.count().await, 2);
    let times = times.0.lock().unwrap();
    let starts: Vec<_> = times
        .iter()
        .filter(|time| time.contains("starts"))
        .collect();
    let expect = [
        "A starts for changed after 0ns",
        "B starts for changed after 500ms",
    ];
    assert_eq!(starts, expect);
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_the_times_a_key_waited_and_ran() {
    let times = Arc::new(Times::default());
    let (queue, receiver) = queue(NOW);
    queue.trigger("A", Why("changed"), NOW);
    queue.trigger("B", Why("changed"), ms(200));
    drop(queue);
    let runner = Runner::new(
        receiver,
        |_: &&str, _: &Why| sleep(ms(1000)),
        |_, ()| Next::Done,
    );
    let observer: Arc<dyn Observer<_, _>> = times.clone();
    runner.concurrency(1).observe(observer).count().await;
    let expect = [
        "A starts for changed after 0ns",
        "A took 1s: Done",
        "B starts for changed after 800ms",
        "B took 1s: Done",
    ];
    assert_eq!(*times.0.lock().unwrap(), expect);
}
