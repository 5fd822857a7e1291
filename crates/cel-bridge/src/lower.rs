//! From the parser's tree to ours: names are resolved, functions and their arguments
//! checked, macros recognised, patterns compiled.

use document::{Key, Value};
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue, SelectExpr,
    operators,
};
use kube_cel::cel::IdedExpr;

use crate::error::CompileError;
use crate::function::{self, Function, pattern::Pattern};
use crate::guard::MAX_DEPTH;
use crate::tree::{Arithmetic, Call, Fold, FoldKind, Node, Path, Relation};
use crate::value::Val;

/// The tree of an expression, and the names of its variables by their numbers.
pub(crate) fn lower(expr: &IdedExpr) -> Result<(Node, Vec<String>)> {
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

/// Every level of an expression takes a few of these calls, in debug builds with large
/// frames: arguments are references, and loops are loops.
impl Lower {
    fn node(&mut self, expr: &IdedExpr) -> Result<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(CompileError::TooDeep);
        }
        let node = match &expr.expr {
            Expr::Literal(literal) => Ok(Node::Literal(constant(literal))),
            Expr::Ident(name) => Ok(self.identifier(name)),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(&map.entries),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) => Err(CompileError::Unsupported("messages (`Type{…}`)")),
            Expr::Unspecified => Err(CompileError::Unsupported("empty expressions")),
        };
        self.depth -= 1;
        node
    }

    fn nodes(&mut self, exprs: &[IdedExpr]) -> Result<Vec<Node>> {
        let mut nodes = Vec::with_capacity(exprs.len());
        for expr in exprs {
            nodes.push(self.node(expr)?);
        }
        Ok(nodes)
    }

    fn boxed(&mut self, expr: &IdedExpr) -> Result<Box<Node>> {
        Ok(Box::new(self.node(expr)?))
    }

    fn identifier(&mut self, name: &str) -> Node {
        if let Some(local) = self.locals.iter().rposition(|local| local == name) {
            return Node::Local(local);
        }
        let known = self.variables.iter().position(|known| known == name);
        let variable = known.unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        });
        Node::Path(Path {
            variable,
            keys: Vec::new(),
        })
    }

    fn select(&mut self, select: &SelectExpr) -> Result<Node> {
        let base = self.node(&select.operand)?;
        let key = field(&select.field);
        Ok(if select.test {
            Node::Has(Box::new(base), key)
        } else {
            member(base, key)
        })
    }

    fn list(&mut self, list: &ListExpr) -> Result<Node> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (at, item) in list.elements.iter().enumerate() {
            items.push((self.node(item)?, list.optional_indices.contains(&at)));
        }
        Ok(Node::List(items))
    }

    fn map(&mut self, entries: &[IdedEntryExpr]) -> Result<Node> {
        let mut nodes = Vec::with_capacity(entries.len());
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(CompileError::Unsupported("messages (`Type{…}`)"));
            };
            let key = self.node(&entry.key)?;
            nodes.push((key, self.node(&entry.value)?, entry.optional));
        }
        Ok(Node::Map(nodes))
    }

    fn call(&mut self, call: &CallExpr) -> Result<Node> {
        if let Some(target) = &call.target {
            return self.method(&call.func_name, target, &call.args);
        }
        match operator(&call.func_name) {
            Some(operator) => self.operator(operator, &call.args),
            None => self.function(known(&call.func_name)?, None, &call.args),
        }
    }

    fn operator(&mut self, operator: Operator, operands: &[IdedExpr]) -> Result<Node> {
        let nodes = self.nodes(operands)?;
        // The parser gives each operator as many operands as it takes.
        operator(nodes).ok_or(CompileError::Unsupported("operators with other operands"))
    }

    fn method(&mut self, name: &str, target: &IdedExpr, args: &[IdedExpr]) -> Result<Node> {
        if let Some(function) = qualified(name, target) {
            return self.function(function, None, args);
        }
        match (name, args) {
            ("or" | "orValue", [other]) => self.optional_or(target, other, name == "orValue"),
            ("optMap", [local, body]) => self.optional_map(target, local, body, false),
            ("optFlatMap", [local, body]) => self.optional_map(target, local, body, true),
            _ => self.function(known(name)?, Some(target), args),
        }
    }

    fn optional_or(
        &mut self,
        optional: &IdedExpr,
        other: &IdedExpr,
        unwrap: bool,
    ) -> Result<Node> {
        Ok(Node::OptionalOr {
            optional: self.boxed(optional)?,
            other: self.boxed(other)?,
            unwrap,
        })
    }

    fn optional_map(
        &mut self,
        optional: &IdedExpr,
        local: &IdedExpr,
        body: &IdedExpr,
        flat: bool,
    ) -> Result<Node> {
        Ok(Node::OptionalMap {
            optional: self.boxed(optional)?,
            body: Box::new(self.scoped(variable(local)?, body)?),
            flat,
        })
    }

    fn function(
        &mut self,
        function: &'static Function,
        target: Option<&IdedExpr>,
        args: &[IdedExpr],
    ) -> Result<Node> {
        let method = target.is_some();
        function.check(method, args.len() + usize::from(method))?;
        let mut nodes = Vec::with_capacity(args.len() + 1);
        for arg in target.into_iter().chain(args) {
            nodes.push(self.node(arg)?);
        }
        call_of(function, method, nodes)
    }

    /// A body in which `local` is known.
    fn scoped(&mut self, local: &str, body: &IdedExpr) -> Result<Node> {
        self.locals.push(local.to_owned());
        let node = self.node(body);
        self.locals.pop();
        node
    }

    /// The parser has turned the macro into a loop over an accumulator, in one of five
    /// shapes; only the parts that were written are kept.
    fn comprehension(&mut self, written: &ComprehensionExpr) -> Result<Node> {
        let (kind, filter, body) = parts(&written.accu_init.expr, &written.loop_step.expr)
            .ok_or(CompileError::Unsupported("other comprehensions"))?;
        let range = self.node(&written.iter_range)?;
        let filter = match filter {
            Some(filter) => Some(self.scoped(&written.iter_var, filter)?),
            None => None,
        };
        let body = self.scoped(&written.iter_var, body)?;
        Ok(Node::Fold(Box::new(Fold {
            kind,
            range,
            filter,
            body,
        })))
    }
}

fn known(name: &str) -> Result<&'static Function> {
    function::find(name).ok_or_else(|| CompileError::UnknownFunction {
        name: name.to_owned(),
        nearest: function::nearest(name),
    })
}

/// The function `space.name`, which looks like a method of a variable.
fn qualified(name: &str, target: &IdedExpr) -> Option<&'static Function> {
    match &target.expr {
        Expr::Ident(space) => function::find(&format!("{space}.{name}")),
        _ => None,
    }
}

/// Makes a node of the operands, if their number is right.
type Operator = fn(Vec<Node>) -> Option<Node>;

fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        operators::CONDITIONAL => |args| Some(Node::Conditional(exactly(args)?)),
        operators::LOGICAL_AND => |args| Some(Node::And(exactly(args)?)),
        operators::LOGICAL_OR => |args| Some(Node::Or(exactly(args)?)),
        operators::LOGICAL_NOT => |args| Some(Node::Not(one(args)?)),
        operators::NEGATE => |args| Some(Node::Negate(one(args)?)),
        operators::EQUALS => |args| Some(Node::Equal(true, exactly(args)?)),
        operators::NOT_EQUALS => |args| Some(Node::Equal(false, exactly(args)?)),
        operators::IN => |args| Some(Node::In(exactly(args)?)),
        operators::INDEX => |args| index(args, false),
        operators::OPT_INDEX => |args| index(args, true),
        operators::OPT_SELECT => optional_member,
        operators::ADD => |args| Some(Node::Arithmetic(Arithmetic::Add, exactly(args)?)),
        operators::SUBSTRACT => {
            |args| Some(Node::Arithmetic(Arithmetic::Subtract, exactly(args)?))
        }
        operators::MULTIPLY => |args| Some(Node::Arithmetic(Arithmetic::Multiply, exactly(args)?)),
        operators::DIVIDE => |args| Some(Node::Arithmetic(Arithmetic::Divide, exactly(args)?)),
        operators::MODULO => |args| Some(Node::Arithmetic(Arithmetic::Remainder, exactly(args)?)),
        operators::LESS => |args| Some(Node::Relation(Relation::Less, exactly(args)?)),
        operators::LESS_EQUALS => {
            |args| Some(Node::Relation(Relation::LessEqual, exactly(args)?))
        }
        operators::GREATER => |args| Some(Node::Relation(Relation::Greater, exactly(args)?)),
        operators::GREATER_EQUALS => {
            |args| Some(Node::Relation(Relation::GreaterEqual, exactly(args)?))
        }
        _ => return None,
    })
}

fn exactly<const N: usize>(args: Vec<Node>) -> Option<Box<[Node; N]>> {
    args.into_boxed_slice().try_into().ok()
}

fn one(args: Vec<Node>) -> Option<Box<Node>> {
    let [inner] = *exactly::<1>(args)?;
    Some(Box::new(inner))
}

/// `base[index]` and `base[?index]`
fn index(args: Vec<Node>, optional: bool) -> Option<Node> {
    let [base, index] = *exactly::<2>(args)?;
    Some(match &index {
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
fn optional_member(args: Vec<Node>) -> Option<Node> {
    let [base, name] = *exactly::<2>(args)?;
    match &name {
        Node::Literal(Val::Str(name)) => {
            let key = field(name.as_str().unwrap_or_default());
            Some(Node::OptionalMember(Box::new(base), key))
        }
        _ => None,
    }
}

fn call_of(function: &'static Function, method: bool, args: Vec<Node>) -> Result<Node> {
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

type Parts<'a> = (FoldKind, Option<&'a IdedExpr>, &'a IdedExpr);

/// What a loop does, by its start and its step.
fn parts<'a>(start: &Expr, step: &'a Expr) -> Option<Parts<'a>> {
    let Expr::Call(step) = step else { return None };
    let [first, second, ..] = step.args.as_slice() else {
        return None;
    };
    match (start, step.func_name.as_str()) {
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND) => {
            Some((FoldKind::All, None, second))
        }
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR) => {
            Some((FoldKind::Exists, None, second))
        }
        (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL) => {
            Some((FoldKind::ExistsOne, None, first))
        }
        (Expr::List(_), operators::ADD) => Some((FoldKind::Map, None, element(second)?)),
        (Expr::List(_), operators::CONDITIONAL) => {
            let Expr::Call(append) = &second.expr else {
                return None;
            };
            Some((FoldKind::Map, Some(first), element(append.args.get(1)?)?))
        }
        _ => None,
    }
}

/// The element of a list of one.
fn element(list: &IdedExpr) -> Option<&IdedExpr> {
    match &list.expr {
        Expr::List(list) => list.elements.first(),
        _ => None,
    }
}

fn variable(expr: &IdedExpr) -> Result<&str> {
    match &expr.expr {
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

fn constant(literal: &LiteralValue) -> Val {
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
