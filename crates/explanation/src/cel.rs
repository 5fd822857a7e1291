//! Which part of a CEL condition is false, and the values that it reads.
//!
//! ```text
//! has(spec.a) && (spec.b > 1 || spec.c)   on {spec: {a: 1, b: 1, c: false}}
//!
//! spec.b > 1 || spec.c   is false: spec.b is 1, spec.c is false
//! ```

use dataflow::Origin;
use document::{Key, Location, Map, Value};
use expr::{Expr, Items, NOW, Scope};

use crate::reason::{StagePlace, literal};
use crate::story::Story;

/// The name of the operator.
const CEL: &str = "@cel";

/// The parts that decide a CEL condition on the document of an origin, in words; `None` if the condition
/// is not CEL.
pub(crate) fn condition(
    story: &Story<'_>,
    place: StagePlace,
    origin: &Origin,
    spec: &Value,
    result: bool,
) -> Option<String> {
    let text = spec.as_map()?.get_str(CEL)?.as_str()?;
    let provenance = story.provenance(place.controller);
    let document = provenance.document(place.before(), origin)?;
    let scope = Scope::new(story.env, document);
    let decides = |part: &&str| {
        let value = compiled(story, part).and_then(|expr| expr.eval(&scope).ok());
        value.and_then(|value| value.as_bool()) == Some(result)
    };
    // A conjunction is false because of its false parts, and true because of all of them.
    let Some(Expr::Cel(cel)) = compiled(story, text) else {
        return None;
    };
    let parts = if result {
        vec![text]
    } else {
        cel.program.conjuncts()
    };
    let parts = parts.into_iter().filter(decides).map(|part| {
        let values = values(story, place, part, &scope).join(", ");
        let part = object::bounded(&part.split_whitespace().collect::<Vec<_>>().join(" "), 200);
        match values.as_str() {
            "" => format!("{part} is {result}"),
            values => format!("{part} is {result}: {values}"),
        }
    });
    Some(parts.collect::<Vec<_>>().join("; ")).filter(|parts| !parts.is_empty())
}

/// What an expression reads, with the values.
fn values(story: &Story<'_>, place: StagePlace, part: &str, scope: &Scope<'_>) -> Vec<String> {
    let Some(Expr::Cel(cel)) = compiled(story, part) else {
        return Vec::new();
    };
    let chains = cel.program.reads().into_iter();
    let values = chains.map(|chain| {
        let path = written(&chain);
        let found = read(&chain, scope);
        let value = found.clone().unwrap_or_default();
        let shown = story.masked_value(place.controller, place.before(), &spec(&path), &value);
        // Whether a Secret has a value is not shown either.
        let shown = match found {
            None if shown.is_null() => "missing".to_owned(),
            _ => literal(&shown),
        };
        format!("{path} is {shown}")
    });
    values.collect()
}

/// The value of a chain of members; `None` if it is missing.
fn read(chain: &[String], scope: &Scope<'_>) -> Option<Value> {
    let (variable, members) = chain.split_first()?;
    let start = match variable.as_str() {
        "object" => scope.document.clone(),
        NOW => scope.now.clone(),
        _ => member(scope.document, variable)?,
    };
    (members.iter()).try_fold(start, |value, name| member(&value, name))
}

fn member(value: &Value, name: &str) -> Option<Value> {
    value.as_map()?.get_str(name).cloned()
}

/// A chain of members in CEL: `metadata.labels['app.kubernetes.io/name']`.
fn written(chain: &[String]) -> String {
    let parts = chain.iter().enumerate().map(|(position, name)| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match (position, plain) {
            (0, _) => name.clone(),
            (_, true) => format!(".{name}"),
            (_, false) => format!("[{}]", Value::from(name.as_str())),
        }
    });
    parts.collect()
}

fn spec(text: &str) -> Value {
    [(Key::new(CEL), Value::from(text))]
        .into_iter()
        .collect::<Map>()
        .into()
}

fn compiled(story: &Story<'_>, text: &str) -> Option<Expr> {
    expr::compile(&spec(text), &Location::root(), story.functions, Items::None).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_written_as_in_cel() {
        let chain = ["metadata", "labels", "app.kubernetes.io/name"].map(str::to_owned);
        assert_eq!(
            written(&chain),
            "metadata.labels[\"app.kubernetes.io/name\"]"
        );
    }
}
