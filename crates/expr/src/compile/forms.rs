//! Functions whose argument has a syntax of its own, such as the pairs of `@switch`.

use document::{Key, Location, Value};

use super::{Compiler, DocumentKind, Items, fold};
use crate::error::CompileErrorKind;
use crate::expr::{CelExpr, Expr, MapExpr, SetFieldPath};
use crate::function::{Form, Function};

impl Compiler<'_> {
    pub(super) fn form(
        &mut self,
        form: Form,
        function: &Function,
        argument: &Value,
        at: &Location,
        items: Items,
    ) -> Expr {
        match form {
            Form::Nothing => Expr::Literal(Value::NULL),
            Form::Literal => Expr::Literal(argument.clone()),
            Form::Dict => self.dict(argument, at, items),
            Form::Switch => self.switch(argument, at, items),
            Form::Random => {
                let args = self.args(function, argument, at, items);
                Expr::Random(args, at.clone())
            }
            Form::Query => match argument.as_str().filter(|text| text.starts_with('$')) {
                Some(text) => match self.path(text, at, items) {
                    Some(path) => Expr::Query(Box::new(path)),
                    None => Expr::Literal(Value::NULL),
                },
                None => self.bad_form(function, "a path, such as \"$.spec.ports[*].name\"", at),
            },
            Form::GetField => self.get_field(function, argument, at, items),
            Form::SetField => self.set_field(function, argument, at, items),
            Form::Cel => self.cel(function, argument, at),
        }
    }

    fn bad_form(&mut self, function: &Function, expected: &'static str, at: &Location) -> Expr {
        self.error(
            at,
            CompileErrorKind::Form {
                function: function.name.to_owned(),
                expected,
            },
        );
        Expr::Literal(Value::NULL)
    }

    fn dict(&mut self, argument: &Value, at: &Location, items: Items) -> Expr {
        let Some(map) = argument.as_map() else {
            self.error(
                at,
                CompileErrorKind::Form {
                    function: "@dict".to_owned(),
                    expected: "a map",
                },
            );
            return Expr::Literal(Value::NULL);
        };
        let entries: Vec<(Key, Expr)> = map
            .iter()
            .map(|(key, spec)| (key.clone(), self.expr(spec, &at.key(key.as_str()), items)))
            .collect();
        fold(Expr::Map(Box::new(MapExpr {
            copy: None,
            entries: entries.into(),
            setters: Box::new([]),
            at: at.clone(),
        })))
    }

    fn switch(&mut self, argument: &Value, at: &Location, items: Items) -> Expr {
        let mut pairs = Vec::new();
        let Some(list) = argument.as_list() else {
            self.error(at, switch_form());
            return Expr::Literal(Value::NULL);
        };
        for (i, pair) in list.iter().enumerate() {
            let at = at.index(i);
            match pair.as_list() {
                Some(pair) if pair.len() == 2 => {
                    let case = self.expr(pair.get(0).unwrap_or(&Value::NULL), &at.index(0), items);
                    let action =
                        self.expr(pair.get(1).unwrap_or(&Value::NULL), &at.index(1), items);
                    pairs.push((case, action));
                }
                _ => self.error(&at, switch_form()),
            }
        }
        Expr::Switch(pairs.into(), at.clone())
    }

    fn get_field(
        &mut self,
        function: &Function,
        argument: &Value,
        at: &Location,
        items: Items,
    ) -> Expr {
        let path = self.expr(argument, at, items);
        if path.is_written() {
            return self.bad_form(function, "a path, or an operator that computes one", at);
        }
        if let Expr::Path(_) = path {
            return path;
        }
        Expr::GetField(Box::new(path), at.clone())
    }

    fn set_field(
        &mut self,
        function: &Function,
        argument: &Value,
        at: &Location,
        items: Items,
    ) -> Expr {
        let Some(args) = argument.as_list().filter(|args| args.len() == 2) else {
            let found = argument.as_list().map_or(1, document::ListRef::len);
            self.check_arity(function, found, at);
            return Expr::Literal(Value::NULL);
        };
        let target = args.get(0).unwrap_or(&Value::NULL);
        let place = match target.as_str() {
            Some(text) if text.starts_with('$') => self.fixed_field(text, &at.index(0), items),
            _ => {
                let computed = self.expr(target, &at.index(0), items);
                if computed.is_written() {
                    let expected = "a path, or an operator that computes one, and a value";
                    self.bad_form(function, expected, at);
                    None
                } else {
                    Some(SetFieldPath::Computed(computed))
                }
            }
        };
        let value = self.expr(args.get(1).unwrap_or(&Value::NULL), &at.index(1), items);
        match place {
            Some(place) => Expr::SetField(Box::new((place, value)), at.clone()),
            None => Expr::Literal(Value::NULL),
        }
    }

    fn fixed_field(&mut self, text: &str, at: &Location, items: Items) -> Option<SetFieldPath> {
        let path = self.path(text, at, items)?.path;
        if let Err(error) = path.check_settable() {
            self.error(
                at,
                CompileErrorKind::Setter {
                    path: text.to_owned(),
                    message: error.to_string(),
                },
            );
            return None;
        }
        Some(SetFieldPath::Fixed(path))
    }

    fn cel(&mut self, function: &Function, argument: &Value, at: &Location) -> Expr {
        let Some(text) = argument.as_str() else {
            return self.bad_form(function, "a CEL expression as a string", at);
        };
        match cel_interpreter::Program::compile(text) {
            Ok(program) => Expr::Cel(Box::new(CelExpr {
                program,
                hides_versions: self.documents != DocumentKind::Derived,
                at: at.clone(),
            })),
            Err(error) => {
                self.error(at, CompileErrorKind::Cel(error));
                Expr::Literal(Value::NULL)
            }
        }
    }
}

fn switch_form() -> CompileErrorKind {
    CompileErrorKind::Form {
        function: "@switch".to_owned(),
        expected: "a list of [case, action] pairs",
    }
}
