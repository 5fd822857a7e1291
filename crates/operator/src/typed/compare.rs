//! Comparisons that can never be true.

use document::Location;
use document::path::FilterComparison;
use expr::{Call, Expr, NowSide};
use schema::{Numbers, Strings, Type};

use super::inference::{Inference, Scope};
use super::path::peek;
use super::written::NOW_AS_TEXT;
use crate::problem::Problem;

impl Inference {
    /// `@eq` and `@ne`
    pub(super) fn equality(&mut self, call: &Call, args: &[Expr], negated: bool, scope: &Scope) {
        let types: Vec<Type> = args
            .iter()
            .enumerate()
            .map(|(i, arg)| self.infer(arg, &call.at.index(i), scope))
            .collect();
        let ([a, b], [one, other]) = (args, types.as_slice()) else {
            return;
        };
        let impossible = match (a.is_written_null(), b.is_written_null()) {
            // Null is also in the place of what could not be read.
            _ if one.any || other.any => None,
            (true, true) => None,
            (true, false) => never_null(other),
            (false, true) => never_null(one),
            (false, false) => disjoint(one, other),
        };
        if let Some(why) = impossible {
            let outcome = if negated { "true" } else { "false" };
            self.never_equal(&why, outcome, (one, other), &call.at);
        }
    }

    /// `@in`
    pub(super) fn membership(&mut self, args: &[Type], call: &Call) {
        let [element, list] = args else { return };
        let Some(item) = list.list.as_ref().filter(|_| !list.any) else {
            return;
        };
        if (element.null && item.null) || item.is_never() {
            return;
        }
        if let Some(why) = disjoint(element, item) {
            self.never_equal(&why, "false", (element, item), &call.at);
        }
    }

    /// A comparison in the filter of a path, where values of different types are never equal.
    pub(super) fn filtered(
        &mut self,
        comparison: &FilterComparison<'_>,
        element: &Type,
        at: &Location,
    ) {
        let field = peek(element, comparison.segments).without_null();
        if field.any || field.is_never() || comparison.literals.is_empty() {
            return;
        }
        let field = if comparison.ordered && field.string != Strings::None {
            Type {
                string: Strings::All,
                ..field
            }
        } else {
            field
        };
        let literals: Vec<Type> = comparison.literals.iter().map(|l| Type::of(l)).collect();
        let mut others = literals.iter();
        if others.any(|literal| literal.null || field.overlaps(literal)) {
            return;
        }
        let Some(literal) = literals.first() else {
            return;
        };
        let why = disjoint(&field, literal).unwrap_or_default();
        let why = format!("in the filter of the path, {why}");
        let outcome = if comparison.negated { "true" } else { "false" };
        self.never_equal(&why, outcome, (&field, literal), at);
    }

    fn never_equal(&mut self, why: &str, outcome: &str, sides: (&Type, &Type), at: &Location) {
        let problem = Problem::warning(
            "never-equal",
            at,
            format!("{why}, so this is always {outcome}"),
        );
        self.report(match help(sides) {
            Some(help) => problem.with_help(help),
            None => problem,
        });
    }

    /// `@gt` and the like: reports operands that have no order.
    pub(super) fn comparable(&mut self, args: &[Type], call: &Call) {
        let ordered = Type {
            string: Strings::All,
            ..Type::number()
        };
        for (i, arg) in args.iter().enumerate() {
            self.expect(arg, &ordered, call.function.name, &call.at.index(i));
        }
        for (i, arg) in args.iter().enumerate() {
            if arg.string == Strings::known(["now"]) && !arg.any {
                let message = "this compares with the text \"now\"";
                let problem = Problem::warning(NOW_AS_TEXT, &call.at.index(i), message);
                self.report(problem.with_help("the time is \"@now\""));
                return;
            }
        }
        let [a, b] = args else { return };
        let place = |side| call.at.index(side);
        match call.now_side {
            Some(NowSide::Left) => self.compared_with_now(b, &place(1)),
            Some(NowSide::Right) => self.compared_with_now(a, &place(0)),
            None => {}
        }
        if (is_text(a) && is_number(b)) || (is_number(a) && is_text(b)) {
            let name = call.function.name;
            let message = format!("{name} cannot compare a number with a string that is no number");
            let problem = self.fails("wrong-type", &call.at, message);
            self.report(problem);
        }
    }
}

fn never_null(found: &Type) -> Option<String> {
    let known = !found.any && !found.null && !found.is_never();
    known.then(|| format!("this is never null, but {found}"))
}

/// Why values of two types are never equal. Two computed nulls are not equal either.
fn disjoint(one: &Type, other: &Type) -> Option<String> {
    if one.is_never() || other.is_never() || one.overlaps(other) {
        return None;
    }
    let (a, b) = (one.clone().without_null(), other.clone().without_null());
    if a.is_never() || b.is_never() {
        return Some("one side is always null, and null equals only a written null".to_owned());
    }
    Some(match (one.string.as_known(), other.string.as_known()) {
        (Some(some), Some(others)) if only_strings(&a) && only_strings(&b) => {
            format!("{} is none of {}", quoted(others), quoted(some))
        }
        _ => format!("{a} is never equal to {b}"),
    })
}

fn only_strings(found: &Type) -> bool {
    let strings = Type::string();
    let mut rest = found.clone();
    rest.string = Strings::None;
    found.overlaps(&strings) && rest.is_never()
}

fn quoted(words: &[Box<str>]) -> String {
    let words: Vec<String> = words
        .iter()
        .take(12)
        .map(|word| format!("{word:?}"))
        .collect();
    words.join(", ")
}

/// What was probably meant.
fn help((one, other): (&Type, &Type)) -> Option<String> {
    let pairs = [(one, other), (other, one)];
    for (a, b) in pairs {
        if let (Some([word]), Some(words)) = (a.string.as_known(), b.string.as_known())
            && let Some(nearest) = expr::nearest(word, words.iter().map(AsRef::as_ref))
        {
            return Some(format!("did you mean {nearest:?}?"));
        }
        let scalar = a.number != Numbers::None || a.boolean;
        if scalar && a.at.is_some() && only_strings(&b.clone().without_null()) {
            return Some("write the value in quotes, or convert one side with @string".to_owned());
        }
    }
    None
}

/// Whether it is always a string that is no number.
fn is_text(found: &Type) -> bool {
    let texts = found.string.as_known().is_some_and(|known| {
        let mut known = known.iter();
        known.all(|text| document::Number::parse(text).is_none())
    });
    texts && only_strings(&found.clone().without_null())
}

fn is_number(found: &Type) -> bool {
    let mut rest = found.clone().without_null();
    rest.number = Numbers::None;
    found.number != Numbers::None && rest.is_never()
}
