//! `deltic version`: prints the version.

use document::json;

use crate::cli::{self, CheckFormat, Format};
use crate::exit::{Outcome, Stop};
use crate::output::Output;

pub(crate) fn run(args: &cli::Version, output: &mut Output) -> Result<Outcome, Stop> {
    let version = env!("CARGO_PKG_VERSION");
    match args.output {
        CheckFormat::Text => output.text(&format!("deltic {version}\n"))?,
        CheckFormat::Json => {
            let cluster = cfg!(feature = "cluster");
            let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
            let fields = json!({"version": version, "platform": platform, "cluster": cluster});
            output.value(&fields, Format::Json)?;
        }
    }
    Ok(Outcome::Good)
}
