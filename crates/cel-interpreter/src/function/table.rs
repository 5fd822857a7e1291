//! The table of functions.

use super::{Arguments, Form, Function, Result};
use super::{
    address, cidr, conversion, encoding, format, list, math, named_format, optional, pattern,
};
use super::{quantity, text, time, url, version};
use crate::value::Val;

type Run = fn(&mut Arguments<'_>) -> Result<Val>;

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

pub(super) static FUNCTIONS: &[Function] = &[
    // Types
    both("size", text::size),
    function("dyn", 1, 1, conversion::dynamic),
    function("bool", 1, 1, conversion::boolean),
    function("bytes", 1, 1, conversion::bytes),
    function("double", 1, 1, conversion::double),
    function("int", 1, 1, conversion::int),
    both("string", conversion::string),
    function("type", 1, 1, conversion::type_of),
    function("uint", 1, 1, conversion::uint),
    // Strings
    method("charAt", 1, 1, text::char_at),
    method("contains", 1, 1, text::contains),
    method("endsWith", 1, 1, text::ends_with),
    method("format", 1, 1, format::format),
    method("indexOf", 1, 2, text::index_of),
    method("join", 0, 1, text::join),
    method("lastIndexOf", 1, 2, text::last_index_of),
    method("lowerAscii", 0, 0, text::lower_ascii),
    method("replace", 2, 3, text::replace),
    method("reverse", 0, 0, text::reverse),
    method("split", 1, 2, text::split),
    method("startsWith", 1, 1, text::starts_with),
    method("substring", 1, 2, text::substring),
    method("trim", 0, 0, text::trim),
    method("upperAscii", 0, 0, text::upper_ascii),
    function("strings.quote", 1, 1, text::quote),
    function("jsonpatch.escapeKey", 1, 1, encoding::escape_key),
    function("base64.decode", 1, 1, encoding::base64_decode),
    function("base64.encode", 1, 1, encoding::base64_encode),
    // Regular expressions
    method("find", 1, 1, pattern::find),
    method("findAll", 1, 2, pattern::find_all),
    entry("matches", Form::Both, 2, 2, pattern::matches),
    // Lists
    method("distinct", 0, 0, list::distinct),
    method("first", 0, 0, list::first),
    method("flatten", 0, 1, list::flatten),
    method("isSorted", 0, 0, list::is_sorted),
    method("last", 0, 0, list::last),
    method("max", 0, 0, list::max),
    method("min", 0, 0, list::min),
    method("slice", 2, 2, list::slice),
    method("sort", 0, 0, list::sort),
    method("sum", 0, 0, list::sum),
    function("lists.range", 1, 1, list::range),
    function("sets.contains", 2, 2, list::set_contains),
    function("sets.equivalent", 2, 2, list::set_equivalent),
    function("sets.intersects", 2, 2, list::set_intersects),
    // Optionals; `or`, `orValue`, `optMap` and `optFlatMap` are part of the language.
    function("optional.none", 0, 0, optional::none),
    function("optional.of", 1, 1, optional::of),
    function("optional.ofNonZeroValue", 1, 1, optional::of_non_zero),
    function("optional.unwrap", 1, 1, optional::unwrap),
    method("unwrapOpt", 0, 0, optional::unwrap),
    method("hasValue", 0, 0, optional::has_value),
    method("value", 0, 0, optional::value),
    // Times
    function("duration", 1, 1, time::duration),
    function("timestamp", 1, 1, time::timestamp),
    method("getDate", 0, 1, time::get),
    method("getDayOfMonth", 0, 1, time::get),
    method("getDayOfWeek", 0, 1, time::get),
    method("getDayOfYear", 0, 1, time::get),
    method("getFullYear", 0, 1, time::get),
    method("getHours", 0, 1, time::get),
    method("getMilliseconds", 0, 1, time::get),
    method("getMinutes", 0, 1, time::get),
    method("getMonth", 0, 1, time::get),
    method("getSeconds", 0, 1, time::get),
    // Quantities; versions are compared by functions of the same names.
    function("isQuantity", 1, 1, quantity::is_quantity),
    function("quantity", 1, 1, quantity::quantity),
    method("add", 1, 1, quantity::add),
    method("asApproximateFloat", 0, 0, quantity::as_float),
    method("asInteger", 0, 0, quantity::as_integer),
    method("compareTo", 1, 1, quantity::compare_to),
    method("isGreaterThan", 1, 1, quantity::compare_to),
    method("isInteger", 0, 0, quantity::is_integer),
    method("isLessThan", 1, 1, quantity::compare_to),
    both("sign", quantity::sign),
    method("sub", 1, 1, quantity::sub),
    // Versions
    function("isSemver", 1, 2, version::is_semver),
    function("semver", 1, 2, version::semver),
    method("major", 0, 0, version::major),
    method("minor", 0, 0, version::minor),
    method("patch", 0, 0, version::patch),
    // Addresses
    both("ip", address::ip),
    function("cidr", 1, 1, cidr::cidr),
    function("ip.isCanonical", 1, 1, address::is_canonical),
    function("isCIDR", 1, 1, cidr::is_cidr),
    function("isCIDRv4", 1, 1, cidr::is_v4),
    function("isCIDRv6", 1, 1, cidr::is_v6),
    function("isIP", 1, 1, address::is_ip),
    function("isIPv4", 1, 1, address::is_v4),
    function("isIPv6", 1, 1, address::is_v6),
    method("containsCIDR", 1, 1, cidr::contains_cidr),
    method("containsIP", 1, 1, cidr::contains_ip),
    method("family", 0, 0, address::family),
    method("isGlobalUnicast", 0, 0, address::is_global_unicast),
    method(
        "isLinkLocalMulticast",
        0,
        0,
        address::is_link_local_multicast,
    ),
    method("isLinkLocalUnicast", 0, 0, address::is_link_local_unicast),
    method("isLoopback", 0, 0, address::is_loopback),
    method("isUnspecified", 0, 0, address::is_unspecified),
    method("masked", 0, 0, cidr::masked),
    method("prefixLength", 0, 0, cidr::prefix_length),
    // URLs
    function("isURL", 1, 1, url::is_url),
    function("url", 1, 1, url::url),
    method("getEscapedPath", 0, 0, url::get_escaped_path),
    method("getHost", 0, 0, url::get_host),
    method("getHostname", 0, 0, url::get_hostname),
    method("getPort", 0, 0, url::get_port),
    method("getQuery", 0, 0, url::get_query),
    method("getScheme", 0, 0, url::get_scheme),
    // Named formats
    function("format.byte", 0, 0, named_format::constant),
    function("format.date", 0, 0, named_format::constant),
    function("format.datetime", 0, 0, named_format::constant),
    function("format.dns1035Label", 0, 0, named_format::constant),
    function("format.dns1035LabelPrefix", 0, 0, named_format::constant),
    function("format.dns1123Label", 0, 0, named_format::constant),
    function("format.dns1123LabelPrefix", 0, 0, named_format::constant),
    function("format.dns1123Subdomain", 0, 0, named_format::constant),
    function(
        "format.dns1123SubdomainPrefix",
        0,
        0,
        named_format::constant,
    ),
    function("format.labelValue", 0, 0, named_format::constant),
    function("format.named", 1, 1, named_format::named),
    function("format.qualifiedName", 0, 0, named_format::constant),
    function("format.uri", 0, 0, named_format::constant),
    function("format.uuid", 0, 0, named_format::constant),
    method("validate", 1, 1, named_format::validate),
    // Mathematics
    function("math.abs", 1, 1, math::abs),
    function("math.bitAnd", 2, 2, math::bit_and),
    function("math.bitNot", 1, 1, math::bit_not),
    function("math.bitOr", 2, 2, math::bit_or),
    function("math.bitShiftLeft", 2, 2, math::shift_left),
    function("math.bitShiftRight", 2, 2, math::shift_right),
    function("math.bitXor", 2, 2, math::bit_xor),
    function("math.ceil", 1, 1, math::ceil),
    function("math.floor", 1, 1, math::floor),
    function("math.greatest", 1, ANY, math::greatest),
    function("math.isFinite", 1, 1, math::is_finite),
    function("math.isInf", 1, 1, math::is_infinite),
    function("math.isNaN", 1, 1, math::is_nan),
    function("math.least", 1, ANY, math::least),
    function("math.round", 1, 1, math::round),
    function("math.sign", 1, 1, math::sign),
    function("math.sqrt", 1, 1, math::sqrt),
    function("math.trunc", 1, 1, math::trunc),
];
