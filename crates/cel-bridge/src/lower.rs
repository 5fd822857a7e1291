//! From the parser's tree to ours: names are resolved, functions and their arguments
//! checked, macros recognised, patterns compiled.

use document::{Key, Value};
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue, SelectExpr,
    operators,
};
use kube_cel::cel::IdedExpr;

use crate::error::CompileError;
use crate::function::{self, pattern::Pattern};
use crate::guard::MAX_DEPTH;
use crate::tree::{Arithmetic, Call, Fold, FoldKind, Node, Path, Relation};
use crate::value::Val;

/// The tree of an expression, and the names of its variables by their numbers.
pub(crate) fn lower(expr: IdedExpr) -> Result<(Node, Vec<String>)> {
    let mut lower = Lower::default();
    let tree = lower.node(expr)?;
    Ok((tree, lower.variables))
}

#[derive(Default)]
struct Lower {
    variables: Vec<String>,
    /// The names of the comprehensions around this place.
    locals: Vec<String>,
    depth: usize,
}

type Result<T> = std::result::Result<T, CompileError>;

impl Lower {
    fn node(&mut self, expr: IdedExpr) -> Result<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(CompileError::TooDeep);
        }
        let node = self.kind(expr.expr);
        self.depth -= 1;
        node
    }

    fn kind(&mut self, expr: Expr) -> Result<Node> {
        match expr {
            Expr::Literal(literal) => Ok(Node::Literal(constant(literal))),
            Expr::Ident(name) => Ok(self.identifier(name)),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map.entries),
            Expr::Comprehension(comprehension) => self.comprehension(*comprehension),
            Expr::Struct(_) => Err(CompileError::Unsupported("messages (`Type{…}`)")),
            Expr::Unspecified => Err(CompileError::Unsupported("empty expressions")),
        }
    }

    fn boxed(&mut self, expr: IdedExpr) -> Result<Box<Node>> {
        Ok(Box::new(self.node(expr)?))
    }

    fn identifier(&mut self, name: String) -> Node {
        if let Some(local) = self.locals.iter().rposition(|local| *local == name) {
            return Node::Local(local);
        }
        let known = self.variables.iter().position(|known| *known == name);
        let variable = known.unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        });
        Node::Path(Path {
            variable,
            keys: Vec::new(),
        })
    }

    fn select(&mut self, select: SelectExpr) -> Result<Node> {
        let base = self.node(*select.operand)?;
        let key = field(&select.field);
        Ok(if select.test {
            Node::Has(Box::new(base), key)
        } else {
            member(base, key)
        })
    }

    fn list(&mut self, list: ListExpr) -> Result<Node> {
        let optional = list.optional_indices;
        let items = list.elements.into_iter().enumerate();
        let items = items.map(|(at, item)| Ok((self.node(item)?, optional.contains(&at))));
        Ok(Node::List(items.collect::<Result<_>>()?))
    }

    fn map(&mut self, entries: Vec<IdedEntryExpr>) -> Result<Node> {
        let entries = entries.into_iter().map(|entry| match entry.expr {
            EntryExpr::MapEntry(entry) => Ok((
                self.node(entry.key)?,
                self.node(entry.value)?,
                entry.optional,
            )),
            EntryExpr::StructField(_) => Err(CompileError::Unsupported("messages (`Type{…}`)")),
        });
        Ok(Node::Map(entries.collect::<Result<_>>()?))
    }

    fn call(&mut self, call: CallExpr) -> Result<Node> {
        match call.target {
            None => self.global(call.func_name, call.args),
            Some(target) => self.method(call.func_name, *target, call.args),
        }
    }

    /// An operator or a function.
    fn global(&mut self, name: String, args: Vec<IdedExpr>) -> Result<Node> {
        match name.as_str() {
            operators::CONDITIONAL => Ok(Node::Conditional(self.exactly(args)?)),
            operators::LOGICAL_AND => Ok(Node::And(self.exactly(args)?)),
            operators::LOGICAL_OR => Ok(Node::Or(self.exactly(args)?)),
            operators::LOGICAL_NOT => Ok(Node::Not(self.one(args)?)),
            operators::NEGATE => Ok(Node::Negate(self.one(args)?)),
            operators::EQUALS => Ok(Node::Equal(true, self.exactly(args)?)),
            operators::NOT_EQUALS => Ok(Node::Equal(false, self.exactly(args)?)),
            operators::IN => Ok(Node::In(self.exactly(args)?)),
            operators::INDEX => self.index(args, false),
            operators::OPT_INDEX => self.index(args, true),
            operators::OPT_SELECT => self.optional_member(args),
            operators::ADD => self.arithmetic(Arithmetic::Add, args),
            operators::SUBSTRACT => self.arithmetic(Arithmetic::Subtract, args),
            operators::MULTIPLY => self.arithmetic(Arithmetic::Multiply, args),
            operators::DIVIDE => self.arithmetic(Arithmetic::Divide, args),
            operators::MODULO => self.arithmetic(Arithmetic::Remainder, args),
            operators::LESS => self.relation(Relation::Less, args),
            operators::LESS_EQUALS => self.relation(Relation::LessEqual, args),
            operators::GREATER => self.relation(Relation::Greater, args),
            operators::GREATER_EQUALS => self.relation(Relation::GreaterEqual, args),
            name => self.function(name, false, args),
        }
    }

    fn arithmetic(&mut self, operator: Arithmetic, args: Vec<IdedExpr>) -> Result<Node> {
        Ok(Node::Arithmetic(operator, self.exactly(args)?))
    }

    fn relation(&mut self, operator: Relation, args: Vec<IdedExpr>) -> Result<Node> {
        Ok(Node::Relation(operator, self.exactly(args)?))
    }

    fn one(&mut self, args: Vec<IdedExpr>) -> Result<Box<Node>> {
        let [inner] = *self.exactly::<1>(args)?;
        Ok(Box::new(inner))
    }

    /// The operands of an operator, of which the parser makes the right number.
    fn exactly<const N: usize>(&mut self, args: Vec<IdedExpr>) -> Result<Box<[Node; N]>> {
        let nodes = args.into_iter().map(|arg| self.node(arg));
        let nodes = nodes.collect::<Result<Vec<_>>>()?;
        nodes
            .into_boxed_slice()
            .try_into()
            .map_err(|_| CompileError::Unsupported("operators with other operands"))
    }

    /// `base[index]` and `base[?index]`
    fn index(&mut self, args: Vec<IdedExpr>, optional: bool) -> Result<Node> {
        let [base, index] = *self.exactly::<2>(args)?;
        Ok(match &index {
            Node::Literal(Val::Str(name)) => {
                let key = Key::new(name.as_str().unwrap_or_default());
                if optional {
                    Node::OptionalMember(Box::new(base), key)
                } else {
                    member(base, key)
                }
            }
            _ => Node::Index {
                base: Box::new(base),
                index: Box::new(index),
                optional,
            },
        })
    }

    /// `base.?member`, which the parser makes a call with the name as a literal.
    fn optional_member(&mut self, args: Vec<IdedExpr>) -> Result<Node> {
        let [base, name] = *self.exactly::<2>(args)?;
        match &name {
            Node::Literal(Val::Str(name)) => {
                let key = field(name.as_str().unwrap_or_default());
                Ok(Node::OptionalMember(Box::new(base), key))
            }
            _ => Err(CompileError::Unsupported("computed optional members")),
        }
    }

    fn method(&mut self, name: String, target: IdedExpr, mut args: Vec<IdedExpr>) -> Result<Node> {
        if let Expr::Ident(space) = &target.expr {
            let qualified = format!("{space}.{name}");
            if function::find(&qualified).is_some() {
                return self.function(&qualified, false, args);
            }
        }
        match (name.as_str(), args.len()) {
            ("or" | "orValue", 1) => Ok(Node::OptionalOr {
                optional: self.boxed(target)?,
                other: self.one(args)?,
                unwrap: name == "orValue",
            }),
            ("optMap" | "optFlatMap", 2) => {
                let local = variable(args.remove(0))?;
                Ok(Node::OptionalMap {
                    optional: self.boxed(target)?,
                    body: Box::new(self.scoped(local, args.remove(0))?),
                    flat: name == "optFlatMap",
                })
            }
            _ => {
                args.insert(0, target);
                self.function(&name, true, args)
            }
        }
    }

    fn function(&mut self, name: &str, method: bool, args: Vec<IdedExpr>) -> Result<Node> {
        let function = function::find(name).ok_or_else(|| CompileError::UnknownFunction {
            name: name.to_owned(),
            nearest: function::nearest(name),
        })?;
        function.check(method, args.len())?;
        let args = args.into_iter().map(|arg| self.node(arg));
        let args = args.collect::<Result<Vec<_>>>()?;
        let pattern = match args.get(1) {
            Some(Node::Literal(Val::Str(pattern))) if function.takes_pattern() => {
                let pattern = Pattern::new(pattern.as_str().unwrap_or_default());
                Some(pattern.map_err(|error| CompileError::Pattern {
                    function: function.name,
                    reason: error.to_string(),
                })?)
            }
            _ => None,
        };
        Ok(Node::Call(Box::new(Call {
            function,
            library: function.library_call(method, args.len()),
            pattern,
            args,
        })))
    }

    /// A body in which `local` is known.
    fn scoped(&mut self, local: String, body: IdedExpr) -> Result<Node> {
        self.locals.push(local);
        let node = self.node(body);
        self.locals.pop();
        node
    }

    /// The parser has turned the macro into a loop over an accumulator, in one of five
    /// shapes; only the parts that were written are kept.
    fn comprehension(&mut self, written: ComprehensionExpr) -> Result<Node> {
        let local = written.iter_var;
        let (kind, filter, body) = parts(written.accu_init.expr, written.loop_step.expr)
            .ok_or(CompileError::Unsupported("other comprehensions"))?;
        let range = self.node(written.iter_range)?;
        let filter = filter.map(|filter| self.scoped(local.clone(), filter));
        Ok(Node::Fold(Box::new(Fold {
            kind,
            range,
            filter: filter.transpose()?,
            body: self.scoped(local, body)?,
        })))
    }
}

type Parts = (FoldKind, Option<IdedExpr>, IdedExpr);

/// What a loop does, by its start and its step.
fn parts(start: Expr, step: Expr) -> Option<Parts> {
    let Expr::Call(step) = step else { return None };
    let name = step.func_name;
    let mut args = step.args.into_iter();
    let (first, second) = (args.next()?, args.next()?);
    match (start, name.as_str()) {
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND) => {
            Some((FoldKind::All, None, second))
        }
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR) => {
            Some((FoldKind::Exists, None, second))
        }
        (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL) => {
            Some((FoldKind::ExistsOne, None, first))
        }
        (Expr::List(_), operators::ADD) => Some((FoldKind::Map, None, element(second.expr)?)),
        (Expr::List(_), operators::CONDITIONAL) => {
            let Expr::Call(append) = second.expr else {
                return None;
            };
            let appended = append.args.into_iter().nth(1)?;
            Some((FoldKind::Map, Some(first), element(appended.expr)?))
        }
        _ => None,
    }
}

/// The element of a list of one.
fn element(list: Expr) -> Option<IdedExpr> {
    match list {
        Expr::List(list) => list.elements.into_iter().next(),
        _ => None,
    }
}

fn variable(expr: IdedExpr) -> Result<String> {
    match expr.expr {
        Expr::Ident(name) => Ok(name),
        _ => Err(CompileError::Unsupported(
            "variables that are not simple names",
        )),
    }
}

/// A member of a path makes it longer.
fn member(base: Node, key: Key) -> Node {
    match base {
        Node::Path(mut path) => {
            path.keys.push(key);
            Node::Path(path)
        }
        other => Node::Member(Box::new(other), key),
    }
}

/// The name of a member, which may be written in backquotes.
fn field(name: &str) -> Key {
    let plain = name
        .strip_prefix('`')
        .and_then(|name| name.strip_suffix('`'));
    Key::new(plain.unwrap_or(name))
}

fn constant(literal: LiteralValue) -> Val {
    match literal {
        LiteralValue::Null => Val::Null,
        LiteralValue::Boolean(b) => Val::Bool(*b.inner()),
        LiteralValue::Int(i) => Val::Int(*i.inner()),
        LiteralValue::UInt(u) => Val::UInt(*u.inner()),
        LiteralValue::Double(d) => Val::Double(*d.inner()),
        LiteralValue::String(text) => Val::Str(Value::from(text.inner())),
        LiteralValue::Bytes(bytes) => Val::bytes(bytes.inner()),
    }
}
