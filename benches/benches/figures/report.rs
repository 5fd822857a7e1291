//! The report: a table of all figures, and the bars.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use benches::bars::{Bar, Side};
use benches::report::{Context, grouped, number, write_bars, write_context};

use crate::measure::Figures;
use crate::peer::Subject;

/// The name of this report's place in a file.
pub(crate) const NAME: &str = "figures";

/// All rounds, by number of objects and subject.
pub(crate) type Results = BTreeMap<(usize, Subject), Vec<Figures>>;

/// The whole report.
pub(crate) fn report(results: &Results, context: &Context) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut out, results, context);
    out
}

fn write_report(out: &mut String, results: &Results, context: &Context) -> fmt::Result {
    write_context(out, context)?;
    let rounds: BTreeMap<usize, usize> = results
        .iter()
        .map(|((count, _), rounds)| (*count, rounds.len()))
        .collect();
    let rounds: Vec<String> = rounds
        .iter()
        .map(|(count, rounds)| format!("{rounds} with {}", grouped(count)))
        .collect();
    writeln!(
        out,
        "The subjects take turns on one control plane; each number is the median of the rounds: \
         {} objects.\n",
        rounds.join(", ")
    )?;
    writeln!(
        out,
        "| objects | subject | initial sync, s | requests per object | update p50, ms | p99, ms \
         | all at once, s | resident, MB | restart, s | needless writes | takeover, s |"
    )?;
    writeln!(out, "|--:|---|{}", "--:|".repeat(9))?;
    for ((count, subject), rounds) in results {
        let of = |figure: Figure| median(rounds, figure).map_or_else(String::new, number);
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            grouped(count),
            subject.name(),
            of(|figures| figures.sync),
            of(|figures| figures.requests),
            of(|figures| figures.p50),
            of(|figures| figures.p99),
            of(|figures| figures.all),
            of(|figures| figures.memory),
            of(|figures| figures.restart),
            grouped(median(rounds, |figures| figures.needless).unwrap_or(0.0)),
            takeover(rounds).map_or_else(String::new, number),
        )?;
    }
    writeln!(out, "\n### Bars on the cluster\n")?;
    write_bars(out, &bars(results))
}

/// A number out of a run.
type Figure = fn(&Figures) -> f64;

fn median(rounds: &[Figures], figure: Figure) -> Option<f64> {
    let mut values: Vec<f64> = rounds.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    // Of an even number, the middle between the two in the middle.
    let above = values.get(values.len() / 2)?;
    let below = values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(*below, *above))
}

/// The median of the takeovers, of a subject that has replicas.
fn takeover(rounds: &[Figures]) -> Option<f64> {
    rounds.first()?.takeover?;
    median(rounds, |figures| figures.takeover.unwrap_or_default())
}

/// The memory that deltic may take with 10,000 objects, in MB.
const MEMORY: (usize, f64) = (10_000, 60.0);

fn bars(results: &Results) -> Vec<Bar> {
    let mut counts: Vec<usize> = results.keys().map(|(count, _)| *count).collect();
    counts.dedup();
    let of = |count, subject, figure| median(results.get(&(count, subject))?, figure);
    let mut bars = Vec::new();
    let mut bar = |name: &str, count, value, must| {
        bars.push(Bar {
            name: name.to_owned(),
            count,
            value,
            side: Side::AtMost,
            must,
            aim: None,
        });
    };
    for count in counts {
        let over = |figure: Figure| {
            let bare = of(count, Subject::Bare, figure)?;
            Some(of(count, Subject::Deltic, figure)? / bare)
        };
        bar(
            "initial sync: over the bare client",
            count,
            over(|f| f.sync),
            1.3,
        );
        bar(
            "update p50: over the bare client",
            count,
            over(|f| f.p50),
            1.5,
        );
        bar(
            "all at once: over the bare client",
            count,
            over(|f| f.all),
            1.3,
        );
        let needless = of(count, Subject::Deltic, |figures| figures.needless);
        bar("needless writes after a restart", count, needless, 0.0);
        let rounds = results.get(&(count, Subject::Deltic));
        let takeover = rounds.and_then(|rounds| takeover(rounds));
        bar("takeover after a leader shut down, s", count, takeover, 2.0);
        if count == MEMORY.0 {
            let memory = of(count, Subject::Deltic, |figures| figures.memory);
            bar("resident memory, MB", count, memory, MEMORY.1);
        }
    }
    bars
}
