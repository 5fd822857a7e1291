//! What the functions of the language need, and what they give.

/// What an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Anything,
    /// Anything but null.
    NotNull,
    Boolean,
    /// A boolean, "true" or "false".
    BooleanString,
    /// A number or a numeric string.
    Number,
    String,
    List,
    /// A list of numbers.
    Numbers,
    Map,
    MapOrNull,
    /// A list, a string or a map.
    Sized,
}

/// The type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Boolean,
    Integer,
    Number,
    NumberOrNull,
    String,
    StringOrNull,
    Strings,
    Integers,
    /// An integer if all arguments are integers, otherwise a number.
    Arithmetic,
    /// The list that is the first argument.
    TheList,
    /// The items of the first argument with their positions.
    Numbered,
    /// The merge of all arguments.
    Merged,
}

/// The signature of a function: what each argument must be, the last one for all that follow, and
/// what it gives. `None` if nothing is known of it.
pub(super) fn signature(name: &str) -> Option<(&'static [Needs], Gives)> {
    use Needs::{
        Anything, Boolean, BooleanString, List, Map, MapOrNull, NotNull, Number, Numbers, Sized,
        String,
    };
    Some(match name {
        "@exists" | "@isnil" | "@eq" | "@ne" | "@sqlbool" | "@gt" | "@gte" | "@lt" | "@lte" => {
            (&[Anything], Gives::Boolean)
        }
        "@and" | "@or" | "@not" => (&[Boolean], Gives::Boolean),
        "@bool" => (&[BooleanString], Gives::Boolean),
        "@in" => (&[Anything, List], Gives::Boolean),
        "@selector" => (&[MapOrNull], Gives::Boolean),
        "@regexp" | "@startswith" | "@endswith" | "@contains" => (&[String], Gives::Boolean),
        "@concat" | "@string" => (&[NotNull], Gives::String),
        "@join" => (&[List, String], Gives::String),
        "@replace" | "@upper" | "@lower" | "@trim" => (&[String], Gives::String),
        "@substring" => (&[String, Number], Gives::String),
        "@split" => (&[String], Gives::Strings),
        "@hash" => (&[Anything], Gives::String),
        "@add" | "@sub" | "@mul" | "@mod" | "@neg" | "@abs" | "@ceil" | "@floor" => {
            (&[Number], Gives::Arithmetic)
        }
        "@int" => (&[Number], Gives::Integer),
        "@div" | "@float" => (&[Number], Gives::Number),
        "@len" => (&[Sized], Gives::Integer),
        "@min" | "@max" => (&[Numbers], Gives::NumberOrNull),
        "@sum" => (&[Numbers], Gives::Number),
        "@lexmin" | "@lexmax" => (&[List], Gives::StringOrNull),
        "@list" => (&[List], Gives::TheList),
        "@range" => (&[Number], Gives::Integers),
        "@enumerate" => (&[List], Gives::Numbered),
        "@keys" => (&[Map], Gives::Strings),
        "@merge" => (&[Map], Gives::Merged),
        "@timeAdd" => (&[String, Anything], Gives::String),
        "@timeSub" | "@unix" => (&[String], Gives::Number),
        _ => return None,
    })
}
