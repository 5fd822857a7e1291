//! `deltic explain`: prints the plan of each controller.

mod json;

use std::fmt::Write;

use dataflow::explain::{BranchPlan, JoinPlan, Lookup};
use dataflow::pipeline::Stage;
use dataflow::{Budget, Circuit};
use document::Location;

use crate::spec::{Controller, Operator, Source, SourceKind};
use object::KindRef;

pub use json::to_json;

/// The plan of an Operator as text: the sources with the fields that are stored, and the stages
/// with their index keys and the cost of a change.
pub fn explain(operator: &Operator) -> String {
    let mut text = format!("operator {}\n", operator.name);
    for controller in &operator.controllers {
        text.push('\n');
        controller_plan(&mut text, controller);
    }
    text
}

/// Appends a line. Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

/// The circuit of a controller, without objects.
fn circuit(controller: &Controller) -> Circuit {
    let targets = controller.targets.iter();
    let kinds: Vec<_> = targets
        .map(|target| dataflow::apply::OutputKind::from(&target.resource))
        .collect();
    Circuit::new(&controller.pipeline, &kinds, Budget::default())
}

impl Controller {
    /// The place of a stage in the controller, as all commands show it: `pipeline[0]`.
    pub fn place(&self, stage: &Stage) -> String {
        let at = inside(self, &stage.at);
        let name = format!(".{}", stage.kind.name());
        at.strip_suffix(&name).unwrap_or(&at).to_owned()
    }
}

/// A location inside of a controller.
fn inside(controller: &Controller, at: &Location) -> String {
    let at = at.to_string();
    let prefix = format!("{}.", controller.at);
    at.strip_prefix(&prefix).unwrap_or(&at).to_owned()
}

fn controller_plan(text: &mut String, controller: &Controller) {
    let circuit = circuit(controller);
    line!(text, "controller {}", controller.name);
    line!(text, "  sources");
    for (position, source) in controller.sources.iter().enumerate() {
        line!(text, "    {}", source_line(source));
        if let Some(input) = controller
            .inputs
            .iter()
            .position(|other| *other == position)
        {
            let fields = circuit.fields(input);
            let kept = if fields.all {
                "everything".to_owned()
            } else {
                fields.describe().join(", ")
            };
            line!(text, "      keeps {kept}");
        }
    }
    let plans = circuit.explain();
    for (branch, plan) in controller.pipeline.branches.iter().zip(&plans) {
        if plans.len() > 1 {
            let inputs = branch.inputs.len();
            line!(
                text,
                "  branch {} ({inputs} input{})",
                inside(controller, &branch.at),
                if inputs == 1 { "" } else { "s" }
            );
        } else {
            line!(text, "  stages");
        }
        let places = branch.stages.iter().map(|stage| controller.place(stage));
        branch_plan(text, &places.collect::<Vec<_>>(), plan);
    }
    line!(text, "  targets");
    for target in &controller.targets {
        let how = target.kind.as_str();
        line!(text, "    {} by {how}", resource(&target.resource));
    }
}

fn source_line(source: &Source) -> String {
    let mut line = resource(&source.resource);
    if source.name != source.resource.kind {
        let _ = write!(line, " as {}", source.name);
    }
    match source.kind {
        SourceKind::Watcher => {}
        SourceKind::OneShot => line.push_str(", once at the start"),
        SourceKind::Periodic(period) => {
            let _ = write!(
                line,
                ", every {}s: targets are compared and repaired",
                period.as_secs_f64()
            );
        }
    }
    if let Some(namespace) = &source.namespace {
        let _ = write!(line, " in namespace {namespace}");
    }
    if let Some(selector) = &source.selector {
        let _ = write!(line, " with labels {selector}");
    }
    line
}

fn resource(resource: &KindRef) -> String {
    let KindRef {
        group,
        version,
        kind,
    } = resource;
    if resource.is_view() {
        return format!(
            "{kind} (view of {})",
            group.trim_end_matches(object::VIEW_SUFFIX)
        );
    }
    let group = if group.is_empty() { "core" } else { group };
    match version {
        Some(version) => format!("{kind} ({group}/{version})"),
        None => format!("{kind} ({group})"),
    }
}

fn branch_plan(text: &mut String, places: &[String], plan: &BranchPlan) {
    if plan.stages.is_empty() {
        line!(text, "    copy");
    }
    let width = places.iter().map(String::len).max().unwrap_or_default();
    for (stage, place) in plan.stages.iter().zip(places) {
        line!(
            text,
            "    {:<10} {place:<width$}  a change costs {}",
            stage.name,
            stage.cost
        );
        if let Some(join) = &stage.join {
            join_plan(text, join);
        }
    }
}

fn join_plan(text: &mut String, join: &JoinPlan) {
    for (input, condition) in &join.filters {
        line!(text, "      before the join: {input} where {condition}");
    }
    for change in &join.changes {
        line!(text, "      a change of {}", change.input);
        for found in &change.lookups {
            look(text, "finds", found);
        }
    }
    for found in &join.soft {
        look(text, "then finds, if there is one,", found);
    }
}

fn look(text: &mut String, verb: &str, look: &Lookup) {
    if look.keys.is_empty() {
        line!(
            text,
            "        {verb} {} by scanning ALL of its objects (no key)",
            look.input
        );
    } else {
        line!(
            text,
            "        {verb} {} by index on {}",
            look.input,
            look.keys.join(" and ")
        );
    }
    for check in &look.checks {
        line!(text, "          checks {check}");
    }
}
