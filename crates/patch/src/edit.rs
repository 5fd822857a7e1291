//! Edits of one document: operations, with an optional condition, and optionally repeated for
//! each item of a list.

use cel_interpreter::Program;
use document::{Location, Map, Value, View, json};
use expr::NOW;

use crate::error::{CompileError, CompileErrorKind, Error, ErrorKind};
use crate::field_reader::{FieldReader, OPERATIONS};
use crate::meter::{Limits, Meter};
use crate::operations::{LiteralWrite, Operations, UnknownFields, Written};
use crate::template::{Expression, Template, TextPart, parts};

/// The variable that is the document being patched.
pub const RESOURCE: &str = "resource";

/// The loop variable, if `var` does not name it.
pub const ITEM: &str = "item";

/// Returns the value of a variable other than the loop variable. The second argument is the
/// document in its current state. It is also the value of `resource`, unless this function
/// returns another one for that name.
pub type Variables<'a> = &'a dyn Fn(&str, &Value) -> Option<Value>;

/// `{where, forEach, var, strict, operations}`, compiled.
///
/// - `where`: a condition in CEL, with or without `${…}` around it. It is evaluated once, before
///   `forEach`. If it uses the loop variable, it is evaluated for each item.
/// - `forEach`: the operations are repeated for each item of a list, or for each `{key, value}`
///   of a map in key order. Null has no items.
/// - `var`: the name of the loop variable; `item` by default.
/// - `strict`: whether a filter that matches nothing is an error.
///
/// Expressions see `resource` as the previous operations left it. All operations are applied,
/// or none.
///
/// ```
/// use document::{Location, json};
/// use patch::{Edit, Form, Limits};
///
/// let spec = json!({
///     "where": "resource.kind == 'Deployment'",
///     "forEach": "${ports}",
///     "var": "port",
///     "operations": [{"op": "add", "path": "/spec/ports/-", "value": {"containerPort": "${port}"}}],
/// });
/// let edit = Edit::compile(&spec, &Location::root(), Form::HAND).unwrap();
///
/// let variables = |name: &str, _: &_| (name == "ports").then(|| json!([80, 443]));
/// let patched = edit.apply(&json!({"kind": "Deployment"}), &variables, &Limits::default());
/// let ports = json!([{"containerPort": 80}, {"containerPort": 443}]);
/// assert_eq!(patched.unwrap().unwrap().get("spec").get("ports"), &ports);
/// ```
#[derive(Clone, Debug)]
pub struct Edit {
    condition: Option<Condition>,
    for_each: Option<ForEach>,
    operations: Operations,
}

/// `where`
#[derive(Clone, Debug)]
struct Condition {
    expression: Expression,
    /// Whether it uses the loop variable.
    of_item: bool,
}

/// `forEach` and `var`
#[derive(Clone, Debug)]
struct ForEach {
    items: Template,
    var: String,
    at: Location,
}

/// The form in which an [`Edit`] is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The field of the operations.
    pub operations: &'static str,
    /// Other fields that are allowed, but not read.
    pub beside: &'static [&'static str],
    /// Whether unknown fields are errors.
    pub unknown: UnknownFields,
}

impl Form {
    /// Written by hand: unknown fields are errors.
    pub const HAND: Self = Self {
        operations: OPERATIONS,
        beside: &[],
        unknown: UnknownFields::Refuse,
    };
}

impl Edit {
    /// Compiles an edit. All errors are returned, not only the first.
    pub fn compile(spec: &Value, at: &Location, form: Form) -> Result<Self, Vec<CompileError>> {
        let mut reader = FieldReader::default();
        let fields = ["where", "forEach", "var", "strict", form.operations];
        let known: Vec<&'static str> = form.beside.iter().copied().chain(fields).collect();
        if form.unknown == UnknownFields::Refuse && !reader.known(spec, &known, at) {
            return Err(reader.errors);
        }
        let condition = reader.condition(spec.get("where"), &at.key("where"));
        let edit = reader.edit(spec, at, condition, form);
        reader.finish(edit)
    }

    /// Visits the expressions, each with the name of the loop variable, if the expression can use
    /// it.
    pub fn expressions<'a>(&'a self, visit: &mut impl FnMut(&'a Expression, Option<&'a str>)) {
        let var = self.variable();
        if let Some(condition) = self.condition() {
            visit(condition, var);
        }
        if let Some(each) = &self.for_each {
            each.items
                .expressions(&mut |expression| visit(expression, None));
        }
        self.operations
            .expressions(&mut |expression| visit(expression, var));
    }

    /// `where`
    pub fn condition(&self) -> Option<&Expression> {
        self.condition
            .as_ref()
            .map(|condition| &condition.expression)
    }

    /// The name of the loop variable, if there is a loop.
    pub fn variable(&self) -> Option<&str> {
        self.for_each.as_ref().map(|each| each.var.as_str())
    }

    /// `forEach`, with its location.
    pub fn items(&self) -> Option<(&Template, &Location)> {
        self.for_each.as_ref().map(|each| (&each.items, &each.at))
    }

    /// The values without expressions that operations write to a path of keys.
    pub fn literal_writes(&self) -> impl Iterator<Item = LiteralWrite> {
        self.operations.literal_writes()
    }

    /// Whether there is a condition or a loop, so that the operations may not be applied.
    pub fn is_conditional(&self) -> bool {
        self.condition.is_some() || self.for_each.is_some()
    }

    /// What the operations change, in order.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.operations.written()
    }

    /// Whether the condition holds for the document, or for at least one item.
    pub fn selects(
        &self,
        resource: &Value,
        variables: Variables<'_>,
        limits: &Limits,
    ) -> Result<bool, Box<Error>> {
        let mut run = EditRun::new(self, variables, limits);
        if !run.holds(resource, None)? {
            return Ok(false);
        }
        if !self.condition.as_ref().is_some_and(|where_| where_.of_item) {
            return Ok(true);
        }
        for (number, item) in run.items(resource)?.iter().enumerate() {
            if run.holds(resource, Some((number, item)))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The document with the operations applied; `None` if the condition does not hold, or
    /// holds for no item.
    pub fn apply(
        &self,
        resource: &Value,
        variables: Variables<'_>,
        limits: &Limits,
    ) -> Result<Option<Value>, Box<Error>> {
        let mut run = EditRun::new(self, variables, limits);
        if !run.holds(resource, None)? {
            return Ok(None);
        }
        if self.for_each.is_none() {
            return run.operations(resource, None).map(Some);
        }
        let by_item = self.condition.as_ref().is_some_and(|where_| where_.of_item);
        let mut current = (!by_item).then(|| resource.clone());
        for (number, item) in run.items(resource)?.iter().enumerate() {
            let item = Some((number, item));
            let before = current.as_ref().unwrap_or(resource);
            if !by_item || run.holds(before, item)? {
                current = Some(run.operations(before, item)?);
            }
        }
        Ok(current)
    }
}

/// An item of `forEach` with its position.
type Item<'a> = Option<(usize, &'a Value)>;

/// One application of an edit.
struct EditRun<'a> {
    edit: &'a Edit,
    variables: Variables<'a>,
    meter: Meter,
}

impl<'a> EditRun<'a> {
    fn new(edit: &'a Edit, variables: Variables<'a>, limits: &Limits) -> Self {
        Self {
            edit,
            variables,
            meter: Meter::new(limits),
        }
    }

    /// Whether the condition holds. A condition on the item counts as true if there is none.
    fn holds(&mut self, resource: &Value, item: Item<'_>) -> Result<bool, Box<Error>> {
        let Some(condition) = &self.edit.condition else {
            return Ok(true);
        };
        if condition.of_item && item.is_none() {
            return Ok(true);
        }
        let lookup = lookup(self.edit, self.variables, item);
        let expression = &condition.expression;
        expression
            .holds(&|name| lookup(name, resource), &mut self.meter)
            .map_err(|error| of_item(error, item))
    }

    fn items(&mut self, resource: &Value) -> Result<Vec<Value>, Box<Error>> {
        let Some(each) = &self.edit.for_each else {
            return Ok(Vec::new());
        };
        let lookup = lookup(self.edit, self.variables, None);
        let items = each
            .items
            .eval(&|name| lookup(name, resource), &mut self.meter)?;
        match items.view() {
            View::Null => Ok(Vec::new()),
            View::List(items) => Ok(items.to_vec()),
            View::Map(map) => Ok(entries(map)),
            View::Bool(_) | View::Int(_) | View::Float(_) | View::Str(_) | View::Bytes(_) => {
                // Only an expression can have such a value: a literal is a list or a map.
                let mut expression = String::new();
                each.items
                    .expressions(&mut |part| expression.push_str(part.program.text()));
                let found = items.kind();
                Err(Error::new(
                    &each.at,
                    ErrorKind::ForEach { expression, found },
                ))
            }
        }
    }

    fn operations(&mut self, resource: &Value, item: Item<'_>) -> Result<Value, Box<Error>> {
        let lookup = lookup(self.edit, self.variables, item);
        self.edit
            .operations
            .apply(resource, &lookup, &mut self.meter)
            .map_err(|error| of_item(error, item))
    }
}

fn of_item(mut error: Box<Error>, item: Item<'_>) -> Box<Error> {
    error.item = item.map(|(number, _)| number);
    error
}

/// The members of a map, as items.
fn entries(map: &Map) -> Vec<Value> {
    map.iter()
        .map(|(key, value)| json!({"key": (key.as_str()), "value": (value.clone())}))
        .collect()
}

/// The lookup of variables: the item first, then `resource`, then the others. The item cannot be
/// named `resource`.
fn lookup<'a>(
    edit: &'a Edit,
    variables: Variables<'a>,
    item: Item<'a>,
) -> impl Fn(&str, &Value) -> Option<Value> + 'a {
    let item = edit.for_each.as_ref().zip(item);
    move |name, resource| match (&item, name) {
        (Some((each, (_, value))), name) if each.var == name => Some((*value).clone()),
        (_, RESOURCE) => variables(RESOURCE, resource).or_else(|| Some(resource.clone())),
        (_, name) => variables(name, resource),
    }
}

impl FieldReader {
    /// Reads the fields of an edit. `condition` is the value of `where`.
    pub(crate) fn edit(
        &mut self,
        spec: &Value,
        at: &Location,
        condition: Option<Expression>,
        form: Form,
    ) -> Option<Edit> {
        let errors = self.errors.len();
        let for_each = self.for_each(spec, at);
        let strict = self.flag(spec.get("strict"), &at.key("strict"));
        let field = form.operations;
        let operations = match spec.as_map().and_then(|map| map.get_str(field)) {
            Some(list) => {
                let place = at.key(field);
                self.take_all(Operations::compile(list, &place, strict, form.unknown))
            }
            None => {
                self.missing(field, at);
                None
            }
        };
        let var = for_each.as_ref().map(|each| each.var.as_str());
        let condition = condition.map(|expression| Condition {
            of_item: var.is_some_and(|var| reads(&expression, var)),
            expression,
        });
        let edit = Edit {
            condition,
            for_each,
            operations: operations?,
        };
        (self.errors.len() == errors).then_some(edit)
    }

    /// Reads a condition. `true` and `false` are CEL as well.
    pub(crate) fn condition(&mut self, spec: &Value, at: &Location) -> Option<Expression> {
        match spec.view() {
            View::Null => None,
            View::Bool(fixed) => self.take(Expression::bare(&fixed.to_string(), at)),
            View::Str(text) => self.expression(text, at),
            View::Int(_) | View::Float(_) | View::List(_) | View::Map(_) | View::Bytes(_) => {
                self.field(spec, "a condition, as CEL", at);
                None
            }
        }
    }

    /// An expression, with or without `${…}` around it.
    fn expression(&mut self, text: &str, at: &Location) -> Option<Expression> {
        if !text.contains("${") {
            return self.take(Expression::bare(text, at));
        }
        let blank =
            |part: &TextPart| matches!(part, TextPart::Text(text) if text.trim().is_empty());
        let mut parts = self.take(parts(text, at))?;
        parts.retain(|part| !blank(part));
        match parts.as_slice() {
            [TextPart::Value(expression)] => Some(expression.clone()),
            _ => {
                self.error(at, CompileErrorKind::TextAround);
                None
            }
        }
    }

    fn for_each(&mut self, spec: &Value, at: &Location) -> Option<ForEach> {
        let var = self.variable(spec.get("var"), &at.key("var"));
        let items = spec.get("forEach");
        let place = at.key("forEach");
        let items = match items.view() {
            View::Null => {
                if !spec.get("var").is_null() {
                    self.error(&at.key("var"), CompileErrorKind::VariableAlone);
                }
                return None;
            }
            View::Str(text) => Template::whole(self.expression(text, &place)?),
            View::List(_) | View::Map(_) => self.take_all(Template::compile(items, &place))?,
            View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {
                self.field(items, "a list, or CEL that gives one", &place);
                return None;
            }
        };
        Some(ForEach {
            items,
            var: var?,
            at: place,
        })
    }

    /// The name of the loop variable.
    fn variable(&mut self, spec: &Value, at: &Location) -> Option<String> {
        if spec.is_null() {
            return Some(ITEM.to_owned());
        }
        let name = self.text(spec, at)?;
        if !is_variable(&name) {
            self.error(at, CompileErrorKind::Variable(name));
            return None;
        }
        Some(name)
    }
}

/// Whether the name is a CEL variable other than `resource` and `now`.
fn is_variable(name: &str) -> bool {
    let reads = Program::compile(name);
    ![RESOURCE, NOW].contains(&name) && reads.is_ok_and(|program| program.variables() == [name])
}

fn reads(expression: &Expression, variable: &str) -> bool {
    let variables = expression.program.variables();
    variables.iter().any(|name| name == variable)
}
