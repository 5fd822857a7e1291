//! CEL: the variables and fields that an expression reads, and the types of its operands.

use cel_interpreter::{DocumentTypes, Kinds, Program, TypeFinding, Typed, is_type_name};
use document::{Key, Location};
use schema::{Numbers, Strings, Type};

use super::inference::{Inference, Scope};
use super::path::listed;
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

impl Inference {
    /// Checks an `@cel` expression. Returns the type of its value.
    pub(super) fn cel(&mut self, program: &Program, at: &Location, scope: &Scope) -> Type {
        let variable = |name: &str| match name {
            "object" => Variable::Known(scope.document.clone()),
            "item" => Variable::Known(scope.item.clone()),
            "now" => Variable::Unknown,
            _ => Variable::Key,
        };
        self.program(program, at, &scope.document, &variable)
    }

    /// Checks an expression, given its variables. Returns the type of its value.
    pub(super) fn program(
        &mut self,
        program: &Program,
        at: &Location,
        document: &Type,
        variable: &dyn Fn(&str) -> Variable,
    ) -> Type {
        let mut types = CelTypes {
            inference: self,
            document,
            variable,
            at,
        };
        let (typed, findings) = program.check(&mut types);
        for finding in findings {
            self.cel_finding(finding, at);
        }
        self.value(typed, at).written_at(at)
    }

    fn cel_finding(&mut self, finding: TypeFinding, at: &Location) {
        let problem = match finding {
            TypeFinding::Operands {
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
            TypeFinding::NeverEqual { found, negated } => {
                let (operator, outcome) = if negated { ("!=", true) } else { ("==", false) };
                let message =
                    format!("CEL: `{operator}` of ({found}) is always {outcome}: the types differ");
                Problem::warning("never-equal", at, message)
            }
        };
        self.report(problem);
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
            self.report(problem.with_help("string(…) converts it"));
            return Type::any();
        }
        let all = [
            (Kinds::NULL, Type::null()),
            (Kinds::BOOLEAN, Type::boolean()),
            (Kinds::INTEGER, Type::integer()),
            (Kinds::DOUBLE, Type::number()),
            (Kinds::LIST, Type::list(Type::any())),
            (Kinds::MAP, Type::map_of(Type::any())),
        ];
        if kinds.is_text() {
            return Type::string();
        }
        let known = all
            .iter()
            .fold(Kinds::NONE, |known, (kind, _)| known.or(*kind));
        if kinds == Kinds::NONE || !kinds.is_in(known.or(Kinds::STRING)) {
            return Type::any();
        }
        let strings = (Kinds::STRING, Type::string());
        all.into_iter()
            .chain([strings])
            .filter(|(kind, _)| kinds.overlaps(*kind))
            .fold(Type::default(), |found, (_, part)| {
                self.union(&found, &part)
            })
    }

    /// The type of a chain of names that starts at a top-level key of the document.
    fn key(&mut self, names: &[&str], document: &Type, at: &Location) -> Option<Type> {
        let (root, rest) = names.split_first()?;
        let shape = document.map.as_ref().filter(|_| !document.any)?;
        let key = Key::new(root);
        if shape.field(&key).is_none() {
            if !is_type_name(names.iter().copied()) {
                self.no_variable(root, &shape.names(), at);
            }
            return None;
        }
        let field = document.field(&key).unwrap_or_else(Type::any);
        Some(self.chain(&field, rest, root, at))
    }

    fn no_variable(&mut self, name: &str, names: &[String], at: &Location) {
        let message = format!("the document has no top-level key {name}, so this always fails");
        let nearest = expr::nearest(name, names.iter().map(String::as_str));
        let help = match nearest {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("the keys are {}", listed(names)),
        };
        self.report(Problem::warning("unknown-variable", at, message).with_help(help));
    }
}

/// How to convert an operand that is probably a time.
fn conversion(operation: &str, found: &str) -> Option<&'static str> {
    let compares = matches!(operation, "<" | "<=" | ">" | ">=" | "+" | "-");
    let time = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
    let mixes = found.contains("string") && time.iter().any(|name| found.contains(name));
    if compares && mixes {
        return Some("convert the string: timestamp('…') or duration('…')");
    }
    let adds = operation == "+" && found.contains("string");
    adds.then_some("convert the other operand with string(…)")
}

/// The types that an expression reads.
struct CelTypes<'a> {
    inference: &'a mut Inference,
    document: &'a Type,
    variable: &'a dyn Fn(&str) -> Variable,
    at: &'a Location,
}

impl CelTypes<'_> {
    /// Without the field CEL fails, and what is missing is reported.
    fn known(found: Type) -> Option<Type> {
        (!found.any && !found.is_null() && !found.is_never()).then_some(found)
    }
}

impl DocumentTypes for CelTypes<'_> {
    type Part = Type;

    fn path(&mut self, names: &[&str]) -> Option<Type> {
        let (root, rest) = names.split_first()?;
        let found = match (self.variable)(root) {
            Variable::Known(start) => self.inference.chain(&start, rest, root, self.at),
            Variable::Key => self.inference.key(names, self.document, self.at)?,
            Variable::Unknown => return None,
        };
        Self::known(found)
    }

    fn member(&mut self, part: &Type, name: &str) -> Option<Type> {
        let found = self.inference.chain(part, &[name], "the element", self.at);
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
}
