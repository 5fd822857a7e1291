//! Codes of commands.

use crate::doc::codes::Trigger::{Elsewhere, Usage};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "usage",
        "The arguments do not fit together.",
        "See `--help`.",
        Usage(&["eval", "1", "-f", "-", "-f", "-"]),
    ),
    code(
        "no-name",
        "An object has no kind or no name.",
        "Add them. `deltic replay` reads watch events, `deltic render` objects.",
        Elsewhere("an object without metadata"),
    ),
    code(
        "no-patch",
        "A patch file has no rules.",
        "Add a list of rules.",
        Elsewhere("an empty patch file"),
    ),
    code(
        "no-match",
        "A warning: no object matches the target of a rule.",
        "Check the group, kind and name.",
        Elsewhere("a rule for a kind that is not there"),
    ),
    code(
        "bad-json",
        "A line or document of a stream is not JSON.",
        "Print JSON, one document after the other.",
        Elsewhere("a stream with YAML"),
    ),
    code(
        "bad-line",
        "A line of `--jsonl` lacks a field.",
        "See `--help` for the form of the lines.",
        Elsewhere("`{}` for `deltic eval --jsonl`"),
    ),
    code(
        "bad-event",
        "A document of `deltic replay` is not a watch event.",
        "Print events with `kubectl get … --watch --output-watch-events -o json`.",
        Elsewhere("an object instead of an event"),
    ),
    code(
        "watch-error",
        "A watch ended with an error.",
        "Watch again.",
        Elsewhere("an event of type ERROR"),
    ),
    code(
        "bad-tick",
        "A TICK line of `deltic replay` cannot be used.",
        "Give each a later time, on a line of its own, and `--now` if events come first.",
        Elsewhere("a TICK that goes back"),
    ),
];
