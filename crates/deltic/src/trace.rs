//! `deltic trace`: what each stage received and yielded.

use std::collections::BTreeSet;
use std::fmt::Write;

use dataflow::pipeline::{Branch, Input};
use dataflow::provenance::{BranchDescent, Point, StageDescent};
use document::Value;
use explanation::{StagePlace, Story, StoryObject, TargetObject, no_partner, reason};
use operator::Controller;

use crate::cli;
use crate::diff;
use crate::exit::{Outcome, Stop};
use crate::output::Output;
use crate::why::{self, Evaluated, parse};

pub(crate) fn run(args: &cli::Trace, output: &mut Output) -> Result<Outcome, Stop> {
    let wanted = args.object.as_deref().map(parse).transpose()?;
    let files = args.recursive.files(&args.filename, &[]);
    let evaluated = Evaluated::read(files, wanted.as_ref(), &args.run, output)?;
    let story = evaluated.recorded.story();
    match wanted {
        Some(wanted) => {
            let objects = story.sources(&wanted);
            if objects.is_empty() {
                return Err(why::not_found(&evaluated, &wanted, true));
            }
            for object in &objects {
                follow(&story, object, output)?;
            }
        }
        None => output.prose(&counts(&story))?,
    }
    for report in &evaluated.errors {
        output.report(report)?;
    }
    let failed = !evaluated.errors.is_empty() || !evaluated.loaded.nameless.is_empty();
    Ok(if failed {
        Outcome::Failed
    } else {
        Outcome::Good
    })
}

/// The number of documents after each stage. A stage that lost everything is marked.
fn counts(story: &Story<'_>) -> String {
    let mut text = String::new();
    for (number, recording) in story.recordings.iter().enumerate() {
        let controller = story.controller(number);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "controller {}", controller.name);
        let branches = controller.pipeline.branches.iter().zip(&recording.branches);
        for (branch, (rule, recorded)) in branches.enumerate() {
            if controller.pipeline.branches.len() > 1 {
                let _ = writeln!(
                    text,
                    "  branch {branch} → {}",
                    output_name(controller, rule)
                );
            }
            for (input, documents) in rule.inputs.iter().zip(&recorded.inputs) {
                let name = match input {
                    Input::Source(source) => controller.pipeline.sources[*source].as_str(),
                    Input::Stream(stream) => controller.pipeline.streams[*stream].as_str(),
                };
                let _ = writeln!(text, "  {name:<32} {:>7}", documents.len());
            }
            let mut before: usize = recorded
                .inputs
                .iter()
                .map(std::collections::BTreeMap::len)
                .sum();
            for (position, (stage, documents)) in
                rule.stages.iter().zip(&recorded.stages).enumerate()
            {
                let failed = recording.errors.iter();
                let failed = failed
                    .filter(|error| (error.branch, error.stage) == (branch, position))
                    .count();
                let lost = before > 0 && documents.is_empty();
                let mark = match (lost, failed) {
                    (true, 0) => "   everything is lost here".to_owned(),
                    (true, _) => format!("   everything is lost here, {failed} in error"),
                    (false, 0) => String::new(),
                    (false, _) => format!("   {failed} in error"),
                };
                let name = format!("{} {}", stage.kind.name(), story.place(number, stage));
                let _ = writeln!(text, "  {name:<32} {:>7}{mark}", documents.len());
                before = documents.len();
            }
        }
        for (target, rule) in controller.targets.iter().enumerate() {
            let outputs = story.outputs(number);
            let outputs = outputs.filter(|output| output.target == target);
            let (waiting, written): (Vec<_>, Vec<_>) = outputs
                .map(|output| story.waits(&output))
                .partition(Option::is_some);
            let name = format!("target {}", rule.resource.kind);
            let _ = writeln!(text, "  {name:<32} {:>7}", written.len());
            for waits in waiting.iter().flatten().take(SHOWN) {
                let _ = writeln!(text, "    waits: {waits}");
            }
            if waiting.len() > SHOWN {
                let _ = writeln!(text, "    waits: … and {} more", waiting.len() - SHOWN);
            }
        }
    }
    text
}

/// The name that a branch gives to its output.
fn output_name<'a>(controller: &'a Controller, branch: &Branch) -> &'a str {
    let stream = branch.output.stream;
    let stream = stream.map(|stream| controller.pipeline.streams[stream].as_str());
    let target = branch.output.target;
    let target = target.map(|target| controller.targets[target].resource.kind.as_str());
    stream.or(target).unwrap_or_default()
}

/// The documents that are derived from an object, stage by stage.
fn follow(story: &Story<'_>, object: &StoryObject, output: &mut Output) -> Result<(), Stop> {
    let controller = story.controller(object.controller);
    output.prose(&format!(
        "{} in controller {}\n",
        story.source_name(object),
        controller.name
    ))?;
    let provenance = story.provenance(object.controller);
    for branch in provenance.descent(object.input, &object.name) {
        let rule = &controller.pipeline.branches[branch.branch];
        if controller.pipeline.branches.len() > 1 {
            let name = output_name(controller, rule);
            output.prose(&format!("branch {} → {name}\n", branch.branch))?;
        }
        let mut before = entered(story, object, &branch);
        for stage in &branch.stages {
            before = one_stage(story, object, &branch, stage, &before, output)?;
        }
        let end = StagePlace::end(object.controller, &branch);
        for (origin, loss) in &branch.lost {
            let reason = reason(story, end, (origin, loss), true);
            let origin = story.origin(object.controller, origin);
            output.prose(&format!("output\n  {origin}: {reason}\n"))?;
        }
        for (target, name) in &branch.outputs {
            let derived = TargetObject {
                controller: object.controller,
                target: *target,
                name: name.clone(),
            };
            output.prose(&match story.waits(&derived) {
                Some(waits) => format!("waits: {waits}\n"),
                None => format!("derived: {}\n", story.target_name(&derived)),
            })?;
        }
    }
    Ok(())
}

/// The documents of the object that enter a branch.
fn entered(story: &Story<'_>, object: &StoryObject, branch: &BranchDescent) -> Vec<Value> {
    let provenance = story.provenance(object.controller);
    let inputs = branch.inputs.iter().enumerate();
    let documents = inputs.flat_map(|(input, origins)| {
        let at = Point::Input {
            branch: branch.branch,
            input,
        };
        origins.iter().filter_map(move |origin| {
            let document = provenance.document(at, origin)?;
            Some(story.masked(object.controller, at, document))
        })
    });
    documents.collect()
}

fn place_of(object: &StoryObject, branch: &BranchDescent, stage: &StageDescent) -> StagePlace {
    StagePlace {
        stage: stage.stage,
        ..StagePlace::end(object.controller, branch)
    }
}

/// How many documents of a stage are shown.
const SHOWN: usize = 10;

/// Prints what a stage yields for the object. Returns these documents.
fn one_stage(
    story: &Story<'_>,
    object: &StoryObject,
    branch: &BranchDescent,
    stage: &StageDescent,
    before: &[Value],
    output: &mut Output,
) -> Result<Vec<Value>, Stop> {
    let controller = object.controller;
    let rule = &story.controller(controller).pipeline.branches[branch.branch].stages[stage.stage];
    let place = story.place(controller, rule);
    output.prose(&format!(
        "{} {place}: {} → {}\n",
        rule.kind.name(),
        before.len(),
        stage.after.len()
    ))?;
    for (origin, loss) in stage.lost.iter().take(SHOWN) {
        let place = place_of(object, branch, stage);
        let reason = reason(story, place, (origin, loss), true);
        let origin = story.origin(controller, origin);
        output.prose(&format!("  {origin}: {reason}\n"))?;
    }
    let place = place_of(object, branch, stage);
    let at = place.after();
    let provenance = story.provenance(controller);
    for origin in stage.after.iter().take(SHOWN) {
        for absent in provenance.without_soft_partner(at, origin) {
            let origin = story.origin(controller, origin);
            let reason = no_partner(story, place, &absent, true);
            output.prose(&format!("  {origin}: {reason}\n"))?;
        }
    }
    let mut after = Vec::new();
    for (number, origin) in stage.after.iter().enumerate() {
        let document = provenance.document(at, origin).cloned().unwrap_or_default();
        let document = story.masked(controller, at, &document);
        if number < SHOWN {
            let parents: BTreeSet<Value> = provenance
                .parents(at, origin)
                .iter()
                .filter_map(|(at, origin)| {
                    let parent = provenance.document(*at, origin)?;
                    Some(story.masked(controller, *at, parent))
                })
                .collect();
            // Against its only parent, a document is a change; a join or a group makes a new one.
            let old = parents.into_iter().collect::<Vec<_>>();
            let old = <[Value; 1]>::try_from(old).map(|[only]| only);
            let old = old.ok().filter(|only| before.contains(only));
            diff::document(old.as_ref(), &document, output)?;
        }
        after.push(document);
    }
    Ok(after)
}
