//! The segments of a path, and what a path reads.

use document::Path;
use document::path::{Segment, Selector};

use super::path;

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
fn segments_show_what_a_path_reads() {
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
