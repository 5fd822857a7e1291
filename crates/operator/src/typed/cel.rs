//! CEL: the variables and fields that an expression reads, and the types of its operands.

use std::ops::Range;

use cel_interpreter::{
    DocumentTypes, Kinds, Program, TypeFinding, TypeMistake, Typed, is_type_name,
};
use document::{Key, Location, Value};
use schema::{Fields, Numbers, Strings, Type};

use super::inference::{Inference, Scope};
use super::path::{FAILS, IS_ABSENT, listed};
use crate::problem::Problem;

/// A variable of an expression.
pub(super) enum Variable {
    /// A value of this type, under this name.
    Known(Type),
    /// The document's top-level key of this name.
    Key,
    /// Nothing is known.
    Unknown,
}

/// Where an expression is: the location of the string that it is in, and its offset there.
#[derive(Clone, Copy)]
pub(super) struct ProgramPlace<'a> {
    pub(super) at: &'a Location,
    pub(super) start: usize,
}

impl<'a> ProgramPlace<'a> {
    /// The place of a part of the expression.
    fn part(self, part: &Range<usize>) -> (&'a Location, Range<usize>) {
        let Self { at, start } = self;
        (at, start + part.start..start + part.end)
    }
}

impl Inference {
    /// Checks an `@cel` expression. Returns the type of its value.
    pub(super) fn cel(&mut self, program: &Program, at: &Location, scope: &Scope) -> Type {
        let variable = |name: &str| match name {
            "object" => Variable::Known(scope.document.clone()),
            "item" => Variable::Known(scope.item.clone()),
            "now" => Variable::Unknown,
            _ => Variable::Key,
        };
        let place = ProgramPlace { at, start: 0 };
        self.program(program, place, &scope.document, &variable)
    }

    /// Checks an expression, given its variables. Returns the type of its value.
    pub(super) fn program(
        &mut self,
        program: &Program,
        place: ProgramPlace<'_>,
        document: &Type,
        variable: &dyn Fn(&str) -> Variable,
    ) -> Type {
        let mut types = CelTypes {
            inference: self,
            document,
            variable,
            place,
            text: program.text(),
        };
        let (typed, findings) = program.check(&mut types);
        for finding in findings {
            self.cel_finding(finding, place);
        }
        self.value(typed, place.at).written_at(place.at)
    }

    fn cel_finding(&mut self, finding: TypeFinding, place: ProgramPlace<'_>) {
        let (at, part) = place.part(&finding.place);
        let problem = match finding.mistake {
            TypeMistake::Operands {
                operation,
                found,
                certain,
            } => {
                let message = format!("CEL: `{operation}` never accepts ({found})");
                let problem = if certain {
                    self.fails("wrong-type", at, message)
                } else {
                    Problem::warning("wrong-type", at, message)
                };
                match conversion(&operation, &found) {
                    Some(help) => problem.with_help(help),
                    None => problem,
                }
            }
            TypeMistake::NeverEqual { found, negated } => {
                let (operator, outcome) = if negated { ("!=", true) } else { ("==", false) };
                let message =
                    format!("CEL: `{operator}` of ({found}) is always {outcome}: the types differ");
                Problem::warning("never-equal", at, message)
            }
        };
        self.report(problem.with_part(Some(part)));
    }

    /// The type of a value of CEL, as it is written to a document.
    fn value(&mut self, typed: Typed<Type>, at: &Location) -> Type {
        let Typed { kinds, part } = typed;
        if let Some(part) = part {
            return part;
        }
        if !kinds.has_json_form() {
            let message = format!("CEL: the value is of the type {kinds}, which has no JSON form");
            let problem = self.fails("wrong-type", at, message);
            let quantity = kinds.to_string().contains("kubernetes.Quantity");
            self.report(problem.with_help(if quantity {
                "string(…) gives its text, and .asApproximateFloat() a number"
            } else {
                "string(…) converts it"
            }));
            return Type::any();
        }
        if kinds.is_text() {
            return Type::string();
        }
        self.of_kinds(kinds)
    }

    /// The type of values of these types; unknown if documents do not have them.
    fn of_kinds(&self, kinds: Kinds) -> Type {
        let all = [
            (Kinds::NULL, Type::null()),
            (Kinds::BOOLEAN, Type::boolean()),
            (Kinds::INTEGER, Type::integer()),
            (Kinds::DOUBLE, Type::number()),
            (Kinds::STRING, Type::string()),
            (Kinds::LIST, Type::list(Type::any())),
            (Kinds::MAP, Type::map_of(Type::any())),
        ];
        let known = all
            .iter()
            .fold(Kinds::NONE, |known, (kind, _)| known.or(*kind));
        if kinds == Kinds::NONE || !kinds.is_in(known) {
            return Type::any();
        }
        all.into_iter()
            .filter(|(kind, _)| kinds.overlaps(*kind))
            .fold(Type::default(), |found, (_, part)| {
                self.union(&found, &part)
            })
    }

    /// The type of a chain of names that starts at a top-level key of the document.
    fn key(
        &mut self,
        names: &[&str],
        document: &Type,
        place: (&Location, Range<usize>),
    ) -> Option<Type> {
        let (root, rest) = names.split_first()?;
        let shape = document.map.as_ref().filter(|_| !document.any)?;
        let key = Key::new(root);
        if shape.field(&key).is_none() {
            if !is_type_name(names.iter().copied()) {
                self.no_variable(root, &shape.names(), place);
            }
            return None;
        }
        let field = document.field(&key).unwrap_or_else(Type::any);
        Some(self.chain(&field, rest, (root, FAILS), place))
    }

    fn no_variable(&mut self, name: &str, names: &[String], (at, part): (&Location, Range<usize>)) {
        let message = format!("the document has no top-level key {name}, so this always fails");
        let nearest = expr::nearest(name, names.iter().map(String::as_str));
        let help = match nearest {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("the keys are {}", listed(names)),
        };
        let problem = Problem::warning("unknown-variable", at, message).with_help(help);
        self.report(problem.with_part(Some(part)));
    }
}

/// What to do about operands of the wrong types.
fn conversion(operation: &str, found: &str) -> Option<String> {
    if operation == "quantity" && matches!(found, "int" | "uint" | "double") {
        return Some("convert it with string(…)".to_owned());
    }
    let quantity = found.contains("kubernetes.Quantity");
    if quantity && matches!(operation, "+" | "-") {
        let help = "q.add(r) and q.sub(r) are exact, and .asApproximateFloat() makes a number";
        return Some(help.to_owned());
    }
    if quantity && matches!(operation, "sum" | "*" | "/") {
        return Some(".asApproximateFloat() makes a number of a quantity".to_owned());
    }
    let (left, right) = found.split_once(", ")?;
    let compares = matches!(operation, "<" | "<=" | ">" | ">=");
    let is_text = |side: &str| side == "string";
    let is_number = |side: &str| matches!(side, "int" | "uint" | "double");
    let time = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
    let mixes = |is_other: &dyn Fn(&str) -> bool| {
        (is_text(left) && is_other(right)) || (is_other(left) && is_text(right))
    };
    if operation == "in" {
        return Some(format!(
            "the right side of `in` is a list or a map, but here it is {right}"
        ));
    }
    if (compares || matches!(operation, "+" | "-")) && mixes(&|side| time.contains(&side)) {
        return Some("convert the string: timestamp('…') or duration('…')".to_owned());
    }
    if operation == "+" && (is_text(left) || is_text(right)) {
        return Some("convert the other operand with string(…)".to_owned());
    }
    if (compares || matches!(operation, "-" | "*" | "/" | "%")) && mixes(&is_number) {
        return Some(format!(
            "the left side is {left} and the right side is {right}: write the number without quotes, or convert the string with int(…) or double(…)"
        ));
    }
    None
}

/// The types that an expression reads.
struct CelTypes<'a> {
    inference: &'a mut Inference,
    document: &'a Type,
    variable: &'a dyn Fn(&str) -> Variable,
    place: ProgramPlace<'a>,
    /// The expression.
    text: &'a str,
}

/// Parts of an expression that are longer are not shown in messages.
const MOST_SHOWN: usize = 60;

impl CelTypes<'_> {
    /// Without the field CEL fails, and what is missing is reported.
    fn known(found: Type) -> Option<Type> {
        (!found.any && !found.is_null() && !found.is_never()).then_some(found)
    }

    /// The values of all these types.
    fn all(&self, types: Vec<Option<Type>>) -> Type {
        types.into_iter().fold(Type::default(), |all, one| {
            let one = one.unwrap_or_else(Type::any);
            self.inference.union(&all, &one)
        })
    }
}

impl DocumentTypes for CelTypes<'_> {
    type Part = Type;

    fn path(&mut self, names: &[&str], place: &Range<usize>) -> Option<Type> {
        let (root, rest) = names.split_first()?;
        let place = self.place.part(place);
        let found = match (self.variable)(root) {
            Variable::Known(start) => self.inference.chain(&start, rest, (root, FAILS), place),
            Variable::Key => self.inference.key(names, self.document, place)?,
            Variable::Unknown => return None,
        };
        Self::known(found)
    }

    fn member(
        &mut self,
        (part, of): (&Type, &Range<usize>),
        name: &str,
        place: &Range<usize>,
        tested: bool,
    ) -> Option<Type> {
        // In `has`, the part is not apart from the member.
        let within = place.end < of.end + name.len();
        let place = self.place.part(place);
        let outcome = if tested { IS_ABSENT } else { FAILS };
        let of = self.text.get(of.clone());
        let of = of.filter(|text| text.len() <= MOST_SHOWN && !text.contains('\n'));
        let of = of.map(|text| {
            let part = text.strip_suffix(name).filter(|_| within);
            part.map_or(text, |part| part.trim_end_matches('.'))
        });
        let start = (of.unwrap_or("the value"), outcome);
        let found = self.inference.chain(part, &[name], start, place);
        Self::known(found)
    }

    fn element(&mut self, part: &Type) -> Option<Type> {
        Self::known(self.inference.children(part))
    }

    fn kinds(&self, part: &Type) -> Kinds {
        if part.any {
            return Kinds::ANY;
        }
        let parts = [
            (part.null, Kinds::NULL),
            (part.boolean, Kinds::BOOLEAN),
            (part.number != Numbers::None, Kinds::INTEGER),
            (part.number == Numbers::All, Kinds::DOUBLE),
            (part.string != Strings::None, Kinds::STRING),
            (part.list.is_some(), Kinds::LIST),
            (part.map.is_some(), Kinds::MAP),
        ];
        let found = parts.iter().filter(|(has, _)| *has);
        found.fold(Kinds::NONE, |all, (_, kind)| all.or(*kind))
    }

    fn literal(&mut self, value: &Value) -> Type {
        Type::of(value)
    }

    fn scalars(&mut self, kinds: Kinds) -> Type {
        self.inference.of_kinds(kinds)
    }

    fn list(&mut self, elements: Vec<Option<Type>>) -> Type {
        Type::list(self.all(elements))
    }

    fn map(&mut self, named: Vec<(&str, Option<Type>)>, others: Vec<Option<Type>>) -> Type {
        let named = named.into_iter();
        let named = named.map(|(name, value)| (Key::new(name), value.unwrap_or_else(Type::any)));
        let rest = (!others.is_empty()).then(|| self.all(others));
        Type::map(Fields::new(named.collect(), rest))
    }

    fn union(&mut self, one: &Type, other: &Type) -> Type {
        self.inference.union(one, other)
    }
}
