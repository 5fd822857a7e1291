//! Which parts of documents are tainted after a stage.

use ::patch::{Expression, RESOURCE, ValueShape, Written, WrittenPath, WrittenStep};
use dataflow::pipeline::{Patch, Project, Stage, StageKind};
use document::Key;
use expr::Expr;

use super::expression::Readable;
use super::taint::Taint;

/// What is known of the documents at a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Marked {
    pub(super) document: Taint,
    /// Whether the keys in their origins may be values of Secrets.
    pub(super) keys: bool,
}

/// The documents after a stage, given those of its inputs.
pub(super) fn after(stage: &Stage, inputs: &[Marked]) -> Marked {
    let first = inputs.first().cloned().unwrap_or_default();
    let Marked { document, keys } = &first;
    let readable = Readable::document(document);
    let (document, keys) = match &stage.kind {
        StageKind::Join(join) => {
            let parts = join.inputs.iter().zip(inputs);
            let parts = parts.map(|(name, input)| (Key::new(name), input.document.clone()));
            let keys = inputs.iter().any(|input| input.keys);
            (Taint::members(parts), keys)
        }
        StageKind::Select(_) => (document.clone(), *keys),
        StageKind::Project(project) => (projected(project, readable), *keys),
        StageKind::Unwind(path) => {
            let element = document.at(path.segments()).element();
            let mut document = document.clone();
            document.set(path.segments(), &element);
            (document, *keys)
        }
        StageKind::Gather(gather) => {
            let values = Taint::each(readable.path(&gather.path));
            let mut gathered = document.clone();
            gathered.set(gather.path.segments(), &values);
            (gathered, !readable.value(&gather.key).is_none())
        }
        StageKind::GroupBy(group) => {
            let key = readable.value(&group.key);
            let keys = !key.is_none();
            let value = group.value.as_ref();
            let value = value.map_or_else(|| document.clone(), |value| readable.value(value));
            let parts = [
                (Key::new("key"), key),
                (Key::new("values"), Taint::each(value)),
                (Key::new("documents"), Taint::each(document.clone())),
            ];
            (Taint::members(parts), keys)
        }
        StageKind::Distinct => (document.clone(), !document.is_none()),
        StageKind::Patch(patch) => (patched(patch, document), *keys),
    };
    Marked {
        document: document.bounded(),
        keys,
    }
}

fn projected(project: &Project, readable: Readable<'_>) -> Taint {
    match project {
        Project::Whole(expr) => step(expr, readable, Taint::NONE),
        Project::Steps(steps) => {
            let steps = steps.iter();
            steps.fold(Taint::NONE, |all, expr| step(expr, readable, all))
        }
    }
}

fn step(expr: &Expr, readable: Readable<'_>, base: Taint) -> Taint {
    if let Expr::Map(map) = expr {
        return readable.map(map, base);
    }
    let value = readable.value(expr);
    // The elements of a list are merged.
    base.or(&value).or(&value.element())
}

/// A patch that changes its own values in every round of a loop has no fixed point; after this many
/// rounds everything counts as tainted.
const ROUNDS: usize = 4;

fn patched(patch: &Patch, document: &Taint) -> Taint {
    let path = patch.resource_path.segments();
    let mut current = document.clone();
    let rounds = if patch.edit.items().is_some() {
        ROUNDS
    } else {
        1
    };
    for round in 1..=rounds {
        let before = current.clone();
        for written in patch.edit.written() {
            let mut resource = current.at(path);
            write(patch, &written, &current, &mut resource);
            current.set(path, &resource);
        }
        if current == before {
            break;
        }
        if round == ROUNDS {
            return Taint::ALL;
        }
    }
    current
}

/// Adds what an operation writes.
fn write(patch: &Patch, written: &Written<'_>, document: &Taint, resource: &mut Taint) {
    let is_tainted = |expression: &Expression| reads(patch, expression, document, resource);
    let any = written
        .expressions
        .iter()
        .any(|expression| is_tainted(expression));
    let mut value = Taint::NONE;
    if let Some(shape) = &written.value {
        value.add(&shape_taint(shape, &is_tainted, any));
    }
    if let Some(from) = &written.from {
        value.add(&at_steps(resource, from));
    }
    // An expression in a path may insert a value into it.
    let computed = any && !written.path.whole;
    if computed || !value.is_none() {
        let value = if computed { Taint::ALL } else { value };
        let steps = &written.path.steps;
        let value = if written.path.whole {
            value
        } else {
            value.spread()
        };
        add_at(resource, steps, &value);
    }
}

/// Whether an expression of a patch reads a tainted part.
fn reads(patch: &Patch, expression: &Expression, document: &Taint, resource: &Taint) -> bool {
    let edit = &patch.edit;
    let items = || {
        let mut tainted = false;
        if let Some((items, _)) = edit.items() {
            items.expressions(&mut |part| tainted |= reads(patch, part, document, resource));
        }
        Taint::whole(tainted)
    };
    let variable = |name: &str| match name {
        RESOURCE => Some(resource.clone()),
        _ if Some(name) == edit.variable() => Some(items()),
        _ => None,
    };
    Readable::document(document).is_read_by(&expression.program, &variable)
}

fn shape_taint(
    shape: &ValueShape<'_>,
    is_tainted: &dyn Fn(&Expression) -> bool,
    any: bool,
) -> Taint {
    match shape {
        ValueShape::Literal(_) => Taint::NONE,
        ValueShape::Expression(expression) => Taint::whole(is_tainted(expression)),
        ValueShape::Text => Taint::whole(any),
        ValueShape::List(items) => {
            let items = items.iter().map(|item| shape_taint(item, is_tainted, any));
            Taint::each(items.fold(Taint::NONE, |all, item| all.or(&item)))
        }
        ValueShape::Map(entries) => {
            let entries = entries.iter();
            Taint::members(entries.map(|(key, value)| {
                let value = shape_taint(value, is_tainted, any);
                ((*key).clone(), value)
            }))
        }
    }
}

/// The part that an operation copies.
fn at_steps(resource: &Taint, path: &WrittenPath) -> Taint {
    let found = path
        .steps
        .iter()
        .fold(resource.clone(), |here, step| match step {
            WrittenStep::Key(key) => here.member(&Key::new(key)),
            WrittenStep::KeyOrPosition(key) => here.member(&Key::new(key)).or(&here.element()),
            WrittenStep::Element(_) => here.element(),
        });
    if path.whole { found } else { found.spread() }
}

/// Adds to the part at a path.
fn add_at(here: &mut Taint, steps: &[WrittenStep], value: &Taint) {
    let Some((step, rest)) = steps.split_first() else {
        here.add(value);
        return;
    };
    let mut inner = Taint::NONE;
    add_at(&mut inner, rest, value);
    match step {
        WrittenStep::Key(key) => here.add(&Taint::members([(Key::new(key), inner)])),
        WrittenStep::KeyOrPosition(key) => {
            here.add(&Taint::members([(Key::new(key), inner.clone())]));
            here.add(&Taint::each(inner));
        }
        WrittenStep::Element(_) => here.add(&Taint::each(inner)),
    }
}
