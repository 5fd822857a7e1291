//! `deltic init`: writes an Operator with objects, a test and a README to start from.

use std::path::Path;

use expr::Functions;
use manifest::Diagnostic;

use crate::cli::init::Init;
use crate::exit::{Outcome, Stop};
use crate::output::Output;
use crate::{input, json_schema};

/// The files, with `NAME` for the name of the Operator.
const TEMPLATES: [(&str, &str); 4] = [
    ("operator.yaml", include_str!("init/operator.yaml")),
    ("objects.yaml", include_str!("init/objects.yaml")),
    (
        "operator.test.yaml",
        include_str!("init/operator.test.yaml"),
    ),
    ("README.md", include_str!("init/README.md")),
];

pub(crate) fn run(args: &Init, output: &mut Output) -> Result<Outcome, Stop> {
    let directory = Path::new(&args.name);
    let name = directory.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let mut files: Vec<(&str, String)> = TEMPLATES
        .iter()
        .map(|(file, text)| (*file, text.replace("NAME", &name)))
        .collect();
    refuse_bad_name(&name, &files[0].1)?;
    files.push(("operator.schema.json", json_schema::operator()));
    files.push(("test.schema.json", json_schema::test()));
    refuse_overwriting(directory, &files)?;
    std::fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
    for (file, text) in &files {
        let path = directory.join(file);
        std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        output.text(&format!("{}\n", path.display()))?;
    }
    output.text(&format!(
        "\nNext:\n  cd {}\n  deltic test\n  deltic render operator.yaml objects.yaml\n",
        args.name
    ))?;
    Ok(Outcome::Good)
}

/// Fails if the name is not one that an Operator may have. `operator` is the file with the name.
fn refuse_bad_name(name: &str, operator: &str) -> Result<(), Stop> {
    let manifests = manifest::parse_bytes("operator.yaml", operator.into());
    let manifests = manifests.unwrap_or_default();
    let problems = manifests.first().map(|manifest| {
        let (_, problems) = operator::read(&manifest.value, &Functions::builtin());
        problems
    });
    match problems.into_iter().flatten().next() {
        Some(problem) => Err(match valid_name(name) {
            Some(valid) => {
                Stop::usage_with_help(&problem.message, format!("did you mean {valid}?"))
            }
            None => Stop::usage(&problem.message),
        }),
        None if manifests.is_empty() => {
            Err(Stop::usage("the name has characters that YAML reserves"))
        }
        None => Ok(()),
    }
}

/// The name with what an Operator's name cannot have replaced: `Cost_Report` is `cost-report`.
fn valid_name(name: &str) -> Option<String> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let valid = words.join("-").to_lowercase();
    (!valid.is_empty() && valid.len() <= 63).then_some(valid)
}

fn refuse_overwriting(directory: &Path, files: &[(&str, String)]) -> Result<(), Stop> {
    let exists = files
        .iter()
        .map(|(file, _)| directory.join(file))
        .find(|path| path.exists());
    let Some(path) = exists else {
        return Ok(());
    };
    let message = format!("{} exists and is not overwritten", path.display());
    Err(Stop::Refused(vec![Diagnostic {
        help: Some("choose another name, or remove the file".to_owned()),
        ..input::error("exists", message)
    }]))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Stop {
    let message = format!("cannot write {}: {error}", path.display());
    Stop::failed(input::error("write", message))
}
