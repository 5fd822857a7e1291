//! The type of documents after each stage.

use dataflow::pipeline::{Gather, GroupBy, Join, Project, Stage, StageKind};
use document::path::{Path, Segment};
use document::{Key, Location};
use expr::Expr;
use schema::{Fields, Type};

use super::inference::{Inference, Scope};
use super::path::peek;

impl Inference {
    /// The type of the documents that a stage puts out. `inputs` are the types of the inputs; of a
    /// stage that is not a join, there is one.
    pub(super) fn stage(&mut self, stage: &Stage, inputs: &[Type]) -> Type {
        let at = &stage.at;
        let document = match &stage.kind {
            StageKind::Join(join) => joined(join, inputs),
            StageKind::Select(_)
            | StageKind::Project(_)
            | StageKind::Unwind(_)
            | StageKind::Gather(_)
            | StageKind::GroupBy(_)
            | StageKind::Distinct
            | StageKind::Patch(_) => inputs.first().cloned().unwrap_or_else(Type::any),
        };
        self.documents.push((at.clone(), document.clone()));
        match &stage.kind {
            StageKind::Join(join) => self.join(join, document),
            StageKind::Select(condition) => {
                let scope = Scope::of(document.clone());
                let found = self.infer(condition, at, &scope);
                self.expect(&found, &Type::boolean(), "@select", at);
                document
            }
            StageKind::Project(project) => self.project(project, at, document),
            StageKind::Unwind(path) => self.unwind(path, at, &document),
            StageKind::Gather(gather) => self.gather(gather, at, &document),
            StageKind::GroupBy(group) => self.group_by(group, at, document),
            StageKind::Distinct => document,
            StageKind::Patch(patch) => self.patch(patch, at, &document),
        }
    }

    fn join(&mut self, join: &Join, document: Type) -> Type {
        let scope = Scope::of(document.clone());
        for conjunct in &join.conjuncts {
            let found = self.infer(&conjunct.expr, &conjunct.at, &scope);
            self.expect(&found, &Type::boolean(), "@join", &conjunct.at);
        }
        document
    }

    fn project(&mut self, project: &Project, at: &Location, document: Type) -> Type {
        let scope = Scope::of(document);
        match project {
            Project::Whole(expr) => {
                let found = self.infer(expr, at, &scope);
                // The elements of a list are merged.
                if found.list.is_some() {
                    return Type::any();
                }
                found
            }
            Project::Steps(steps) => {
                let mut result = Type::map(Fields::default());
                for (i, step) in steps.iter().enumerate() {
                    result = self.step(&result, step, &at.index(i), &scope);
                }
                result.written_at(at)
            }
        }
    }

    fn step(&mut self, base: &Type, step: &Expr, at: &Location, scope: &Scope) -> Type {
        if let Expr::Map(map) = step {
            return self.map(map, Some(base), scope);
        }
        let over = self.infer(step, at, scope);
        base.merged(&over, &self.budget)
    }

    fn unwind(&mut self, path: &Path, at: &Location, document: &Type) -> Type {
        let scope = Scope::of(document.clone());
        let list = self.read(path, at, &scope);
        if !list.is_null() {
            self.expect(&list, &Type::list(Type::any()), "@unwind", at);
        }
        let element = match &list.list {
            Some(element) if !list.any => (**element).clone(),
            Some(_) | None => Type::any(),
        };
        let document = self.set(document, path.segments(), element, at);
        let name = ["metadata", "name"].map(|name| Segment::Name(Key::new(name)));
        let old = peek(&document, &name);
        if old.is_null() {
            self.no_name(
                "@unwind needs metadata.name, to which it appends the position",
                at,
            );
        }
        let metadata = peek(&document, &name[..1]);
        if metadata.any || metadata.map.is_some() {
            return self.set(&document, &name, Type::string(), at);
        }
        document
    }

    fn gather(&mut self, gather: &Gather, at: &Location, document: &Type) -> Type {
        let scope = Scope::of(document.clone());
        self.infer(&gather.key, &at.index(0), &scope);
        let value = self.read(&gather.path, &at.index(1), &scope);
        // Documents without a value are skipped.
        let values = Type::list(value.without_null());
        self.set(document, gather.path.segments(), values, &at.index(1))
    }

    fn group_by(&mut self, group: &GroupBy, at: &Location, document: Type) -> Type {
        let scope = Scope::of(document.clone());
        let key = self.infer(&group.key, &at.index(0), &scope);
        let value = match &group.value {
            Some(value) => self.infer(value, &at.index(1), &scope),
            None => document.clone(),
        };
        Type::map(Fields::closed([
            (Key::new("key"), key.without_null()),
            (Key::new("values"), Type::list(value.without_null())),
            (Key::new("documents"), Type::list(document)),
        ]))
    }
}

/// The documents of a join: a field for each input.
fn joined(join: &Join, inputs: &[Type]) -> Type {
    let fields = join.inputs.iter().enumerate().map(|(i, name)| {
        let input = inputs.get(i).cloned().unwrap_or_else(Type::any);
        let input = if join.soft.has(i) {
            input.or_null()
        } else {
            input
        };
        (Key::new(name), input)
    });
    Type::map(Fields::closed(fields))
}
