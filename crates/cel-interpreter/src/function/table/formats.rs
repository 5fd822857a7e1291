//! Named formats.

use super::super::named_format;
use super::{Example, Function, function, method};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "format.byte",
        0,
        0,
        named_format::constant,
        "format.byte()",
        "Base64 with padding.",
        &[Example(
            "format.byte().validate('?').value()",
            r#"["invalid base64"]"#,
        )],
    ),
    function(
        "format.date",
        0,
        0,
        named_format::constant,
        "format.date()",
        "A date.",
        &[Example(
            "format.date().validate('2024-02-30').value()",
            r#"["invalid date"]"#,
        )],
    ),
    function(
        "format.datetime",
        0,
        0,
        named_format::constant,
        "format.datetime()",
        "A time in RFC 3339.",
        &[Example(
            "format.datetime().validate('2024-02-29T12:00:00Z').hasValue()",
            "false",
        )],
    ),
    function(
        "format.dns1035Label",
        0,
        0,
        named_format::constant,
        "format.dns1035Label()",
        "A DNS label that starts with a letter, such as the name of a Service.",
        &[Example(
            "format.dns1035Label().validate('web').hasValue()",
            "false",
        )],
    ),
    function(
        "format.dns1035LabelPrefix",
        0,
        0,
        named_format::constant,
        "format.dns1035LabelPrefix()",
        "The start of one, for a generated name.",
        &[Example(
            "format.dns1035LabelPrefix().validate('web-').hasValue()",
            "false",
        )],
    ),
    function(
        "format.dns1123Label",
        0,
        0,
        named_format::constant,
        "format.dns1123Label()",
        "A DNS label, such as the name of a Namespace.",
        &[Example(
            "format.dns1123Label().validate('a.b').value()",
            r#"["must not contain dots"]"#,
        )],
    ),
    function(
        "format.dns1123LabelPrefix",
        0,
        0,
        named_format::constant,
        "format.dns1123LabelPrefix()",
        "The start of one, for a generated name.",
        &[Example(
            "format.dns1123LabelPrefix().validate('web-').hasValue()",
            "false",
        )],
    ),
    function(
        "format.dns1123Subdomain",
        0,
        0,
        named_format::constant,
        "format.dns1123Subdomain()",
        "DNS labels with dots between them, such as the name of a Pod.",
        &[Example(
            "format.dns1123Subdomain().validate('a.b').hasValue()",
            "false",
        )],
    ),
    function(
        "format.dns1123SubdomainPrefix",
        0,
        0,
        named_format::constant,
        "format.dns1123SubdomainPrefix()",
        "The start of one, for a generated name.",
        &[Example(
            "format.dns1123SubdomainPrefix().validate('a.b-').hasValue()",
            "false",
        )],
    ),
    function(
        "format.labelValue",
        0,
        0,
        named_format::constant,
        "format.labelValue()",
        "The value of a label.",
        &[Example(
            "format.labelValue().validate('').hasValue()",
            "false",
        )],
    ),
    function(
        "format.named",
        1,
        1,
        named_format::named,
        "format.named(<string>)",
        "The format of a name as an optional.",
        &[
            Example("format.named('uuid').hasValue()", "true"),
            Example("format.named('none').hasValue()", "false"),
        ],
    ),
    function(
        "format.qualifiedName",
        0,
        0,
        named_format::constant,
        "format.qualifiedName()",
        "The key of a label.",
        &[Example(
            "format.qualifiedName().validate('example.com/a').hasValue()",
            "false",
        )],
    ),
    function(
        "format.uri",
        0,
        0,
        named_format::constant,
        "format.uri()",
        "An absolute URL, or an absolute path.",
        &[Example(
            "format.uri().validate('a').value()",
            r#"["parse \"a\": invalid URI for request"]"#,
        )],
    ),
    function(
        "format.uuid",
        0,
        0,
        named_format::constant,
        "format.uuid()",
        "A UUID.",
        &[Example(
            "format.uuid().validate('x').value()",
            r#"["does not match the UUID format"]"#,
        )],
    ),
    method(
        "validate",
        1,
        1,
        named_format::validate,
        "format.validate(<string>)",
        "What is wrong with a text, as an optional list of messages. It has no value if the text is valid.",
        &[Example(
            "format.dns1123Label().validate('web-1').hasValue()",
            "false",
        )],
    ),
];
