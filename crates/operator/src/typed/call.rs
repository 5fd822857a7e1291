//! The functions of the language: what they need, and the types of their results.

use document::{Key, Location};
use expr::{Args, Arity, Body, Call, Expr, Gives, Takes};
use schema::{Fields, Numbers, Strings, Type};

use super::inference::{Inference, Scope};
use crate::problem::Problem;

impl Inference {
    pub(super) fn call(&mut self, call: &Call, scope: &Scope) -> Type {
        let result = match (&call.function.body, &call.args) {
            (Body::Each(..), Args::Written(args)) => self.each(call, args, scope),
            (Body::Lazy(_), Args::Written(args)) => self.lazy(call, args, scope),
            (Body::Equality { negated }, Args::Written(args)) => {
                self.equality(call, args, *negated, scope);
                Type::boolean()
            }
            (
                Body::Whole(_)
                | Body::List(_)
                | Body::Strict(_)
                | Body::Metered(_)
                | Body::Equality { .. }
                | Body::Order(_)
                | Body::Lazy(_)
                | Body::Each(..)
                | Body::Form(_)
                | Body::Own(_),
                _,
            ) => self.strict(call, scope),
        };
        self.computed_fraction(call.function.name, &call.at);
        result.written_at(&call.at)
    }

    fn strict(&mut self, call: &Call, scope: &Scope) -> Type {
        let name = call.function.name;
        let tests = matches!(name, "@exists" | "@has" | "@isnil");
        if tests {
            self.exists_literal(call);
        }
        let (args, located) = match &call.args {
            Args::Written(args) if call.function.arity == Arity::Unary => {
                let args: Vec<Type> = args
                    .iter()
                    .map(|arg| {
                        if let Expr::Path(path) = arg
                            && tests
                        {
                            // It is the purpose of the function to test whether there is a match,
                            // so several are no problem.
                            self.read(&path.path, &path.at, scope)
                        } else {
                            self.infer(arg, &call.at, scope)
                        }
                    })
                    .collect();
                (args, vec![call.at.clone()])
            }
            Args::Written(_) | Args::Yielded(_) => self.strict_args(&call.args, &call.at, scope),
        };
        let types = call.function.types;
        let before = self.problems.len();
        for (i, (arg, at)) in args.iter().zip(&located).enumerate() {
            self.need(arg, types.takes(i), name, at);
        }
        match self.problems.get_mut(before) {
            Some(problem) if name == "@in" => problem.help = Some(in_help(&args)),
            _ => {}
        }
        if name == "@regexp" {
            self.swapped_pattern(call);
        } else if name == "@selector" {
            self.selector(call);
        }
        if matches!(call.function.body, Body::Order(_)) {
            self.comparable(&args, call);
        } else if name == "@in" {
            self.membership(&args, call);
        }
        self.result(types.gives, &args)
    }

    /// The types and locations of arguments that are all evaluated.
    pub(super) fn strict_args(
        &mut self,
        args: &Args,
        at: &Location,
        scope: &Scope,
    ) -> (Vec<Type>, Vec<Location>) {
        match args {
            Args::Written(args) => {
                let places = (0..args.len()).map(|i| at.index(i));
                let places: Vec<Location> = places.collect();
                let args = args.iter().zip(&places);
                let args = args.map(|(arg, at)| self.infer(arg, at, scope)).collect();
                (args, places)
            }
            // How many arguments there are is not known.
            Args::Yielded(expr) => {
                self.infer(expr, at, scope);
                (Vec::new(), Vec::new())
            }
        }
    }

    fn need(&mut self, found: &Type, need: Takes, name: &str, at: &Location) {
        match need {
            // What has an order is compared as a pair.
            Takes::Anything | Takes::Ordered => {}
            Takes::Number => self.expect_number(found, name, at),
            Takes::Boolean => self.expect(found, &Type::boolean(), name, at),
            Takes::String => self.expect(found, &Type::string(), name, at),
            Takes::Time => self.expect_time(found, name, at),
            Takes::Duration => self.expect_duration(found, name, at),
            Takes::List => self.expect(found, &Type::list(Type::any()), name, at),
            Takes::MapOrNull if found.null => {}
            Takes::Map | Takes::MapOrNull => {
                self.expect(found, &Type::map_of(Type::any()), name, at);
            }
            Takes::Numbers => {
                self.expect(found, &Type::list(Type::any()), name, at);
                if let Some(element) = found.list.as_ref().filter(|_| !found.any) {
                    // An empty list has no wrong elements.
                    let before = self.problems.len();
                    self.expect_number(element, name, at);
                    self.soften(before);
                }
            }
            Takes::Sized => {
                let sized = Type {
                    string: Strings::All,
                    list: Some(Type::any().into()),
                    ..Type::map_of(Type::any())
                };
                self.expect(found, &sized, name, at);
            }
            Takes::NotNull => {
                if found.is_null() {
                    let message = format!("{name} needs a value, but this is always null");
                    let at = found.at.as_ref().unwrap_or(at).clone();
                    let problem = self.fails("wrong-type", &at, message);
                    self.report(problem);
                }
            }
            Takes::BooleanString => {
                let bools = Type {
                    string: Strings::known(["true", "false"]),
                    ..Type::boolean()
                };
                self.expect(found, &bools, name, at);
            }
        }
    }

    fn result(&mut self, gives: Gives, args: &[Type]) -> Type {
        let first = args.first();
        match gives {
            Gives::Anything => Type::any(),
            Gives::Boolean => Type::boolean(),
            Gives::Integer => Type::integer(),
            Gives::Number => Type::number(),
            Gives::NumberOrNull => Type::number().or_null(),
            Gives::String => Type::string(),
            Gives::StringOrNull => Type::string().or_null(),
            Gives::Strings => Type::list(Type::string()),
            Gives::Integers => Type::list(Type::integer()),
            Gives::Arithmetic => {
                let integer = |arg: &Type| {
                    arg.number == Numbers::Integers && !arg.any && arg.string == Strings::None
                };
                if !args.is_empty() && args.iter().all(integer) {
                    Type::integer()
                } else {
                    Type::number()
                }
            }
            Gives::TheList => the_list(first),
            Gives::TheItems => the_list(args.get(1)),
            Gives::Results => Type::list(first.cloned().unwrap_or_else(Type::any)),
            Gives::Alternatives => match args {
                [_, then, other] => self.union(then, other),
                [_, then] => then.clone().or_null(),
                _ => Type::any(),
            },
            Gives::FirstDefined => {
                let (last, rest) = match args.split_last() {
                    Some((last, rest)) => (last.clone(), rest),
                    None => (Type::null(), args),
                };
                rest.iter().rev().fold(last, |rest, before| {
                    self.union(&before.clone().without_null(), &rest)
                })
            }
            Gives::Numbered => {
                let element = match first.and_then(|first| first.list.as_ref()) {
                    Some(element) => (**element).clone(),
                    None => Type::any(),
                };
                let fields = [
                    (Key::new("index"), Type::integer()),
                    (Key::new("value"), element),
                ];
                Type::list(Type::map(Fields::closed(fields)))
            }
            Gives::Values => {
                let values = first.filter(|map| !map.any && map.map.is_some());
                let values = values.map_or_else(Type::any, |map| {
                    let map = Type {
                        list: None,
                        ..map.clone()
                    };
                    self.children(&map)
                });
                Type::list(values)
            }
            Gives::Merged => {
                let start = Type::map(Fields::default());
                if args.is_empty() {
                    return Type::map_of(Type::any());
                }
                args.iter().fold(start, |all, arg| {
                    let arg = arg.clone().without_null();
                    all.merged(&arg, &self.budget)
                })
            }
        }
    }

    /// Functions that evaluate an expression for each item.
    fn each(&mut self, call: &Call, args: &[Expr], scope: &Scope) -> Type {
        let [body, list] = args else {
            return Type::any();
        };
        let name = call.function.name;
        let (body_at, list_at) = (call.at.index(0), call.at.index(1));
        let items = self.infer(list, &list_at, scope);
        self.expect(&items, &Type::list(Type::any()), name, &list_at);
        let item = match &items.list {
            Some(element) if !items.any => (**element).clone(),
            Some(_) | None => Type::any(),
        };
        let given = if name == "@sortBy" {
            let pair = ["a", "b"].map(|side| (Key::new(side), item.clone()));
            Type::map(Fields::closed(pair))
        } else {
            item.clone()
        };
        // An empty list hides what is wrong with the body.
        let before = self.problems.len();
        let body = self.alternative(body, &body_at, &scope.with_item(given));
        let types = call.function.types;
        self.need(&body, types.takes(0), name, &body_at);
        self.soften(before);
        self.result(types.gives, &[body, items])
    }

    /// Functions that evaluate only the arguments that they need.
    fn lazy(&mut self, call: &Call, args: &[Expr], scope: &Scope) -> Type {
        let name = call.function.name;
        let mut types = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let at = call.at.index(i);
            let found = if i == 0 {
                self.infer(arg, &at, scope)
            } else {
                self.alternative(arg, &at, scope)
            };
            let before = self.problems.len();
            self.need(&found, call.function.types.takes(i), name, &at);
            if i > 0 {
                self.soften(before);
            }
            types.push(found);
        }
        self.result(call.function.types.gives, &types)
    }

    /// Warns about a `@regexp` whose pattern is read and whose text is a written pattern.
    fn swapped_pattern(&mut self, call: &Call) {
        let Args::Written(args) = &call.args else {
            return;
        };
        let [Expr::Path(read), Expr::Literal(written)] = &**args else {
            return;
        };
        let Some(text) = written.as_str().filter(|text| text.contains(PATTERN)) else {
            return;
        };
        let message = "the pattern is the first argument of @regexp, and the text the second";
        let problem = Problem::warning("swapped-arguments", &call.at.index(1), message);
        let order = format!("did you mean [{text:?}, {:?}]?", read.path.to_string());
        self.report(problem.with_help(order));
    }

    /// Makes the findings from this one on warnings.
    fn soften(&mut self, from: usize) {
        for problem in &mut self.problems[from..] {
            problem.severity = crate::Severity::Warning;
        }
    }

    /// Warns about `@exists` or `@isnil` of a literal.
    fn exists_literal(&mut self, call: &Call) {
        let Args::Written(args) = &call.args else {
            return;
        };
        let Some(Expr::Literal(value)) = args.first() else {
            return;
        };
        let name = call.function.name;
        let result = value.is_null() == (name == "@isnil");
        let message = format!("{name} of a literal is always {result}");
        let problem = Problem::warning("exists-literal", &call.at, message);
        self.report(match value.as_str() {
            Some(text) => problem.with_help(format!("a path starts with `$`: \"$.{text}\"")),
            None => problem,
        });
    }
}

/// Characters that patterns have, and names and the like do not.
const PATTERN: [char; 11] = ['^', '$', '[', ']', '(', ')', '*', '+', '?', '|', '\\'];

/// What to do about an `@in` without a list.
fn in_help(args: &[Type]) -> String {
    let is_list = |arg: Option<&Type>| arg.is_some_and(|arg| arg.list.is_some() && !arg.any);
    let given = args.get(1);
    let help = if is_list(args.first()) {
        "the list is the second argument: {\"@in\": [<value>, <list>]}"
    } else if given.is_some_and(|arg| arg.map.is_some()) {
        "for the keys of a map use {\"@in\": [<value>, {\"@keys\": <map>}]}"
    } else {
        "for a part of a text use {\"@contains\": [<text>, <part>]}; one value as a list is [<value>]"
    };
    help.to_owned()
}

/// The type of a list with elements of the given one.
fn the_list(list: Option<&Type>) -> Type {
    match list {
        Some(Type {
            any: false,
            list: Some(element),
            ..
        }) => Type::list((**element).clone()),
        Some(_) | None => Type::list(Type::any()),
    }
}
