//! Runs the cases in `cases/`: batches of events with the expected target objects, and
//! pipelines that do not parse. `pipeline.json` and `time.json` are part of the specification, the
//! others are ours.
//!
//! A case of `pipeline.json`, `time.json`, `more.json` and `patch.json`:
//! - `sources`: Kinds, or `{kind, as}`. `target`: a Kind, or `targets`: several.
//! - `now`: the time before the first batch that sets it.
//! - `steps`: the batches. A batch is a list of events, or `{now, events}`, which also sets
//!   the time, or `[{op: tick, time}]`, which only does that: a Periodic source ticks if its period
//!   has passed. An event is `{op, object}` with the op `add`, `update`,
//!   `upsert`, `delete` or `sync` (which does nothing); it goes to all sources of the
//!   object's Kind, or with `source` to the one of that name.
//! - `expect`, for each step:
//!   - `state`: all target objects, in any order. The default apiVersion is that of the tests,
//!     the default kind that of the first target.
//!   - `error`: true if the step must report an error, `"maybe"` if it may; otherwise it
//!     must not.
//!   - `errors`: exactly the errors that the step reports, sorted by branch, stage and
//!     origin; `standing`: exactly the current errors after the step. An error has `stage`
//!     (a number; the number of stages for the output check), `origin`, `code`, and
//!     optionally `branch` and the `winner` of a conflict. Missing fields are not compared.
//! - `chosen`: top-level fields of target objects with a value that the engine chooses, such
//!   as a random number. The value must never change, even if the object is derived again.
//! - `expect_error`: the pipeline does not parse.
//!
//! Every case also checks that:
//! - the changes of a step apply to the state before: deletes first, then sorted by name, each
//!   name once, and none without effect;
//! - the from-scratch evaluator has the same result;
//! - a new circuit that gets all objects at once has the same result, if there are no errors
//!   but conflicts and the case sets no time;
//! - after all objects are deleted, no state is left.
//!
//! A case of `create.json` and `patch_create.json` has `sources`, `target` or `targets`,
//! `pipeline`, and all `errors` in any order: `code`, `at`, and optionally what the help
//! `suggests`.

mod running;

use std::collections::BTreeSet;

use dataflow::Pipeline;
use dataflow::pipeline::PipelineError;
use document::{Location, Value};
use expr::Functions;
use running::RunningCase;

fn list(value: &Value) -> Vec<Value> {
    value
        .as_list()
        .map_or(Vec::new(), document::ListRef::to_vec)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn kind_of(source: &Value) -> String {
    text(source) + source.get("kind").as_str().unwrap_or_default()
}

/// The Kinds of sources that are inputs, or of targets.
fn kinds_of(sources: &Value) -> Vec<String> {
    let sources = list(sources);
    let inputs = sources.iter().filter(|source| !is_periodic(source));
    inputs.map(kind_of).collect()
}

fn is_periodic(source: &Value) -> bool {
    source.get("type").as_str() == Some("Periodic")
}

fn parse(case: &Value) -> Result<Pipeline, Vec<PipelineError>> {
    let name_of = |source: &Value| match source.get("as").as_str() {
        Some(name) => name.to_owned(),
        None => kind_of(source),
    };
    let sources = list(case.get("sources"));
    let inputs = sources.iter().filter(|source| !is_periodic(source));
    let sources: Vec<String> = inputs.map(name_of).collect();
    let targets = match case.get("targets").as_list() {
        Some(_) => kinds_of(case.get("targets")),
        None => vec![kind_of(case.get("target"))],
    };
    let at = Location::root().key("pipeline");
    Pipeline::parse(
        case.get("pipeline"),
        &at,
        &sources,
        &targets,
        &Functions::builtin(),
    )
}

fn describe(errors: &[PipelineError]) -> String {
    let lines = errors
        .iter()
        .map(|error| format!("{} at {}: {error}", error.code(), error.at));
    lines.collect::<Vec<_>>().join(", ")
}

fn check(case: &Value) -> Result<(), String> {
    let pipeline = parse(case);
    if case.get("expect_error").as_bool() == Some(true) {
        return match pipeline {
            Err(_) => Ok(()),
            Ok(_) => Err("expected an error at creation".to_owned()),
        };
    }
    let pipeline = pipeline.map_err(|errors| describe(&errors))?;
    let mut run = RunningCase::new(case, &pipeline);
    let (steps, expects) = (list(case.get("steps")), list(case.get("expect")));
    assert_eq!(steps.len(), expects.len(), "one `expect` for each step");
    for (number, (step, expect)) in steps.iter().zip(&expects).enumerate() {
        // Whoever steps a circuit sees to it that the time does not go back.
        if expect.get("stops").as_bool() == Some(true) {
            break;
        }
        let batch = run.batch(step);
        let mut reported = Vec::new();
        let result = run.step(&batch).and_then(|step| {
            reported.clone_from(&step.errors);
            run.check_state(expect.get("state"))?;
            run.check_errors(expect, &step)
        });
        result.map_err(|error| format!("step {number}: {error}; reported {reported:?}"))?;
    }
    run.delete_all()
        .map_err(|error| format!("all deleted: {error}"))
}

fn check_refused(case: &Value) -> Result<(), String> {
    let Err(found) = parse(case) else {
        return Err("the pipeline is accepted".to_owned());
    };
    let mut left: Vec<&PipelineError> = found.iter().collect();
    for expect in list(case.get("errors")) {
        let fits = |error: &&PipelineError| {
            let help = error.help().unwrap_or_default();
            error.code() == text(expect.get("code"))
                && error.at.to_string() == text(expect.get("at"))
                && help.contains(&text(expect.get("suggests")))
        };
        match left.iter().position(fits) {
            Some(position) => left.remove(position),
            None => return Err(format!("no {expect} among {}", describe(&found))),
        };
    }
    if !left.is_empty() {
        return Err(format!("unexpected among {}", describe(&found)));
    }
    Ok(())
}

#[test]
fn every_case_of_the_specification_holds() {
    let cases = cases::run(include_str!("pipeline.json"), check);
    assert_eq!(cases.len(), 94);
}

/// Cases with several controllers run in the tests of `offline` and of the command.
#[test]
fn every_case_of_time_holds() {
    let cases = cases::read(include_str!("time.json"));
    assert_eq!(cases.len(), 35);
    let of_one = |case: &Value| case.get("controllers").is_null();
    let cases: Vec<Value> = cases.into_iter().filter(of_one).collect();
    cases::all_hold(&cases, check);
}

#[test]
fn every_case_of_our_own_holds() {
    cases::run(include_str!("more.json"), check);
}

#[test]
fn every_case_of_patches_holds() {
    cases::run(include_str!("patch.json"), check);
}

#[test]
fn refused_patches_report_all_their_errors() {
    cases::run(include_str!("patch_create.json"), check_refused);
}

/// The codes of all errors of parsing.
const CODES: [&str; 26] = [
    "all-soft",
    "bad-argument",
    "bad-arity",
    "bad-branch",
    "bad-cel",
    "bad-path",
    "bad-pattern",
    "bad-setter",
    "branch-cycle",
    "branches-missing",
    "duplicate-source",
    "empty-project",
    "item-out-of-scope",
    "join-missing",
    "join-not-first",
    "no-source",
    "plural-path",
    "root-setter",
    "source-as-output",
    "target-without-branch",
    "too-many-sources",
    "unknown-name",
    "unknown-operator",
    "unknown-stage",
    "unused-stream",
    "volatile-key",
];

#[test]
fn refused_pipelines_report_all_their_errors() {
    let cases = cases::run(include_str!("create.json"), check_refused);
    let errors = cases.iter().flat_map(|case| list(case.get("errors")));
    let codes: BTreeSet<String> = errors.map(|error| text(error.get("code"))).collect();
    assert!(codes.iter().eq(CODES), "every code occurs, found {codes:?}");
}
