//! Finds the fields that a pipeline reads of its sources.
//!
//! The search starts at the outputs and walks the stages backwards. For each stage it answers:
//! if these fields of the output are needed, which fields of the input are?
//!
//! ```text
//!                                             needed of the input
//! source                                      a.b, c, d   ▲
//! @select: {"@gt": ["$.d", 1]}                a.b, c, d   │
//! @project: {x: "$.a.b", y: "$.c"}            a.b, c      │
//! target                                      everything  │
//! ```
//!
//! A stage that uses `"@now"` reads it again when anything in its input changes, so it needs
//! everything. An expression that may fail is needed even if nothing uses its value, because an error holds
//! the output.

use document::Key;
use document::path::{Root, Segment};
use expr::{Expr, MapExpr, Read};

use super::{Fields, Work};
use crate::pipeline::{Branch, Gather, GroupBy, Input, Join, Patch, Pipeline, Project, StageKind};

/// For each source, the fields that the pipeline needs. If the search takes too much work, all
/// fields.
pub fn needs(pipeline: &Pipeline) -> Vec<Fields> {
    search(pipeline, true)
}

/// For each source, the fields whose values the pipeline uses: those that it needs, without those
/// that only move `"@now"` on.
pub fn used(pipeline: &Pipeline) -> Vec<Fields> {
    search(pipeline, false)
}

fn search(pipeline: &Pipeline, timed: bool) -> Vec<Fields> {
    let mut needs = Needs {
        work: Work::new(),
        timed,
    };
    let sources = needs.pipeline(pipeline);
    if needs.work.is_done() {
        return vec![Fields::all(); pipeline.sources.len()];
    }
    sources
}

/// The search, with its remaining work.
struct Needs {
    work: Work,
    /// Whether a stage that uses `"@now"` needs all of its input.
    timed: bool,
}

impl Needs {
    fn pipeline(&mut self, pipeline: &Pipeline) -> Vec<Fields> {
        let mut sources = vec![identity(); pipeline.sources.len()];
        let mut streams: Vec<Fields> = Vec::new();
        for &branch in pipeline.order.iter().rev() {
            let branch = &pipeline.branches[branch];
            let mut output = Fields::default();
            if branch.output.target.is_some() {
                output = Fields::all();
            }
            if let Some(fields) = branch.output.stream.and_then(|stream| streams.get(stream)) {
                self.add(&mut output, fields);
            }
            for (input, fields) in branch.inputs.iter().zip(self.branch(branch, output)) {
                match *input {
                    Input::Source(source) => self.add(&mut sources[source], &fields),
                    Input::Stream(stream) => {
                        if streams.len() <= stream {
                            streams.resize(stream + 1, Fields::default());
                        }
                        self.add(&mut streams[stream], &fields);
                    }
                }
            }
        }
        sources
    }

    fn add(&mut self, fields: &mut Fields, other: &Fields) {
        fields.add_at(0, other, &mut self.work);
    }

    fn add_path(&mut self, fields: &mut Fields, segments: &[Segment], leaf: &Fields) {
        fields.add_path_at(0, segments, leaf, &mut self.work);
    }

    fn below(&mut self, fields: &Fields, name: &Key) -> Fields {
        fields.below(name, &mut self.work)
    }

    fn below_each(&mut self, fields: &Fields) -> Fields {
        fields.below_each(&mut self.work)
    }

    /// The fields of each input that a branch reads, if `output` is needed of its documents.
    fn branch(&mut self, branch: &Branch, output: Fields) -> Vec<Fields> {
        let mut fields = output;
        for stage in branch.stages.iter().rev() {
            fields = match &stage.kind {
                StageKind::Join(join) => return self.join(join, &fields),
                StageKind::Select(condition) => self.with_reads(fields, condition),
                StageKind::Project(Project::Whole(expr)) => self.project(expr, &fields),
                StageKind::Project(Project::Steps(steps)) => {
                    // A setter may fail on a value that an earlier step has copied. So the copy
                    // is needed as a whole.
                    let sets =
                        |step: &Expr| matches!(step, Expr::Map(map) if !map.setters.is_empty());
                    let used = if steps.iter().any(sets) {
                        &Fields::all()
                    } else {
                        &fields
                    };
                    let mut needs = Fields::default();
                    for step in steps {
                        let step = self.project(step, used);
                        self.add(&mut needs, &step);
                    }
                    needs
                }
                StageKind::Unwind(path) => self.unwind(&fields, path),
                StageKind::Gather(gather) => self.gather(gather, fields),
                StageKind::GroupBy(group) => self.group_by(group, &fields),
                StageKind::Distinct => Fields::all(),
                StageKind::Patch(patch) => self.patch(patch, fields),
            };
            // `"@now"` moves on with every change of the input.
            if self.timed && stage.kind.shows_now() {
                fields = Fields::all();
            }
        }
        vec![fields; branch.inputs.len()]
    }

    fn join(&mut self, join: &Join, output: &Fields) -> Vec<Fields> {
        let mut compound = output.clone();
        for conjunct in &join.conjuncts {
            compound = self.with_reads(compound, &conjunct.expr);
        }
        join.inputs
            .iter()
            .map(|input| self.below(&compound, &Key::new(input)))
            .collect()
    }

    fn with_reads(&mut self, mut fields: Fields, expr: &Expr) -> Fields {
        for read in expr.reads() {
            match read {
                Read::Everything => fields = Fields::all(),
                Read::Members(chain) => self.add_members(&mut fields, &chain),
                Read::Path { path, narrow: None } => {
                    self.add_path(&mut fields, path.segments(), &Fields::all());
                }
                Read::Path {
                    path,
                    narrow: Some(items),
                } => {
                    let mut each = Fields::default();
                    for item in items {
                        self.add_path(&mut each, item.segments(), &Fields::all());
                    }
                    let leaf = Fields {
                        each: Some(Box::new(each)),
                        ..Fields::default()
                    };
                    self.add_path(&mut fields, path.segments(), &leaf);
                }
            }
        }
        fields
    }

    fn add_members(&mut self, fields: &mut Fields, chain: &[String]) {
        let names = chain.iter().map(|name| Segment::Name(Key::new(name)));
        let names: Vec<Segment> = names.collect();
        self.add_path(fields, &names, &Fields::all());
    }

    /// A patch may read and change anything inside the resource. The rest of the document stays as
    /// it is.
    fn patch(&mut self, patch: &Patch, mut fields: Fields) -> Fields {
        self.add_path(&mut fields, patch.resource_path.segments(), &Fields::all());
        patch.edit.expressions(&mut |expression, var| {
            for chain in expression.program.reads() {
                let own = |name: &String| {
                    [patch::RESOURCE, expr::NOW].contains(&name.as_str())
                        || Some(name.as_str()) == var
                };
                if !chain.first().is_some_and(own) {
                    self.add_members(&mut fields, &chain);
                }
            }
        });
        fields
    }

    /// A projection needs all fields that its functions read, because any of them may fail. A plain
    /// copy cannot fail, so only the fields that are used later are needed.
    fn project(&mut self, expr: &Expr, output: &Fields) -> Fields {
        let mut needs = Fields::default();
        self.value(expr, output, &mut needs);
        needs
    }

    fn value(&mut self, value: &Expr, used: &Fields, needs: &mut Fields) {
        if let Expr::Map(map) = value {
            self.map(map, used, needs);
        } else {
            self.copy(value, used, needs);
        }
    }

    fn map(&mut self, map: &MapExpr, output: &Fields, needs: &mut Fields) {
        if let Some(copy) = &map.copy {
            self.copy(copy, output, needs);
        }
        for (name, value) in &map.entries {
            let below = self.below(output, name);
            self.value(value, &below, needs);
        }
        for setter in &map.setters {
            for path in setter.path.filter_reads() {
                self.add_path(needs, path.segments(), &Fields::all());
            }
            *needs = self.with_reads(std::mem::take(needs), &setter.value);
            // The values along the path of a setter decide whether it fails, so they are needed
            // in copies.
            if let Some(Expr::Path(copied)) = &map.copy
                && copied.path.root() == Root::Document
            {
                let mut walked = Fields::default();
                self.add_path(&mut walked, setter.path.segments(), &Fields::default());
                self.add_path(needs, copied.path.segments(), &walked);
            }
        }
    }

    fn copy(&mut self, value: &Expr, used: &Fields, needs: &mut Fields) {
        if let Expr::Path(path) = value
            && path.path.root() == Root::Document
            && path.path.is_singular()
        {
            self.add_path(needs, path.path.segments(), used);
        } else {
            *needs = self.with_reads(std::mem::take(needs), value);
        }
    }

    /// `@unwind`: the output has an element where the input has the list.
    fn unwind(&mut self, output: &Fields, path: &document::Path) -> Fields {
        if output.all {
            return Fields::all();
        }
        let element = self.at(output, path);
        let list = Fields {
            each: Some(Box::new(element)),
            ..Fields::default()
        };
        let mut needs = self.without(output, path);
        self.add_path(&mut needs, path.segments(), &list);
        self.add(&mut needs, &identity());
        needs
    }

    /// `@gather`: the output has the list where the input has the value.
    fn gather(&mut self, gather: &Gather, output: Fields) -> Fields {
        if output.all {
            return output;
        }
        let value = self.at(&output, &gather.path);
        let value = self.below_each(&value);
        let mut needs = self.without(&output, &gather.path);
        self.add_path(&mut needs, gather.path.segments(), &value);
        self.with_reads(needs, &gather.key)
    }

    fn group_by(&mut self, group: &GroupBy, output: &Fields) -> Fields {
        let documents = self.below(output, &Key::new("documents"));
        let mut needs = self.below_each(&documents);
        match &group.value {
            Some(value) => needs = self.with_reads(needs, value),
            None if group.distinct => needs = Fields::all(),
            None => {
                let values = self.below(output, &Key::new("values"));
                let value = self.below_each(&values);
                self.add(&mut needs, &value);
            }
        }
        self.with_reads(needs, &group.key)
    }

    /// The fields below a path of names.
    fn at(&mut self, fields: &Fields, path: &document::Path) -> Fields {
        let mut here = fields.clone();
        for segment in path.segments() {
            here = match segment {
                Segment::Name(name) => self.below(&here, name),
                Segment::Index(_) | Segment::Several(_) | Segment::Descendants(_) => {
                    self.below_each(&here)
                }
            };
        }
        here
    }

    /// `fields` without those at a path of names. The maps on the way to it stay.
    fn without(&mut self, fields: &Fields, path: &document::Path) -> Fields {
        fn remove(fields: &mut Fields, segments: &[Segment]) {
            match segments {
                [Segment::Name(name)] => {
                    fields.names.remove(name);
                }
                [Segment::Name(name), rest @ ..] => {
                    if let Some(inner) = fields.names.get_mut(name) {
                        remove(inner, rest);
                    }
                }
                // Below a list index nothing is removed.
                [] | [_, ..] => {}
            }
        }
        let mut rest = Fields::default();
        self.add(&mut rest, fields);
        remove(&mut rest, path.segments());
        rest
    }
}

/// Name and namespace, which are always kept.
fn identity() -> Fields {
    let mut fields = Fields::default();
    let metadata = fields.names.entry(Key::new("metadata")).or_default();
    for name in ["name", "namespace"] {
        metadata.names.insert(Key::new(name), Fields::all());
    }
    fields
}
