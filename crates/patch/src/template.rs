//! Values with CEL in them.
//!
//! A [`Template`] is compiled from a value whose strings may contain `${…}`, and evaluates to a
//! value. Keys of maps are taken literally.

use cel_interpreter::Program;
use document::{Key, Location, Map, Value, View};
use expr::functions::convert::string_form;
use expr::functions::string::MAX_STRING;

use crate::error::{CompileError, CompileErrorKind, Error, ErrorKind};
use crate::meter::Meter;

/// Returns the value of a variable.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// A value with expressions in it, compiled.
///
/// A string that consists of one `${…}` becomes the value of the expression, of any type. In a
/// longer string `${…}` is replaced by the string form of the value, as in `@concat`; null is an
/// error. `$${` means the text `${`.
///
/// ```
/// use document::{Location, json};
/// use patch::{Limits, Meter, Template};
///
/// let spec = json!({"replicas": "${n * 2}", "name": "web-${n}", "text": "$${n}"});
/// let template = Template::compile(&spec, &Location::root()).unwrap();
///
/// let lookup = |name: &str| (name == "n").then(|| json!(3));
/// let value = template.eval(&lookup, &mut Meter::new(&Limits::default())).unwrap();
/// assert_eq!(value, json!({"replicas": 6, "name": "web-3", "text": "${n}"}));
/// ```
#[derive(Clone, Debug)]
pub struct Template(TemplateNode);

#[derive(Clone, Debug)]
enum TemplateNode {
    /// A value without any expression.
    Literal(Value),
    /// A string that consists of one `${…}`.
    Whole(Expression),
    /// A longer string with expressions.
    Text(Box<[TextPart]>),
    List(Box<[TemplateNode]>),
    /// In key order.
    Map(Box<[(Key, TemplateNode)]>),
}

/// What is known of a template's value without evaluating it.
#[derive(Clone, Debug)]
pub enum ValueShape<'a> {
    /// A value without any expression.
    Literal(&'a Value),
    /// The value of an expression.
    Expression(&'a Expression),
    /// A string with expressions in it.
    Text,
    /// A list.
    List(Vec<ValueShape<'a>>),
    /// A map, in key order.
    Map(Vec<(&'a Key, ValueShape<'a>)>),
}

/// A part of a string with expressions.
#[derive(Clone, Debug)]
pub(crate) enum TextPart {
    Text(String),
    Value(Expression),
}

/// An expression with its location.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The expression.
    pub program: Program,
    /// The location of the string that it is in.
    pub at: Location,
    /// Its offset in that string, in bytes.
    pub start: usize,
}

impl Expression {
    /// An expression without `${…}` around it. White space around it is ignored.
    pub(crate) fn bare(text: &str, at: &Location) -> Result<Self, CompileError> {
        let start = text.len() - text.trim_start().len();
        let text = text.trim();
        let program = Program::compile(text).map_err(|error| no_cel(text, start, error, at))?;
        let at = at.clone();
        Ok(Self { program, at, start })
    }

    pub(crate) fn eval(&self, lookup: Lookup<'_>, meter: &mut Meter) -> Result<Value, Box<Error>> {
        meter.eval(&self.program, lookup, &self.at)
    }

    /// Evaluates the expression as a condition.
    pub(crate) fn holds(&self, lookup: Lookup<'_>, meter: &mut Meter) -> Result<bool, Box<Error>> {
        let value = self.eval(lookup, meter)?;
        value.as_bool().ok_or_else(|| {
            self.error(ErrorKind::Condition {
                expression: self.text(),
                found: value.kind(),
            })
        })
    }

    /// An error of this expression.
    pub(crate) fn error(&self, kind: ErrorKind) -> Box<Error> {
        Error::new(&self.at, kind)
    }

    pub(crate) fn text(&self) -> String {
        self.program.text().to_owned()
    }
}

fn no_cel(
    expression: &str,
    start: usize,
    error: cel_interpreter::CompileError,
    at: &Location,
) -> CompileError {
    let expression = expression.to_owned();
    let kind = CompileErrorKind::Cel {
        expression,
        start,
        error,
    };
    CompileError::new(at, kind)
}

impl Template {
    /// Compiles the value at the location `at`. All errors are returned, not only the first.
    pub fn compile(value: &Value, at: &Location) -> Result<Self, Vec<CompileError>> {
        let mut errors = Vec::new();
        let node = compile(value, at, &mut errors);
        if errors.is_empty() {
            Ok(Self(node))
        } else {
            Err(errors)
        }
    }

    /// A template that consists of one expression.
    pub(crate) fn whole(expression: Expression) -> Self {
        Self(TemplateNode::Whole(expression))
    }

    /// The value, if it contains no expression.
    pub fn as_literal(&self) -> Option<&Value> {
        self.0.literal()
    }

    /// What is known of the value without evaluating it.
    pub fn shape(&self) -> ValueShape<'_> {
        self.0.shape()
    }

    /// Visits the expressions.
    pub fn expressions<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        self.0.expressions(visit);
    }

    /// The value with all expressions evaluated.
    pub fn eval(&self, lookup: Lookup<'_>, meter: &mut Meter) -> Result<Value, Box<Error>> {
        self.0.eval(lookup, meter)
    }
}

fn compile(value: &Value, at: &Location, errors: &mut Vec<CompileError>) -> TemplateNode {
    match value.view() {
        View::Str(text) if text.contains("${") => match parts(text, at) {
            Ok(parts) => string(parts),
            Err(error) => {
                errors.push(error);
                TemplateNode::Literal(Value::NULL)
            }
        },
        View::List(items) => {
            let items = items.iter().enumerate();
            let nodes: Vec<TemplateNode> = items
                .map(|(i, item)| compile(item, &at.index(i), errors))
                .collect();
            match nodes
                .iter()
                .map(TemplateNode::literal)
                .collect::<Option<Vec<_>>>()
            {
                Some(items) => TemplateNode::Literal(items.into_iter().cloned().collect()),
                None => TemplateNode::List(nodes.into()),
            }
        }
        View::Map(map) => {
            let entries = map.iter().map(|(key, member)| {
                let node = compile(member, &at.key(key.as_str()), errors);
                (key.clone(), node)
            });
            let entries: Vec<(Key, TemplateNode)> = entries.collect();
            let literal =
                |(key, node): &(Key, TemplateNode)| Some((key.clone(), node.literal()?.clone()));
            match entries.iter().map(literal).collect::<Option<Vec<_>>>() {
                Some(entries) => TemplateNode::Literal(Map::from_sorted(entries).into()),
                None => TemplateNode::Map(entries.into()),
            }
        }
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => TemplateNode::Literal(value.clone()),
    }
}

/// The node of a string: one expression, a literal text, or a text with expressions.
fn string(parts: Vec<TextPart>) -> TemplateNode {
    match parts.as_slice() {
        [TextPart::Value(expression)] => TemplateNode::Whole(expression.clone()),
        [TextPart::Text(text)] => TemplateNode::Literal(text.into()),
        _ => TemplateNode::Text(parts.into()),
    }
}

/// Splits a string into expressions and the texts between them.
pub(crate) fn parts(text: &str, at: &Location) -> Result<Vec<TextPart>, CompileError> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(place) = rest.find("${") {
        // `$${` is an escape for `${`.
        if let Some(before) = rest[..place].strip_suffix('$') {
            plain.push_str(before);
            plain.push_str("${");
            rest = &rest[place + 2..];
            continue;
        }
        plain.push_str(&rest[..place]);
        let inner = &rest[place + 2..];
        let start = text.len() - inner.len();
        let (program, end) =
            Program::compile_braced(inner).map_err(|error| no_cel(inner, start, error, at))?;
        if !plain.is_empty() {
            parts.push(TextPart::Text(std::mem::take(&mut plain)));
        }
        let at = at.clone();
        parts.push(TextPart::Value(Expression { program, at, start }));
        rest = &inner[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(TextPart::Text(plain));
    }
    Ok(parts)
}

impl TemplateNode {
    fn literal(&self) -> Option<&Value> {
        match self {
            Self::Literal(value) => Some(value),
            Self::Whole(_) | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    fn shape(&self) -> ValueShape<'_> {
        match self {
            Self::Literal(value) => ValueShape::Literal(value),
            Self::Whole(expression) => ValueShape::Expression(expression),
            Self::Text(_) => ValueShape::Text,
            Self::List(items) => ValueShape::List(items.iter().map(Self::shape).collect()),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| (key, node.shape()));
                ValueShape::Map(entries.collect())
            }
        }
    }

    fn expressions<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        match self {
            Self::Literal(_) => {}
            Self::Whole(expression) => visit(expression),
            Self::Text(parts) => parts.iter().for_each(|part| {
                if let TextPart::Value(expression) = part {
                    visit(expression);
                }
            }),
            Self::List(items) => items.iter().for_each(|item| item.expressions(visit)),
            Self::Map(entries) => entries.iter().for_each(|(_, node)| node.expressions(visit)),
        }
    }

    fn eval(&self, lookup: Lookup<'_>, meter: &mut Meter) -> Result<Value, Box<Error>> {
        Ok(match self {
            Self::Literal(value) => value.clone(),
            Self::Whole(expression) => expression.eval(lookup, meter)?,
            Self::Text(parts) => interpolate(parts, lookup, meter)?,
            Self::List(items) => {
                let items = items.iter().map(|item| item.eval(lookup, meter));
                items.collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Map(entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for (key, node) in entries {
                    values.push((key.clone(), node.eval(lookup, meter)?));
                }
                Map::from_sorted(values).into()
            }
        })
    }
}

fn interpolate(
    parts: &[TextPart],
    lookup: Lookup<'_>,
    meter: &mut Meter,
) -> Result<Value, Box<Error>> {
    let mut text = String::new();
    for part in parts {
        match part {
            TextPart::Text(plain) => text.push_str(plain),
            TextPart::Value(expression) => {
                let value = expression.eval(lookup, meter)?;
                let form = string_form(&value).map_err(|_| {
                    expression.error(ErrorKind::Text {
                        expression: expression.text(),
                        found: value.kind(),
                    })
                })?;
                text.push_str(&form);
                if text.len() > MAX_STRING {
                    return Err(expression.error(ErrorKind::Limit {
                        what: "the length of a string",
                        limit: MAX_STRING as u64,
                    }));
                }
            }
        }
    }
    Ok(text.into())
}
