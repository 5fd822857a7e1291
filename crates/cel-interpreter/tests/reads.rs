//! The members that an expression reads.

use cel_interpreter::Program;

/// Checks the chains, written with dots.
fn check(text: &str, reads: &[&str]) {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let chains: Vec<String> = program
        .reads()
        .iter()
        .map(|chain| chain.join("."))
        .collect();
    assert_eq!(chains, reads, "{text}");

    let mut variables: Vec<&str> = reads
        .iter()
        .map(|chain| chain.split('.').next().unwrap_or_default())
        .collect();
    variables.dedup();
    assert_eq!(program.variables(), variables, "{text}");
}

#[test]
fn members_are_followed() {
    check("object.spec.a.b + x.y", &["object.spec.a.b", "x.y"]);
    check(
        "x.y + object.spec + x.y + x.a",
        &["object.spec", "x.a", "x.y"],
    );
    check("a['b'].c", &["a.b.c"]);
    check("a.`b-c`['d']", &["a.b-c.d"]);
    check("has(a.b.c) && has(a['d'].e)", &["a.b.c", "a.d.e"]);
    check("a.?b.?c.orValue(d.e)", &["a.b.c", "d.e"]);
    check("a[?'b'].c.hasValue()", &["a.b.c"]);
    check("(a.b).c", &["a.b.c"]);
}

#[test]
fn a_chain_ends_where_the_value_is_used() {
    check("a", &["a"]);
    check("a.b[0].c", &["a.b"]);
    check("a.b[c.d].e", &["a.b", "c.d"]);
    check("size(a.b) + a.c.size()", &["a.b", "a.c"]);
    check("{'x': a.b, c.d: [e.f]}", &["a.b", "c.d", "e.f"]);
    check("a.b ? c.d : e.f", &["a.b", "c.d", "e.f"]);
    check("!a.b || -c == d in e", &["a.b", "c", "d", "e"]);
    check("a.b == a", &["a", "a.b"]);
}

#[test]
fn locals_and_functions_are_no_variables() {
    check("a.b.map(x, x.c + y.d)", &["a.b", "y.d"]);
    check("a.map(x, x.b.filter(y, y > x.c))", &["a"]);
    check("x.map(x, x.y)", &["x"]);
    check("[x.map(x, x.y), [x.z]]", &["x", "x.z"]);
    check("a.?b.optMap(x, x.c + z)", &["a.b", "z"]);
    check("math.abs(a) + math.x", &["a", "math.x"]);
    check("sets.contains(sets.a, ip)", &["ip", "sets.a"]);
    check("1 + size('x')", &[]);
}

#[test]
fn the_text_is_kept() {
    let program = Program::compile(" a +b").unwrap();
    assert_eq!(program.text(), " a +b");
    assert_eq!(format!("{program:?}"), r#"Program(" a +b")"#);
}

#[test]
fn programs_are_shared_between_threads() {
    fn assert_shared<T: Send + Sync + Clone>() {}
    assert_shared::<Program>();
}

#[test]
fn a_conjunction_has_parts() {
    for (text, expect) in [
        ("a && b", &["a", "b"][..]),
        (
            "a && (b || c) && d.all(x, x && y)",
            &["a", "(b || c)", "d.all(x, x && y)"],
        ),
        ("a && b || c", &["a && b || c"]),
        ("a ? b && c : d", &["a ? b && c : d"]),
        (
            "a.?b.orValue(true) && c[?0].hasValue()",
            &["a.?b.orValue(true)", "c[?0].hasValue()"],
        ),
        (
            r#"a == '&& \' ||' && b == "\"&&" "#,
            &[r"a == '&& \' ||'", r#"b == "\"&&""#],
        ),
        (r"a == r'\' && b", &[r"a == r'\'", "b"]),
        ("a == '''it's && ''' && b", &["a == '''it's && '''", "b"]),
        ("a // && x\n && b", &["a // && x", "b"]),
    ] {
        let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(program.conjuncts(), expect, "{text}");
    }
}
