//! Which parts of an expression's value are derived from tainted parts of the document.

use cel_interpreter::Program;
use document::Key;
use document::path::{Path, Root};
use expr::{Args, Body, Call, Expr, Gives, MapExpr, NOW, SetFieldPath};

use super::taint::{NONE, Taint};

/// What an expression reads.
#[derive(Clone, Copy)]
pub(super) struct Readable<'a> {
    /// `$`
    pub(super) document: &'a Taint,
    /// `$$`
    pub(super) item: &'a Taint,
}

impl<'a> Readable<'a> {
    pub(super) fn document(document: &'a Taint) -> Self {
        Self {
            document,
            item: &NONE,
        }
    }

    pub(super) fn path(self, path: &Path) -> Taint {
        let start = match path.root() {
            Root::Document => self.document,
            Root::Item => self.item,
        };
        start.at(path.segments())
    }

    pub(super) fn value(self, expr: &Expr) -> Taint {
        match expr {
            Expr::Literal(_) | Expr::Now => Taint::NONE,
            Expr::Path(path) => self.path(&path.path),
            Expr::Query(path) => Taint::each(self.path(&path.path)),
            Expr::List(items, _) => {
                let items = items.iter().map(|item| self.value(item));
                Taint::each(items.fold(Taint::NONE, |all, item| all.or(&item)))
            }
            Expr::One(inner) => {
                let inner = self.value(inner);
                Taint::each(inner.clone()).or(&inner)
            }
            Expr::Map(map) => self.map(map, Taint::NONE),
            Expr::Call(call) => self.call(call),
            Expr::Switch(pairs, _) => {
                let mut cases = pairs.iter().map(|(case, _)| self.value(case));
                if cases.any(|case| !case.is_none()) {
                    return Taint::ALL;
                }
                let actions = pairs.iter().map(|(_, action)| self.value(action));
                actions.fold(Taint::NONE, |all, action| all.or(&action))
            }
            Expr::GetField(path, _) => self.value(path).or(self.document).spread(),
            Expr::SetField(field, _) => self.set_field(&field.0, &self.value(&field.1)),
            Expr::Random(args, _) => self.args(args).spread(),
            Expr::Cel(cel) => {
                let variable = |name: &str| match name {
                    "object" => Some(self.document.clone()),
                    "item" => Some(self.item.clone()),
                    _ => None,
                };
                Taint::whole(self.is_read_by(&cel.program, &variable))
            }
        }
    }

    /// Whether CEL reads a tainted part. `variable` returns what is special about the variables;
    /// all others are keys of the document.
    pub(super) fn is_read_by(
        self,
        program: &Program,
        variable: &dyn Fn(&str) -> Option<Taint>,
    ) -> bool {
        program.reads().iter().any(|chain| {
            let Some((root, rest)) = chain.split_first() else {
                return false;
            };
            if root == NOW {
                return false;
            }
            let start = variable(root).unwrap_or_else(|| self.document.member(&Key::new(root)));
            let found = rest
                .iter()
                .fold(start, |here, name| here.member(&Key::new(name)));
            !found.is_none()
        })
    }

    /// A map, merged into what is there.
    pub(super) fn map(self, map: &MapExpr, base: Taint) -> Taint {
        let mut all = base;
        if let Some(copy) = &map.copy {
            all.add(&self.value(copy));
        }
        let entries = map.entries.iter();
        let entries = Taint::members(entries.map(|(key, value)| (key.clone(), self.value(value))));
        all.add(&entries);
        for setter in &map.setters {
            all.set(setter.path.segments(), &self.value(&setter.value));
        }
        all
    }

    fn set_field(self, path: &SetFieldPath, value: &Taint) -> Taint {
        match path {
            SetFieldPath::Fixed(path) => {
                let mut all = match path.root() {
                    Root::Document => self.document.clone(),
                    Root::Item => self.item.clone(),
                };
                all.set(path.segments(), value);
                all
            }
            SetFieldPath::Computed(path) => {
                let all = self.value(path).or(value);
                all.or(self.document).or(self.item).spread()
            }
        }
    }

    fn args(self, args: &Args) -> Taint {
        match args {
            Args::Written(args) => {
                let args = args.iter().map(|arg| self.value(arg));
                args.fold(Taint::NONE, |all, arg| all.or(&arg))
            }
            Args::Yielded(args) => self.value(args),
        }
    }

    /// A function that passes its arguments on keeps their parts apart. What another one computes from
    /// a tainted argument is tainted.
    fn call(self, call: &Call) -> Taint {
        let Args::Written(args) = &call.args else {
            return self.args(&call.args).spread();
        };
        match (&call.function.body, call.function.types.gives, &**args) {
            (Body::Each(..), gives, [body, list]) => {
                let list = self.value(list);
                let item = list.element();
                let readable = Readable {
                    document: self.document,
                    item: &item,
                };
                let body = readable.value(body);
                if gives == Gives::Results {
                    Taint::each(body)
                } else if gives == Gives::TheItems && body.is_none() {
                    list
                } else {
                    list.or(&body).spread()
                }
            }
            (_, Gives::Alternatives, [condition, alternatives @ ..]) => {
                if !self.value(condition).is_none() {
                    return Taint::ALL;
                }
                let alternatives = alternatives.iter().map(|arg| self.value(arg));
                alternatives.fold(Taint::NONE, |all, arg| all.or(&arg))
            }
            (_, Gives::FirstDefined | Gives::Merged, _) => self.args(&call.args),
            _ => self.args(&call.args).spread(),
        }
    }
}
