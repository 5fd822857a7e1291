//! The table of functions.

use super::{Form, Function, Run};
use super::{conversion, format, list, optional, pattern, quantity, text, time};

const ANY: usize = usize::MAX;

const fn function(name: &'static str, min: usize, max: usize, run: Run) -> Function {
    entry(name, Form::Function, min, max, run)
}

/// A method. The numbers of arguments do not include its target.
const fn method(name: &'static str, min: usize, max: usize, run: Run) -> Function {
    entry(name, Form::Method, min + 1, max + 1, run)
}

const fn both(name: &'static str, run: Run) -> Function {
    entry(name, Form::Both, 1, 1, run)
}

const fn entry(name: &'static str, form: Form, min: usize, max: usize, run: Run) -> Function {
    Function {
        name,
        form,
        arguments: (min, max),
        run,
    }
}

use Run::{Here, Library, LibraryOnDoubles};

pub(super) static FUNCTIONS: &[Function] = &[
    // Types
    both("size", Here(text::size)),
    function("dyn", 1, 1, Here(conversion::dynamic)),
    function("bool", 1, 1, Here(conversion::boolean)),
    function("bytes", 1, 1, Here(conversion::bytes)),
    function("double", 1, 1, Here(conversion::double)),
    function("int", 1, 1, Here(conversion::int)),
    both("string", Here(conversion::string)),
    function("uint", 1, 1, Here(conversion::uint)),
    // Strings
    method("charAt", 1, 1, Here(text::char_at)),
    method("contains", 1, 1, Here(text::contains)),
    method("endsWith", 1, 1, Here(text::ends_with)),
    method("format", 1, 1, Here(format::format)),
    method("indexOf", 1, 2, Here(text::index_of)),
    method("join", 0, 1, Here(text::join)),
    method("lastIndexOf", 1, 2, Here(text::last_index_of)),
    method("lowerAscii", 0, 0, Here(text::lower_ascii)),
    method("replace", 2, 3, Here(text::replace)),
    method("reverse", 0, 0, Here(text::reverse)),
    method("split", 1, 2, Here(text::split)),
    method("startsWith", 1, 1, Here(text::starts_with)),
    method("substring", 1, 2, Here(text::substring)),
    method("trim", 0, 0, Here(text::trim)),
    method("upperAscii", 0, 0, Here(text::upper_ascii)),
    function("strings.quote", 1, 1, Here(text::quote)),
    function("jsonpatch.escapeKey", 1, 1, Library),
    function("base64.decode", 1, 1, Library),
    function("base64.encode", 1, 1, Library),
    // Regular expressions
    method("find", 1, 1, Here(pattern::find)),
    method("findAll", 1, 2, Here(pattern::find_all)),
    entry("matches", Form::Both, 2, 2, Here(pattern::matches)),
    // Lists
    method("distinct", 0, 0, Here(list::distinct)),
    method("first", 0, 0, Here(list::first)),
    method("flatten", 0, 1, Here(list::flatten)),
    method("isSorted", 0, 0, Here(list::is_sorted)),
    method("last", 0, 0, Here(list::last)),
    method("max", 0, 0, Here(list::max)),
    method("min", 0, 0, Here(list::min)),
    method("slice", 2, 2, Here(list::slice)),
    method("sort", 0, 0, Here(list::sort)),
    method("sum", 0, 0, Here(list::sum)),
    function("lists.range", 1, 1, Here(list::range)),
    function("sets.contains", 2, 2, Here(list::set_contains)),
    function("sets.equivalent", 2, 2, Here(list::set_equivalent)),
    function("sets.intersects", 2, 2, Here(list::set_intersects)),
    // Optionals; `or`, `orValue`, `optMap` and `optFlatMap` are part of the language.
    function("optional.none", 0, 0, Here(optional::none)),
    function("optional.of", 1, 1, Here(optional::of)),
    function("optional.ofNonZeroValue", 1, 1, Here(optional::of_non_zero)),
    method("hasValue", 0, 0, Here(optional::has_value)),
    method("value", 0, 0, Here(optional::value)),
    // Times
    function("duration", 1, 1, Here(time::duration)),
    function("timestamp", 1, 1, Here(time::timestamp)),
    method("getDate", 0, 0, Here(time::get)),
    method("getDayOfMonth", 0, 0, Here(time::get)),
    method("getDayOfWeek", 0, 0, Here(time::get)),
    method("getDayOfYear", 0, 0, Here(time::get)),
    method("getFullYear", 0, 0, Here(time::get)),
    method("getHours", 0, 0, Here(time::get)),
    method("getMilliseconds", 0, 0, Here(time::get)),
    method("getMinutes", 0, 0, Here(time::get)),
    method("getMonth", 0, 0, Here(time::get)),
    method("getSeconds", 0, 0, Here(time::get)),
    // Quantities; versions are compared by functions of the same names.
    function("isQuantity", 1, 1, Here(quantity::is_quantity)),
    function("quantity", 1, 1, Here(quantity::quantity)),
    method("add", 1, 1, Here(quantity::add)),
    method("asApproximateFloat", 0, 0, Here(quantity::as_float)),
    method("asInteger", 0, 0, Here(quantity::as_integer)),
    method("compareTo", 1, 1, Here(quantity::compare_to)),
    method("isGreaterThan", 1, 1, Here(quantity::compare_to)),
    method("isInteger", 0, 0, Here(quantity::is_integer)),
    method("isLessThan", 1, 1, Here(quantity::compare_to)),
    method("sign", 0, 0, Here(quantity::sign)),
    method("sub", 1, 1, Here(quantity::sub)),
    // Versions
    function("isSemver", 1, 2, Library),
    function("semver", 1, 2, Library),
    method("major", 0, 0, Library),
    method("minor", 0, 0, Library),
    method("patch", 0, 0, Library),
    // Addresses
    both("ip", Library),
    function("cidr", 1, 1, Library),
    function("ip.isCanonical", 1, 1, Library),
    function("isCIDR", 1, 1, Library),
    function("isCIDRv4", 1, 1, Library),
    function("isCIDRv6", 1, 1, Library),
    function("isIP", 1, 1, Library),
    function("isIPv4", 1, 1, Library),
    function("isIPv6", 1, 1, Library),
    method("containsCIDR", 1, 1, Library),
    method("containsIP", 1, 1, Library),
    method("family", 0, 0, Library),
    method("isGlobalUnicast", 0, 0, Library),
    method("isLinkLocalMulticast", 0, 0, Library),
    method("isLinkLocalUnicast", 0, 0, Library),
    method("isLoopback", 0, 0, Library),
    method("isUnspecified", 0, 0, Library),
    method("masked", 0, 0, Library),
    method("prefixLength", 0, 0, Library),
    // URLs
    function("isURL", 1, 1, Library),
    function("url", 1, 1, Library),
    method("getEscapedPath", 0, 0, Library),
    method("getHost", 0, 0, Library),
    method("getHostname", 0, 0, Library),
    method("getPort", 0, 0, Library),
    method("getQuery", 0, 0, Library),
    method("getScheme", 0, 0, Library),
    // Named formats
    function("format.byte", 0, 0, Library),
    function("format.date", 0, 0, Library),
    function("format.datetime", 0, 0, Library),
    function("format.dns1035Label", 0, 0, Library),
    function("format.dns1035LabelPrefix", 0, 0, Library),
    function("format.dns1123Label", 0, 0, Library),
    function("format.dns1123LabelPrefix", 0, 0, Library),
    function("format.dns1123Subdomain", 0, 0, Library),
    function("format.dns1123SubdomainPrefix", 0, 0, Library),
    function("format.labelValue", 0, 0, Library),
    function("format.named", 1, 1, Library),
    function("format.qualifiedName", 0, 0, Library),
    function("format.uri", 0, 0, Library),
    function("format.uuid", 0, 0, Library),
    method("validate", 1, 1, Library),
    // Mathematics
    function("math.abs", 1, 1, Library),
    function("math.bitAnd", 2, 2, Library),
    function("math.bitNot", 1, 1, Library),
    function("math.bitOr", 2, 2, Library),
    function("math.bitShiftLeft", 2, 2, Library),
    function("math.bitShiftRight", 2, 2, Library),
    function("math.bitXor", 2, 2, Library),
    function("math.ceil", 1, 1, LibraryOnDoubles),
    function("math.floor", 1, 1, LibraryOnDoubles),
    function("math.greatest", 1, ANY, Library),
    function("math.isFinite", 1, 1, LibraryOnDoubles),
    function("math.isInf", 1, 1, LibraryOnDoubles),
    function("math.isNaN", 1, 1, LibraryOnDoubles),
    function("math.least", 1, ANY, Library),
    function("math.round", 1, 1, LibraryOnDoubles),
    function("math.sign", 1, 1, Library),
    function("math.sqrt", 1, 1, LibraryOnDoubles),
    function("math.trunc", 1, 1, LibraryOnDoubles),
];
