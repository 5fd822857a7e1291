//! What a pipeline reads of its sources, found backwards from the outputs.

use document::Key;
use document::path::Root;
use expr::{Expr, MapExpr, Read};

use super::Fields;
use crate::pipeline::{Branch, Gather, GroupBy, Input, Join, Patch, Pipeline, Project, StageKind};

/// For each source, the fields that the pipeline reads of its objects.
pub fn needs(pipeline: &Pipeline) -> Vec<Fields> {
    let mut sources = vec![identity(); pipeline.sources.len()];
    let mut streams: Vec<Fields> = Vec::new();
    for &branch in pipeline.order.iter().rev() {
        let branch = &pipeline.branches[branch];
        let mut output = Fields::default();
        if branch.output.target.is_some() {
            output = Fields::all();
        }
        if let Some(fields) = branch.output.stream.and_then(|stream| streams.get(stream)) {
            output.add(fields);
        }
        for (input, fields) in branch.inputs.iter().zip(branch_needs(branch, output)) {
            match *input {
                Input::Source(source) => sources[source].add(&fields),
                Input::Stream(stream) => {
                    if streams.len() <= stream {
                        streams.resize(stream + 1, Fields::default());
                    }
                    streams[stream].add(&fields);
                }
            }
        }
    }
    sources
}

/// What tells an object from others is always kept.
fn identity() -> Fields {
    let mut fields = Fields::default();
    let metadata = fields.names.entry(Key::new("metadata")).or_default();
    for name in ["name", "namespace"] {
        metadata.names.insert(Key::new(name), Fields::all());
    }
    fields
}

/// What a branch reads of each of its inputs, when `output` is read of its documents.
fn branch_needs(branch: &Branch, output: Fields) -> Vec<Fields> {
    let mut fields = output;
    for stage in branch.stages.iter().rev() {
        fields = match &stage.kind {
            StageKind::Join(join) => return join_needs(join, &fields),
            StageKind::Select(condition) => with_reads(fields, condition),
            StageKind::Project(Project::Whole(expr)) => project_needs(expr, &fields),
            StageKind::Project(Project::Steps(steps)) => {
                // A setter may walk through what an earlier step has copied, and fail on
                // it: then the copy is needed whole.
                let sets = |step: &Expr| matches!(step, Expr::Map(map) if !map.setters.is_empty());
                let used = if steps.iter().any(sets) {
                    &Fields::all()
                } else {
                    &fields
                };
                let mut needs = Fields::default();
                for step in steps {
                    needs.add(&project_needs(step, used));
                }
                needs
            }
            StageKind::Unwind(path) => unwind_needs(&fields, path),
            StageKind::Gather(gather) => gather_needs(gather, fields),
            StageKind::GroupBy(group) => group_by_needs(group, &fields),
            StageKind::Distinct => Fields::all(),
            StageKind::Patch(patch) => patch_needs(patch, fields),
        };
    }
    vec![fields; branch.inputs.len()]
}

fn join_needs(join: &Join, output: &Fields) -> Vec<Fields> {
    let mut compound = output.clone();
    for conjunct in &join.conjuncts {
        compound = with_reads(compound, &conjunct.expr);
    }
    join.inputs
        .iter()
        .map(|input| compound.below(&Key::new(input)))
        .collect()
}

fn with_reads(mut fields: Fields, expr: &Expr) -> Fields {
    for read in expr.reads() {
        match read {
            Read::Everything => fields.add(&Fields::all()),
            Read::Members(chain) => add_members(&mut fields, &chain),
            Read::Path { path, narrow: None } => fields.add_path(path.segments(), &Fields::all()),
            Read::Path {
                path,
                narrow: Some(items),
            } => {
                let mut each = Fields::default();
                for item in items {
                    each.add_path(item.segments(), &Fields::all());
                }
                let leaf = Fields {
                    each: Some(Box::new(each)),
                    ..Fields::default()
                };
                fields.add_path(path.segments(), &leaf);
            }
        }
    }
    fields
}

fn add_members(fields: &mut Fields, chain: &[String]) {
    let mut leaf = fields;
    for name in chain {
        leaf = leaf.names.entry(Key::new(name)).or_default();
    }
    leaf.add(&Fields::all());
}

/// A patch may look at anything in its place, and change it; all else stays as it is.
fn patch_needs(patch: &Patch, mut fields: Fields) -> Fields {
    fields.add_path(patch.place.segments(), &Fields::all());
    patch.edit.programs(&mut |program, _, var| {
        for chain in program.reads() {
            let own = |name: &String| name == patch::RESOURCE || Some(name.as_str()) == var;
            if !chain.first().is_some_and(own) {
                add_members(&mut fields, &chain);
            }
        }
    });
    fields
}

/// A projection reads all that its operators read, because any of them may fail; but a
/// plain copy cannot, so only the part of it that is used later is needed.
fn project_needs(expr: &Expr, output: &Fields) -> Fields {
    let mut needs = Fields::default();
    match expr {
        Expr::Map(map) => map_needs(map, output, &mut needs),
        other => copy_needs(other, output, &mut needs),
    }
    needs
}

fn map_needs(map: &MapExpr, output: &Fields, needs: &mut Fields) {
    if let Some(copy) = &map.copy {
        copy_needs(copy, output, needs);
    }
    for (name, value) in &map.entries {
        let below = output.below(name);
        match value {
            Expr::Map(inner) => map_needs(inner, &below, needs),
            value => copy_needs(value, &below, needs),
        }
    }
    for setter in &map.setters {
        for path in setter.path.filter_reads() {
            needs.add_path(path.segments(), &Fields::all());
        }
        *needs = with_reads(std::mem::take(needs), &setter.value);
        // What a setter walks through decides whether it fails: keep it in copies.
        if let Some(Expr::Path(copied)) = &map.copy
            && copied.path.root() == Root::Document
        {
            let mut walked = Fields::default();
            walked.add_path(setter.path.segments(), &Fields::default());
            needs.add_path(copied.path.segments(), &walked);
        }
    }
}

fn copy_needs(value: &Expr, used: &Fields, needs: &mut Fields) {
    match value {
        Expr::Path(path) if path.path.root() == Root::Document && path.path.is_singular() => {
            needs.add_path(path.path.segments(), used);
        }
        other => *needs = with_reads(std::mem::take(needs), other),
    }
}

/// The element stands where the list stood.
fn unwind_needs(output: &Fields, path: &document::Path) -> Fields {
    if output.all {
        return Fields::all();
    }
    let element = at(output, path);
    let list = Fields {
        each: Some(Box::new(element)),
        ..Fields::default()
    };
    let mut needs = without(output, path);
    needs.add_path(path.segments(), &list);
    needs.add(&identity());
    needs
}

/// The list stands where the value stood.
fn gather_needs(gather: &Gather, output: Fields) -> Fields {
    if output.all {
        return output;
    }
    let value = at(&output, &gather.path).below_each();
    let mut needs = without(&output, &gather.path);
    needs.add_path(gather.path.segments(), &value);
    with_reads(needs, &gather.key)
}

fn group_by_needs(group: &GroupBy, output: &Fields) -> Fields {
    let mut needs = output.below(&Key::new("documents")).below_each();
    match &group.value {
        Some(value) => needs = with_reads(needs, value),
        None if group.distinct => needs = Fields::all(),
        None => needs.add(&output.below(&Key::new("values")).below_each()),
    }
    with_reads(needs, &group.key)
}

/// The part of `fields` at a path of names.
fn at(fields: &Fields, path: &document::Path) -> Fields {
    let mut here = fields.clone();
    for segment in path.segments() {
        here = match segment {
            document::path::Segment::Name(name) => here.below(name),
            _ => here.below_each(),
        };
    }
    here
}

/// `fields` without the part at a path of names, but with the way to it.
fn without(fields: &Fields, path: &document::Path) -> Fields {
    fn remove(fields: &mut Fields, segments: &[document::path::Segment]) {
        match segments {
            [document::path::Segment::Name(name)] => {
                fields.names.remove(name);
            }
            [document::path::Segment::Name(name), rest @ ..] => {
                if let Some(inner) = fields.names.get_mut(name) {
                    remove(inner, rest);
                }
            }
            // Behind a position everything stays.
            [] | [_, ..] => {}
        }
    }
    let mut fields = fields.clone();
    remove(&mut fields, path.segments());
    fields
}
