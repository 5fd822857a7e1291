//! `--coverage`: which stages and outcomes the tests reach.

use std::io;
use std::sync::Arc;

use testing::TestedOperator;
use testing::coverage::{Coverage, CoveredPlace, annotated};

use super::Report;
use crate::cli::test::Test as Args;
use crate::output::{Output, Verdict};

/// Prints the coverage of each Operator under test.
pub(super) fn print(args: &Args, report: &Report<'_>, output: &mut Output) -> io::Result<()> {
    let mut operators: Vec<&Arc<TestedOperator>> = Vec::new();
    for file in &report.files {
        let operator = &file.file.operator;
        if !operators.iter().any(|known| Arc::ptr_eq(known, operator)) {
            operators.push(operator);
        }
    }
    for operator in operators {
        let Some(mut coverage) = Coverage::new(operator) else {
            continue;
        };
        let files = report.files.iter();
        let tests = files.filter(|file| Arc::ptr_eq(&file.file.operator, operator));
        for test in tests.flat_map(|file| &file.tests) {
            coverage.add(test.test);
        }
        let places = coverage.places(&operator.manifest);
        if args.coverage {
            print_places(operator, &places, output)?;
        }
        if args.coverage_annotate {
            output.say(&format!("\n{}\n", operator.manifest.source().name))?;
            output.say(&annotated(&operator.manifest, &places))?;
        }
    }
    Ok(())
}

fn print_places(
    operator: &TestedOperator,
    places: &[CoveredPlace],
    output: &mut Output,
) -> io::Result<()> {
    let (stages, conditions): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.is_stage);
    let reached = stages.iter().filter(|stage| stage.is_complete()).count();
    let outcomes = conditions.iter().flat_map(|place| &place.outcomes);
    let (seen, all) = outcomes.fold((0, 0), |(seen, all), (_, count)| {
        (seen + usize::from(*count > 0), all + 1)
    });
    let name = &operator.manifest.source().name;
    output.say(&format!(
        "\ncoverage of {} in {name}: {reached} of {} stages, {seen} of {all} outcomes\n",
        operator.operator.name,
        stages.len()
    ))?;
    let mut controller = String::new();
    let width = places.iter().map(|place| place.place.chars().count()).max();
    let width = width.unwrap_or(0).min(60);
    for place in &with_conditions(places) {
        if controller != place.controller {
            controller.clone_from(&place.controller);
            output.say(&format!("  {controller}\n"))?;
        }
        let counts: Vec<String> = place
            .outcomes
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let line = format!("{:<width$}  {}", place.place, counts.join(", "));
        if place.is_complete() {
            output.say(&format!("      {line}\n"))?;
        } else {
            output.say("    ")?;
            output.verdict(Verdict::Failed, "", &format!("! {line}"))?;
        }
    }
    Ok(())
}

/// The places, with the outcomes of a stage on one line.
fn with_conditions(places: &[CoveredPlace]) -> Vec<CoveredPlace> {
    let mut merged: Vec<CoveredPlace> = Vec::new();
    for place in places {
        match merged.last_mut() {
            Some(stage) if stage.at == place.at => {
                stage.outcomes.extend(place.outcomes.iter().cloned());
            }
            _ => merged.push(place.clone()),
        }
    }
    merged
}
