//! Why a document has no partner in a join.

use document::{Key, Map, Value};
use expr::{Env, Expr, Scope};

use super::{Point, Provenance};
use crate::origin::Origin;
use crate::pipeline::{Conjunct, Join, JoinKey, SourceSet};
use crate::recording::Documents;

/// A conjunct of a join that no partner meets.
#[derive(Clone, Debug, PartialEq)]
pub struct Unjoined {
    /// The conjunct as it is written.
    pub spec: Value,
    /// The other input, by position; `None` if the conjunct reads the document alone.
    pub input: Option<usize>,
    /// The key of the document, if the conjunct compares keys.
    pub key: Option<Value>,
    /// The most similar key of the other input.
    pub nearest: Option<Value>,
    /// How many documents of the other input were tried.
    pub tried: usize,
}

/// For a long list of keys no similar one is looked for.
const MAX_KEYS: usize = 10_000;

impl Provenance<'_> {
    /// The conjuncts for which a document of an input has no partner. If each one has a partner, but
    /// no partner meets all of them, there are none.
    pub(super) fn unjoined(
        &self,
        branch: usize,
        join: &Join,
        input: usize,
        origin: &Origin,
    ) -> Vec<Unjoined> {
        let Some(document) = self.document(Point::Input { branch, input }, origin) else {
            return Vec::new();
        };
        let mut unjoined = Vec::new();
        for conjunct in &join.conjuncts {
            let others: Vec<usize> = conjunct.reads.iter().filter(|at| *at != input).collect();
            match others.as_slice() {
                [] if conjunct.reads == SourceSet::of(input) => {
                    let compound = compound(&[(&join.inputs[input], document)]);
                    if !holds(&conjunct.expr, &compound, self.env) {
                        unjoined.push(Unjoined {
                            spec: conjunct.spec.clone(),
                            input: None,
                            key: None,
                            nearest: None,
                            tried: 0,
                        });
                    }
                }
                [other] if conjunct.reads.has(input) => {
                    let at = Point::Input {
                        branch,
                        input: *other,
                    };
                    let Some(partners) = self.documents(at) else {
                        continue;
                    };
                    let names = (&join.inputs[input], &join.inputs[*other]);
                    unjoined.extend(alone(
                        conjunct,
                        (input, *other),
                        names,
                        document,
                        partners,
                        self.env,
                    ));
                }
                _ => {}
            }
        }
        unjoined
    }
}

/// The conjunct, if no document of the other input meets it.
fn alone(
    conjunct: &Conjunct,
    (input, other): (usize, usize),
    (mine, theirs): (&String, &String),
    document: &Value,
    partners: &Documents,
    env: &Env,
) -> Option<Unjoined> {
    let pair = |partner| compound(&[(mine, document), (theirs, partner)]);
    if partners
        .values()
        .any(|partner| holds(&conjunct.expr, &pair(partner), env))
    {
        return None;
    }
    let side = |of: usize| {
        let sides = conjunct.key.as_ref().map(JoinKey::sides)?;
        sides.into_iter().find(|side| side.input == of)
    };
    let value = |expr: &Expr, compound: &Value| expr.eval(&Scope::new(env, compound)).ok();
    let key = side(input).and_then(|side| value(&side.expr, &compound(&[(mine, document)])));
    let text = key.as_ref().and_then(Value::as_str).map(str::to_owned);
    let nearest = text
        .zip(side(other).filter(|_| partners.len() <= MAX_KEYS))
        .and_then(|(text, side)| {
            let keys: Vec<Value> = partners
                .values()
                .filter_map(|partner| value(&side.expr, &compound(&[(theirs, partner)])))
                .collect();
            let texts = keys.iter().filter_map(Value::as_str);
            expr::nearest(&text, texts).map(Value::from)
        });
    Some(Unjoined {
        spec: conjunct.spec.clone(),
        input: Some(other),
        key,
        nearest,
        tried: partners.len(),
    })
}

fn holds(condition: &Expr, compound: &Value, env: &Env) -> bool {
    let value = condition.eval(&Scope::new(env, compound));
    value.is_ok_and(|value| value.as_bool() == Some(true))
}

/// The joined document of some inputs.
fn compound(parts: &[(&String, &Value)]) -> Value {
    let entries = parts
        .iter()
        .map(|(name, document)| (Key::new(name), (*document).clone()));
    entries.collect::<Map>().into()
}
