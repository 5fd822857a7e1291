//! The arguments of `deltic test`.

use clap::{Args, ValueEnum};

/// Run the tests of Operators
///
/// A test gives objects to an Operator, changes them in steps, and says what is derived. It runs
/// without a cluster, on a clock that starts at 2026-01-01T00:00:00Z and moves only when a step
/// says so.
#[derive(Debug, Args)]
#[command(after_help = "\
A test file:
  operator: operator.yaml          # relative to the test file; or the Operator itself
  given: [objects.yaml]            # files, or objects
  tests:
  - name: the view counts ready pods
    expect:                        # after `given` was applied
      contains:                    # these fields; `targets` compares everything
      - { kind: Health, metadata: { name: web, namespace: shop }, ready: 1 }
    steps:
    - patch:                       # or apply, delete, advance: 1h
      - { kind: Pod, metadata: { name: web-2, namespace: shop }, status: { phase: Failed } }
      expect:
        absent: [health/shop/web]
        events: [DELETED health/shop/web]

Examples:
  deltic test
  deltic test examples/ --run 'health|quota'
  deltic test operator.test.yaml --update
  deltic test -o junit > report.xml

Exit codes:
  0  all tests passed
  1  a test failed
  2  nothing was run: a test file or an Operator has errors, or there is no test")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags that are independent of each other"
)]
pub(crate) struct Test {
    /// Test files, or directories that are searched for files *.test.yaml
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) paths: Vec<String>,

    /// Run only tests whose `FILE: NAME` matches a regular expression
    #[arg(long, value_name = "REGEX")]
    pub(crate) run: Option<String>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: TestFormat,

    /// Replace expectations that do not hold by what was derived
    #[arg(long)]
    pub(crate) update: bool,

    /// Run again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["output", "update"])]
    pub(crate) watch: bool,

    /// Print which stages, and which outcomes of @select, @cond and @switch, the tests reach
    #[arg(long, conflicts_with = "output")]
    pub(crate) coverage: bool,

    /// Print each Operator with the counts in front of its lines
    #[arg(long, conflicts_with = "output")]
    pub(crate) coverage_annotate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    /// Text for people
    Text,
    /// `JUnit` XML for CI
    Junit,
}
