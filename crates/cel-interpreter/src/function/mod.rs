//! The functions: a table of all names, and their arguments.
//!
//! They behave as those of Kubernetes 1.36, which are those of cel-go and its own libraries. Each
//! family has its file.

mod address;
pub(crate) mod cidr;
mod conversion;
mod decimal;
mod encoding;
mod format;
mod list;
mod math;
pub(crate) mod named_format;
mod number;
mod optional;
pub(crate) mod pattern;
pub(crate) mod quantity;
mod re2;
pub(crate) mod sort;
pub(crate) mod table;
mod text;
pub(crate) mod time;
pub(crate) mod url;
mod url_escape;
pub(crate) mod version;

use crate::error::{CompileError, EvalError};
use crate::meter::Meter;
use crate::reference::Documented;
use crate::tree::Call;
use crate::types::Extension;
use crate::value::{List, Val};

use pattern::Pattern;

type Result<T> = std::result::Result<T, EvalError>;

/// A function or method by its name.
pub(crate) struct Function {
    pub(crate) documented: Documented,
    form: Form,
    /// The least and greatest number of arguments. The target of a method counts.
    arguments: (usize, usize),
    run: fn(&mut Arguments<'_>) -> Result<Val>,
}

/// How a function is called.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// `f(x)`
    Function,
    /// `x.f()`
    Method,
    /// Either.
    Both,
}

/// The function of this name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    table::functions().find(|function| function.name() == name)
}

/// Names of other languages, and the functions that do the same.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("length", "size"),
    ("len", "size"),
    ("count", "size"),
    ("lower", "lowerAscii"),
    ("toLower", "lowerAscii"),
    ("upper", "upperAscii"),
    ("toUpper", "upperAscii"),
    ("toString", "string"),
    ("includes", "contains"),
    ("any", "exists"),
];

/// A function or macro whose name differs by a letter or two, or that has another name elsewhere.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let mut others = OTHER_NAMES.iter();
    if let Some((_, known)) = others.find(|(other, _)| *other == name) {
        return Some(known);
    }
    let macros = table::macros().iter().map(|documented| documented.name);
    let names = table::functions().map(Function::name).chain(macros);
    let close = names.map(|known| (distance(known, name), known));
    let (distance, known) = close.min_by_key(|(distance, _)| *distance)?;
    (distance <= 2 && distance < name.len()).then_some(known)
}

/// How many letters must be inserted, deleted or replaced to turn one into the other, ignoring
/// case.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to
        .chars()
        .take(40)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = corner + usize::from(a.to_ascii_lowercase() != *b);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[to.len()]
}

impl Function {
    /// With its namespace, as in `math.abs`.
    pub(crate) fn name(&self) -> &'static str {
        self.documented.name
    }

    /// Checks the form and the number of arguments of a call, whose name is at the offset `at`.
    pub(crate) fn check(
        &self,
        method: bool,
        count: usize,
        at: usize,
    ) -> std::result::Result<(), CompileError> {
        let fits = match self.form {
            Form::Function => !method,
            Form::Method => method,
            Form::Both => true,
        };
        let (min, max) = self.arguments;
        if fits && (min..=max).contains(&count) {
            return Ok(());
        }
        let as_method = self.form == Form::Method || (self.form == Form::Both && method);
        Err(CompileError::Arguments {
            name: self.name(),
            expected: shape(as_method, min, max),
            found: shape(method, count, count),
            offset: at,
        })
    }

    /// Whether its second argument is a regular expression.
    pub(crate) fn takes_pattern(&self) -> bool {
        matches!(self.name(), "matches" | "find" | "findAll")
    }
}

fn shape(method: bool, min: usize, max: usize) -> String {
    let target = usize::from(method).min(min);
    let (min, max) = (min - target, max - target);
    let count = match (min, max) {
        (min, usize::MAX) => format!("at least {min} arguments"),
        (1, 1) => "1 argument".to_owned(),
        (min, max) if min == max => format!("{min} arguments"),
        (min, max) => format!("{min} to {max} arguments"),
    };
    if method {
        format!("a target and {count}")
    } else {
        count
    }
}

/// Calls a function. The arguments have been evaluated.
pub(crate) fn call(call: &Call, mut arguments: Arguments<'_>) -> Result<Val> {
    let texts = arguments.args.iter().map(text_length);
    arguments.meter.bytes(texts.sum())?;
    (call.function.run)(&mut arguments)
}

fn text_length(value: &Val) -> usize {
    match value {
        Val::Str(_) => value.as_str().map_or(0, str::len),
        Val::Bytes(_) => value.as_bytes().map_or(0, <[u8]>::len),
        _ => 0,
    }
}

/// The arguments of a call, the target first.
pub(crate) struct Arguments<'a> {
    name: &'static str,
    args: &'a [Val],
    meter: &'a mut Meter,
    pattern: Option<&'a Pattern>,
    method: bool,
    listed: bool,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(call: &'a Call, args: &'a [Val], meter: &'a mut Meter) -> Self {
        Self {
            name: call.function.name(),
            args,
            meter,
            pattern: call.pattern.as_deref(),
            method: call.method,
            listed: call.listed,
        }
    }

    fn text(&self, n: usize) -> Result<&'a str> {
        self.args
            .get(n)
            .and_then(Val::as_str)
            .ok_or_else(|| self.mismatch())
    }

    fn int(&self, n: usize) -> Result<i64> {
        match self.args.get(n) {
            Some(Val::Int(i)) => Ok(*i),
            _ => Err(self.mismatch()),
        }
    }

    /// An optional argument.
    fn optional_int(&self, n: usize) -> Result<Option<i64>> {
        if n < self.args.len() {
            self.int(n).map(Some)
        } else {
            Ok(None)
        }
    }

    fn list(&self, n: usize) -> Result<&'a List> {
        match self.args.get(n) {
            Some(Val::List(list)) => Ok(list),
            _ => Err(self.mismatch()),
        }
    }

    /// A value of a Kubernetes type.
    fn extension(&self, n: usize) -> Option<&'a Extension> {
        match self.args.get(n) {
            Some(Val::Extension(value)) => Some(value),
            _ => None,
        }
    }

    /// The error for arguments of these types.
    fn mismatch(&self) -> EvalError {
        EvalError::types(self.name, self.args.iter().map(Val::type_name))
    }

    /// The error for an argument of the right type with an invalid value.
    fn invalid(&self, reason: &'static str) -> EvalError {
        EvalError::Argument {
            function: self.name,
            reason,
        }
    }
}
