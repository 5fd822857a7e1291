//! Facts about stages, for all code that asks. Each is a match without `_`: the compiler
//! stops at every question that a new stage has to answer.

use document::path::{Root, Segment};
use expr::{Expr, MapExpr};

use super::{Branch, Pipeline, Project, StageKind};

impl StageKind {
    /// The name of the operation, as it is written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Join(_) => "@join",
            Self::Select(_) => "@select",
            Self::Project(_) => "@project",
            Self::Unwind(_) => "@unwind",
            Self::Gather(_) => "@gather",
            Self::GroupBy(_) => "@groupBy",
            Self::Distinct => "@distinct",
            Self::Patch(_) => "@patch",
        }
    }

    /// Whether it puts documents together under a key. The origin of what it puts out is
    /// that key and names no source object.
    pub fn groups(&self) -> bool {
        match self {
            Self::Gather(_) | Self::GroupBy(_) | Self::Distinct => true,
            Self::Join(_)
            | Self::Select(_)
            | Self::Project(_)
            | Self::Unwind(_)
            | Self::Patch(_) => false,
        }
    }

    /// Whether a missing document shows in its output as a missing partner.
    pub fn is_soft(&self) -> bool {
        match self {
            Self::Join(join) => !join.soft.is_empty(),
            Self::Select(_)
            | Self::Project(_)
            | Self::Unwind(_)
            | Self::Gather(_)
            | Self::GroupBy(_)
            | Self::Distinct
            | Self::Patch(_) => false,
        }
    }

    /// Whether what it puts out is built anew: no longer source objects, changed or not.
    pub fn rebuilds(&self) -> bool {
        match self {
            Self::Project(_) | Self::GroupBy(_) => true,
            Self::Join(_)
            | Self::Select(_)
            | Self::Unwind(_)
            | Self::Gather(_)
            | Self::Distinct
            | Self::Patch(_) => false,
        }
    }

    /// Whether what it puts out may have a `status`; `before` says so of what it takes.
    /// Where that is not known, it may.
    pub fn may_yield_status(&self, before: bool) -> bool {
        match self {
            Self::Project(Project::Whole(expr)) => projects_status(expr, before),
            Self::Project(Project::Steps(steps)) => {
                steps.iter().any(|step| projects_status(step, before))
            }
            Self::Unwind(path) => leads_into_status(path.segments()) || before,
            Self::Gather(gather) => leads_into_status(gather.path.segments()) || before,
            Self::Select(_) | Self::Distinct => before,
            Self::GroupBy(_) => false,
            // A patch may add one anywhere.
            Self::Join(_) | Self::Patch(_) => true,
        }
    }
}

impl Pipeline {
    /// Whether what a target gets may have a `status`.
    pub fn may_yield_status(&self, target: usize) -> bool {
        let branches = self.branches.iter();
        let mut branches = branches.filter(|branch| branch.output.target == Some(target));
        branches.any(Branch::may_yield_status)
    }
}

impl Branch {
    /// Whether its documents may have a `status`.
    fn may_yield_status(&self) -> bool {
        let stages = self.stages.iter();
        stages.fold(true, |before, stage| stage.kind.may_yield_status(before))
    }
}

/// Whether what an expression makes may have a status.
fn projects_status(expr: &Expr, before: bool) -> bool {
    match expr {
        Expr::Map(map) => builds_status(map, before),
        Expr::Literal(value) => !value.get("status").is_null(),
        // `$` is the document as it came in.
        Expr::Path(path) => before || path.path.root() != Root::Document || !path.path.is_root(),
        Expr::Now
        | Expr::List(..)
        | Expr::One(_)
        | Expr::Call(_)
        | Expr::Switch(..)
        | Expr::Query(_)
        | Expr::GetField(..)
        | Expr::SetField(..)
        | Expr::Random(..)
        | Expr::Cel(_) => true,
    }
}

fn builds_status(map: &MapExpr, before: bool) -> bool {
    let copied = map.copy.as_ref();
    copied.is_some_and(|copied| projects_status(copied, before))
        || map.entries.iter().any(|(key, _)| key.as_str() == "status")
        || map
            .setters
            .iter()
            .any(|setter| leads_into_status(setter.path.segments()))
}

/// Whether a path leads into the status, or perhaps does.
fn leads_into_status(segments: &[Segment]) -> bool {
    match segments.first() {
        Some(Segment::Name(name)) => name.as_str() == "status",
        Some(Segment::Index(_) | Segment::Several(_) | Segment::Descendants(_)) | None => true,
    }
}

#[cfg(test)]
mod tests {
    use document::{Location, Value, json};
    use expr::Table;

    use super::*;

    fn stage(spec: Value) -> StageKind {
        let names = |name: &str| vec![name.to_owned()];
        let pipeline = Pipeline::parse(
            &Value::list([spec]),
            &Location::root(),
            &names("A"),
            &names("T"),
            &Table::builtin(),
        );
        let mut branches = pipeline.unwrap().branches;
        branches.remove(0).stages.remove(0).kind
    }

    /// Every stage with what is true of it: groups, rebuilds, yields a status of its input.
    #[test]
    fn stages_know_what_they_do() {
        for (spec, expect) in [
            (json!({"@join": true}), (false, false, true)),
            (json!({"@select": true}), (false, false, true)),
            (json!({"@project": {"a": "$.a"}}), (false, true, false)),
            (json!({"@unwind": "$.a"}), (false, false, true)),
            (json!({"@gather": ["$.k", "$.a"]}), (true, false, true)),
            (json!({"@groupBy": ["$.k", "$.a"]}), (true, true, false)),
            (json!("@distinct"), (true, false, true)),
            (
                json!({"@patch": {"operations": [{"op": "remove", "path": "/a"}]}}),
                (false, false, true),
            ),
        ] {
            let kind = stage(spec);
            let found = (kind.groups(), kind.rebuilds(), kind.may_yield_status(true));
            assert_eq!(found, expect, "{}", kind.name());
        }
    }

    #[test]
    fn a_status_comes_from_a_copy_a_key_or_a_path() {
        for (spec, from_none, from_some) in [
            (json!({"@project": "$"}), false, true),
            (json!({"@project": "$.spec"}), true, true),
            (json!({"@project": {"$.": "$", "a": 1}}), false, true),
            (json!({"@project": {"status": 1}}), true, true),
            (
                json!({"@project": [{"a": 1}, {"$.status.b": 1}]}),
                true,
                true,
            ),
            (json!({"@unwind": "$.status.list"}), true, true),
            (json!({"@select": true}), false, true),
        ] {
            let kind = stage(spec.clone());
            assert_eq!(kind.may_yield_status(false), from_none, "{spec}");
            assert_eq!(kind.may_yield_status(true), from_some, "{spec}");
        }
    }
}
