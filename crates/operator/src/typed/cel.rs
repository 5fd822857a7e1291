//! CEL: the variables and fields that an expression reads.

use cel_interpreter::{Program, ValueKind, is_type_name};
use document::path::Segment;
use document::{Key, Location};
use schema::Type;

use super::inference::{Inference, Scope};
use super::path::{listed, peek};
use crate::problem::Problem;

impl Inference {
    /// Checks what an `@cel` expression reads. Returns the type of its value.
    pub(super) fn cel(&mut self, program: &Program, at: &Location, scope: &Scope) -> Type {
        for chain in program.reads() {
            let Some((root, rest)) = chain.split_first() else {
                continue;
            };
            match root.as_str() {
                "object" => self.chain(&scope.document, rest, "object", at),
                "item" => self.chain(&scope.item, rest, "item", at),
                "now" => {}
                _ => self.variable(root, rest, &scope.document, at),
            }
        }
        match program.value_kind() {
            ValueKind::Boolean => Type::boolean(),
            ValueKind::List => Type::list(Type::any()),
            ValueKind::Map => Type::map_of(Type::any()),
            ValueKind::String => Type::string(),
            ValueKind::Member(chain) => member(&chain, scope),
            ValueKind::Unknown => Type::any(),
        }
        .written_at(at)
    }

    /// Checks a chain that starts at a top-level key of the document.
    pub(super) fn variable(&mut self, root: &str, rest: &[String], document: &Type, at: &Location) {
        let Some(shape) = document.map.as_ref().filter(|_| !document.any) else {
            return;
        };
        let key = Key::new(root);
        let names = std::iter::once(root).chain(rest.iter().map(String::as_str));
        if shape.field(&key).is_none() && is_type_name(names) {
            return;
        }
        if shape.field(&key).is_none() {
            let names = shape.names();
            let message = format!("the document has no top-level key {root}, so this always fails");
            let nearest = expr::nearest(root, names.iter().map(String::as_str));
            let help = match nearest {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("the keys are {}", listed(&names)),
            };
            self.report(Problem::warning("unknown-variable", at, message).with_help(help));
            return;
        }
        let field = document.field(&key).unwrap_or_else(Type::any);
        self.chain(&field, rest, root, at);
    }
}

/// The type of a chain of members.
fn member(chain: &[String], scope: &Scope) -> Type {
    let (start, names) = match chain {
        [root, names @ ..] if root == "object" => (&scope.document, names),
        [root, names @ ..] if root == "item" => (&scope.item, names),
        // A key of the document, unless it is a variable of its own.
        [root, ..] if root == "now" => return Type::any(),
        names => (&scope.document, names),
    };
    let names = names.iter().map(|name| Segment::Name(Key::new(name)));
    let found = peek(start, &names.collect::<Vec<_>>());
    // Without the field CEL fails, and what is missing is reported.
    if found.is_null() { Type::any() } else { found }
}
