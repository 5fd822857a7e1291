//! The report: Markdown tables of absolute numbers and of ratios.

use std::fmt::{self, Write as _};

use crate::bars::{Bar, Grade, Results, Row, Side, bars, growth_in_a_loop};
use crate::generate::{COLD, UPDATES};
use crate::measure::{PEERS, Spread};
use crate::workload::Workload;

/// The name of this report's place in a file.
pub const NAME: &str = "ratios";

/// What the reader wants to know about the run.
#[derive(Clone, Debug)]
pub struct Context {
    /// The command that makes these numbers.
    pub command: String,
    /// The processor.
    pub cpu: String,
    /// The day, as it was given; may be empty.
    pub date: String,
    /// How many rounds there were.
    pub rounds: usize,
}

impl Context {
    /// A run of a benchmark: what cargo is told to run, and the arguments of that.
    pub fn new(bench: &str, arguments: &[String]) -> Self {
        let own: Vec<_> = arguments.iter().filter(|a| *a != "--bench").collect();
        let mut command = format!("cargo bench -p benches {bench}");
        if !own.is_empty() {
            command += " --";
        }
        for argument in own {
            command += " ";
            command += argument;
        }
        Self {
            command,
            cpu: cpu(),
            date: String::new(),
            rounds: 1,
        }
    }

    /// The same on a day.
    #[must_use]
    pub fn date(mut self, date: &str) -> Self {
        date.clone_into(&mut self.date);
        self
    }

    /// The same with so many rounds.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }
}

/// The processor, where the system tells.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    model.unwrap_or_else(|| "unknown".to_owned())
}

impl Workload {
    /// The name in the report.
    pub fn title(self) -> &'static str {
        match self {
            Self::W1 => "W1",
            Self::W2 => "W2",
            Self::W3 => "W3",
            Self::Whole => "W1 with all fields kept",
        }
    }
}

/// The whole report.
pub fn report(results: &Results, context: &Context) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut out, results, context);
    out
}

/// How the numbers were made.
pub fn write_context(out: &mut String, context: &Context) -> fmt::Result {
    writeln!(out, "Command: `{}`  ", context.command)?;
    writeln!(out, "Processor: {}  ", context.cpu)?;
    if !context.date.is_empty() {
        writeln!(out, "Date: {}  ", context.date)?;
    }
    Ok(())
}

fn write_report(out: &mut String, results: &Results, context: &Context) -> fmt::Result {
    write_context(out, context)?;
    writeln!(
        out,
        "Each peer in a process of its own, {UPDATES} updates of one object each, one thread, \
         mimalloc; each update counts with its best time of {} rounds. An update lasts from the \
         line of its watch event to the changes; how long reading the line takes of that has a \
         column of its own. A load comes in pages of 500 events. Cold caches: \
         64 MB of other memory are written before each of {} more updates.\n",
        context.rounds,
        UPDATES / COLD
    )?;
    write_equality(out, results)?;
    for workload in Workload::ALL {
        write_workload(out, results, workload)?;
    }
    write_growth(out, results)?;
    writeln!(out, "### Bars\n")?;
    write_bars(out, &bars(results))
}

/// Says whether all peers gave the same outputs.
fn write_equality(out: &mut String, results: &Results) -> fmt::Result {
    let different = differences(results);
    if different.is_empty() {
        return writeln!(
            out,
            "All peers gave equal outputs, after the load and after the updates.\n"
        );
    }
    writeln!(out, "**Outputs differ**: {}.\n", different.join(", "))
}

/// The workloads and sizes on which peers disagree.
pub fn differences(results: &Results) -> Vec<String> {
    let mut different = Vec::new();
    let mut last: Option<(&(Workload, usize, String), &Row)> = None;
    for (key, row) in results {
        if let Some((other, theirs)) = last
            && (other.0, other.1) == (key.0, key.1)
            && theirs.check != row.check
        {
            let (workload, count, peer) = key;
            different.push(format!(
                "{} at {} ({} and {peer})",
                workload.title(),
                grouped(*count),
                other.2
            ));
        }
        last = Some((key, row));
    }
    different
}

fn write_workload(out: &mut String, results: &Results, workload: Workload) -> fmt::Result {
    let mut rows: Vec<_> = results
        .iter()
        .filter(|((w, _, _), _)| *w == workload)
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|((_, count, peer), _)| (*count, rank(peer)));
    let hot = rows.iter().any(|(_, row)| !row.times.hot.is_empty());
    writeln!(out, "### {}\n", workload.title())?;
    write!(
        out,
        "| objects | peer | load, ms | reading, µs | update mean, µs | p50 | p99 |"
    )?;
    if hot {
        write!(out, " hot group mean, µs | p50 | p99 |")?;
    }
    write!(out, " cold caches mean, µs | p50 | p99 |")?;
    writeln!(out, " bytes per object | at the peak |")?;
    let columns = if hot { 15 } else { 12 };
    writeln!(out, "|--:|---|{}", "--:|".repeat(columns - 2))?;
    for ((_, count, peer), row) in rows {
        write!(
            out,
            "| {} | {peer} | {} | {} |",
            grouped(*count),
            number(row.times.load / 1e6),
            Spread::of(&row.times.read).map_or_else(String::new, |read| number(read.mean / 1e3))
        )?;
        write_spread(out, &row.times.any)?;
        if hot {
            write_spread(out, &row.times.hot)?;
        }
        write_spread(out, &row.times.cold)?;
        writeln!(
            out,
            " {} | {} |",
            grouped(format_args!("{:.0}", row.memory.live)),
            grouped(format_args!("{:.0}", row.memory.peak))
        )?;
    }
    writeln!(out)
}

fn write_spread(out: &mut String, durations: &[f64]) -> fmt::Result {
    match Spread::of(durations) {
        Some(Spread { mean, p50, p99 }) => {
            let [mean, p50, p99] = [mean, p50, p99].map(|nanos| number(nanos / 1e3));
            write!(out, " {mean} | {p50} | {p99} |")
        }
        None => write!(out, " | | |"),
    }
}

fn write_growth(out: &mut String, results: &Results) -> fmt::Result {
    writeln!(
        out,
        "### Updates in a tight loop: 100,000 objects over 1,000\n"
    )?;
    writeln!(out, "| peer | W1 mean | W2 mean | W3 p50 |")?;
    writeln!(out, "|---|--:|--:|--:|")?;
    for (peer, grown) in growth_in_a_loop(results, &PEERS) {
        if grown.iter().any(Option::is_some) {
            let [w1, w2, w3] = grown.map(|value| value.map_or_else(String::new, number));
            writeln!(out, "| {peer} | {w1} | {w2} | {w3} |")?;
        }
    }
    writeln!(out)
}

/// The table of bars.
pub fn write_bars(out: &mut String, bars: &[Bar]) -> fmt::Result {
    writeln!(out, "| | objects | measured | must | aim | |")?;
    writeln!(out, "|---|--:|--:|--:|--:|---|")?;
    for bar in bars {
        let sign = match bar.side {
            Side::AtLeast => '≥',
            Side::AtMost => '≤',
        };
        let grade = match bar.grade() {
            Grade::Aim => "✅ aim",
            Grade::Must => "✅ must",
            Grade::Missed => "❌ missed",
            Grade::Unknown => "not measured",
        };
        writeln!(
            out,
            "| {} | {} | {} | {sign} {} | {} | {grade} |",
            bar.name,
            grouped(bar.count),
            bar.value.map_or_else(|| "—".to_owned(), number),
            bar.must,
            bar.aim
                .map_or_else(String::new, |aim| format!("{sign} {aim}"))
        )?;
    }
    Ok(())
}

/// The place of a peer in a table.
fn rank(peer: &str) -> usize {
    PEERS.iter().position(|p| *p == peer).unwrap_or(PEERS.len())
}

/// Three digits that matter.
pub fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => grouped(format_args!("{v:.0}")),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A number with its thousands set apart.
pub fn grouped(number: impl fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Puts a report into its place in a file, whose path is meant from the root.
pub fn write_into(file: &std::path::Path, name: &str, report: &str) -> std::io::Result<()> {
    // Cargo runs benchmarks in the package's directory.
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map(std::path::PathBuf::from);
    let file = root.unwrap_or_default().join("..").join(file);
    let page = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, insert(&page, name, report))
}

/// `page` with a report in it: between the markers of its name, or at the end if there are
/// none.
pub fn insert(page: &str, name: &str, report: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name}:begin -->"),
        format!("<!-- {name}:end -->"),
    );
    let report = format!("{begin}\n{}\n{end}", report.trim_end());
    match (page.find(&begin), page.find(&end)) {
        (Some(from), Some(to)) if from < to => {
            format!("{}{report}{}", &page[..from], &page[to + end.len()..])
        }
        _ if page.is_empty() => format!("# Performance\n\n{report}\n"),
        _ => format!("{}\n\n{report}\n", page.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_the_last_one_of_its_name() {
        let report =
            |name: &str, text: &str| format!("<!-- {name}:begin -->\n{text}\n<!-- {name}:end -->");
        let (one, other) = (report("a", "one"), report("b", "other"));
        let page = insert("", "a", "one");
        assert_eq!(page, format!("# Performance\n\n{one}\n"));
        let page = insert(&page, "b", "other");
        assert_eq!(page, format!("# Performance\n\n{one}\n\n{other}\n"));
        let page = insert(&format!("{page}\nAfter.\n"), "a", "two\n");
        let two = report("a", "two");
        let expect = format!("# Performance\n\n{two}\n\n{other}\n\nAfter.\n");
        assert_eq!(page, expect);
    }

    #[test]
    fn numbers_show_three_digits() {
        for (value, expect) in [
            (0.5, "0.50"),
            (9.876, "9.88"),
            (12.34, "12.3"),
            (1234.6, "1,235"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(number(value), expect);
        }
    }

    #[test]
    fn peers_that_disagree_are_named() {
        let mut results = Results::new();
        for (peer, check) in [
            ("hand", 1),
            ("differential", 1),
            ("differential-closures", 2),
        ] {
            let row = Row {
                check: vec![check],
                ..Row::default()
            };
            results.insert((Workload::W2, 1_000, peer.to_owned()), row);
        }
        let named = "W2 at 1,000 (differential-closures and hand)";
        assert!(differences(&results).contains(&named.to_owned()));
    }
}
