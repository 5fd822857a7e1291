//! Inputs of which a pipeline reads a single object: a join compares their name with a constant,
//! and their namespace is fixed, too.

use dataflow::pipeline::{Branch, Input, Join, StageKind};
use document::path::{Path, Root, Segment};
use expr::Expr;
use object::KindRef;
use schema::{Catalog, Found};

use crate::spec::{Controller, Source};

/// The name of the only object of a source that a branch reads; `input` is that of its join.
pub(crate) fn object<'a>(
    controller: &'a Controller,
    branch: &'a Branch,
    input: usize,
) -> Option<&'a str> {
    let Some(StageKind::Join(join)) = branch.stages.first().map(|stage| &stage.kind) else {
        return None;
    };
    let Input::Source(source) = *branch.inputs.get(input)? else {
        return None;
    };
    let source = controller
        .inputs
        .get(source)
        .map(|at| &controller.sources[*at])?;
    let name = constant(join, input, "name")?;
    let is_fixed = source.namespace.is_some() || constant(join, input, "namespace").is_some();
    (is_fixed || is_cluster_scoped(source)).then_some(name)
}

/// The names of the only objects that a controller reads of an input; `None` if it reads others.
pub(crate) fn objects(controller: &Controller, input: usize) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for branch in &controller.pipeline.branches {
        for (position, of) in branch.inputs.iter().enumerate() {
            if *of == Input::Source(input) {
                names.push(object(controller, branch, position)?);
            }
        }
    }
    Some(names)
}

/// The constant that a join compares a field of the metadata of an input with.
fn constant<'a>(join: &'a Join, input: usize, field: &str) -> Option<&'a str> {
    let is_field = |path: &Path| {
        let names = [join.inputs[input].as_str(), "metadata", field];
        let segments = path.segments();
        let is = |(segment, name): (&Segment, &str)| matches!(segment, Segment::Name(key) if key.as_str() == name);
        path.root() == Root::Document
            && segments.len() == names.len()
            && segments.iter().zip(names).all(is)
    };
    let of_sides = |path: &Expr, value: &'a Expr| {
        let Expr::Path(path) = path else { return None };
        let value = value.as_literal().filter(|_| is_field(&path.path));
        value?.as_str()
    };
    let mut conditions = join.conjuncts.iter().map(|conjunct| &conjunct.expr);
    conditions.find_map(|condition| match condition.args_of("@eq")? {
        [a, b] => of_sides(a, b).or_else(|| of_sides(b, a)),
        _ => None,
    })
}

/// Whether the objects of a source are in no namespace.
fn is_cluster_scoped(source: &Source) -> bool {
    let kind: &KindRef = &source.resource;
    matches!(Catalog::default().find(kind), Found::Kind(schema) if !schema.namespaced)
}
