//! What is allowed but looks wrong: joins without a key, names that do not exist, cycles
//! of controllers, secrets that leave.

mod patches;

use dataflow::pipeline::{Branch, Project, StageKind};
use document::path::{Root, Segment};
use expr::Expr;

use super::SpecReader;
use crate::problem::Problem;
use crate::spec::{Controller, Operator};

impl SpecReader<'_> {
    pub(super) fn lint(&mut self, operator: &Operator) {
        for controller in &operator.controllers {
            for branch in &controller.pipeline.branches {
                self.joins_without_key(branch);
                self.unknown_kinds(branch);
                self.unknown_variables(branch);
            }
            self.secrets(controller);
        }
        self.cycles(operator);
    }

    /// A join that must look at every pair.
    fn joins_without_key(&mut self, branch: &Branch) {
        let Some(stage) = branch.stages.first() else {
            return;
        };
        let StageKind::Join(join) = &stage.kind else {
            return;
        };
        for (input, name) in join.inputs.iter().enumerate() {
            let keyed = join.conjuncts.iter().any(|conjunct| {
                conjunct
                    .key
                    .as_ref()
                    .is_some_and(|key| key.sides().iter().any(|side| side.input == input))
            });
            if join.inputs.len() > 1 && !keyed {
                let problem = Problem::warning(
                    "join-without-key",
                    &stage.at,
                    format!(
                        "{name} is joined without a key: every change looks at all its objects, or all of the others"
                    ),
                );
                self.problems.push(problem.with_help(format!(
                    "add an @eq, @in or @selector between {name} and another source"
                )));
            }
        }
    }

    /// Paths behind a join that start with a name that is no source.
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
                // The keys stay: what is patched is inside of one.
                StageKind::Patch(patch) if !patch.resource_path.is_root() => {}
                // Behind this the document has other keys.
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
        for expr in exprs {
            expr.walk(&mut |inner| {
                let Expr::Path(path) = inner else { return };
                if let (Root::Document, Some(Segment::Name(name))) =
                    (path.path.root(), path.path.segments().first())
                    && !join.inputs.iter().any(|input| input == name.as_str())
                {
                    let problem = Problem::warning(
                        "unknown-kind",
                        &path.at,
                        format!("{name} is none of the joined sources, so this is always null"),
                    );
                    let nearest =
                        expr::nearest(name.as_str(), join.inputs.iter().map(String::as_str));
                    self.problems.push(match nearest {
                        Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
                        None => {
                            problem.with_help(format!("the sources are {}", join.inputs.join(", ")))
                        }
                    });
                }
            });
        }
    }

    /// Data of Secrets that flows into other kinds.
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
        let needs = dataflow::fields::needs(&controller.pipeline);
        let data = document::Key::new("data");
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

    /// Controllers that read what they write, directly or through others.
    fn cycles(&mut self, operator: &Operator) {
        let count = operator.controllers.len();
        let mut reaches: Vec<Vec<bool>> = (0..count)
            .map(|i| {
                (0..count)
                    .map(|j| operator.controllers[i].feeds(&operator.controllers[j]))
                    .collect()
            })
            .collect();
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
                }
            }
        }
        for (i, controller) in operator.controllers.iter().enumerate() {
            if reaches[i][i] {
                let name = &controller.name;
                let message = if controller.feeds(controller) {
                    format!("{name} reads the kind that it writes")
                } else {
                    format!("{name} reads what controllers write that read what it writes")
                };
                let problem = Problem::warning("cycle", &controller.at, message);
                self.problems.push(problem.with_help(
                    "such controllers run again until nothing changes, and after 64 rounds stop with the error `cycle`",
                ));
            }
        }
    }
}
