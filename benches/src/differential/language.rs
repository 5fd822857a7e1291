//! The pipeline of a workload on differential-dataflow: the engine's own expressions and
//! per-document functions, between the joins and groups of the library.

use std::rc::Rc;

use dataflow::apply;
use dataflow::pipeline::{Gather, Join, JoinKey, Project, Stage, StageKind};
use document::{Key, Map, Path, Value};
use expr::{Env, Expr, Scope};

use super::collection::Collection;
use crate::engine::compile;
use crate::workload::Workload;

/// What a document is joined by: the values of two conjuncts.
type JoinKeys = (Value, Value);

/// Where a member of a group comes from: namespace and name of the object, and the place in
/// its list.
type Member = (Value, Value, u32);

/// The dataflow of a workload: its sources in, target objects out.
pub(super) fn build(workload: Workload, sources: Vec<Collection<'_>>) -> Collection<'_> {
    let controller = compile(workload);
    let (pipeline, kind) = (
        controller.pipeline,
        apply::OutputKind::from(&controller.targets[0].resource),
    );
    let [branch] = pipeline.branches.as_slice() else {
        unreachable!("the workloads have one branch")
    };
    let kinds = branch.stages.iter().map(|stage| &stage.kind);
    let documents = match kinds.collect::<Vec<_>>().as_slice() {
        [StageKind::Join(join), StageKind::Project(_)] => {
            project(joined(join, sources), &branch.stages[1])
        }
        [
            StageKind::Unwind(path),
            StageKind::Project(_),
            StageKind::Gather(gather),
        ] => gathered(unwound(sources, path, &branch.stages[1]), gather),
        _ => unreachable!("the workloads are joins, or unwind and gather"),
    };
    let at = branch.at.clone();
    documents.map(move |document| {
        let (_, object) = apply::output(&kind, &at, &document).expect("outputs have names");
        object
    })
}

/// `@join` of two sources, as compound documents.
fn joined<'scope>(join: &Join, sources: Vec<Collection<'scope>>) -> Collection<'scope> {
    let names: Vec<Key> = join.inputs.iter().map(|name| Key::new(name)).collect();
    let mut sides = sources.into_iter().enumerate().map(|(input, source)| {
        let keys = Keys::new(join, input);
        source.flat_map(move |document| {
            keys.of(&document)
                .into_iter()
                .map(move |key| (key, document.clone()))
        })
    });
    let (Some(left), Some(right)) = (sides.next(), sides.next()) else {
        unreachable!("the joins have two inputs")
    };
    left.join_map(right, move |_, left, right| {
        let mut entries = [
            (names[0].clone(), left.clone()),
            (names[1].clone(), right.clone()),
        ];
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Map::from_sorted_iter(entries.into_iter()).into()
    })
}

/// The sides of a join's conjuncts on one input.
struct Keys {
    env: Env,
    name: Key,
    /// Each with whether it gives a list of values.
    sides: Vec<(Expr, bool)>,
}

impl Keys {
    fn new(join: &Join, input: usize) -> Self {
        let sides = join.conjuncts.iter().map(|conjunct| {
            let key = conjunct.key.as_ref().expect("the conjuncts are keyed");
            let sides = key.sides();
            let place = usize::from(sides[0].input != input);
            let list = matches!(key, JoinKey::Member { .. }) && place == 1;
            (sides[place].expr.clone(), list)
        });
        Self {
            env: Env::default(),
            name: Key::new(&join.inputs[input]),
            sides: sides.collect(),
        }
    }

    /// The keys under which a document is found.
    fn of(&self, document: &Value) -> Vec<JoinKeys> {
        let entry = [(self.name.clone(), document.clone())];
        let compound: Value = Map::from_sorted_iter(entry.into_iter()).into();
        let scope = Scope::new(&self.env, &compound);
        let value = |place: usize| {
            let (expr, list) = &self.sides[place];
            (expr.eval(&scope).expect("keys can be evaluated"), *list)
        };
        let ((first, _), (second, list)) = (value(0), value(1));
        if !list {
            return vec![(first, second)];
        }
        let mut values: Vec<Value> = second.as_list().into_iter().flatten().cloned().collect();
        // A list that gives the same key twice joins once.
        values.sort_unstable();
        values.dedup();
        let keys = values.into_iter().map(|second| (first.clone(), second));
        keys.collect()
    }
}

/// `@project`.
fn project<'scope>(documents: Collection<'scope>, stage: &Stage) -> Collection<'scope> {
    let project = projection(stage);
    documents.map(move |document| project(&document))
}

/// The function of a `@project`.
fn projection(stage: &Stage) -> impl Fn(&Value) -> Value + 'static {
    let StageKind::Project(project) = &stage.kind else {
        unreachable!("the workloads project")
    };
    let (project, at, env): (Project, _, _) = (project.clone(), stage.at.clone(), Env::default());
    move |document| {
        let result = apply::project(&project, &at, &Scope::new(&env, document));
        result.expect("documents can be projected")
    }
}

/// `@unwind` and `@project`: members with where they come from.
fn unwound<'scope>(
    mut sources: Vec<Collection<'scope>>,
    path: &Path,
    stage: &Stage,
) -> Collection<'scope, (Member, Value)> {
    let source = sources.pop().expect("there is one source");
    let (path, at) = (path.clone(), stage.at.clone());
    let project = Rc::new(projection(stage));
    source.flat_map(move |object| {
        let metadata = object.get("metadata");
        let (namespace, name) = (metadata.get("namespace"), metadata.get("name"));
        let unwound = apply::unwind(&path, &at, &object).expect("objects can be unwound");
        let members = (0..unwound.len()).filter_map(|place| {
            let element = unwound.element(place)?;
            let member = (namespace.clone(), name.clone(), place as u32);
            Some((member, project(&element)))
        });
        members.collect::<Vec<_>>()
    })
}

/// `@gather`: the first member of a group with the list of all values in it.
fn gathered<'scope>(
    members: Collection<'scope, (Member, Value)>,
    gather: &Gather,
) -> Collection<'scope> {
    let (key, env, path) = (gather.key.clone(), Env::default(), gather.path.clone());
    let keyed = members.map(move |(member, document)| {
        let key = key.eval(&Scope::new(&env, &document));
        (key.expect("keys can be evaluated"), (member, document))
    });
    keyed
        .reduce(move |_, members, output| {
            let (_, template) = members[0].0;
            let values = members.iter().filter_map(|((_, document), _)| {
                let value = path.first(document, document)?;
                Some(value.clone())
            });
            let list = Value::list(values.collect::<Vec<_>>());
            let group = path.set(template, list, template);
            output.push((group.expect("the path is there"), 1));
        })
        .map(|(_, group)| group)
}
