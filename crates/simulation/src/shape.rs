//! The simulated Operators: a small set, each for one capability.

use document::{Value, json};
use object::ObjectKey;
use operator::Operator;

use crate::fields::{at, set};
use seeded::Random;

/// An Operator, and what others may do to its derived objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name of the Operator.
    pub name: &'static str,
    manifest: &'static str,
    /// Whether others may change fields that it has written, because it repairs them. An
    /// Applier does not take back a field that it has lost to another manager.
    pub repairs: bool,
    /// Whether users may create objects with names that it derives. An Applier only adds a
    /// layer to such an object, and does not adopt it.
    pub adopts: bool,
    /// Whether an edit may remove the last controller: there must be another one.
    droppable: bool,
    /// The group and kind that an edit may give to the target of the first controller.
    moves_to: Option<(&'static str, &'static str)>,
}

/// The edits of an Operator.
// They are independent of each other.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The value of an annotation on all derived objects; 0 for none.
    pub salt: u64,
    /// Whether the first controller has another name.
    pub renamed: bool,
    /// Whether the last controller is removed.
    pub dropped: bool,
    /// Whether derived objects are deleted with the Operator.
    pub deletes: bool,
    /// Whether the first controller writes another kind, if its shape has one.
    pub moved: bool,
}

impl Edits {
    /// Random edits.
    pub fn random(random: &mut Random) -> Self {
        Self {
            salt: random.range(0..3),
            renamed: random.chance(30),
            dropped: random.chance(30),
            deletes: random.chance(50),
            moved: random.chance(50),
        }
    }
}

/// All simulated Operators.
pub const SHAPES: &[Shape] = &[
    Shape::new("copy", include_str!("../operators/copy.yaml")),
    Shape::new("moves", include_str!("../operators/moves.yaml")).moving("example.com", "Copy"),
    Shape::new("gather", include_str!("../operators/gather.yaml")),
    Shape::new("unwind", include_str!("../operators/unwind.yaml")),
    Shape::new("join", include_str!("../operators/join.yaml")),
    Shape::new("views", include_str!("../operators/views.yaml")).droppable(),
    Shape::new("cluster", include_str!("../operators/cluster.yaml")),
    Shape::new("rivals", include_str!("../operators/rivals.yaml")).droppable(),
    Shape::new("far", include_str!("../operators/far.yaml")),
    Shape::new("secrets", include_str!("../operators/secrets.yaml")),
    Shape::new("errors", include_str!("../operators/errors.yaml")),
    Shape::new("refused", include_str!("../operators/refused.yaml")),
    Shape::new("layers", include_str!("../operators/layers.yaml")).droppable(),
    Shape::new("patcher", include_str!("../operators/patcher.yaml")).layers_only(),
    Shape::new("in-place", include_str!("../operators/in-place.yaml")).layers_only(),
    Shape::new("applier", include_str!("../operators/applier.yaml")).layers_only(),
];

impl Shape {
    const fn new(name: &'static str, manifest: &'static str) -> Self {
        Self {
            name,
            manifest,
            repairs: true,
            adopts: true,
            droppable: false,
            moves_to: None,
        }
    }

    const fn moving(mut self, group: &'static str, kind: &'static str) -> Self {
        self.moves_to = Some((group, kind));
        self
    }

    const fn droppable(mut self) -> Self {
        self.droppable = true;
        self
    }

    const fn layers_only(mut self) -> Self {
        self.repairs = false;
        self.adopts = false;
        self
    }

    /// The manifest.
    ///
    /// # Panics
    ///
    /// If the manifest is invalid.
    pub fn manifest(&self, edits: Edits) -> Value {
        let manifest = self.original();
        let controllers = at(&manifest, &["spec", "controllers"]).as_list();
        let mut controllers: Vec<Value> = controllers
            .into_iter()
            .flatten()
            .map(|c| salted(c, edits.salt))
            .collect();
        if edits.renamed {
            controllers[0] = set(&controllers[0], &["name"], "renamed".into());
        }
        if let Some((group, kind)) = self.moves_to.filter(|_| edits.moved) {
            let target = json!({"apiGroup": group, "kind": kind});
            controllers[0] = set(&controllers[0], &["target"], target);
        }
        if edits.dropped && self.droppable {
            controllers.pop();
        }
        let manifest = set(&manifest, &["spec", "controllers"], controllers.into());
        let policy = if edits.deletes { "Delete" } else { "Orphan" };
        set(&manifest, &["spec", "deletionPolicy"], policy.into())
    }

    fn original(&self) -> Value {
        let manifests = manifest::parse_bytes(self.name, self.manifest.as_bytes().to_vec());
        let mut manifests = manifests.expect("the manifests of the simulation are YAML");
        manifests.pop().expect("each file has one").value
    }

    /// The Operator.
    ///
    /// # Panics
    ///
    /// If the manifest is invalid.
    pub fn operator(&self, edits: Edits) -> Operator {
        let manifest = self.manifest(edits);
        let (operator, problems) = operator::read(&manifest, &expr::Functions::builtin());
        operator.unwrap_or_else(|| panic!("{} is invalid: {problems:?}", self.name))
    }

    /// Whether it reads a kind.
    pub fn reads(&self, kind: &str) -> bool {
        self.manifest.contains(&format!("kind: {kind}\n"))
    }

    /// Whether it reads or patches objects of users other than Items and Links.
    pub fn reads_user_objects(&self) -> bool {
        ["patcher", "in-place", "layers", "secrets"].contains(&self.name)
    }

    /// The key of the Operator.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new("dcontroller.io", "Operator", "", self.name)
    }
}

/// The controller with an additional stage that sets an annotation.
pub(crate) fn salted(controller: &Value, salt: u64) -> Value {
    if salt == 0 {
        return controller.clone();
    }
    let salt = json!({"metadata": {"annotations": {"example.com/salt": (salt.to_string())}}});
    let stage = json!({"@project": [{"$.": "$."}, salt]});
    let stages = controller.get("pipeline").as_list().into_iter().flatten();
    let stages: Value = stages.cloned().chain([stage]).collect();
    set(controller, &["pipeline"], stages)
}
