//! Properties of stages, for all code that depends on them. Each is a match without `_`, so the
//! compiler lists every property that a new stage has to define.

use document::path::{Root, Segment};
use expr::{Expr, MapExpr, Volatile};

use super::{Branch, GroupBy, Patch, Pipeline, Project, StageKind};

impl StageKind {
    /// The name of the stage in the spec.
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

    /// Whether it groups documents by a key. The origin of its output is that key, without source
    /// objects.
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

    /// Whether it may put out a document because another one is missing, as a soft join does.
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

    /// Whether it builds new documents. The output of other stages consists of source objects,
    /// changed or not.
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

    /// The inputs of its expressions that are not part of the document. Conditions of joins and
    /// keys of groups have none.
    pub fn volatile(&self) -> Volatile {
        match self {
            Self::Select(expr) => expr.volatile(),
            Self::Project(project) => project.volatile(),
            Self::GroupBy(group) => group.volatile(),
            Self::Patch(patch) => patch.volatile(),
            Self::Join(_) | Self::Unwind(_) | Self::Gather(_) | Self::Distinct => {
                Volatile::default()
            }
        }
    }

    /// Whether its output may depend on the time of the last change of its input, see
    /// [`Expr::shows_now`].
    pub fn shows_now(&self) -> bool {
        match self {
            Self::Select(expr) | Self::Project(Project::Whole(expr)) => expr.shows_now(),
            Self::Project(Project::Steps(steps)) => steps.iter().any(Expr::shows_now),
            Self::GroupBy(group) => group.value.as_ref().is_some_and(Expr::shows_now),
            Self::Patch(patch) => patch.volatile().now,
            Self::Join(_) | Self::Unwind(_) | Self::Gather(_) | Self::Distinct => false,
        }
    }

    /// Whether its output may have a value at a path of names. `before` says so of its input. If it
    /// is not known, the answer is yes.
    pub fn may_yield(&self, place: &[&str], before: bool) -> bool {
        match self {
            Self::Project(Project::Whole(expr)) => projects(expr, place, before),
            Self::Project(Project::Steps(steps)) => {
                steps.iter().any(|step| projects(step, place, before))
            }
            Self::Unwind(path) => may_touch(path.segments(), place) || before,
            Self::Gather(gather) => may_touch(gather.path.segments(), place) || before,
            Self::Select(_) | Self::Distinct => before,
            // The document of a group has the keys `key`, `values` and `documents`.
            Self::GroupBy(_) => matches!(
                place.first(),
                None | Some(&("key" | "values" | "documents"))
            ),
            // A patch may add a value anywhere.
            Self::Join(_) | Self::Patch(_) => true,
        }
    }
}

impl Project {
    pub(crate) fn volatile(&self) -> Volatile {
        match self {
            Self::Whole(expr) => expr.volatile(),
            Self::Steps(steps) => {
                let steps = steps.iter().map(Expr::volatile);
                steps.fold(Volatile::default(), Volatile::or)
            }
        }
    }
}

impl GroupBy {
    pub(crate) fn volatile(&self) -> Volatile {
        let value = self.value.as_ref();
        value.map(Expr::volatile).unwrap_or_default()
    }
}

impl Patch {
    pub(crate) fn volatile(&self) -> Volatile {
        let mut now = false;
        self.edit
            .expressions(&mut |expression, _| now |= expression.program.reads_variable(expr::NOW));
        Volatile { now, random: false }
    }
}

impl Pipeline {
    /// Whether a stage reads `"@now"`.
    pub fn reads_now(&self) -> bool {
        let mut stages = self.branches.iter().flat_map(|branch| &branch.stages);
        stages.any(|stage| stage.kind.volatile().now)
    }

    /// Whether the objects of a target may have a value at a path of names.
    pub fn may_yield(&self, target: usize, place: &[&str]) -> bool {
        let branches = self.branches.iter();
        let mut branches = branches.filter(|branch| branch.output.target == Some(target));
        branches.any(|branch| branch.may_yield(place))
    }
}

impl Branch {
    fn may_yield(&self, place: &[&str]) -> bool {
        let stages = self.stages.iter();
        stages.fold(true, |before, stage| stage.kind.may_yield(place, before))
    }
}

/// Whether the value of an expression may have a value at a path of names.
fn projects(expr: &Expr, place: &[&str], before: bool) -> bool {
    match expr {
        Expr::Map(map) => builds(map, place, before),
        Expr::Literal(value) => {
            let found = place.iter().fold(value, |value, name| value.get(name));
            !found.is_null()
        }
        // `$` is the input document.
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

fn builds(map: &MapExpr, place: &[&str], before: bool) -> bool {
    let Some((first, rest)) = place.split_first() else {
        return true;
    };
    let copied = map.copy.as_ref();
    let mut entries = map.entries.iter();
    copied.is_some_and(|copied| projects(copied, place, before))
        // Inside an entry, `before` does not apply: the path continues in another value.
        || entries.any(|(key, value)| key.as_str() == *first && projects(value, rest, true))
        || map
            .setters
            .iter()
            .any(|setter| may_touch(setter.path.segments(), place))
}

/// Whether setting this path may change the value at a path of names: one contains the other.
fn may_touch(segments: &[Segment], place: &[&str]) -> bool {
    segments
        .iter()
        .zip(place)
        .all(|(segment, name)| match segment {
            Segment::Name(key) => key.as_str() == *name,
            Segment::Index(_) | Segment::Several(_) | Segment::Descendants(_) => true,
        })
}

#[cfg(test)]
mod tests {
    use document::{Location, Value, json};
    use expr::Functions;

    use super::*;

    fn stage(spec: Value) -> StageKind {
        let names = |name: &str| vec![name.to_owned()];
        let pipeline = Pipeline::parse(
            &Value::list([spec]),
            &Location::root(),
            &names("A"),
            &names("T"),
            &Functions::builtin(),
        );
        let mut branches = pipeline.unwrap().branches;
        branches.remove(0).stages.remove(0).kind
    }

    const STATUS: [&str; 1] = ["status"];
    const OWNERS: [&str; 2] = ["metadata", "ownerReferences"];

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
            let found = (
                kind.groups(),
                kind.rebuilds(),
                kind.may_yield(&STATUS, true),
            );
            assert_eq!(found, expect, "{}", kind.name());
        }
    }

    /// What a stage may yield of an input that has nothing at the place, and of one that has.
    fn check(spec: &Value, place: &[&str], from_none: bool, from_some: bool) {
        let kind = stage(spec.clone());
        assert_eq!(kind.may_yield(place, false), from_none, "{spec}");
        assert_eq!(kind.may_yield(place, true), from_some, "{spec}");
    }

    #[test]
    fn a_status_comes_from_a_copy_a_key_or_a_path() {
        for (spec, from_none, from_some) in [
            (json!({"@project": "$"}), false, true),
            (json!({"@project": "$.spec"}), true, true),
            (json!({"@project": {"$.": "$", "a": 1}}), false, true),
            (json!({"@project": {"status": 1}}), true, true),
            (json!({"@project": {"a": "$.status"}}), false, false),
            (
                json!({"@project": [{"a": 1}, {"$.status.b": 1}]}),
                true,
                true,
            ),
            (json!({"@unwind": "$.status.list"}), true, true),
            (json!({"@select": true}), false, true),
        ] {
            check(&spec, &STATUS, from_none, from_some);
        }
    }

    #[test]
    fn owners_come_with_metadata_that_is_not_written_down() {
        for (spec, from_none, from_some) in [
            (json!({"@project": "$"}), false, true),
            (
                json!({"@project": {"metadata": {"name": "$.metadata.name"}}}),
                false,
                false,
            ),
            (json!({"@project": {"metadata": "$.metadata"}}), true, true),
            (
                json!({"@project": {"metadata": {"$.": "$.spec", "name": "a"}}}),
                true,
                true,
            ),
            (
                json!({"@project": {"metadata": {"ownerReferences": "$.o"}}}),
                true,
                true,
            ),
            (
                json!({"@project": {"metadata": {"labels": {"ownerReferences": "x"}}}}),
                false,
                false,
            ),
            (
                json!({"@project": {"$.metadata.labels.a": 1, "b": 2}}),
                false,
                false,
            ),
            (json!({"@project": {"$.metadata": "$.m"}}), true, true),
            (
                json!({"@project": {"$.metadata.ownerReferences[0]": "$.m"}}),
                true,
                true,
            ),
            (
                json!({"@project": {"metadata": {"@merge": ["$.a", "$.b"]}}}),
                true,
                true,
            ),
            (json!({"@unwind": "$.metadata.labels"}), false, true),
            (json!({"@groupBy": ["$.k", null]}), false, false),
        ] {
            check(&spec, &OWNERS, from_none, from_some);
        }
    }
}
