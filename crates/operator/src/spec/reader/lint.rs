//! Warnings about what is valid but probably a mistake: joins without a key, names that do not
//! exist, cycles of controllers, data of Secrets that flows into other kinds, a time that stands
//! still.

mod cycles;
mod patches;
mod time;

use dataflow::pipeline::{Branch, JoinKey, Project, StageKind};
use document::path::{Root, Segment};
use document::{Key, Location, Value};
use expr::Expr;

use super::SpecReader;
use crate::problem::Problem;
use crate::single;
use crate::spec::{Controller, Operator};

impl SpecReader<'_> {
    pub(super) fn lint(&mut self, operator: &Operator) {
        let broken = self.broken();
        for controller in &operator.controllers {
            for branch in &controller.pipeline.branches {
                self.joins_without_key(controller, branch, &broken);
                self.unknown_kinds(branch);
                self.unknown_variables(branch);
            }
            self.secrets(controller);
            self.time_that_stands_still(controller);
        }
        // How a target with a mistake is written is not known.
        let places = operator.controllers.iter().map(|controller| &controller.at);
        let unsure: Vec<&Location> = places.filter(|at| breaks_target(&broken, at)).collect();
        let mut feedback = crate::typed::feedback(operator, &broken);
        let mut whole = std::mem::take(&mut feedback.whole);
        whole.retain(|problem| !unsure.iter().any(|at| problem.at.is_in(at)));
        self.cycles(operator, &whole, &unsure, &feedback);
        self.problems.extend(whole);
    }

    /// Warns about joins that must compare every pair of objects, and about those that combine every
    /// object with every other. Single objects are not counted.
    fn joins_without_key(&mut self, controller: &Controller, branch: &Branch, broken: &[Location]) {
        let Some(stage) = branch.stages.first() else {
            return;
        };
        if broken.iter().any(|error| error.is_in(&stage.at)) {
            return;
        }
        let StageKind::Join(join) = &stage.kind else {
            return;
        };
        // A name that is no source is reported as such, and so is a path without `$.`.
        let exprs = || join.conjuncts.iter().map(|conjunct| &conjunct.expr);
        if strangers(exprs(), &join.inputs).next().is_some()
            || exprs().any(|expr| has_path_as_text(expr, &join.inputs))
        {
            return;
        }
        let is_single = |input: usize| single::object(controller, branch, input).is_some();
        let many: Vec<usize> = (0..join.inputs.len())
            .filter(|at| !is_single(*at))
            .collect();
        if many.len() < 2 {
            return;
        }
        let mut apart = Vec::new();
        for input in many {
            let name = &join.inputs[input];
            let keys = join
                .conjuncts
                .iter()
                .filter_map(|conjunct| conjunct.key.as_ref());
            let keyed = |key: &JoinKey| key.sides().iter().any(|side| side.input == input);
            if keys.into_iter().any(keyed) {
                continue;
            }
            let mut between = join.conjuncts.iter().map(|conjunct| conjunct.reads);
            if between.any(|reads| reads.has(input) && reads.len() > 1) {
                self.problems.push(without_key(name, &stage.at));
            } else {
                apart.push(name.as_str());
            }
        }
        if !apart.is_empty() {
            self.problems.push(fan_out(&apart, &stage.at));
        }
    }

    /// Warns about paths behind a join that start with a name that is not a source.
    fn unknown_kinds(&mut self, branch: &Branch) {
        let mut stages = branch.stages.iter();
        let Some(StageKind::Join(join)) = stages.next().map(|stage| &stage.kind) else {
            return;
        };
        let mut exprs: Vec<&Expr> = join
            .conjuncts
            .iter()
            .map(|conjunct| &conjunct.expr)
            .collect();
        for stage in stages {
            match &stage.kind {
                StageKind::Select(expr) => exprs.push(expr),
                // The patch changes a value inside of a key, so the keys stay the same.
                StageKind::Patch(patch) if !patch.resource_path.is_root() => {}
                // Behind this stage the document has other keys.
                StageKind::Project(Project::Whole(expr)) => {
                    exprs.push(expr);
                    break;
                }
                StageKind::Project(Project::Steps(steps)) => {
                    exprs.extend(steps);
                    break;
                }
                StageKind::Patch(_)
                | StageKind::Join(_)
                | StageKind::Unwind(_)
                | StageKind::Gather(_)
                | StageKind::GroupBy(_)
                | StageKind::Distinct => break,
            }
        }
        for (name, at) in strangers(exprs, &join.inputs) {
            let message =
                format!("{name} is not one of the joined sources, so this is always null");
            let problem = Problem::warning("unknown-kind", &at, message);
            let nearest = expr::nearest(name.as_str(), join.inputs.iter().map(String::as_str));
            self.problems.push(match nearest {
                Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
                None => problem.with_help(format!("the sources are {}", join.inputs.join(", "))),
            });
        }
    }

    /// Warns about data of Secrets that flows into other kinds.
    fn secrets(&mut self, controller: &Controller) {
        let secret = object::KindRef::is_secret;
        let secrets: Vec<usize> = (0..controller.inputs.len())
            .filter(|input| secret(&controller.sources[controller.inputs[*input]].resource))
            .collect();
        if secrets.is_empty()
            || controller
                .targets
                .iter()
                .all(|target| secret(&target.resource))
        {
            return;
        }
        let needs = dataflow::fields::used(&controller.pipeline);
        let data = Key::new("data");
        for input in secrets {
            let fields = &needs[input];
            if fields.all || fields.names.contains_key(&data) {
                self.problems.push(Problem::warning(
                    "secret-data",
                    &controller.at.key("pipeline"),
                    "data of a Secret flows into another kind, which may be read by people who must not read the Secret",
                ));
            }
        }
    }
}

/// Whether the target of the controller at this place has an error.
fn breaks_target(broken: &[Location], controller: &Location) -> bool {
    let targets = ["target", "targets"].map(|key| controller.key(key));
    let mut broken = broken.iter();
    broken.any(|error| targets.iter().any(|target| error.is_in(target)))
}

/// The first names of paths that are none of the joined sources, with the places of the paths.
fn strangers<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
    inputs: &[String],
) -> impl Iterator<Item = (Key, Location)> {
    let mut found = Vec::new();
    for expr in exprs {
        expr.walk(&mut |inner| {
            let Expr::Path(path) = inner else { return };
            if let (Root::Document, Some(Segment::Name(name))) =
                (path.path.root(), path.path.segments().first())
                && !inputs.iter().any(|input| input == name.as_str())
            {
                found.push((name.clone(), path.at.clone()));
            }
        });
    }
    found.into_iter()
}

/// Whether a text in an expression starts with the name of an input, as a path would behind `$.`.
fn has_path_as_text(expr: &Expr, inputs: &[String]) -> bool {
    let mut found = false;
    expr.walk(&mut |inner| {
        let text = inner.as_literal().and_then(Value::as_str);
        let name = text.and_then(|text| text.split_once('.'));
        found |= name.is_some_and(|(name, _)| inputs.iter().any(|input| input == name));
    });
    found
}

fn without_key(name: &str, at: &Location) -> Problem {
    let message = format!(
        "{name} is joined without a key: a change has to be compared with all objects of a source"
    );
    let problem = Problem::warning("join-without-key", at, message);
    problem.with_help(format!(
        "add an @eq, @in or @selector between {name} and another source"
    ))
}

fn fan_out(names: &[&str], at: &Location) -> Problem {
    let names = names.join(" and ");
    let message = format!(
        "no condition connects {names} with another source: every combination of objects is a result, and a change of one object changes as many results as the other sources have objects"
    );
    let problem = Problem::warning("fan-out", at, message);
    problem.with_help("if that is not intended, add an @eq, @in or @selector between the sources")
}
