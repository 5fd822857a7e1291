//! Types and conversions.

use super::super::{conversion, text, time};
use super::{Example, Function, both, function};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "bool",
        1,
        1,
        conversion::boolean,
        "bool(<string or bool>)",
        "A boolean from a text: `true`, `True`, `TRUE`, `t`, `T`, `1`, and the same for false.",
        &[
            Example("bool('true')", "true"),
            Example("bool('yes')", "error: cel-argument"),
        ],
    ),
    function(
        "bytes",
        1,
        1,
        conversion::bytes,
        "bytes(<string or bytes>)",
        "The bytes of a text in UTF-8. A result shows bytes in base64.",
        &[Example("bytes('hi')", r#""aGk=""#)],
    ),
    function(
        "double",
        1,
        1,
        conversion::double,
        "double(<number or string>)",
        "A number as a double.",
        &[Example("double('2.5')", "2.5"), Example("double(7)", "7")],
    ),
    function(
        "duration",
        1,
        1,
        time::duration,
        "duration(<string>)",
        "A duration from a text such as `1h30m`, `-1.5s` or `200ms`. A result shows it in seconds.",
        &[
            Example("duration('1h30m')", r#""5400s""#),
            Example("duration('1d')", "error: cel-argument"),
        ],
    ),
    function(
        "dyn",
        1,
        1,
        conversion::dynamic,
        "dyn(<any>)",
        "The value itself. It only matters for type checkers.",
        &[Example("dyn(1)", "1")],
    ),
    function(
        "int",
        1,
        1,
        conversion::int,
        "int(<number, string, timestamp or duration>)",
        "A number without its fraction; the seconds of a timestamp since 1970; the nanoseconds of a duration.",
        &[
            Example("int(2.9)", "2"),
            Example("int('12')", "12"),
            Example("int(timestamp('1970-01-02T00:00:00Z'))", "86400"),
        ],
    ),
    both(
        "size",
        1,
        text::size,
        "size(<string, bytes, list or map>), x.size()",
        "The number of characters, bytes, elements or entries.",
        &[
            Example("size('né')", "2"),
            Example("[1, 2, 3].size()", "3"),
            Example("size({'a': 1})", "1"),
        ],
    ),
    both(
        "string",
        1,
        conversion::string,
        "string(<any scalar>), x.string()",
        "The text of a value; also of an IP address or CIDR. That of a quantity is an addition to Kubernetes, so that a sum can be written to a document.",
        &[
            Example("string(2.5)", r#""2.5""#),
            Example("string(duration('1m'))", r#""60s""#),
            Example("string(ip('::1'))", r#""::1""#),
            Example(
                "string(quantity('1500Mi').add(quantity('36Mi')))",
                r#""1536Mi""#,
            ),
        ],
    ),
    function(
        "timestamp",
        1,
        1,
        time::timestamp,
        "timestamp(<string or int>)",
        "A time from RFC 3339, or from seconds since 1970. A result shows it in UTC.",
        &[
            Example(
                "timestamp('2024-01-31T12:00:00+01:00')",
                r#""2024-01-31T11:00:00Z""#,
            ),
            Example("timestamp(0)", r#""1970-01-01T00:00:00Z""#),
        ],
    ),
    function(
        "type",
        1,
        1,
        conversion::type_of,
        "type(<any>)",
        "The type of a value. The name of a type is an expression: `int`, `string`, `list`, `map`, `null_type`, `google.protobuf.Timestamp`, `net.IP` and others.",
        &[
            Example("type(1) == int", "true"),
            Example("type([])", r#""list""#),
        ],
    ),
    function(
        "uint",
        1,
        1,
        conversion::uint,
        "uint(<number or string>)",
        "A number as an unsigned int.",
        &[
            Example("uint(3)", "3"),
            Example("uint(-1)", "error: cel-overflow"),
        ],
    ),
];
