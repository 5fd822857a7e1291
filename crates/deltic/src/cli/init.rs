//! The arguments of `deltic init` and `deltic schema`.

use clap::{Args, ValueEnum};

/// Create an Operator to start from, with objects, a test and a README
///
/// The files are written to a new directory. Nothing is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  deltic init teams && cd teams && deltic test")]
pub(crate) struct Init {
    /// The directory; its last part is the name of the Operator
    #[arg(default_value = "my-operator")]
    pub(crate) name: String,
}

/// Print a JSON Schema for editors
///
/// Editors with yaml-language-server complete and check Operators by it. The first line of a file
/// names the schema:
///
///   # yaml-language-server: $schema=operator.schema.json
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  deltic schema > operator.schema.json
  deltic schema test > test.schema.json")]
pub(crate) struct Schema {
    /// What the schema describes
    #[arg(default_value = "operator")]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Files with Operators
    Operator,
    /// Tests of Operators, *.test.yaml
    Test,
}
