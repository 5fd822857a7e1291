//! Times and durations.

use super::super::time;
use super::{Example, Function, method};

pub(super) static FUNCTIONS: &[Function] = &[
    method(
        "getDate",
        0,
        1,
        time::get,
        "timestamp.getDate(), timestamp.getDate(<zone>)",
        "The day of the month, from 1. A zone is a name such as `Europe/Berlin` or an offset such as `-05:00`; without one it is UTC.",
        &[
            Example("timestamp('2024-01-31T23:30:00Z').getDate()", "31"),
            Example(
                "timestamp('2024-01-31T23:30:00Z').getDate('Europe/Berlin')",
                "1",
            ),
        ],
    ),
    method(
        "getDayOfMonth",
        0,
        1,
        time::get,
        "timestamp.getDayOfMonth(), timestamp.getDayOfMonth(<zone>)",
        "The day of the month, from 0.",
        &[Example(
            "timestamp('2024-01-31T00:00:00Z').getDayOfMonth()",
            "30",
        )],
    ),
    method(
        "getDayOfWeek",
        0,
        1,
        time::get,
        "timestamp.getDayOfWeek(), timestamp.getDayOfWeek(<zone>)",
        "The day of the week, from 0 on Sunday.",
        &[Example(
            "timestamp('2024-01-31T00:00:00Z').getDayOfWeek()",
            "3",
        )],
    ),
    method(
        "getDayOfYear",
        0,
        1,
        time::get,
        "timestamp.getDayOfYear(), timestamp.getDayOfYear(<zone>)",
        "The day of the year, from 0.",
        &[Example(
            "timestamp('2024-02-01T00:00:00Z').getDayOfYear()",
            "31",
        )],
    ),
    method(
        "getFullYear",
        0,
        1,
        time::get,
        "timestamp.getFullYear(), timestamp.getFullYear(<zone>)",
        "The year.",
        &[Example(
            "timestamp('2024-01-31T00:00:00Z').getFullYear()",
            "2024",
        )],
    ),
    method(
        "getHours",
        0,
        1,
        time::get,
        "timestamp.getHours(), timestamp.getHours(<zone>), duration.getHours()",
        "The hour of the day, or the whole hours of a duration.",
        &[
            Example("timestamp('2024-01-31T12:30:00Z').getHours('+02:00')", "14"),
            Example("duration('90m').getHours()", "1"),
        ],
    ),
    method(
        "getMilliseconds",
        0,
        1,
        time::get,
        "timestamp.getMilliseconds(), timestamp.getMilliseconds(<zone>), duration.getMilliseconds()",
        "The milliseconds of the second, or the whole milliseconds of a duration.",
        &[Example("duration('1.5s').getMilliseconds()", "1500")],
    ),
    method(
        "getMinutes",
        0,
        1,
        time::get,
        "timestamp.getMinutes(), timestamp.getMinutes(<zone>), duration.getMinutes()",
        "The minute of the hour, or the whole minutes of a duration.",
        &[Example("duration('90m').getMinutes()", "90")],
    ),
    method(
        "getMonth",
        0,
        1,
        time::get,
        "timestamp.getMonth(), timestamp.getMonth(<zone>)",
        "The month, from 0.",
        &[Example("timestamp('2024-01-31T00:00:00Z').getMonth()", "0")],
    ),
    method(
        "getSeconds",
        0,
        1,
        time::get,
        "timestamp.getSeconds(), timestamp.getSeconds(<zone>), duration.getSeconds()",
        "The second of the minute, or the whole seconds of a duration.",
        &[Example("duration('1m30s').getSeconds()", "90")],
    ),
];
