//! Tests of every function.

use cel_interpreter::{CompileError, Limits, Program};
use document::Value;

fn check(text: &str, expect: &str) {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let result = program
        .eval(&|_| None::<Value>, &Limits::default())
        .map_or_else(|error| error.code().to_owned(), |value| value.to_string());
    assert_eq!(result, expect, "{text}");
}

/// Checks that each expression is true.
fn check_all(texts: &[&str]) {
    for text in texts {
        check(text, "true");
    }
}

/// Checks that each expression fails with this code.
fn check_fails(texts: &[&str], code: &str) {
    for text in texts {
        check(text, code);
    }
}

#[test]
fn sizes_are_characters_and_elements() {
    check_all(&[
        "'héé'.size() == 3 && size('') == 0",
        "b'\\xff\\xfe'.size() == 2",
        "[1, 2].size() == 2 && {'a': 1}.size() == 1",
    ]);
    check_fails(&["size(1)", "size(null)"], "cel-type");
}

#[test]
fn conversions_are_checked() {
    check_all(&[
        "dyn(1) == 1",
        "bool('true') && !bool('0') && bool(true)",
        "bytes('é') == b'\\xc3\\xa9'",
        "double('1.5') == 1.5 && double(2) == 2.0 && double(2u) == 2.0",
        "int('-5') == -5 && int(2.9) == 2 && int(-2.9) == -2 && int(5u) == 5",
        "int(timestamp('1970-01-01T00:01:00Z')) == 60",
        "uint('7') == 7u && uint(7) == 7u && uint(7.9) == 7u",
        "string(1) == '1' && string(2u) == '2' && string(2.5) == '2.5' && string(3.0) == '3'",
        "string(1e21) == '1e+21' && string(double('inf')) == '+Inf'",
        "string(true) == 'true' && string('x') == 'x' && string(b'x') == 'x'",
        "string(timestamp('2024-01-01T00:00:00.25Z')) == '2024-01-01T00:00:00.25Z'",
        "string(duration('90m')) == '5400s'",
        "string(ip('10.0.0.1')) == '10.0.0.1' && cidr('10.0.0.0/8').string() == '10.0.0.0/8'",
    ]);
    check_fails(
        &["int(9223372036854775808.0)", "int(18446744073709551615u)"],
        "cel-overflow",
    );
    check_fails(&["uint(-1)", "uint(-0.5)", "uint(1e20)"], "cel-overflow");
    check_fails(
        &[
            "int('x')",
            "int('1.5')",
            "uint('-1')",
            "double('x')",
            "bool('yes')",
            "string(b'\\xff')",
        ],
        "cel-argument",
    );
    check_fails(
        &[
            "int(true)",
            "int([1])",
            "string(null)",
            "string([1])",
            "bytes(1)",
        ],
        "cel-type",
    );
}

#[test]
fn strings_are_searched_and_changed() {
    check_all(&[
        "'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')",
        "'héllo'.charAt(1) == 'é' && 'abc'.charAt(3) == ''",
        "'héllo'.indexOf('l') == 2 && 'abc'.indexOf('z') == -1 && 'abcabc'.indexOf('b', 2) == 4",
        "'abc'.indexOf('') == 0 && 'abc'.indexOf('', 3) == 3",
        "'abcabc'.lastIndexOf('b') == 4 && 'abcabc'.lastIndexOf('bc', 1) == 1",
        "'ééé'.lastIndexOf('é', 1) == 1 && 'aéa'.lastIndexOf('a', 1) == 0",
        "'aB'.lowerAscii() == 'ab' && 'aB'.upperAscii() == 'AB'",
        "'a-b-c'.replace('-', '+') == 'a+b+c' && 'a-b-c'.replace('-', '+', 1) == 'a+b-c'",
        "'a-b'.replace('-', '', 0) == 'a-b' && 'a-b'.replace('-', '', -1) == 'ab'",
        "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
        "'aé'.split('') == ['a', 'é'] && 'abc'.split('', 2) == ['a', 'bc'] && ''.split('') == []",
        "'a,b'.split(',', 0) == [] && 'a,b'.split(',', -1) == ['a', 'b'] && ''.split(',') == ['']",
        "'héllo'.substring(1) == 'éllo' && 'héllo'.substring(1, 3) == 'él'",
        "' a '.trim() == 'a' && 'abé'.reverse() == 'éba'",
        "['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab' && [].join('x') == ''",
        "strings.quote('a\"\\n') == '\"a\\\\\"\\\\n\"'",
        "jsonpatch.escapeKey('a/b~c') == 'a~1b~0c'",
        "base64.encode(b'abc') == 'YWJj' && base64.decode('YWJj') == b'abc'",
    ]);
    check_fails(
        &[
            "'abc'.charAt(4)",
            "'abc'.charAt(-1)",
            "'abc'.substring(2, 1)",
            "'abc'.substring(4)",
        ],
        "cel-out-of-range",
    );
    check_fails(
        &[
            "[1].join()",
            "'a'.contains(1)",
            "'a'.split(1)",
            "[1].contains(1)",
        ],
        "cel-type",
    );
    check_fails(&["base64.decode('!')"], "cel-argument");
}

#[test]
fn texts_are_formatted() {
    for (format, expect) in [
        ("'%s|%s|%s'.format(['a', 1, true])", "a|1|true"),
        (
            "'%s'.format([[1, 'a', null, [2u]]])",
            r#"[1, "a", null, [2]]"#,
        ),
        ("'%s'.format([{'b': 1, 'a': 'x'}])", r#"{"a":"x", "b":1}"#),
        ("'%d %d%%'.format([5, 6u])", "5 6%"),
        ("'%f|%.2f|%.0f'.format([1, 2.555, 3.5])", "1.000000|2.56|4"),
        (
            "'%e|%.2e'.format([1500.0, 0.00015])",
            "1.500000×10⁰³|1.500000×10⁻⁰⁴",
        ),
        ("'%b %o %x %X'.format([5, 8, 255, 255])", "101 10 ff FF"),
        ("'%x'.format([-255])", "-ff"),
        ("'%x %X'.format(['ab', b'\\xab'])", "6162 AB"),
        ("'%b'.format([true])", "1"),
        ("'%s'.format([duration('90s')])", "90s"),
    ] {
        check(format, &Value::from(expect).to_string());
    }
    check_fails(
        &[
            "'%'.format([1])",
            "'%q'.format([1])",
            "'%s'.format([])",
            "'a'.format([1])",
            "'%.1001f'.format([1.0])",
            "'%.99999999999999999999f'.format([1.0])",
            "'%.f'.format([1.0])",
        ],
        "cel-argument",
    );
    check_fails(
        &["'%d'.format(['a'])", "'%f'.format(['a'])", "'%s'.format(1)"],
        "cel-type",
    );
    check_fails(
        &["[quantity('1'), 1].sum()", "[1.5, quantity('1')].sum()"],
        "cel-type",
    );
    check_fails(&["'%s'.format([quantity('1')])"], "cel-type");
}

#[test]
fn regular_expressions_match() {
    check_all(&[
        "'abc'.matches('^[a-c]+$') && !'abd'.matches('^[a-c]+$') && matches('x', 'x')",
        "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == ''",
        "'1 22 3'.findAll('[0-9]+') == ['1', '22', '3']",
        "'1 22 3'.findAll('[0-9]+', 2) == ['1', '22'] && 'a'.findAll('b') == []",
        "'a_1-b'.matches(r'^\\w+-\\w$') && !'é'.matches(r'\\w') && 'é'.matches(r'^\\W$') && 'é'.matches(r'\\pL')",
        "'x 12'.matches(r'^[\\w\\s-]+$') && 'a b'.matches(r'^\\S+\\s\\D$') && 'a-b'.matches(r'\\bb\\b')",
        "'a\\\\w'.matches(r'^a\\\\w$') && 'é'.matches('^.$') && 'é'.matches('[^a]')",
        "['^a', 'b$'].all(p, 'ab'.matches(p))",
    ]);
    check_fails(
        &["'a'.matches('(' + '')", "'a'.find('[' + '')"],
        "cel-argument",
    );
    check_fails(&["'a'.matches(1)", "1.matches('a')"], "cel-type");
    let error = Program::compile("'a'.matches('(')").unwrap_err();
    assert_eq!(error.code(), "cel-pattern");
    let error = Program::compile(r"'a'.matches('(\\pL{10}){100}')").unwrap_err();
    assert_eq!(error.code(), "cel-pattern");
}

#[test]
fn lists_are_sorted_and_summed() {
    check_all(&[
        "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [].isSorted() && ['a', 'b'].isSorted()",
        "[1, 2, 3].sum() == 6 && [1.5, 2].sum() == 3.5 && [].sum() == 0 && [1u].sum() == 1u",
        "[duration('1m'), duration('1s')].sum() == duration('61s')",
        "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a'",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(2) == -1",
        "[1, 2, 3].slice(1, 3) == [2, 3] && [1].slice(1, 1) == []",
        "[3, 1.5, 2u].sort() == [1.5, 2, 3] && ['b', 'a'].sort() == ['a', 'b'] && [].sort() == []",
        "[[1, [2]], 3].flatten() == [1, [2], 3] && [[1, [2]], 3].flatten(2) == [1, 2, 3]",
        "[1, 2].reverse() == [2, 1] && [1, 1.0, 2].distinct() == [1, 2]",
        "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && ![].first().hasValue()",
        "lists.range(3) == [0, 1, 2] && lists.range(0) == []",
        "sets.contains([1, 2, 3], [1.0, 3]) && !sets.contains([1], [2])",
        "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2])",
        "sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])",
    ]);
    check_fails(&["[9223372036854775807, 1].sum()"], "cel-overflow");
    check_fails(&["[].min()", "[1].flatten(-1)"], "cel-argument");
    check_fails(&["[double('NaN'), 1.0].sort()"], "cel-argument");
    check_fails(
        &[
            "[1, 'a'].sort()",
            "['a'].sum()",
            "[1, 'a'].max()",
            "[1, 'a'].isSorted()",
        ],
        "cel-type",
    );
    check_fails(
        &[
            "sets.contains(1, [1])",
            "sets.contains([1], 1)",
            "sets.intersects([1], {})",
        ],
        "cel-type",
    );
    check_fails(&["[1].slice(0, 2)", "[1].slice(-1, 0)"], "cel-out-of-range");
}

#[test]
fn quantities_are_exact() {
    check_all(&[
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').isLessThan(quantity('1'))",
        "quantity('1').compareTo(quantity('1000m')) == 0 && quantity('1').compareTo(quantity('2')) == -1",
        "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').add(20) == quantity('50020')",
        "['100m', '200m', '1'].map(q, quantity(q)).sum() == quantity('1300m')",
        "string([quantity('512Mi'), quantity('0.5Gi')].sum()) == '1Gi' && [quantity('5')].sum() == quantity('5')",
        "quantity('50k').sub(quantity('20k')) == quantity('30k') && quantity('1').sub(2).sign() == -1",
        "!quantity('1.5Ki').isInteger() && quantity('1e3').asInteger() == 1000",
        "quantity('1E').asInteger() == 1000000000000000000 && !quantity('1Ei').isInteger()",
        "!quantity('500m').isInteger() && quantity('500m').asApproximateFloat() == 0.5",
        "quantity('0.1n') == quantity('1n') && quantity('-.5').sign() == -1 && quantity('0').sign() == 0",
        "quantity('1e100').isGreaterThan(quantity('9223372036854775807Ei')) && quantity('1e-100') == quantity('1n')",
        "quantity('9223372036854775807Ei') == quantity('9223372036854775807')",
        "quantity('000000000000000000000000000001') == quantity('1') && quantity('0e99') == quantity('0')",
        "quantity('9223372036854775807').add(quantity('1')) == quantity('9223372036854775808')",
        "isQuantity('5.Mi') && isQuantity('+5') && isQuantity('5E3') && isQuantity('5E')",
        "!['', '1.2.3', '1 ', '1e', '1Kib', '--1', 'é', '1é'].exists(q, isQuantity(q))",
    ]);
    check_fails(
        &["quantity('x')", "quantity('1.5').asInteger()"],
        "cel-argument",
    );
    check_fails(
        &[
            "'1'.asInteger()",
            "quantity('1').isLessThan(semver('1.0.0'))",
            "quantity(1)",
        ],
        "cel-type",
    );
}

#[test]
fn versions_are_compared() {
    check_all(&[
        "isSemver('1.2.3') && !isSemver('1.2') && isSemver('v1.2', true)",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('2.0.0').isGreaterThan(semver('1.0.0'))",
        "semver('1.0.0').compareTo(semver('1.0.0')) == 0 && semver('v01', true).major() == 1",
    ]);
    check_fails(&["semver('x')"], "cel-argument");
    check_fails(
        &["'1.0.0'.major()", "semver('1.0.0').isLessThan('1.0.0')"],
        "cel-type",
    );
}

#[test]
fn addresses_are_parsed() {
    check_all(&[
        "isIP('::1') && !isIP('1.2.3') && isIPv4('1.2.3.4') && isIPv6('::1') && ip.isCanonical('::1')",
        "ip('10.0.0.1').family() == 4 && ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()",
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.0.1').isLinkLocalUnicast()",
        "ip('8.8.8.8').isGlobalUnicast()",
        "isCIDR('10.0.0.0/8') && isCIDRv4('10.0.0.0/8') && isCIDRv6('::/0')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').prefixLength() == 8",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    ]);
    check_fails(&["ip('x')", "cidr('x')"], "cel-argument");
    check_fails(&["'x'.family()", "ip(1)"], "cel-type");
}

#[test]
fn urls_are_taken_apart() {
    check_all(&[
        "isURL('https://a:80/b') && !isURL('a b')",
        "url('https://u@h.example:81/p%20q?x=1').getScheme() == 'https'",
        "url('https://h.example:81/').getHost() == 'h.example:81'",
        "url('https://h.example:81/').getHostname() == 'h.example' && url('https://h:81/').getPort() == '81'",
        "url('https://h/p%20q').getEscapedPath() == '/p%20q'",
        "url('https://h/?a=1&a=2&b=3').getQuery() == {'a': ['1', '2'], 'b': ['3']}",
    ]);
    check_fails(&["url('a b')"], "cel-argument");
}

#[test]
fn named_formats_are_validated() {
    check_all(&[
        "!format.dns1123Label().validate('web-0').hasValue()",
        "format.dns1123Label().validate('Web').hasValue()",
        "!format.named('uuid').value().validate('01234567-89ab-cdef-0123-456789abcdef').hasValue()",
        "format.date().validate('2024-02-30').value().size() == 1",
        "!format.datetime().validate('2024-02-28T00:00:00Z').hasValue()",
        "!format.qualifiedName().validate('a.b/c').hasValue() && !format.labelValue().validate('').hasValue()",
        "!format.dns1123Subdomain().validate('a.b').hasValue() && !format.dns1035Label().validate('a').hasValue()",
        "!format.dns1035LabelPrefix().validate('a-').hasValue() && !format.dns1123LabelPrefix().validate('a-').hasValue()",
        "!format.dns1123SubdomainPrefix().validate('a.b-').hasValue() && !format.uri().validate('a:b').hasValue()",
        "!format.byte().validate('YWJj').hasValue() && format.uuid().validate('x').hasValue()",
    ]);
    check_fails(
        &["'a'.validate('b')", "format.named('none').validate('b')"],
        "cel-type",
    );
}

#[test]
fn mathematics_takes_ints_for_doubles() {
    check_all(&[
        "math.ceil(1.2) == 2.0 && math.floor(1.8) == 1.0 && math.round(1.5) == 2.0 && math.trunc(-1.5) == -1.0",
        "math.ceil(3) == 3.0 && math.sqrt(16) == 4.0 && math.isFinite(1) && !math.isNaN(1) && !math.isInf(1)",
        "math.abs(-3) == 3 && math.sign(-2.5) == -1.0",
        "math.bitAnd(6, 3) == 2 && math.bitOr(6, 3) == 7 && math.bitXor(6, 3) == 5 && math.bitNot(0) == -1",
        "math.bitShiftLeft(1, 4) == 16 && math.bitShiftRight(16, 4) == 1",
        "math.greatest(1, 2.5, 2u) == 2.5 && math.least([3, 1, 2]) == 1 && math.greatest(7) == 7",
    ]);
    check_fails(&["math.bitShiftLeft(1, -1)"], "cel-argument");
    check_fails(&["math.ceil('1')", "math.abs('1')"], "cel-type");
}

#[test]
fn parts_of_times_are_in_utc() {
    let time = "timestamp('2024-03-01T01:02:03.456+02:00')";
    for (part, expect) in [
        ("FullYear", 2024),
        ("Month", 1),
        ("Date", 29),
        ("DayOfMonth", 28),
        ("DayOfWeek", 4),
        ("DayOfYear", 59),
        ("Hours", 23),
        ("Minutes", 2),
        ("Seconds", 3),
        ("Milliseconds", 456),
    ] {
        check(&format!("{time}.get{part}()"), &expect.to_string());
    }
    check_all(&[
        "duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90",
        "duration('1.5s').getSeconds() == 1 && duration('1.5s').getMilliseconds() == 1500",
        "timestamp('2024-01-01T00:00:00Z') < timestamp('2024-01-01T00:00:01Z')",
    ]);
    check_fails(
        &["timestamp('2024-13-01T00:00:00Z')", "timestamp('now')"],
        "cel-argument",
    );
    check_fails(
        &["duration('1h').getFullYear()", "'x'.getHours()"],
        "cel-type",
    );
}

#[test]
fn calls_are_checked_when_compiled() {
    for (text, message) in [
        (
            "'a'.startWith('b')",
            "unknown function `startWith`, did you mean `startsWith`?",
        ),
        ("'a'.toLowerCase()", "unknown function `toLowerCase`"),
        ("sets.union([1], [2])", "unknown function `union`"),
        (
            "'a'.contains()",
            "`contains` takes a target and 1 argument, found a target and 0 arguments",
        ),
        (
            "contains('a', 'b')",
            "`contains` takes a target and 1 argument, found 2 arguments",
        ),
        (
            "'a'.quantity()",
            "`quantity` takes 1 argument, found a target and 0 arguments",
        ),
        (
            "'a'.substring()",
            "`substring` takes a target and 1 to 2 arguments, found a target and 0 arguments",
        ),
        (
            "math.greatest()",
            "`math.greatest` takes at least 1 arguments, found 0 arguments",
        ),
        ("size()", "`size` takes 1 argument, found 0 arguments"),
        ("a.b{c: 1}", "messages (`Type{…}`) are not supported"),
    ] {
        let error = Program::compile(text).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
        assert!(!matches!(error, CompileError::Syntax { .. }));
    }
}
