//! The types of values, and the types that Kubernetes adds.

use std::net::IpAddr;

use crate::function::cidr::Cidr;
use crate::function::named_format::NamedFormat;
use crate::function::quantity::Quantity;
use crate::function::url::Url;
use crate::function::version::Version;
use crate::value::Val;

/// A value of a Kubernetes type. No document can contain one.
pub(crate) enum Extension {
    Quantity(Quantity),
    Ip(IpAddr),
    Cidr(Cidr),
    Url(Url),
    Version(Version),
    Format(&'static NamedFormat),
}

impl Extension {
    /// Whether two values are equal. Values of different types are not.
    pub(crate) fn equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(a), Self::Quantity(b)) => a.compare(b).is_eq(),
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a), Self::Cidr(b)) => a == b,
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Version(a), Self::Version(b)) => a.compare(b).is_eq(),
            (Self::Format(a), Self::Format(b)) => a.name == b.name,
            _ => false,
        }
    }
}

/// The type of a value. Its name is an expression, as in `type(x) == int`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Str,
    Bytes,
    List,
    Map,
    Timestamp,
    Duration,
    Optional,
    /// The type of types.
    Meta,
    Quantity,
    Ip,
    Cidr,
    Url,
    Version,
    Format,
}

/// The types whose names are expressions. Those of the other types are not declared in Kubernetes.
const NAMED: [Type; 15] = [
    Type::Null,
    Type::Bool,
    Type::Int,
    Type::UInt,
    Type::Double,
    Type::Str,
    Type::Bytes,
    Type::List,
    Type::Map,
    Type::Timestamp,
    Type::Duration,
    Type::Optional,
    Type::Meta,
    Type::Ip,
    Type::Cidr,
];

/// Whether a chain of names, as [`Program::reads`](crate::Program::reads) returns them, is the name of
/// a type: `int`, or `google.protobuf.Duration`. A variable of that name wins where there is one.
///
/// ```
/// assert!(cel_interpreter::is_type_name(["google", "protobuf", "Duration"]));
/// assert!(!cel_interpreter::is_type_name(["object"]));
/// ```
pub fn is_type_name<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let names: Vec<&str> = names.into_iter().collect();
    Type::named(&names.into_iter()).is_some()
}

impl Type {
    pub(crate) fn of(value: &Val) -> Self {
        match value {
            Val::Null => Self::Null,
            Val::Bool(_) => Self::Bool,
            Val::Int(_) => Self::Int,
            Val::UInt(_) => Self::UInt,
            Val::Double(_) => Self::Double,
            Val::Str(_) => Self::Str,
            Val::Bytes(_) => Self::Bytes,
            Val::List(_) => Self::List,
            Val::Map(_) => Self::Map,
            Val::Timestamp(_) => Self::Timestamp,
            Val::Duration(_) => Self::Duration,
            Val::Optional(_) => Self::Optional,
            Val::Type(_) => Self::Meta,
            Val::Extension(value) => match &**value {
                Extension::Quantity(_) => Self::Quantity,
                Extension::Ip(_) => Self::Ip,
                Extension::Cidr(_) => Self::Cidr,
                Extension::Url(_) => Self::Url,
                Extension::Version(_) => Self::Version,
                Extension::Format(_) => Self::Format,
            },
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::UInt => "uint",
            Self::Double => "double",
            Self::Str => "string",
            Self::Bytes => "bytes",
            Self::List => "list",
            Self::Map => "map",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Optional => "optional_type",
            Self::Meta => "type",
            Self::Quantity => "kubernetes.Quantity",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Url => "kubernetes.URL",
            Self::Version => "kubernetes.Semver",
            Self::Format => "kubernetes.NamedFormat",
        }
    }

    /// The type of this name, in parts: `["google", "protobuf", "Duration"]`.
    pub(crate) fn named<'a>(parts: &(impl Iterator<Item = &'a str> + Clone)) -> Option<Self> {
        let same = |known: &&Self| known.name().split('.').eq(parts.clone());
        NAMED.iter().find(same).copied()
    }
}
