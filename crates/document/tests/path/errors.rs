//! Texts that are not paths.

use super::check_error;

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
    check_error("$[?match(@.a, 1)]", 14, "not a string");
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
