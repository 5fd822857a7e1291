//! Why a document has no partner in a join.

use document::{Key, Map, Value};
use expr::{Env, Expr, Scope};

use super::{Point, Provenance};
use crate::origin::{Component, Origin};
use crate::pipeline::{Conjunct, Join, JoinKey, SourceSet, StageKind};
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

/// A soft input of a join that has no partner for a document.
#[derive(Clone, Debug, PartialEq)]
pub struct NoSoftPartner {
    /// The input, by position.
    pub input: usize,
    /// The conjuncts that no document of the input meets. If there is none, each one is met by some
    /// document, but no document meets all; or the reason is not known.
    pub unjoined: Vec<Unjoined>,
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
                    let mine = [(&join.inputs[input], document)];
                    let theirs = (*other, &join.inputs[*other]);
                    unjoined.extend(alone(conjunct, &mine, theirs, partners, self.env));
                }
                _ => {}
            }
        }
        unjoined
    }

    /// The soft inputs of a join that have no partner for a joined document.
    pub fn without_soft_partner(&self, at: Point, origin: &Origin) -> Vec<NoSoftPartner> {
        let Point::Stage { branch, stage } = at else {
            return Vec::new();
        };
        let StageKind::Join(join) = &self.pipeline.branches[branch].stages[stage].kind else {
            return Vec::new();
        };
        if !origin.components().contains(&Component::Absent) {
            return Vec::new();
        }
        let joined = self.partners(branch, join, origin);
        let document = |input: usize| {
            let point = Point::Input { branch, input };
            let (at, origin) = joined.iter().find(|(at, _)| *at == point)?;
            Some((&join.inputs[input], self.document(*at, origin)?))
        };
        let absent = join.soft.iter().filter(|input| document(*input).is_none());
        absent
            .map(|input| {
                let point = Point::Input { branch, input };
                let theirs = (input, &join.inputs[input]);
                let partners = self.documents(point);
                let conjuncts = join.conjuncts.iter().filter(|one| one.reads.has(input));
                let unjoined = conjuncts.filter_map(|conjunct| {
                    let others = conjunct.reads.iter().filter(|other| *other != input);
                    let mine: Option<Vec<_>> = others.map(document).collect();
                    alone(conjunct, &mine?, theirs, partners?, self.env)
                });
                NoSoftPartner {
                    input,
                    unjoined: unjoined.collect(),
                }
            })
            .collect()
    }
}

/// The conjunct, if no document of the other input meets it together with these documents.
fn alone(
    conjunct: &Conjunct,
    mine: &[(&String, &Value)],
    (other, theirs): (usize, &String),
    partners: &Documents,
    env: &Env,
) -> Option<Unjoined> {
    let pair = |partner| compound(&[mine, &[(theirs, partner)]].concat());
    if partners
        .values()
        .any(|partner| holds(&conjunct.expr, &pair(partner), env))
    {
        return None;
    }
    let side = |is_other: bool| {
        let sides = conjunct.key.as_ref().map(JoinKey::sides)?;
        sides
            .into_iter()
            .find(|side| (side.input == other) == is_other)
    };
    let value = |expr: &Expr, compound: &Value| expr.eval(&Scope::new(env, compound)).ok();
    let key = side(false).and_then(|side| value(&side.expr, &compound(mine)));
    let text = key.as_ref().and_then(Value::as_str).map(str::to_owned);
    let nearest = text
        .zip(side(true).filter(|_| partners.len() <= MAX_KEYS))
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
