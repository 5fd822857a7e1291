//! The types that functions take and give, for code that checks types. They describe
//! the bodies of the functions, and are in the same rows of the table.

/// The types of a function's arguments and of its result.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    /// What each argument must be; the last one is for all that follow.
    pub takes: &'static [Takes],
    /// What the result is.
    pub gives: Gives,
}

impl Types {
    /// What an argument must be.
    pub fn takes(&self, argument: usize) -> Takes {
        let takes = self.takes.get(argument).or(self.takes.last());
        takes.copied().unwrap_or(Takes::Anything)
    }
}

/// What an argument must be. If a function evaluates its first argument for each item, the first
/// entry says what these evaluations must yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Anything.
    Anything,
    /// Anything but null.
    NotNull,
    /// A boolean.
    Boolean,
    /// A boolean, "true" or "false".
    BooleanString,
    /// A number or a numeric string.
    Number,
    /// Something with an order: a number or a string.
    Ordered,
    /// A string.
    String,
    /// An RFC 3339 time.
    Time,
    /// A duration such as `1h30m`, or a number of seconds.
    Duration,
    /// A list.
    List,
    /// A list of numbers.
    Numbers,
    /// A map.
    Map,
    /// A map or null.
    MapOrNull,
    /// A list, a string or a map.
    Sized,
}

/// What a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Anything.
    Anything,
    /// A boolean.
    Boolean,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A number, or null.
    NumberOrNull,
    /// A string.
    String,
    /// A string, or null.
    StringOrNull,
    /// A list of strings.
    Strings,
    /// A list of integers.
    Integers,
    /// An integer if all arguments are integers, otherwise a number.
    Arithmetic,
    /// The list that is the first argument.
    TheList,
    /// The items of the first argument with their positions.
    Numbered,
    /// The values of the map that is the first argument.
    Values,
    /// The merge of all arguments.
    Merged,
    /// A list of what the first argument yields for the items of the second.
    Results,
    /// Items of the list that is the second argument.
    TheItems,
    /// The second argument or the third; null if there is no third.
    Alternatives,
    /// The first argument that is not null.
    FirstDefined,
}
