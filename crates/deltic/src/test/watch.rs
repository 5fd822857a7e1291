//! `--watch`: runs the tests again whenever a file changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use regex::Regex;

use super::files::{TestFiles, find};
use super::run_once;
use crate::cli::test::Test as Args;
use crate::exit::{Outcome, Stop};
use crate::output::Output;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// What shows that a file has changed: its size and the time of its last change.
type State = BTreeMap<PathBuf, Option<(u64, Option<SystemTime>)>>;

/// Runs until the process is ended. Bad files are reported, and read again when they change.
pub(super) fn run(
    args: &Args,
    filter: Option<&Regex>,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    loop {
        let mut files = TestFiles::default();
        match run_once(args, filter, &mut files, output) {
            Ok(_) => {}
            Err(Stop::Refused(problems) | Stop::Failed(problems)) => {
                output.diagnostics(&problems)?;
            }
            Err(stop @ Stop::Output(_)) => return Err(stop),
        }
        let before = state(args, &files);
        output.text(&format!("watching {} files\n", before.len()))?;
        output.flush()?;
        while state(args, &files) == before {
            std::thread::sleep(INTERVAL);
        }
        output.text("\n")?;
    }
}

/// The state of all files that were read, and of the test files that there are now.
fn state(args: &Args, files: &TestFiles) -> State {
    // A path that cannot be read now may be readable later.
    let found = find(&args.paths, &mut BTreeSet::new(), &mut Vec::new());
    let paths = files.seen.iter().cloned().chain(found);
    let stat = |path: PathBuf| {
        let metadata = std::fs::metadata(&path).ok();
        let stat = metadata.map(|metadata| (metadata.len(), metadata.modified().ok()));
        (path, stat)
    };
    paths.map(stat).collect()
}
