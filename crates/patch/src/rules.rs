//! Patch documents: rules for sets of objects.
//!
//! A document is a list of rules, or a map with `patches` and `removes`, or one rule. The rules
//! apply to each object in the order in which they are written, `patches` before `removes`.

use document::{Location, Value};

use crate::edit::{Edit, Form, RESOURCE, Variables};
use crate::error::{CompileError, Error};
use crate::field_reader::{FieldReader, OPERATIONS};
use crate::meter::{Limits, Meter};
use crate::target::Target;
use crate::template::Expression;

/// The rules of a patch document.
///
/// ```
/// use document::{Location, json};
/// use patch::{Effect, Limits, Rules};
///
/// let spec = json!([{
///     "target": {"group": "apps", "kind": "Deployment", "where": "resource.spec.replicas > 1"},
///     "operations": [{
///         "op": "add",
///         "path": "/spec/template/spec/containers[?(@.name=='app')]/env/-",
///         "value": {"name": "REPLICAS", "value": "${string(resource.spec.replicas)}"},
///     }],
/// }]);
/// let rules = Rules::read(&spec, &Location::root()).unwrap();
///
/// let object = json!({
///     "apiVersion": "apps/v1", "kind": "Deployment",
///     "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "app"}]}}},
/// });
/// let none = |_: &str, _: &_| None;
/// let Effect::Patched(patched) = rules.0[0].apply(&object, &none, &Limits::default()).unwrap() else {
///     panic!("the rule applies to this object");
/// };
/// let containers = patched.get("spec").get("template").get("spec").get("containers");
/// assert_eq!(containers.at(0).get("env").at(0).get("value"), &json!("2"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rules(pub Vec<Rule>);

/// One rule: a target, and what to do with the objects that match it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Selects objects.
    pub target: Target,
    /// The location of the rule in the patch document.
    pub at: Location,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Patch(Box<Edit>),
    /// Removes objects that satisfy the condition, if there is one.
    Remove(Option<Expression>),
}

/// The effect of a rule on an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The rule does not apply to it.
    None,
    /// The object becomes this one.
    Patched(Value),
    /// The object is removed.
    Removed,
}

impl Rules {
    /// Reads a patch document. All errors are returned, not only the first.
    pub fn read(spec: &Value, at: &Location) -> Result<Self, Vec<CompileError>> {
        let mut reader = FieldReader::default();
        let mut rules = Vec::new();
        reader.rules(spec, at, &mut rules);
        reader.finish(Some(Self(rules)))
    }
}

impl Rule {
    /// Applies this rule to an object. If it fails, it has no effect.
    pub fn apply(
        &self,
        object: &Value,
        variables: Variables<'_>,
        limits: &Limits,
    ) -> Result<Effect, Box<Error>> {
        if !self.target.matches(object) {
            return Ok(Effect::None);
        }
        match &self.action {
            Action::Patch(edit) => Ok(edit
                .apply(object, variables, limits)?
                .map_or(Effect::None, Effect::Patched)),
            Action::Remove(None) => Ok(Effect::Removed),
            Action::Remove(Some(condition)) => {
                let lookup = |name: &str| {
                    let resource = || (name == RESOURCE).then(|| object.clone());
                    variables(name, object).or_else(resource)
                };
                let holds = condition.holds(&lookup, &mut Meter::new(limits))?;
                Ok(if holds { Effect::Removed } else { Effect::None })
            }
        }
    }
}

impl FieldReader {
    fn rules(&mut self, spec: &Value, at: &Location, rules: &mut Vec<Rule>) {
        let has = |field: &str| {
            spec.as_map()
                .is_some_and(|map| map.get_str(field).is_some())
        };
        if let Some(list) = spec.as_list() {
            for (i, rule) in list.iter().enumerate() {
                self.entry(rule, &at.index(i), rules);
            }
        } else if has("patches") || has("removes") {
            self.known(spec, &["patches", "removes"], at);
            self.list(
                spec.get("patches"),
                &at.key("patches"),
                |reader, rule, at| {
                    rules.extend(reader.patch(rule, at));
                },
            );
            self.removes(spec, at, rules);
        } else {
            rules.extend(self.patch(spec, at));
        }
    }

    /// An item of a list: a rule, or `{removes: […]}`.
    fn entry(&mut self, spec: &Value, at: &Location, rules: &mut Vec<Rule>) {
        let removes = spec.as_map().and_then(|map| map.get_str("removes"));
        if removes.is_some() {
            self.known(spec, &["removes"], at);
            self.removes(spec, at, rules);
        } else {
            rules.extend(self.patch(spec, at));
        }
    }

    fn removes(&mut self, spec: &Value, at: &Location, rules: &mut Vec<Rule>) {
        self.list(
            spec.get("removes"),
            &at.key("removes"),
            |reader, rule, at| {
                rules.extend(reader.removal(rule, at));
            },
        );
    }

    fn list(
        &mut self,
        spec: &Value,
        at: &Location,
        mut each: impl FnMut(&mut Self, &Value, &Location),
    ) {
        match spec.as_list() {
            Some(list) => {
                for (i, item) in list.iter().enumerate() {
                    each(self, item, &at.index(i));
                }
            }
            None if spec.is_null() => {}
            None => self.field(spec, "a list", at),
        }
    }

    fn patch(&mut self, spec: &Value, at: &Location) -> Option<Rule> {
        if !self.known(
            spec,
            &["target", "forEach", "var", "strict", OPERATIONS],
            at,
        ) {
            return None;
        }
        let target = self.target(spec, at);
        let condition = spec.get("target").get("where");
        let condition = self.condition(condition, &at.key("target").key("where"));
        let edit = self.edit(spec, at, condition, Form::HAND);
        Some(Rule {
            target: target?,
            at: at.clone(),
            action: Action::Patch(Box::new(edit?)),
        })
    }

    fn removal(&mut self, spec: &Value, at: &Location) -> Option<Rule> {
        if !self.known(spec, &["target"], at) {
            return None;
        }
        let target = self.target(spec, at);
        let condition = spec.get("target").get("where");
        let condition = self.condition(condition, &at.key("target").key("where"));
        Some(Rule {
            target: target?,
            at: at.clone(),
            action: Action::Remove(condition),
        })
    }
}
