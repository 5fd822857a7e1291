//! Reads the sources and targets of a controller.

use std::collections::HashSet;
use std::time::Duration;

use dataflow::pipeline::{Project, StageKind};
use document::path::Segment;
use document::{Location, Path, Value, View};
use expr::{Expr, MapExpr};
use object::{GroupKind, VIEW_SUFFIX};

use super::SpecReader;
use crate::predicate::Predicate;
use crate::problem::Problem;
use crate::spec::{Controller, Source, SourceKind, Target, TargetType};

/// The default period of a Periodic source.
const PERIOD: Duration = Duration::from_mins(5);

impl SpecReader<'_> {
    pub(super) fn source(&mut self, spec: &Value, at: &Location) -> Option<Source> {
        let fields = [
            "apiGroup",
            "version",
            "kind",
            "as",
            "namespace",
            "labelSelector",
            "predicate",
            "type",
            "parameters",
        ];
        let before = self.problems.len();
        if !self.known(spec, &fields, at) {
            return None;
        }
        self.by_name(spec, before, at);
        let resource = self.resource(spec, at)?;
        let name = match spec.get("as") {
            name if name.is_null() => resource.kind.clone(),
            name => self.text(name, &at.key("as"))?,
        };
        let namespace = match spec.get("namespace") {
            namespace if namespace.is_null() => None,
            namespace => Some(self.namespace(namespace, &at.key("namespace"))?),
        };
        let selector = self.selector(spec.get("labelSelector"), &at.key("labelSelector"));
        let predicate = match spec.get("predicate") {
            predicate if predicate.is_null() => None,
            predicate => Predicate::read(predicate, &at.key("predicate"), &mut self.problems),
        };
        Some(Source {
            kind: self.source_kind(spec, at),
            resource,
            name,
            namespace,
            selector,
            predicate,
        })
    }

    fn source_kind(&mut self, spec: &Value, at: &Location) -> SourceKind {
        let parameters = spec.get("parameters");
        if !parameters.is_null() {
            self.known(parameters, &["period"], &at.key("parameters"));
        }
        let kinds = ["Watcher", "Lister", "OneShot", "Periodic"];
        match spec.get("type").as_str() {
            None if spec.get("type").is_null() => SourceKind::Watcher,
            Some("Watcher" | "Lister") => SourceKind::Watcher,
            Some("OneShot") => SourceKind::OneShot,
            Some("Periodic") => {
                let period = parameters.get("period");
                SourceKind::Periodic(
                    self.duration(period, &at.key("parameters").key("period"))
                        .unwrap_or(PERIOD),
                )
            }
            other => {
                let help = other.and_then(|name| expr::nearest(name, kinds));
                let problem =
                    Problem::error("bad-field", &at.key("type"), "unknown type of source");
                self.problems.push(problem.with_help(match help {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => format!("the types are {}", kinds.join(", ")),
                }));
                SourceKind::Watcher
            }
        }
    }

    pub(super) fn targets(&mut self, spec: &Value, at: &Location) -> Vec<Target> {
        let (one, many) = (spec.get("target"), spec.get("targets"));
        match (one.is_null(), many.as_list()) {
            (false, None) if many.is_null() => {
                let target = self.target(one, &at.key("target"));
                self.incomplete |= target.is_none();
                target.into_iter().collect()
            }
            (true, Some(list)) if !list.is_empty() => {
                let at = at.key("targets");
                let targets: Vec<_> = list
                    .iter()
                    .enumerate()
                    .filter_map(|(i, spec)| self.target(spec, &at.index(i)))
                    .collect();
                self.incomplete |= targets.len() < list.len();
                for (i, target) in targets.iter().enumerate() {
                    if targets[..i]
                        .iter()
                        .any(|other| other.resource.kind == target.resource.kind)
                    {
                        let kind = &target.resource.kind;
                        self.error(
                            "duplicate-target",
                            &at.index(i),
                            format!("two targets have the kind {kind}"),
                        );
                    }
                }
                targets
            }
            (true, None) if many.is_null() => {
                let misspelled = ["target", "targets"].map(|name| at.key(name));
                if !misspelled.iter().any(|at| self.misspelled.contains(at)) {
                    let none = "a controller needs a target, or a list of targets";
                    self.error("bad-field", at, none);
                }
                self.incomplete = true;
                Vec::new()
            }
            (false, _) => {
                let both = "a controller has a target or a list of targets, not both";
                self.error("bad-field", at, both);
                Vec::new()
            }
            (true, _) => {
                let at = at.key("targets");
                self.no_list(
                    many,
                    &at,
                    "a controller needs a target, or a list of targets",
                );
                Vec::new()
            }
        }
    }

    fn target(&mut self, spec: &Value, at: &Location) -> Option<Target> {
        let fields = [
            "apiGroup", "version", "kind", "type", "existing", "force", "recreate", "ignore",
            "columns",
        ];
        if !self.known(spec, &fields, at) {
            return None;
        }
        let resource = self.resource(spec, at)?;
        if resource.is_view() && resource.group != format!("{}{VIEW_SUFFIX}", self.operator) {
            self.error(
                "foreign-view",
                &at.key("apiGroup"),
                format!(
                    "{} is the group of another Operator's views, which only that Operator may write",
                    resource.group
                ),
            );
        }
        if resource.is_view() && !is_kind_name(&resource.kind) {
            let message = format!("{:?} is not a valid name of a kind", resource.kind);
            let problem = Problem::error("bad-name", &at.key("kind"), message);
            self.problems
                .push(problem.with_help(kind_help(&resource.kind)));
        }
        let kind = self.target_type(spec.get("type"), &at.key("type"));
        Some(Target {
            refuse_existing: self.choice(
                spec.get("existing"),
                &["Adopt", "Refuse"],
                &at.key("existing"),
            ) == Some(1),
            force: self.flag(spec.get("force"), &at.key("force")),
            recreate: self.choice(
                spec.get("recreate"),
                &["Never", "OnImmutable"],
                &at.key("recreate"),
            ) == Some(1),
            ignore: self.paths(spec.get("ignore"), &at.key("ignore")),
            columns: self.columns(spec.get("columns"), &resource, &at.key("columns")),
            ..Target::new(resource, kind)
        })
    }

    fn target_type(&mut self, value: &Value, at: &Location) -> TargetType {
        match self.choice(value, &["Updater", "Setter", "Patcher", "Applier"], at) {
            Some(2) => TargetType::Patcher,
            Some(3) => TargetType::Applier,
            _ => TargetType::Updater,
        }
    }

    /// Reads one of several words. Returns its position among them.
    pub(super) fn choice(&mut self, value: &Value, words: &[&str], at: &Location) -> Option<usize> {
        if value.is_null() {
            return None;
        }
        let found = value
            .as_str()
            .and_then(|text| words.iter().position(|word| *word == text));
        if found.is_none() {
            let nearest = value
                .as_str()
                .and_then(|text| expr::nearest(text, words.iter().copied()));
            let found = value
                .as_str()
                .map_or_else(|| value.kind().to_string(), str::to_owned);
            let message = format!("expected one of {}, found {found}", words.join(", "));
            let problem = Problem::error("bad-field", at, message);
            self.problems.push(match nearest {
                Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
                None => problem,
            });
        }
        found
    }

    fn flag(&mut self, value: &Value, at: &Location) -> bool {
        if !value.is_null() && value.as_bool().is_none() {
            self.error("bad-field", at, "expected true or false");
        }
        value.as_bool().unwrap_or(false)
    }

    fn paths(&mut self, value: &Value, at: &Location) -> Vec<Path> {
        if value.is_null() {
            return Vec::new();
        }
        let Some(list) = value.as_list() else {
            self.error("bad-field", at, "expected a list of paths");
            return Vec::new();
        };
        let mut paths = Vec::new();
        for (i, item) in list.iter().enumerate() {
            match item.as_str().map(Path::parse) {
                Some(Ok(path)) => paths.push(path),
                Some(Err(error)) => self.error("bad-path", &at.index(i), error.to_string()),
                None => self.error("bad-path", &at.index(i), "expected a path"),
            }
        }
        paths
    }
}

/// Whether Kubernetes accepts the name of a kind.
fn is_kind_name(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !name.ends_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The nearest valid name of a kind: `gold view` is `GoldView`.
fn kind_help(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.map(|word| match word.split_at_checked(1) {
        Some((first, rest)) => format!("{}{rest}", first.to_ascii_uppercase()),
        None => String::new(),
    });
    let meant: String = words.collect();
    if is_kind_name(&meant) {
        format!("did you mean {meant}?")
    } else {
        "a kind has letters and digits, starts with a letter, and has at most 63 characters"
            .to_owned()
    }
}

/// Records the literals that the last `@project`, and each `@patch` of the whole document after it,
/// puts into the output: nulls, and data of Secrets.
pub(super) fn written(controller: &mut Controller) {
    for branch in &controller.pipeline.branches {
        let Some(target) = branch
            .output
            .target
            .and_then(|target| controller.targets.get_mut(target))
        else {
            continue;
        };
        let mut note = |path: &[String], value: &Value| {
            if value.is_null() {
                target.written_nulls.push(path.to_vec());
            }
            if let [data, key] = path
                && data == "data"
                && value.as_str().is_some()
            {
                target.literal_data.push(key.clone());
            }
        };
        for stage in branch.stages.iter().rev() {
            match &stage.kind {
                StageKind::Patch(patch) if patch.resource_path.is_root() => {
                    for mut written in patch.edit.literal_writes() {
                        literal(&written.value, &mut written.keys, &mut note);
                    }
                }
                StageKind::Project(project) => {
                    let steps = match project {
                        Project::Whole(expr) => std::slice::from_ref(expr),
                        Project::Steps(steps) => steps,
                    };
                    for step in steps {
                        literals(step, &mut Vec::new(), &mut note);
                    }
                    break;
                }
                StageKind::Patch(_)
                | StageKind::Join(_)
                | StageKind::Select(_)
                | StageKind::Unwind(_)
                | StageKind::Gather(_)
                | StageKind::GroupBy(_)
                | StageKind::Distinct => {}
            }
        }
    }
}

/// Finds the Patchers that change objects which their own controller reads.
pub(super) fn in_place(controller: &mut Controller) {
    let watched = controller.sources.iter();
    let watched = watched.filter(|source| source.kind == SourceKind::Watcher);
    let watched: HashSet<GroupKind> = watched.map(|source| source.resource.group_kind()).collect();
    let in_place = |target: &Target| {
        let reads = watched.contains(&target.resource.group_kind());
        target.kind == TargetType::Patcher && reads
    };
    let found: Vec<bool> = controller.targets.iter().map(in_place).collect();
    if !found.contains(&true) {
        return;
    }
    let keeps = controller.keeps();
    for (number, _) in found.iter().enumerate().filter(|(_, found)| **found) {
        let inputs = controller.inputs_of(&controller.targets[number].resource);
        let reads = inputs.map(|input| keeps[input].clone()).collect();
        let target = &mut controller.targets[number];
        target.in_place = true;
        target.reads = reads;
    }
}

/// Visits the literal scalars of an expression with their paths.
fn literals(expr: &Expr, path: &mut Vec<String>, visit: &mut impl FnMut(&[String], &Value)) {
    match expr {
        Expr::Literal(value) => literal(value, path, visit),
        Expr::List(items, _) => {
            for (i, item) in items.iter().enumerate() {
                path.push(i.to_string());
                literals(item, path, visit);
                path.pop();
            }
        }
        Expr::Map(map) => {
            let MapExpr {
                entries, setters, ..
            } = map.as_ref();
            for (key, value) in entries {
                path.push(key.as_str().to_owned());
                literals(value, path, visit);
                path.pop();
            }
            for setter in setters {
                let names: Option<Vec<String>> = setter
                    .path
                    .segments()
                    .iter()
                    .map(|segment| match segment {
                        Segment::Name(name) => Some(name.as_str().to_owned()),
                        Segment::Index(_) | Segment::Several(_) | Segment::Descendants(_) => None,
                    })
                    .collect();
                if let Some(names) = names {
                    let depth = path.len();
                    path.extend(names);
                    literals(&setter.value, path, visit);
                    path.truncate(depth);
                }
            }
        }
        Expr::Now
        | Expr::Path(_)
        | Expr::One(_)
        | Expr::Call(_)
        | Expr::Switch(..)
        | Expr::Query(_)
        | Expr::GetField(..)
        | Expr::SetField(..)
        | Expr::Random(..)
        | Expr::Cel(_) => {}
    }
}

fn literal(value: &Value, path: &mut Vec<String>, visit: &mut impl FnMut(&[String], &Value)) {
    match value.view() {
        View::Map(map) => {
            for (key, value) in map {
                path.push(key.as_str().to_owned());
                literal(value, path, visit);
                path.pop();
            }
        }
        View::List(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push(i.to_string());
                literal(item, path, visit);
                path.pop();
            }
        }
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => visit(path, value),
    }
}
