//! Numbers that are or may be fractions, where the target needs an integer.

use document::{Location, Value, View};
use schema::{Numbers, Type};

use super::inference::Inference;
use crate::problem::Problem;

/// Operators whose results are often fractions.
const DIVIDE: [&str; 2] = ["@div", "@float"];

/// Where a fraction is written or computed.
#[derive(Debug)]
pub(super) struct Fraction {
    at: Location,
    /// The operator that may compute it; none if it is written.
    operator: Option<&'static str>,
}

impl Inference {
    /// Remembers the fractions in a literal.
    pub(super) fn written_fractions(&mut self, value: &Value, at: &Location) {
        match value.view() {
            View::Float(number) if number.fract() != 0.0 => self.fractions.push(Fraction {
                at: at.clone(),
                operator: None,
            }),
            View::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.written_fractions(item, &at.index(i));
                }
            }
            View::Map(map) => {
                for (key, value) in map {
                    self.written_fractions(value, &at.key(key.as_str()));
                }
            }
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => {}
        }
    }

    /// Remembers the result of an operator that may be a fraction.
    pub(super) fn computed_fraction(&mut self, operator: &'static str, at: &Location) {
        if DIVIDE.contains(&operator) {
            self.fractions.push(Fraction {
                at: at.clone(),
                operator: Some(operator),
            });
        }
    }

    /// Reports a fraction where an integer is needed.
    pub(super) fn fits_integer(&mut self, found: &Type, wanted: &Type, place: &str) {
        if found.number != Numbers::All || wanted.number != Numbers::Integers {
            return;
        }
        let Some(at) = &found.at else { return };
        let mut fractions = self.fractions.iter();
        let Some(fraction) = fractions.find(|fraction| fraction.at == *at) else {
            return;
        };
        let at = fraction.at.clone();
        let wanted = wanted.clone().without_null();
        let problem = match fraction.operator {
            Some(operator) => {
                let message = format!(
                    "{place} must be {wanted}, but the result of {operator} may be a fraction"
                );
                let problem = Problem::warning("refused-value", &at, message);
                problem.with_help("round it with @floor or @ceil")
            }
            None => {
                let message = format!("{place} must be {wanted}, but this is a fraction");
                self.fails("refused-value", &at, message)
            }
        };
        self.report(problem);
    }
}
