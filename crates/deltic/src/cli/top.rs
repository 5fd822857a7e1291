//! The arguments of `deltic top`, and of what else looks at a running deltic.

use std::time::Duration;

use clap::Args;

use super::CheckFormat;
use super::cluster::Connection;
use super::values::seconds;
use crate::live::Address;

/// Show what a running deltic does: objects, changes per second, latency, queue, errors
///
/// Numbers come from the metrics of one process, conditions and errors from the status of the
/// Operators on the cluster. If one of the two cannot be read, the other is shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys:
  up, down, j, k      select      enter, esc    open an Operator, go back
  s, <, >             sort by     r             reverse the order
  /                   filter      ?             help
  q, Ctrl-C           quit

deltic serves its metrics with --health-addr. To reach those of a pod:
  kubectl -n deltic-system port-forward deploy/deltic 8080

Examples:
  deltic top
  deltic top --metrics-addr 127.0.0.1:9090 --context test
  deltic top --once
  deltic top --once -o json")]
pub(crate) struct Top {
    #[command(flatten)]
    pub(crate) observed: Observed,

    /// Print a table and end; also if the output is not a terminal
    #[arg(long)]
    pub(crate) once: bool,

    /// How often to read, and over which time rates are measured
    #[arg(long, value_name = "SECONDS", value_parser = interval, default_value = "1")]
    pub(crate) interval: Duration,

    /// Output format, with --once
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        default_value = "text",
        requires = "once"
    )]
    pub(crate) output: CheckFormat,
}

/// A running deltic, and its cluster.
#[derive(Debug, Args)]
pub(crate) struct Observed {
    /// Where deltic serves its metrics: HOST:PORT, :PORT or a URL
    #[arg(long, value_name = "ADDRESS", default_value = Address::DEFAULT)]
    pub(crate) metrics_addr: Address,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Reads an interval that neither floods the server nor hangs.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = seconds(text)?;
    if (SHORTEST..=LONGEST).contains(&interval) {
        return Ok(interval);
    }
    Err(format!(
        "expected {} to {} seconds",
        SHORTEST.as_secs_f64(),
        LONGEST.as_secs()
    ))
}

const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_hours(1);
