//! The report: a table of all figures, and the bars.

use std::fmt::{self, Write as _};

use benches::bars::{Bar, Side};
use benches::report::{Context, grouped, number, write_bars, write_context};

use crate::load::{Figures, Load};
use crate::subject::Subject;

/// The name of this report's place in a file.
pub(crate) const NAME: &str = "serving";

/// How many times faster deltic must be.
const FASTER: f64 = 3.0;
/// Which part of the memory it may take.
const MEMORY: f64 = 0.1;

/// The whole report.
pub(crate) fn report(results: &[(Subject, Figures)], load: &Load, context: &Context) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut out, results, load, context);
    out
}

fn write_report(
    out: &mut String,
    results: &[(Subject, Figures)],
    load: &Load,
    context: &Context,
) -> fmt::Result {
    write_context(out, context)?;
    writeln!(
        out,
        "| server | creates/s | gets/s | list of {}, ms | list of {}, ms | {} events to {} \
         watches, thousand/s | resident, MB |",
        grouped(load.few),
        grouped(load.many),
        grouped(load.events),
        grouped(load.watches),
    )?;
    writeln!(out, "|---|{}", "--:|".repeat(6))?;
    for (subject, figures) in results {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            subject.name(),
            number(figures.creates),
            number(figures.gets),
            number(figures.list_few),
            number(figures.list_many),
            number(figures.events),
            number(figures.memory),
        )?;
    }
    writeln!(out, "\n### Bars of serving\n")?;
    write_bars(out, &bars(results, load))
}

fn bars(results: &[(Subject, Figures)], load: &Load) -> Vec<Bar> {
    let of = |subject: Subject, figure: fn(&Figures) -> f64| {
        let mut found = results.iter().filter(|(other, _)| *other == subject);
        found.next().map(|(_, figures)| figure(figures))
    };
    let ratio = |figure| Some(of(Subject::Deltic, figure)? / of(Subject::Cluster, figure)?);
    let inverse = |figure| ratio(figure).map(f64::recip);
    let bar = |name: &str, count, value, side, must| Bar {
        name: name.to_owned(),
        count,
        value,
        side,
        must,
        aim: None,
    };
    let faster = |name, count, value| bar(name, count, value, Side::AtLeast, FASTER);
    vec![
        faster("create: times faster", load.few, ratio(|f| f.creates)),
        faster("get: times faster", load.few, ratio(|f| f.gets)),
        faster("list: times faster", load.few, inverse(|f| f.list_few)),
        faster("list: times faster", load.many, inverse(|f| f.list_many)),
        faster("watch events: times faster", load.few, ratio(|f| f.events)),
        bar(
            "resident memory: part of the cluster's",
            load.many,
            ratio(|f| f.memory),
            Side::AtMost,
            MEMORY,
        ),
    ]
}
