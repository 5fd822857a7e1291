//! Random expressions on random documents have the results of Kubernetes.

use document::{Value, json};
use seeded::Random;

use crate::oracle::{self, outcome};
use crate::ours;

/// How many expressions are compared.
const RUNS: usize = 6_000;

/// Errors that are bugs of cel-go: a panic in a function that gets an error as its argument, and an
/// item of `list.reverse()` that `double` does not accept.
const BUGS: [&str; 3] = ["internal error:", "panic:", "no such overload: double(int)"];

#[test]
fn random_expressions_agree() {
    let seed = seeded::seed(0x00ce_1ce1);
    let runs = std::env::var("RANDOM_RUNS").ok();
    let runs = runs.and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let mut random = Expressions(Random::new(seed));
    let variables = variables();
    let exprs: Vec<String> = (0..runs).map(|run| random.any(1 + run % 4)).collect();
    let answers = oracle::eval(exprs.iter().map(|expr| (expr.as_str(), &variables)));
    assert_eq!(answers.len(), exprs.len());
    let (mut compared, mut values) = (0, 0);
    let mut wrong = Vec::new();
    for (expr, answer) in exprs.iter().zip(&answers) {
        // Its type checker refuses more than we do.
        let refused = answer.get("refused").as_bool() == Some(true);
        let error = oracle::text(answer, "error");
        if refused || BUGS.iter().any(|bug| error.starts_with(bug)) {
            continue;
        }
        compared += 1;
        let expected = outcome(answer);
        values += usize::from(expected != ours::Outcome::Error);
        let found = ours::outcome(expr, &variables);
        if found != expected {
            wrong.push(format!("{expr}\n  expected {answer}\n  found {found:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "seed {seed}, {} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        compared > runs / 3 && values > runs / 6,
        "{compared} compared, {values} values"
    );
}

fn variables() -> Value {
    json!({
        "i": 7, "f": 2.5, "s": "héllo wörld", "t": true, "n": null,
        "l": [3, 1, 2], "ls": ["b", "a", "c"], "e": [],
        "m": {"a": 1, "b": {"c": [5, 6]}, "x": "y"},
    })
}

/// Generates expressions by the type that they should have.
struct Expressions(Random);

impl Expressions {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.0.below(from.len())]
    }

    fn any(&mut self, depth: usize) -> String {
        match self.0.below(9) {
            0 => self.int(depth),
            1 => self.double(depth),
            2 | 3 => self.bool(depth),
            4 => self.text(depth),
            5 => self.list(depth),
            6 => self.map(depth),
            7 => self.time(depth),
            _ if self.0.below(2) == 0 => self.kubernetes(depth),
            _ => self.network(),
        }
    }

    fn int(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["0", "1", "-3", "i", "9223372036854775807", "m.a", "l[1]"])
                .to_owned();
        }
        let d = depth - 1;
        match self.0.below(12) {
            0..3 => format!(
                "({} {} {})",
                self.int(d),
                self.pick(&["+", "-", "*", "/", "%"]),
                self.int(d)
            ),
            3 => format!("size({})", self.list(d)),
            4 => format!("{}.indexOf({})", self.text(d), self.text(0)),
            5 => format!("{}[{}]", self.ints(d), self.int(0)),
            6 => format!("int({})", self.double(d)),
            7 => format!("{}.{}()", self.ints(d), self.pick(&["max", "min", "sum"])),
            8 => format!("({} ? {} : {})", self.bool(d), self.int(d), self.int(d)),
            9 => format!(
                "{}.{}()",
                self.time(d),
                self.pick(&["getHours", "getDayOfYear", "getDayOfWeek"])
            ),
            10 => format!(
                "{}.{}('{}')",
                self.time(d),
                self.pick(&["getHours", "getDate", "getMinutes"]),
                self.pick(&[
                    "America/New_York",
                    "Asia/Kolkata",
                    "+05:30",
                    "-00:01",
                    "Mars/X"
                ])
            ),
            _ => format!(
                "{}.lastIndexOf({}, {})",
                self.text(d),
                self.text(0),
                self.int(0)
            ),
        }
    }

    fn double(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "0.0",
                    "1.5",
                    "-2.25",
                    "1e20",
                    "f",
                    "0.1",
                    "123456789.0",
                    "1e-9",
                ])
                .to_owned();
        }
        let d = depth - 1;
        match self.0.below(4) {
            0 | 1 => format!(
                "({} {} {})",
                self.double(d),
                self.pick(&["+", "-", "*", "/"]),
                self.double(d)
            ),
            2 => format!("double({})", self.int(d)),
            _ => format!(
                "({} ? {} : {})",
                self.bool(d),
                self.double(d),
                self.double(d)
            ),
        }
    }

    fn bool(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["true", "false", "t", "has(m.a)", "has(m.z)", "m.z == 1"])
                .to_owned();
        }
        let d = depth - 1;
        let compare = ["==", "!=", "<", "<=", ">", ">="];
        match self.0.below(14) {
            0 => format!("{} {} {}", self.int(d), self.pick(&compare), self.int(d)),
            1 => format!(
                "dyn({}) {} dyn({})",
                self.double(d),
                self.pick(&compare),
                self.int(d)
            ),
            2 => format!("{} {} {}", self.text(d), self.pick(&compare), self.text(d)),
            3 | 4 => format!(
                "({} {} {})",
                self.bool(d),
                self.pick(&["&&", "||"]),
                self.bool(d)
            ),
            5 => format!("!({})", self.bool(d)),
            6 => format!("{} in {}", self.int(0), self.ints(d)),
            7 => format!(
                "{}.{}(x, x > 1 || {})",
                self.ints(d),
                self.pick(&["all", "exists", "exists_one"]),
                self.bool(d)
            ),
            8 => format!(
                "{}.{}(a, b, a < b || {})",
                self.ints(d),
                self.pick(&["all", "exists", "existsOne"]),
                self.bool(d)
            ),
            9 => format!(
                "{}.{}({})",
                self.text(d),
                self.pick(&["contains", "startsWith", "endsWith"]),
                self.text(0)
            ),
            10 => format!("{}.matches('{}')", self.text(d), self.pattern()),
            11 => format!("dyn({}) == dyn({})", self.any(d), self.any(d)),
            12 => format!(
                "type({}) == {}",
                self.any(d),
                self.pick(&["int", "string", "list", "map", "double"])
            ),
            _ => format!(
                "sets.{}({}, {})",
                self.pick(&["contains", "equivalent", "intersects"]),
                self.ints(d),
                self.ints(d)
            ),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "''",
                    "'a'",
                    "s",
                    "'l'",
                    "'a,b,,c'",
                    "m.x",
                    "'😀 é'",
                    "'%s'",
                    "' A b '",
                ])
                .to_owned();
        }
        let d = depth - 1;
        match self.0.below(12) {
            0 => format!("({} + {})", self.text(d), self.text(d)),
            1 => format!("string({})", self.any(d)),
            2 => format!(
                "{}.{}()",
                self.text(d),
                self.pick(&["trim", "upperAscii", "lowerAscii"])
            ),
            3 => format!(
                "{}.substring({}, {})",
                self.text(d),
                self.int(0),
                self.int(0)
            ),
            4 => format!(
                "{}.replace({}, {})",
                self.text(d),
                self.text(0),
                self.text(0)
            ),
            5 => format!("{}.charAt({})", self.text(d), self.int(0)),
            6 => format!("{}.join({})", self.texts(d), self.text(0)),
            7 => format!(
                "'%s|%d|%.2f|%e'.format([{}, {}, {}, {}])",
                self.any(d),
                self.int(d),
                self.double(d),
                self.double(d)
            ),
            8 => format!("{}.find('{}')", self.text(d), self.pattern()),
            9 => format!("strings.quote({})", self.text(d)),
            10 => format!(
                "'%x %o %b'.format([{}, {}, {}])",
                self.text(d),
                self.int(d),
                self.bool(d)
            ),
            _ => format!("'%s'.format([{}])", self.any(d)),
        }
    }

    fn pattern(&mut self) -> &'static str {
        self.pick(&[
            "l+",
            "^h.*d$",
            "[a-f&&b]",
            "[[]",
            "x{,2}",
            "(?i)HÉ",
            r"\\w+",
            r"\\d*",
            "a**",
            "(a|b)+?",
            r"\\pL",
            "[^[:alpha:]]",
            "(",
            "é|ö",
            "o{2}",
            "[b-a]",
            r"\\bw",
            "(?P<n>a)",
            "(?x)a",
            "a{1001}",
            r"\\Qa.b\\E",
            "[]a]",
            "$",
            r"\\x{68}",
        ])
    }

    fn ints(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["[]", "l", "[1, 2, 3]", "[3, 3, -1]", "lists.range(4)", "e"])
                .to_owned();
        }
        let d = depth - 1;
        match self.0.below(9) {
            0 => format!("{}.map(x, {})", self.ints(d), self.int(0)),
            1 => format!("{}.map(x, x + {})", self.ints(d), self.int(d)),
            2 => format!("{}.filter(x, x != {})", self.ints(d), self.int(0)),
            3 => format!("({} + {})", self.ints(d), self.ints(d)),
            4 => format!(
                "{}.{}()",
                self.ints(d),
                self.pick(&["sort", "distinct", "reverse"])
            ),
            5 => format!("{}.slice({}, {})", self.ints(d), self.int(0), self.int(0)),
            6 => format!("{}.sortBy(x, -x)", self.ints(d)),
            7 => format!("{}.transformList(k, v, k * v)", self.ints(d)),
            _ => format!("[{}, {}]", self.int(d), self.int(d)),
        }
    }

    fn texts(&mut self, depth: usize) -> String {
        match self.0.below(4) {
            0 => "ls".to_owned(),
            1 => format!("{}.split({})", self.text(depth), self.text(0)),
            2 => format!("{}.findAll('{}')", self.text(depth), self.pattern()),
            _ => format!("ls.map(x, x + {})", self.text(depth)),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        match self.0.below(4) {
            0 => self.texts(depth),
            1 if depth > 0 => format!(
                "[[{}], {}].flatten()",
                self.int(depth - 1),
                self.ints(depth - 1)
            ),
            _ => self.ints(depth),
        }
    }

    fn map(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        match self.0.below(6) {
            0 => "m".to_owned(),
            1 => format!("{{'a': {}, 'b': {}}}", self.int(d), self.int(d)),
            2 => format!("{{{}: {}}}", self.int(0), self.text(d)),
            3 => format!("{}.transformMap(k, v, v > 0, v * 2)", self.ints(d)),
            4 => format!("{}.transformMapEntry(k, v, {{v: k}})", self.ints(d)),
            _ => format!("{{?'a': optional.of({})}}", self.any(d)),
        }
    }

    fn time(&mut self, depth: usize) -> String {
        let base = self.pick(&[
            "timestamp('2024-02-29T23:59:59.5Z')",
            "timestamp('2024-03-10T01:30:00-05:00')",
            "timestamp(0)",
            "timestamp('1969-12-31T00:00:00+14:00')",
        ]);
        if depth == 0 {
            return base.to_owned();
        }
        let by = self.pick(&[
            "duration('1h30m')",
            "duration('-36h')",
            "duration('1.5s')",
            "duration('300000h')",
        ]);
        match self.0.below(3) {
            0 => format!("({base} + {by})"),
            1 => format!("({base} - {by})"),
            _ => format!("({base} - {})", self.time(depth - 1)),
        }
    }

    /// Quantities, versions, named formats and optionals.
    fn kubernetes(&mut self, depth: usize) -> String {
        let less = depth.saturating_sub(1);
        let (a, b) = (self.pick(QUANTITIES), self.pick(QUANTITIES));
        let (version, other) = (self.pick(VERSIONS), self.pick(VERSIONS));
        match self.0.below(9) {
            0 => {
                let method = self.pick(&["isInteger", "asInteger", "asApproximateFloat"]);
                format!("quantity('{a}').{method}()")
            }
            1 => {
                let method = self.pick(&["compareTo", "isLessThan"]);
                format!("quantity('{a}').{method}(quantity('{b}'))")
            }
            2 => {
                let method = self.pick(&["add", "sub"]);
                format!("quantity('{a}').{method}(quantity('{b}')).asApproximateFloat()")
            }
            3 => format!("isQuantity('{a}') && isSemver('{version}')"),
            4 => format!(
                "semver('{version}', {}).compareTo(semver('{other}', true))",
                self.bool(0)
            ),
            5 => {
                let (name, text) = (self.pick(FORMATS), self.text(less));
                format!("format.named('{name}').value().validate({text})")
            }
            6 => {
                let method = [
                    "hasValue()",
                    "value()",
                    "optMap(x, [x])",
                    "or(optional.none())",
                ];
                format!("optional.of({}).{}", self.any(less), self.pick(&method))
            }
            7 => {
                let method = ["hasValue()", "orValue(0)", "optMap(v, v)"];
                let path = self.pick(&["a", "b.c", "z.y", "x.w"]);
                format!("m.?{path}.{}", self.pick(&method))
            }
            _ => format!(
                "[optional.of({}), optional.none()].unwrapOpt()",
                self.int(less)
            ),
        }
    }

    fn network(&mut self) -> String {
        let (url, address) = (self.pick(URLS), self.pick(ADDRESSES));
        let (a, b) = (self.pick(NETWORKS), self.pick(NETWORKS));
        match self.0.below(6) {
            0 => {
                let methods = ["Host", "Hostname", "Port", "Query", "EscapedPath", "Scheme"];
                format!("url('{url}').get{}()", self.pick(&methods))
            }
            1 => format!("isURL('{url}') || isIP('{address}')"),
            2 => {
                let methods = [
                    "family",
                    "isLoopback",
                    "isGlobalUnicast",
                    "isLinkLocalMulticast",
                ];
                format!("ip('{address}').{}()", self.pick(&methods))
            }
            3 => format!("cidr('{a}').containsIP('{address}')"),
            4 => format!("string(cidr('{a}').masked())"),
            _ => format!("cidr('{a}').containsCIDR('{b}')"),
        }
    }
}

#[rustfmt::skip]
const QUANTITIES: &[&str] = &[
    "1", "1000m", "1.5Gi", "-3k", "1e3", "10E", "0.1n", "9223372036854775808", "1Ei", "Ki", "1.", "5x", "12e-3",
];

#[rustfmt::skip]
const VERSIONS: &[&str] = &[
    "1.2.3", "v1.2", "1.0.0-rc.1+b.1", "1.0.0-rc.2", "01.2.3", "1.2.3+é", "2", "1.0.0-a.01", "1.0.0+",
];

#[rustfmt::skip]
const URLS: &[&str] = &[
    "https://a.b:80/c%20d?x=1&y=%zz&x=2#f", "http://[::1]:8080/", "/p?q", "mailto:x", "http://ex.com/A%2fB",
    "http://a:b:c/", "HTTP://H/%zz", "http://u:p@h/ä b", "//h/p", "http://[::1%25en0]/", "http://h?a;b&c=d+e", "*",
];

#[rustfmt::skip]
const ADDRESSES: &[&str] = &[
    "10.0.0.1", "::1", "fe80::1", "224.0.0.1", "::ffff:1.2.3.4", "1.2.3", "2001:DB8::", "010.0.0.1", "255.255.255.255",
];

#[rustfmt::skip]
const NETWORKS: &[&str] = &[
    "10.0.0.0/8", "::/0", "10.0.0.1/33", "fe80::/10", "10.1.2.3/24", "1.2.3.4/08", "0.0.0.0/0", "::1/128",
];

#[rustfmt::skip]
const FORMATS: &[&str] = &[
    "dns1123Label", "qualifiedName", "labelValue", "byte", "uri", "date", "datetime", "uuid", "dns1035LabelPrefix",
    "dns1123Subdomain", "none",
];
