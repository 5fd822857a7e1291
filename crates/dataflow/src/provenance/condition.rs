//! Why a condition is false, or true: its decisive parts, with the values that they compare.
//!
//! ```text
//! {"@and": [{"@exists": "$.a"}, {"@or": [{"@eq": ["$.b", 1]}, {"@gt": ["$.c", 2]}]}]}
//!
//! on {a: 1, b: 3, c: 0} it is false because of
//!   {"@eq": ["$.b", 1]}   where $.b is 3
//!   {"@gt": ["$.c", 2]}   where $.c is 0
//! ```

use document::{Location, Value, json};
use expr::{Expr, Functions, Items, Scope};

/// A part of a condition, with the values of its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionPart {
    /// The part as it is written.
    pub spec: Value,
    /// Its location in the spec.
    pub at: Location,
    /// Its result.
    pub result: bool,
    /// The operands that are computed, each with its value; `None` if it fails.
    pub operands: Vec<(Value, Option<Value>)>,
}

/// The smallest parts of a condition that decide its result. A part that fails is left out.
pub fn decisive_parts(
    spec: &Value,
    at: &Location,
    functions: &Functions,
    scope: &Scope<'_>,
) -> Vec<ConditionPart> {
    let mut explanation = Explanation {
        functions,
        scope,
        parts: Vec::new(),
    };
    if let Some(result) = explanation.result(spec) {
        explanation.explain(spec, at, result);
    }
    explanation.parts
}

struct Explanation<'a> {
    functions: &'a Functions,
    scope: &'a Scope<'a>,
    parts: Vec<ConditionPart>,
}

impl Explanation<'_> {
    fn compile(&self, spec: &Value) -> Option<Expr> {
        expr::compile(spec, &Location::root(), self.functions, Items::None).ok()
    }

    fn value(&self, spec: &Value) -> Option<Value> {
        self.compile(spec)?.eval(self.scope).ok()
    }

    fn result(&self, spec: &Value) -> Option<bool> {
        self.value(spec)?.as_bool()
    }

    fn explain(&mut self, spec: &Value, at: &Location, result: bool) {
        let call = call(spec);
        let (name, argument) = call.unwrap_or(("", spec));
        let inner = at.key(name);
        match (name, argument.as_list()) {
            // `@and` is false because of its false parts, and true because of all of them.
            ("@and" | "@or", Some(parts)) => {
                for (number, part) in parts.iter().enumerate() {
                    if self.result(part) == Some(result) {
                        self.explain(part, &inner.index(number), result);
                    }
                }
            }
            ("@not", None) => self.explain(argument, &inner, !result),
            _ => self.parts.push(ConditionPart {
                spec: spec.clone(),
                at: at.clone(),
                result,
                operands: self.operands(name, argument, result),
            }),
        }
    }

    /// The operands that are not literals, and the item that decides.
    fn operands(&self, name: &str, argument: &Value, result: bool) -> Vec<(Value, Option<Value>)> {
        let operands = match argument.as_list() {
            Some(list) => list.iter().collect(),
            None => vec![argument],
        };
        let computed = operands.into_iter().filter(|operand| is_computed(operand));
        // What reads `$$` has no value outside of its list, and does not compile.
        let compiled = computed.filter_map(|operand| Some((operand, self.compile(operand)?)));
        let values = compiled.map(|(operand, expr)| (operand.clone(), expr.eval(self.scope).ok()));
        let item = self.deciding_item(name, argument, result);
        values
            .chain(item.map(|item| ("$$".into(), Some(item))))
            .collect()
    }

    /// The first item because of which a condition on the items of a list has its result.
    fn deciding_item(&self, name: &str, argument: &Value, result: bool) -> Option<Value> {
        let args = argument.as_list().filter(|args| args.len() == 2)?;
        let (condition, list) = (args.get(0)?, args.get(1)?);
        let condition = match (name, result) {
            ("@any", true) | ("@none", false) => condition.clone(),
            ("@all", false) => json!({"@not": (condition.clone())}),
            _ => return None,
        };
        let decisive = self.value(&json!({"@filter": [(condition), (list.clone())]}))?;
        decisive.as_list()?.get(0).cloned()
    }
}

/// The name and the argument of an operator.
fn call(spec: &Value) -> Option<(&str, &Value)> {
    match spec.as_map()?.entries() {
        [(name, argument)] if name.as_str().starts_with('@') => Some((name.as_str(), argument)),
        _ => None,
    }
}

fn is_computed(operand: &Value) -> bool {
    let path = operand.as_str().is_some_and(|text| text.starts_with('$'));
    path || operand.as_str() == Some("@now") || call(operand).is_some()
}
