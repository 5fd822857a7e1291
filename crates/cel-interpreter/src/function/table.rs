//! The table of functions, by family, with their documentation.

mod formats;
mod list;
mod macros;
mod math;
mod network;
mod optional;
mod pattern;
mod quantity;
mod text;
mod time;
mod types;

use super::{Arguments, Form, Function, Result};
use crate::reference::{Documented, Example};
use crate::value::Val;

type Run = fn(&mut Arguments<'_>) -> Result<Val>;

const ANY: usize = usize::MAX;

/// Functions that belong together.
pub(crate) struct Family {
    pub(crate) title: &'static str,
    pub(crate) functions: &'static [Function],
}

pub(crate) static FAMILIES: &[Family] = &[
    Family {
        title: "Types and conversions",
        functions: types::FUNCTIONS,
    },
    Family {
        title: "Strings",
        functions: text::FUNCTIONS,
    },
    Family {
        title: "Regular expressions",
        functions: pattern::FUNCTIONS,
    },
    Family {
        title: "Lists and sets",
        functions: list::FUNCTIONS,
    },
    Family {
        title: "Optionals",
        functions: optional::FUNCTIONS,
    },
    Family {
        title: "Times and durations",
        functions: time::FUNCTIONS,
    },
    Family {
        title: "Quantities and versions",
        functions: quantity::FUNCTIONS,
    },
    Family {
        title: "Addresses and URLs",
        functions: network::FUNCTIONS,
    },
    Family {
        title: "Named formats",
        functions: formats::FUNCTIONS,
    },
    Family {
        title: "Mathematics",
        functions: math::FUNCTIONS,
    },
];

/// The macros.
pub(crate) fn macros() -> &'static [Documented] {
    macros::MACROS
}

/// All functions.
pub(super) fn functions() -> impl Iterator<Item = &'static Function> {
    FAMILIES.iter().flat_map(|family| family.functions)
}

const fn function(
    name: &'static str,
    min: usize,
    max: usize,
    run: Run,
    signature: &'static str,
    summary: &'static str,
    examples: &'static [Example],
) -> Function {
    Function {
        documented: Documented::new(name, signature, summary, examples),
        form: Form::Function,
        arguments: (min, max),
        run,
    }
}

/// A method. The numbers of arguments do not include its target.
const fn method(
    name: &'static str,
    min: usize,
    max: usize,
    run: Run,
    signature: &'static str,
    summary: &'static str,
    examples: &'static [Example],
) -> Function {
    Function {
        form: Form::Method,
        ..function(name, min + 1, max + 1, run, signature, summary, examples)
    }
}

/// A function that is also a method of its first argument.
const fn both(
    name: &'static str,
    count: usize,
    run: Run,
    signature: &'static str,
    summary: &'static str,
    examples: &'static [Example],
) -> Function {
    Function {
        form: Form::Both,
        ..function(name, count, count, run, signature, summary, examples)
    }
}
