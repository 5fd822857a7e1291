//! What paths read, and which texts are no paths.

use document::path::{
    MAX_LENGTH, MAX_MATCHES, MAX_NESTING, MAX_PATTERNS, MAX_STEPS, Segment, Selector,
};
use document::{Path, Root, TooManyMatches, Value, json};

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// All matches of `text` in `document`, as JSON.
#[track_caller]
fn check(text: &str, document: &Value, expect: &Value) {
    let path = path(text);
    let all = path.all(document, &Value::NULL).expect("few matches");
    let found: Value = all.iter().map(|value| (*value).clone()).collect();
    assert_eq!(&found, expect, "{text}");
    assert_eq!(
        path.first(document, &Value::NULL),
        all.first().copied(),
        "{text}"
    );
    assert_eq!(
        path.try_first(document, &Value::NULL),
        Ok(all.first().copied()),
        "{text}"
    );
    assert_eq!(Path::parse(&path.to_string()).as_ref(), Ok(&path), "{text}");
}

/// `text` is no path, because of what stands at `offset`.
#[track_caller]
fn check_error(text: &str, offset: usize, message: &str) {
    let error = Path::parse(text).expect_err(text);
    assert!(error.message.contains(message), "{text}: {error}");
    assert_eq!(error.offset, offset, "{text}: {error}");
}

fn object() -> Value {
    json!({
        "metadata": {
            "name": "w-1",
            "my-key": "v",
            "labels": {"app": "web", "app.kubernetes.io/name": "shop"}
        },
        "spec": {
            "limit": 100,
            "nothing": null,
            "ports": [
                {"name": "http", "port": 80, "protocol": "TCP"},
                {"name": "https", "port": 443, "protocol": "TCP", "alias": "https"},
                {"name": "dns", "port": 53, "protocol": "UDP", "nothing": null}
            ],
            "matrix": [[1, 2], [3, 4]]
        }
    })
}

#[test]
fn names_lead_into_maps() {
    check("$.metadata.name", &object(), &json!(["w-1"]));
    check("$['metadata'][\"name\"]", &object(), &json!(["w-1"]));
    check("$ .metadata\n['name']", &object(), &json!(["w-1"]));
    check("$.metadata.nope", &object(), &json!([]));
    check("$.metadata.name.nope", &object(), &json!([]));
    check("$.spec.nothing", &object(), &json!([null]));
    check("$.spec.nothing.deeper", &object(), &json!([]));
}

#[test]
fn dotted_names_may_hold_almost_any_character() {
    check("$.metadata.my-key", &object(), &json!(["v"]));
    for name in [
        "a_b", "1b", "0", "a/b", "a=b", "a,b", "a:b", "é☃", "a@b", "$", "a*", "*a", "a?b", "{a}",
        "a!b", "#", "-", "a<b>", "a&b|c", "a~b", "a\\b", "a`b", "a\u{a0}b",
    ] {
        let document = Value::from(document::Map::from_entries(vec![(
            document::Key::new(name),
            json!(1),
        )]));
        check(&format!("$.{name}"), &document, &json!([1]));
        check(&format!("$..{name}"), &document, &json!([1]));
    }
}

#[test]
fn quoted_names_have_the_escapes_of_json() {
    check(
        "$.metadata.labels['app.kubernetes.io/name']",
        &object(),
        &json!(["shop"]),
    );
    check(r"$['it\'s']", &json!({"it's": 1}), &json!([1]));
    check(r#"$["say \"hi\""]"#, &json!({"say \"hi\"": 1}), &json!([1]));
    check(r#"$["it's"]"#, &json!({"it's": 1}), &json!([1]));
    check(
        r"$['\b\f\n\r\t\/\\']",
        &json!({"\u{8}\u{c}\n\r\t/\\": 1}),
        &json!([1]),
    );
    check(r"$['\u00e9\uD83D\uDE00']", &json!({"é😀": 1}), &json!([1]));
    check("$['']", &json!({"": 1}), &json!([1]));
}

#[test]
fn the_root_has_two_spellings() {
    for text in ["$", "$."] {
        check(text, &json!({"a": 1}), &json!([{"a": 1}]));
        check(text, &Value::NULL, &json!([null]));
        assert!(path(text).is_root());
    }
    assert_eq!(path("$"), path("$."));
    assert_eq!(path("$.").to_string(), "$.");
    assert_ne!(path("$"), path("$$"));
    assert!(!path("$.a").is_root());
}

#[test]
fn a_path_from_the_item_does_not_see_the_document() {
    let (document, item) = (json!({"a": 1}), json!([1, {"b": 2}]));
    for (text, expect) in [
        ("$$", Some(item.clone())),
        ("$$.", Some(item.clone())),
        ("$$[1].b", Some(json!(2))),
        ("$$.a", None),
        ("$$[*]", Some(json!(1))),
        ("$$[?@.b > $.a].b", Some(json!(2))),
    ] {
        let path = path(text);
        assert_eq!(path.root(), Root::Item);
        assert_eq!(path.first(&document, &item).cloned(), expect, "{text}");
    }
    assert_eq!(
        path("$$").first(&document, &Value::NULL),
        Some(&Value::NULL)
    );
    assert_eq!(path("$$.a").first(&document, &Value::NULL), None);
}

#[test]
fn indexes_count_from_both_ends() {
    check("$.spec.ports[0].name", &object(), &json!(["http"]));
    check("$.spec.ports[-1].name", &object(), &json!(["dns"]));
    check("$.spec.matrix[1][0]", &object(), &json!([3]));
    for text in [
        "$.spec.ports[3]",
        "$.spec.ports[-4]",
        "$.metadata[0]",
        "$.spec.ports.name",
        "$.spec.ports.0",
        "$[9007199254740991]",
        "$[-9007199254740991]",
    ] {
        check(text, &object(), &json!([]));
    }
}

#[test]
fn slices_select_elements_in_order() {
    let list = json!([0, 1, 2, 3, 4]);
    for (text, expect) in [
        ("$[1:3]", json!([1, 2])),
        ("$[1:]", json!([1, 2, 3, 4])),
        ("$[:2]", json!([0, 1])),
        ("$[:]", json!([0, 1, 2, 3, 4])),
        ("$[::2]", json!([0, 2, 4])),
        ("$[ 1 : 4 : 2 ]", json!([1, 3])),
        ("$[-2:]", json!([3, 4])),
        ("$[:-3]", json!([0, 1])),
        ("$[2:0:-1]", json!([2, 1])),
        ("$[::-1]", json!([4, 3, 2, 1, 0])),
        ("$[::-2]", json!([4, 2, 0])),
        ("$[10::-3]", json!([4, 1])),
        ("$[::0]", json!([])),
        ("$[3:1]", json!([])),
        ("$[-100:100]", json!([0, 1, 2, 3, 4])),
        ("$[100:-100:-1]", json!([4, 3, 2, 1, 0])),
        (
            "$[-9007199254740991:9007199254740991:9007199254740991]",
            json!([0]),
        ),
    ] {
        check(text, &list, &expect);
    }
    check("$[1:]", &json!({"a": 1}), &json!([]));
    check("$[1:]", &json!([]), &json!([]));
    check("$[::-1]", &json!([]), &json!([]));
}

#[test]
fn wildcards_go_over_lists_and_over_maps_in_key_order() {
    check("$.spec.matrix[*][*]", &object(), &json!([1, 2, 3, 4]));
    check("$.*", &json!({"b": 1, "a": 2}), &json!([2, 1]));
    check("$[*].x", &json!({"b": {"x": 1}, "a": 2}), &json!([1]));
    check("$.*", &json!("text"), &json!([]));
}

#[test]
fn unions_keep_the_order_in_which_they_are_written() {
    check(
        "$['b', 'a', 'c', 'b']",
        &json!({"a": 1, "b": 2}),
        &json!([2, 1, 2]),
    );
    check("$[1,0]", &json!([10, 20]), &json!([20, 10]));
    check("$[0, 1:, *]", &json!([1, 2]), &json!([1, 2, 1, 2]));
    check("$['a', 0, ?@ > 1]", &json!([1, 2]), &json!([1, 2]));
}

#[test]
fn descendants_come_parents_first() {
    check("$.a..x", &json!({"a": {"b": {"x": 9}}}), &json!([9]));
    check("$..x", &json!({"l": [{"x": 1}, {"x": 2}]}), &json!([1, 2]));
    check(
        "$..x",
        &json!({"a": {"x": 2}, "x": {"x": 1}}),
        &json!([{"x": 1}, 2, 1]),
    );
    check("$..[0]", &json!([[1, [2]], 3]), &json!([[1, [2]], 1, 2]));
    check("$..*", &json!([[1], 2]), &json!([[1], 2, 1]));
    check("$..[?@ > 1]", &json!({"a": [1, 2], "b": 3}), &json!([3, 2]));
    check(
        "$..['x', 'y']",
        &json!({"y": 1, "x": {"y": 2}}),
        &json!([{"y": 2}, 1, 2]),
    );
}

#[test]
fn filters_compare_with_types() {
    for (text, expect) in [
        ("$.spec.ports[?(@.name == 'https')].port", json!([443])),
        ("$.spec.ports[?(@.name=='dns')].port", json!([53])),
        ("$.spec.ports[?@.name==\"dns\"].port", json!([53])),
        ("$.spec.ports[?(@.port>100)].name", json!(["https"])),
        ("$.spec.ports[?100<@.port].name", json!(["https"])),
        ("$.spec.ports[?(@.port<=80)].name", json!(["http", "dns"])),
        ("$.spec.ports[?(@.port>=80)].name", json!(["http", "https"])),
        ("$.spec.ports[?(@.port>1000)].name", json!([])),
        ("$.spec.ports[?(@.protocol!='TCP')].name", json!(["dns"])),
        ("$.spec.ports[?(@.port=='80')].name", json!([])),
        ("$.spec.ports[?(@.port<'80')].name", json!([])),
        ("$.spec.ports[?(@.port==80.0)].name", json!(["http"])),
        ("$.spec.ports[?(@.port==8e1)].name", json!(["http"])),
        (
            "$.spec.ports[?(@.name<'http5')].name",
            json!(["http", "dns"]),
        ),
        ("$.spec.ports[?(@.name==@.alias)].port", json!([443])),
        (
            "$.spec.ports[?(@.port < $.spec.limit)].name",
            json!(["http", "dns"]),
        ),
        ("$.spec.ports[?@['port'] == 53]['name']", json!(["dns"])),
        ("$.spec.matrix[?@[0] == 3][1]", json!([4])),
        ("$.spec.matrix[*][?@ > 2]", json!([3, 4])),
        ("$.metadata[?@ == 'w-1']", json!(["w-1"])),
    ] {
        check(text, &object(), &expect);
    }
}

#[test]
fn missing_is_not_null_in_a_filter() {
    let list = json!([{"a": null}, {"b": 1}, {"a": false}]);
    check("$[?@.a == null]", &list, &json!([{"a": null}]));
    check("$[?@.a]", &list, &json!([{"a": null}, {"a": false}]));
    check("$[?!@.a]", &list, &json!([{"b": 1}]));
    check("$[?@.a != null]", &list, &json!([{"b": 1}, {"a": false}]));
    check("$[?@.a <= null]", &list, &json!([{"a": null}]));
    check("$[?@.x == $.y].b", &list, &json!([1]));
}

#[test]
fn conditions_combine() {
    let ports = "$.spec.ports";
    for (filter, expect) in [
        ("@.protocol=='TCP' && @.port>100", json!([443])),
        ("@.name=='dns' || @.name=='http'", json!([80, 53])),
        (
            "@.port==1||@.port==80&&@.name=='http'||@.port==53",
            json!([80, 53]),
        ),
        ("(@.port==1||@.port==80)&&@.name=='http'", json!([80])),
        ("!(@.name=='http')", json!([443, 53])),
        ("!@.alias && !(@.nothing)", json!([80])),
        ("! ( @.alias || @.nothing )", json!([80])),
        ("((@.alias))", json!([443])),
    ] {
        check(&format!("{ports}[?{filter}].port"), &object(), &expect);
        check(&format!("{ports}[?({filter})].port"), &object(), &expect);
    }
}

#[test]
fn in_looks_for_the_value_in_a_list() {
    let ports = "$.spec.ports";
    for (filter, expect) in [
        ("@.name in ['dns', 'http']", json!([80, 53])),
        ("@.name in['dns','http']", json!([80, 53])),
        ("@.port in [ 53, '80', true, null ]", json!([53])),
        ("@.port in []", json!([])),
        ("@.nope in [null]", json!([])),
        ("@.nothing in [null]", json!([53])),
        ("'dns' in [@.name]", json!([53])),
        ("!(@.name in ['dns'])", json!([80, 443])),
        ("@.name in ['dns'] || @.port == 80", json!([80, 53])),
    ] {
        check(&format!("{ports}[?({filter})].port"), &object(), &expect);
    }
}

#[test]
fn patterns_match_parts_of_strings() {
    let ports = "$.spec.ports";
    for (filter, expect) in [
        ("@.name =~ /^http/", json!([80, 443])),
        ("@.name=~/ttp$/", json!([80])),
        ("@.name =~ /^HTTP$/i", json!([80])),
        ("@.name =~ /^HTTP$/", json!([])),
        ("@.port =~ /80/", json!([])),
        ("@.nope =~ /.*/", json!([])),
        ("@.name =~ /s$/ && @.port == 53", json!([53])),
        ("match(@.name, 'http')", json!([80])),
        ("match(@.name, 'h|https')", json!([443])),
        ("search(@.name, 'http')", json!([80, 443])),
        ("!search(@.name, 'http')", json!([53])),
        ("match(@.name, @.alias)", json!([443])),
        ("search('https', @.name)", json!([80, 443])),
    ] {
        check(&format!("{ports}[?({filter})].port"), &object(), &expect);
    }
    check(
        r"$[?@ =~ /a\/b\.c\\/]",
        &json!(["a/b.c\\", "a/bxc\\"]),
        &json!(["a/b.c\\"]),
    );
    check(
        "$[?match(@, 'a.c')]",
        &json!(["abc", "a\nc", "a\rc", "a☃c"]),
        &json!(["abc", "a☃c"]),
    );
    check(
        "$[?search('x', @)]",
        &json!(["(", "x", "a)|(x", "a"]),
        &json!(["x"]),
    );
}

#[test]
fn functions_are_those_of_the_rfc() {
    let document = json!([[1, 2], {"a": 1}, "é☃", 5, null, []]);
    check("$[?length(@) == 2]", &document, &json!([[1, 2], "é☃"]));
    check("$[?length(@) < 1]", &document, &json!([[]]));
    check("$[?count(@.*) == 2]", &document, &json!([[1, 2]]));
    check(
        "$[?count(@..*) >= 1]",
        &document,
        &json!([[1, 2], {"a": 1}]),
    );
    check("$[?value(@.*) == 1]", &document, &json!([{"a": 1}]));
    check(
        "$[?length(value(@.*)) == 2]",
        &json!([["ab"]]),
        &json!([["ab"]]),
    );
    check("$[?count($[*]) == 6][0]", &document, &json!([1]));
}

#[test]
fn filters_stand_inside_filters() {
    let document = json!([
        {"pods": [{"ready": true, "n": 1}]},
        {"pods": [{"ready": false, "n": 2}]}
    ]);
    check(
        "$[?@.pods[?@.ready == true]].pods[0].n",
        &document,
        &json!([1]),
    );
    check(
        "$[?@.pods[?(@.n == $[1].pods[0].n)]].pods[0].n",
        &document,
        &json!([2]),
    );
}

#[test]
fn opaque_bytes_are_compared_but_never_read() {
    let secret = Value::list(vec![Value::bytes(b"\xff"), Value::bytes(b"\xfe")]);
    check(
        "$[?@ == $[0]]",
        &secret,
        &Value::list(vec![Value::bytes(b"\xff")]),
    );
    for text in [
        "$[?@ < $[0]]",
        "$[?@ =~ /./]",
        "$[?length(@) > 0]",
        "$[0][0]",
    ] {
        check(text, &secret, &json!([]));
    }
}

#[test]
fn a_bad_path_says_what_was_found_and_expected() {
    check_error("", 0, "found the end of the path, expected `$`");
    check_error("a.b", 0, "found `a`, expected `$`");
    check_error("$5", 1, "found `5`, expected `.`, `[` or the end");
    check_error("$$$", 2, "found `$`");
    check_error("$.a ", 3, "found ` `, expected");
    check_error(" $.a", 0, "found ` `, expected `$`");
    check_error("$.['a']", 2, "found `[`, expected a name or `*`");
    check_error("$.'a b'", 2, "found `'`");
    check_error("$. a", 2, "found ` `");
    check_error("$.a.", 4, "found the end of the path");
    check_error("$..", 3, "expected a name, `*` or `[`");
    check_error("$...a", 3, "found `.`");
    check_error("$.a(b)", 3, "found `(`");
    check_error("$.a]", 3, "found `]`");
    check_error(
        "$.a[",
        4,
        "found the end of the path, expected a quoted name",
    );
    check_error("$[]", 2, "found `]`");
    check_error("$[a]", 2, "found `a`");
    check_error("$['a'", 5, "expected `,` or `]`");
    check_error("$['a',]", 6, "found `]`");
    check_error("$['a", 2, "expected a closing quote");
    check_error("$['a\\", 4, "bad escape");
    check_error(r"$['\x']", 3, "bad escape");
    check_error(r#"$['\"']"#, 3, "bad escape");
    check_error(r"$['\ud83d']", 3, "bad `\\u` escape");
    check_error(r"$['\ude00']", 3, "bad `\\u` escape");
    check_error(r"$['\u00g0']", 3, "bad `\\u` escape");
    check_error("$['a\nb']", 4, r"found `\n`");
}

#[test]
fn bad_indexes_are_errors() {
    check_error("$[01]", 2, "leading zeros");
    check_error("$[-0]", 2, "leading zeros");
    check_error("$[-]", 3, "expected a digit");
    check_error("$[1.5]", 3, "found `.`");
    check_error(
        "$[9007199254740992]",
        2,
        "expected at most 9007199254740991",
    );
    check_error("$[99999999999999999999]", 2, "expected at most");
    check_error("$[1:2:3:4]", 7, "found `:`");
    check_error("$[:::]", 4, "found `:`");
}

#[test]
fn bad_filters_are_errors() {
    check_error("$[?]", 3, "found `]`");
    check_error("$[?@.a", 6, "found the end of the path");
    check_error("$[?(@.a]", 7, "found `]`, expected `)`");
    check_error("$[?@.a=1]", 6, "found `=`, expected `==` or `=~`");
    check_error("$[?@.a==]", 8, "found `]`");
    check_error("$[?@.a==1 &]", 10, "found `&`");
    check_error("$[?@.a==1 &&]", 12, "found `]`");
    check_error("$[?@.*==1]", 3, "may match several places");
    check_error("$[?1==@..a]", 6, "may match several places");
    check_error("$[?@.a in [@.*]]", 11, "may match several places");
    check_error("$[?@.a in 'x']", 10, "found `'`, expected `[`");
    check_error("$[?@.a in ['x']", 15, "expected `,` or `]`");
    check_error("$[?!@.a==1]", 7, "parentheses around the comparison");
    check_error("$[?!@.a in [1]]", 8, "parentheses around the comparison");
    check_error("$[?1]", 3, "compared with nothing");
    check_error("$[?true]", 3, "compared with nothing");
    check_error("$[?'a' && @.b]", 3, "compared with nothing");
    check_error("$[?yes==1]", 3, "found `yes`");
    check_error("$[?@.a==True]", 8, "found `True`");
    check_error("$[?@.a==01]", 8, "expected a JSON number");
    check_error("$[?@.a==1.]", 8, "expected a JSON number");
    check_error("$[?@.a==$$.b]", 8, "found `$$` in a filter");
    check_error("$[?$$.b]", 3, "found `$$` in a filter");
    check_error("$[?@.a==1==2]", 9, "found `=`");
    check_error("$[?length(@.a)]", 3, "compared with nothing");
    check_error("$[?length(@.*)==1]", 10, "may match several places");
    check_error("$[?length()==1]", 10, "found `)`");
    check_error("$[?length(@,@)==1]", 11, "found `,`");
    check_error("$[?count(1)==1]", 9, "found `1`");
    check_error("$[?match(@.a, 'b')==true]", 3, "found a condition");
    check_error("$[?match(@.a)]", 12, "found `)`, expected `,`");
    check_error("$[?match(@.a, 1)]", 14, "no string");
    check_error(
        "$[?size(@)==1]",
        3,
        "found the function `size`, expected length",
    );
    check_error("$[?length (@)==1]", 3, "found `length`");
}

#[test]
fn bad_patterns_are_errors() {
    check_error("$[?@.a=~'x']", 8, "a pattern between slashes");
    check_error("$[?@.a=~/x]", 8, "expected a closing `/`");
    check_error(
        "$[?@.a=~/(/]",
        8,
        "invalid regular expression (unclosed group)",
    );
    check_error("$[?@.a=~/x/g]", 11, "no flag but `i`");
    check_error("$[?@.a=~/x/ii]", 12, "no flag but `i`");
    check_error("$[?match(@.a, '(')]", 14, "unclosed group");
    check_error("$[?match(@.a, 'a)|(b')]", 14, "unopened group");
    check_error(r"$[?@.a=~/(\w{1000}){1000}/]", 8, "it takes more than");
}

#[test]
fn paths_are_bounded() {
    let fits = format!("${}", ".a".repeat(MAX_NESTING));
    assert!(path(&fits).is_singular());
    check_error(
        &format!("{fits}.a"),
        2 * MAX_NESTING + 1,
        "found more than 100",
    );

    let nest = |n: usize| format!("$[?{}@.a{}]", "(".repeat(n), ")".repeat(n));
    assert!(Path::parse(&nest(MAX_NESTING - 3)).is_ok());
    assert!(Path::parse(&nest(MAX_NESTING - 2)).is_err());
    assert!(Path::parse(&"$[?@".repeat(2000)).is_err());
    assert!(Path::parse(&format!("$[?{}", "!(".repeat(4000))).is_err());
    assert!(Path::parse(&format!("$[?{}", "length(".repeat(1000))).is_err());

    let name = "n".repeat(MAX_LENGTH - 2);
    assert!(Path::parse(&format!("$.{name}")).is_ok());
    check_error(&format!("$.{name}n"), MAX_LENGTH, "expected at most 8192");

    let patterns = |n: usize| format!("$[?{}]", vec!["@=~/a/"; n].join("||"));
    assert!(Path::parse(&patterns(MAX_PATTERNS)).is_ok());
    assert!(Path::parse(&patterns(MAX_PATTERNS + 1)).is_err());
}

#[test]
fn the_deepest_path_is_searched_without_harm() {
    let mut document = json!(1);
    for _ in 0..300 {
        document = Value::list(vec![document]);
    }
    let depth = MAX_NESTING / 2;
    let nested = format!("$[?{}@{}]", "@[?".repeat(depth - 2), "]".repeat(depth - 2));
    assert_eq!(path(&nested).all(&document, &Value::NULL).unwrap().len(), 1);
    let wild = format!("${}", "[*]".repeat(MAX_NESTING));
    assert_eq!(path(&wild).all(&document, &Value::NULL).unwrap().len(), 1);
}

#[test]
fn a_search_that_grows_out_of_bounds_is_given_up() {
    // Every level holds the one below twice: 2^40 places.
    let mut document = json!({"x": 1});
    for _ in 0..40 {
        document = Value::list(vec![document.clone(), document]);
    }
    let all = |text: &str| {
        path(text)
            .all(&document, &Value::NULL)
            .map(|found| found.len())
    };
    assert_eq!(all("$..x"), Err(TooManyMatches));
    assert_eq!(all("$[?@..nope]"), Err(TooManyMatches));
    assert_eq!(path("$..x").first(&document, &Value::NULL), Some(&json!(1)));
    assert_eq!(
        path("$..nope").try_first(&document, &Value::NULL),
        Err(TooManyMatches)
    );

    let long = Value::list(vec![Value::NULL; MAX_MATCHES]);
    let found = |document: &Value| path("$[*]").all(document, &Value::NULL).map(|f| f.len());
    assert_eq!(found(&long), Ok(MAX_MATCHES));
    let longer = Value::list(vec![Value::NULL; MAX_MATCHES + 1]);
    assert_eq!(found(&longer), Err(TooManyMatches));
}

/// The same document twice, with nothing in common in memory: 2^40 places to compare.
fn twins() -> Value {
    let doubled = || (0..40).fold(json!("x"), |value, _| json!([(value.clone()), (value)]));
    json!({"a": (doubled()), "b": (doubled()), "list": [1, 2]})
}

#[test]
fn what_a_filter_compares_counts_by_its_size() {
    for filter in ["$.a == $.b", "$.a != $.b", "$.a >= $.b", "$.a in [1, $.b]"] {
        let path = path(&format!("$.list[?{filter}]"));
        let twins = twins();
        let found = path.find_all(&twins, &Value::NULL);
        assert_eq!(found.result, Err(TooManyMatches), "{filter}");
        assert_eq!(found.steps, MAX_STEPS, "{filter}");
    }
    let text = Value::from("t".repeat(1 << 20));
    let document = json!({"text": text, "list": (Value::list(vec![json!("t"); 1000]))});
    for filter in ["length($.text) > 1", "$.text =~ /x/", "match($.text, @)"] {
        let path = path(&format!("$.list[?{filter}]"));
        let found = path.find_all(&document, &Value::NULL);
        assert_eq!(found.result, Err(TooManyMatches), "{filter}");
    }
}

#[test]
fn a_search_tells_what_it_took() {
    let document = json!({"list": [{"a": 1}, {"a": 2}, {"a": 3}]});
    let nothing = Value::NULL;
    assert_eq!(path("$.list").find_first(&document, &nothing).steps, 0);
    let second = path("$.list[?@.a == 2]");
    assert_eq!(second.find_first(&document, &nothing).steps, 2);
    assert_eq!(second.find_all(&document, &nothing).steps, 3);
    let set = second.find_and_set(&document, json!(0), &document);
    assert_eq!(set.steps, 3);
    assert_eq!(set.result.unwrap().get("list").at(1), &json!(0));
}

#[test]
fn patterns_that_are_computed_count() {
    let patterns: Value = (0..2_000).map(|i| Value::from(format!("x{i}"))).collect();
    let found = path("$[?match('x1', @)]").find_all(&patterns, &Value::NULL);
    assert_eq!(found.result, Err(TooManyMatches));
}

#[test]
fn a_deep_document_is_searched_without_the_stack() {
    let mut document = json!({"x": 1});
    for _ in 0..2_000 {
        document = Value::list(vec![document]);
    }
    check("$..x", &document, &json!([1]));
}

#[test]
fn singular_paths_match_at_most_one_place() {
    for text in ["$", "$.a", "$$['a'][0][-1]"] {
        assert!(path(text).is_singular(), "{text}");
    }
    for text in [
        "$.*",
        "$..a",
        "$['a','b']",
        "$[1:]",
        "$.a[?@.b].c",
        "$..[0]",
    ] {
        assert!(!path(text).is_singular(), "{text}");
    }
}

#[test]
fn equal_paths_are_the_same_steps() {
    assert_eq!(path("$.a['b'][0]"), path("$[\"a\"].b[ 0 ]"));
    assert_eq!(path("$[?(@.a=='x')]"), path("$[? @['a'] == \"x\" ]"));
    assert_ne!(path("$[?@.a=~/x/]"), path("$[?@.a=~/x/i]"));
    assert_ne!(path("$[?search(@,'x')]"), path("$[?match(@,'x')]"));
    assert_ne!(path("$.a"), path("$..a"));
    assert_eq!(format!("{:?}", path("$.a")), "Path($.a)");
}

#[test]
fn segments_tell_what_a_path_reads() {
    let path = path("$.a[0][*]..b[?@.c.d == value($.e[?@.f > $.g].h) || $.i in [@['j']]]");
    let [a, index, wildcard, descendants, filter] = path.segments() else {
        panic!("{path}")
    };
    assert!(matches!(a, Segment::Name(key) if key.as_str() == "a"));
    assert!(matches!(index, Segment::Index(0)));
    assert_eq!(wildcard.selectors(), [Selector::Wildcard]);
    assert!(matches!(descendants, Segment::Descendants(names) if names.len() == 1));
    assert_eq!(wildcard.filters().count(), 0);

    let filter = filter.filters().next().unwrap();
    let reads: Vec<String> = filter.element_reads().map(|s| format!("{s:?}")).collect();
    assert_eq!(reads, [r#"[Name("c"), Name("d")]"#, r#"[Name("j")]"#]);
    let reads: Vec<String> = filter.document_reads().map(Path::to_string).collect();
    assert_eq!(reads, ["$.e[?@.f > $.g].h", "$.i"]);
    let reads: Vec<String> = path.filter_reads().map(Path::to_string).collect();
    assert_eq!(reads, ["$.e[?@.f > $.g].h", "$.g", "$.i"]);
}

#[test]
fn reads_inside_all_kinds_of_conditions_are_listed() {
    let text = "$[?!(@.a && $.b) || length(@.c) > count($.d[*]) || value(@..e) == 1 \
                || @.f =~ /x/ || match(@.g, $.h) || search(@.i, 'x') || @ == 1]";
    let path = path(text);
    let filter = path.segments()[0].filters().next().unwrap();
    assert_eq!(filter.element_reads().count(), 7);
    assert!(filter.element_reads().any(<[Segment]>::is_empty));
    let reads: Vec<String> = path.filter_reads().map(Path::to_string).collect();
    assert_eq!(reads, ["$.b", "$.d[*]", "$.h"]);
}
