//! `deltic top`: a live view of a running deltic.
//!
//! [`live`](crate::live) reads and joins the data. `app` is the state of the screen and draws lines
//! from it, `table` and `frame` lay them out, and `terminal` writes them. Only this module and
//! `terminal` do anything but compute.

mod app;
mod frame;
mod report;
mod table;
mod terminal;

use std::io::{self, IsTerminal};

use document::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::cli::CheckFormat;
use crate::cli::top::Top;
use crate::cluster::{announce, block_on};
use crate::exit::{Outcome, Stop};
use crate::live::{Cluster, Scraped, notes, read, scrape};
use crate::output::{Output, pretty};
use app::{App, Next};
use terminal::{Input, Screen};

pub(crate) fn run(args: &Top, output: &mut Output) -> Result<Outcome, Stop> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    block_on(async {
        let cluster = Cluster::find(&args.observed.connection).await;
        if args.once || !is_terminal {
            once(args, &cluster, output).await
        } else {
            Box::pin(live(args, cluster, output)).await
        }
    })
}

async fn once(args: &Top, cluster: &Cluster, output: &mut Output) -> Result<Outcome, Stop> {
    if let Some(connection) = &cluster.connection {
        announce(connection, output);
    }
    let reader = read(&args.observed, cluster, Some(args.interval)).await?;
    let snapshot = reader.snapshot();
    if args.output == CheckFormat::Json {
        let origin = json!({
            "metrics": {
                "address": (args.observed.metrics_addr.url()),
                "error": (reader.no_metrics().map_or(Value::NULL, Value::from)),
            },
            "status": {
                "context": (cluster.connection.as_ref().map_or(Value::NULL, |c| c.context.as_str().into())),
                "error": (reader.no_status().map_or(Value::NULL, Value::from)),
            },
        });
        let all = document::merge(&origin, &report::json(&snapshot));
        output.text(&format!("{}\n", pretty(&all)))?;
        return Ok(Outcome::Good);
    }
    for note in notes(&reader, &args.observed) {
        output.complain(&format!("warning: {note}"));
    }
    output.text(&report::text(&snapshot, Output::width()))?;
    Ok(Outcome::Good)
}

/// Something that was read.
enum Reading {
    Metrics(Scraped),
    Operators(Result<Vec<Value>, String>),
}

/// Shows the live view until the user quits or a signal ends it.
async fn live(args: &Top, cluster: Cluster, output: &mut Output) -> Result<Outcome, Stop> {
    let observed = &args.observed;
    // What can be known without a screen is said without one.
    let mut reader = read(observed, &cluster, None).await?;
    let context = cluster.connection.as_ref();
    let context = context.map_or_else(String::new, |found| format!(", context {}", found.context));
    let mut app = App::new(format!("{}{context}", observed.metrics_addr));
    let (mut readings, mut tasks) = readings(args, cluster);
    let mut hangup = signal(SignalKind::hangup())?;
    // Ctrl-C is a key here, but others may send the signal, and the terminal has to be restored.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut screen = Screen::enter(output.paints())?;
    let mut inputs = terminal::inputs();
    loop {
        app.snapshot = reader.snapshot();
        app.notes = notes(&reader, observed);
        draw(&mut app, &mut screen)?;
        tokio::select! {
            biased;
            _ = terminate.recv() => break,
            _ = hangup.recv() => break,
            _ = interrupt.recv() => break,
            _ = quit.recv() => break,
            input = inputs.recv() => match input {
                Some(Input::Key(key)) if app.press(key) == Next::Quit => break,
                Some(Input::Closed) | None => break,
                Some(Input::Key(_) | Input::Resized) => {}
            },
            reading = readings.recv() => match reading {
                Some(Reading::Metrics(scrape)) => reader.scraped(scrape),
                Some(Reading::Operators(operators)) => reader.listed(operators),
                None => break,
            },
            // They end only by a panic, whose message was printed.
            _ = tasks.join_next() => return Ok(Outcome::Failed),
        }
    }
    Ok(Outcome::Good)
}

fn draw(app: &mut App, screen: &mut Screen) -> io::Result<()> {
    let (width, height) = Screen::size()?;
    let lines = app.frame(width.into(), height.into());
    screen.draw(lines, (width, height))
}

/// Reads metrics and status again and again, in tasks of their own: one that is slow does not delay
/// the other.
fn readings(args: &Top, cluster: Cluster) -> (mpsc::Receiver<Reading>, JoinSet<()>) {
    let (sender, receiver) = mpsc::channel(4);
    let every = || {
        let mut ticks = interval(args.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut ticks, address) = (every(), args.observed.metrics_addr.clone());
    let metrics = sender.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let reading = Reading::Metrics(scrape(&address).await);
            if metrics.send(reading).await.is_err() {
                return;
            }
        }
    });
    let mut ticks = every();
    tasks.spawn(async move {
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let reading = Reading::Operators(cluster.operators().await);
            if sender.send(reading).await.is_err() {
                return;
            }
        }
    });
    (receiver, tasks)
}
