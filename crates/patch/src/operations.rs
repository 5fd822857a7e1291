//! Operations with CEL in their paths and values.

use document::patch::{self, Cause, OPERATIONS, Operation, Patch, PatchPath, PatchStep, ReadCause};
use document::{Key, Location, MAX_DEPTH, OutOfBounds, Value};

use crate::error::{CompileError, CompileErrorKind, Error, ErrorKind};
use crate::field_reader::FieldReader;
use crate::meter::Meter;
use crate::path::PathTemplate;
use crate::template::{Expression, Lookup, Template, ValueShape};

/// How unknown fields are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// They are ignored, as RFC 6902 demands for JSON patches.
    Ignore,
    /// They are errors: in a handwritten patch they are likely typing errors.
    Refuse,
}

/// A list of operations, compiled.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    list: Box<[OperationTemplate]>,
    strict: bool,
}

/// One operation.
#[derive(Clone, Debug)]
struct OperationTemplate {
    name: &'static str,
    path: PathTemplate,
    body: Body,
    at: Location,
    /// The operation as a patch, if there is no expression in it.
    fixed: Option<Patch>,
}

/// The fields of an operation besides its path.
#[derive(Clone, Debug)]
enum Body {
    None,
    Value(Template),
    From(PathTemplate),
}

/// A value without expressions that an operation writes, for code that analyses patches.
#[derive(Clone, Debug, PartialEq)]
pub struct LiteralWrite {
    /// The keys from the resource to the value.
    pub keys: Vec<String>,
    /// The value.
    pub value: Value,
}

/// What an operation changes, for code that analyses patches.
#[derive(Clone, Debug)]
pub struct Written<'a> {
    /// The name of the operation.
    pub name: &'static str,
    /// The path.
    pub path: WrittenPath,
    /// The path of a `move` or `copy`.
    pub from: Option<WrittenPath>,
    /// The value, with what is known of it.
    pub value: Option<ValueShape<'a>>,
    /// The location of the operation.
    pub at: &'a Location,
    /// The expressions in its paths and its value.
    pub expressions: Vec<&'a Expression>,
}

/// The part of a path that is known without evaluating it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPath {
    /// The steps from the resource.
    pub steps: Vec<WrittenStep>,
    /// Whether this is the whole path. Otherwise an expression follows.
    pub whole: bool,
}

/// A step of a [`WrittenPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenStep {
    /// A key of a map.
    Key(String),
    /// A key of a map, or a position in a list: `0` or `-`.
    KeyOrPosition(String),
    /// Elements of a list, with the path to the field that a filter compares; empty without one.
    Element(Vec<Key>),
}

impl From<PatchStep<'_>> for WrittenStep {
    fn from(step: PatchStep<'_>) -> Self {
        match step {
            PatchStep::Key(key) => Self::Key(key.to_owned()),
            PatchStep::KeyOrPosition(key) => Self::KeyOrPosition(key.to_owned()),
            PatchStep::Element(fields) => Self::Element(fields.to_vec()),
        }
    }
}

impl Operations {
    /// What the operations change, in order.
    pub fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.list.iter().map(|operation| Written {
            name: operation.name,
            path: operation.path.written(),
            from: match &operation.body {
                Body::From(from) => Some(from.written()),
                Body::None | Body::Value(_) => None,
            },
            value: match &operation.body {
                Body::Value(value) => Some(value.shape()),
                Body::None | Body::From(_) => None,
            },
            at: &operation.at,
            expressions: {
                let mut all = Vec::new();
                operation.expressions(&mut |expression| all.push(expression));
                all
            },
        })
    }

    /// Compiles a list of operations. All errors are returned, not only the first. If `strict`,
    /// a filter that matches nothing is an error when the operations are applied.
    pub fn compile(
        spec: &Value,
        at: &Location,
        strict: bool,
        unknown: UnknownFields,
    ) -> Result<Self, Vec<CompileError>> {
        let mut reader = FieldReader::default();
        let Some(list) = spec.as_list() else {
            reader.field(spec, "a list of operations", at);
            return Err(reader.errors);
        };
        let mut operations = Vec::with_capacity(list.len());
        for (i, operation) in list.iter().enumerate() {
            operations.extend(reader.operation(operation, &at.index(i), unknown));
        }
        for operation in &mut operations {
            operation.fix(strict);
        }
        reader.finish(Some(Self {
            list: operations.into(),
            strict,
        }))
    }

    /// Visits the expressions.
    pub fn expressions<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        self.list
            .iter()
            .for_each(|operation| operation.expressions(visit));
    }

    /// The values without expressions that operations write to a path of keys.
    pub fn literal_writes(&self) -> impl Iterator<Item = LiteralWrite> {
        self.list.iter().filter_map(|operation| {
            let Body::Value(value) = &operation.body else {
                return None;
            };
            if operation.name == "test" {
                return None;
            }
            let keys = operation.path.fixed().and_then(names)?;
            Some(LiteralWrite {
                keys,
                value: value.as_literal()?.clone(),
            })
        })
    }

    /// The document with the operations applied in order. Each sees the result of those before
    /// it: `lookup` gets the document in its current state.
    pub(crate) fn apply(
        &self,
        document: &Value,
        lookup: &dyn Fn(&str, &Value) -> Option<Value>,
        meter: &mut Meter,
    ) -> Result<Value, Box<Error>> {
        let mut current = document.clone();
        for template in &self.list {
            meter.operation(&template.at)?;
            let computed;
            let patch = match &template.fixed {
                Some(patch) => patch,
                None => {
                    let lookup = |name: &str| lookup(name, &current);
                    let operation = template.eval(&lookup, meter)?;
                    computed = Patch::new(vec![operation]).strict(self.strict);
                    &computed
                }
            };
            let next = patch
                .apply(&current)
                .map_err(|error| template.failed(patch, error))?;
            meter.admit(&next, &template.at)?;
            current = next;
        }
        Ok(current)
    }
}

impl FieldReader {
    fn operation(
        &mut self,
        spec: &Value,
        at: &Location,
        unknown: UnknownFields,
    ) -> Option<OperationTemplate> {
        if spec.as_map().is_none() {
            let found = spec.kind();
            self.error(at, ReadCause::NotMap { found });
            return None;
        }
        if unknown == UnknownFields::Refuse {
            self.known(spec, &["op", "path", "from", "value"], at);
        }
        let name = self.name(spec, at)?;
        // Both are read before the first error returns, so that all errors are found.
        let path = self.path(spec, "path", at);
        let body = match name {
            "remove" => Some(Body::None),
            "copy" | "move" => self.path(spec, "from", at).map(Body::From),
            _ => self.value(spec, name, at).map(Body::Value),
        };
        let (path, body) = (path?, body?);
        Some(OperationTemplate {
            name,
            path,
            body,
            at: at.clone(),
            fixed: None,
        })
    }

    fn name(&mut self, spec: &Value, at: &Location) -> Option<&'static str> {
        let text = self.required(spec, "op", at)?;
        let known = OPERATIONS.into_iter().find(|name| *name == text);
        if known.is_none() {
            self.error(&at.key("op"), ReadCause::unknown(text));
        }
        known
    }

    fn path(&mut self, spec: &Value, field: &'static str, at: &Location) -> Option<PathTemplate> {
        let text = self.required(spec, field, at)?;
        self.take(PathTemplate::compile(text, field, &at.key(field)))
    }

    fn value(&mut self, spec: &Value, name: &str, at: &Location) -> Option<Template> {
        let value = self.present(spec, "value", at)?;
        let at = at.key("value");
        let template = self.take_all(Template::compile(value, &at))?;
        if name == "merge"
            && let Some(found) = template.as_literal().map(Value::kind)
            && found != document::Kind::Map
        {
            let expected = "a map to merge";
            self.error(&at, CompileErrorKind::Field { expected, found });
            return None;
        }
        Some(template)
    }

    /// The text of a required field.
    fn required<'a>(
        &mut self,
        spec: &'a Value,
        field: &'static str,
        at: &Location,
    ) -> Option<&'a str> {
        let value = self.present(spec, field, at)?;
        if value.as_str().is_none() {
            self.field(value, "a string", &at.key(field));
        }
        value.as_str()
    }

    fn present<'a>(
        &mut self,
        spec: &'a Value,
        field: &'static str,
        at: &Location,
    ) -> Option<&'a Value> {
        let value = spec.as_map().and_then(|map| map.get_str(field));
        if value.is_none() {
            let others = spec.as_map().into_iter().flatten();
            let others = others.map(|(key, _)| key.as_str());
            let unknown = others.filter(|name| !["op", "path", "from", "value"].contains(name));
            let instead = document::nearest(field, unknown).map(str::to_owned);
            self.error(at, ReadCause::Missing { field, instead });
        }
        value
    }
}

/// The keys of a path, if it has no brackets.
fn names(path: &PatchPath) -> Option<Vec<String>> {
    let text = path.as_str();
    (!text.contains('[')).then(|| keys(text))
}

fn keys(path: &str) -> Vec<String> {
    let unescaped = |name: &str| {
        let brackets = name.replace("~2", "[").replace("~3", "]");
        brackets.replace("~1", "/").replace("~0", "~")
    };
    path.split('/').skip(1).map(unescaped).collect()
}

impl PathTemplate {
    fn written(&self) -> WrittenPath {
        if let Some(path) = self.known() {
            return WrittenPath {
                steps: path.steps().map(WrittenStep::from).collect(),
                whole: true,
            };
        }
        let text = self.text();
        let ends = [text.find("${"), text.find('[')];
        let end = ends.into_iter().flatten().min().unwrap_or(text.len());
        // A segment that an expression continues is not known.
        let known = &text[..end];
        let known = if text[end..].starts_with('[') {
            known.strip_suffix('/').unwrap_or(known)
        } else {
            known.rsplit_once('/').map_or("", |(known, _)| known)
        };
        let known = PatchPath::parse(known);
        let steps = known.iter().flat_map(PatchPath::steps);
        WrittenPath {
            steps: steps.map(WrittenStep::from).collect(),
            whole: false,
        }
    }
}

fn with_value(name: &str, path: PatchPath, value: Value) -> Operation {
    match name {
        "replace" => Operation::Replace { path, value },
        "test" => Operation::Test { path, value },
        "merge" => Operation::Merge { path, value },
        _ => Operation::Add { path, value },
    }
}

fn with_from(name: &str, path: PatchPath, from: PatchPath) -> Operation {
    match name {
        "move" => Operation::Move { from, path },
        _ => Operation::Copy { from, path },
    }
}

impl OperationTemplate {
    fn expressions<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        self.path.expressions(visit);
        match &self.body {
            Body::None => {}
            Body::Value(value) => value.expressions(visit),
            Body::From(from) => from.expressions(visit),
        }
    }

    /// Builds the patch once, if it contains no expression.
    fn fix(&mut self, strict: bool) {
        let operation = || {
            let path = self.path.fixed()?.clone();
            Some(match &self.body {
                Body::None => Operation::Remove { path },
                Body::Value(value) => with_value(self.name, path, value.as_literal()?.clone()),
                Body::From(from) => with_from(self.name, path, from.fixed()?.clone()),
            })
        };
        self.fixed = operation().map(|operation| Patch::new(vec![operation]).strict(strict));
    }

    /// The operation with its expressions evaluated.
    fn eval(&self, lookup: Lookup<'_>, meter: &mut Meter) -> Result<Operation, Box<Error>> {
        let path = self.path.eval(lookup, meter)?;
        Ok(match &self.body {
            Body::None => Operation::Remove { path },
            Body::Value(value) => with_value(self.name, path, value.eval(lookup, meter)?),
            Body::From(from) => with_from(self.name, path, from.eval(lookup, meter)?),
        })
    }

    /// The error of this operation, without the values in a computed path.
    fn failed(&self, patch: &Patch, error: patch::Error) -> Box<Error> {
        let path = patch
            .operations()
            .first()
            .map(|operation| operation.path().as_str());
        let (field, path) = match &self.body {
            Body::From(from) if path != Some(error.path.as_str()) => ("from", from),
            Body::From(_) | Body::None | Body::Value(_) => ("path", &self.path),
        };
        let kind = match error.cause {
            Cause::TooDeep => ErrorKind::Bounds(OutOfBounds::Depth(MAX_DEPTH as u32)),
            Cause::TooLarge => ErrorKind::Bounds(OutOfBounds::Bytes(patch::MAX_GROWTH as u32)),
            cause => ErrorKind::Operation {
                op: self.name,
                path: path.text().to_owned(),
                pointer: path.fixed().and(error.pointer),
                cause,
            },
        };
        Error::new(&self.at.key(field), kind)
    }
}
