//! The built-in kinds of Kubernetes 1.36, as a table that is part of the program.
//!
//! `hack/schema-table` writes it from the `OpenAPI` documents of Kubernetes. A line is a kind or a
//! definition. Lines are sorted, so that one is found without reading the others:
//!
//! ```text
//! kind apps v1 Deployment N Deployment
//! Container args:[s image:s name!:s ports:[@ContainerPort …
//! Quantity =q
//! ```
//!
//! | type | meaning |
//! |---|---|
//! | `s` `i` `n` `b` | string, integer, number, boolean |
//! | `x` `q` | integer or string; string or number |
//! | `a` `o` | anything; a map with any content |
//! | `[T` `{T` | a list of T; a map from any keys to T |
//! | `@Name` | a definition |
//! | `e(A\|B)` | one of these strings |
//!
//! `!` marks a required field; `=` a definition that is not a map with fields.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use document::Key;

use crate::shape::{Fields, Shape};
use crate::types::{Strings, Type};

/// The version of Kubernetes that the table describes.
pub const VERSION: &str = "1.36";

const TABLE: &str = include_str!("kubernetes-1.36.txt");

/// A kind of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableKind {
    /// The API group; `""` for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The Kind.
    pub kind: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    definition: &'static str,
}

/// A definition: a map with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name, such as `PodSpec`.
    pub name: &'static str,
    fields: &'static str,
}

struct Lines {
    kinds: Vec<TableKind>,
    /// The definitions: name and content, sorted by name.
    definitions: Vec<(&'static str, &'static str)>,
}

static LINES: LazyLock<Lines> = LazyLock::new(|| {
    let mut lines = Lines {
        kinds: Vec::new(),
        definitions: Vec::new(),
    };
    for line in TABLE.lines() {
        match line.strip_prefix("kind ") {
            Some(kind) => lines.kinds.extend(read_kind(kind)),
            None => lines.definitions.extend(line.split_once(' ')),
        }
    }
    lines
});

fn read_kind(line: &'static str) -> Option<TableKind> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    Some(TableKind {
        group: next()?.trim_start_matches('-'),
        version: next()?,
        kind: next()?,
        namespaced: next()? == "N",
        definition: next()?,
    })
}

/// All kinds.
pub fn kinds() -> &'static [TableKind] {
    &LINES.kinds
}

impl TableKind {
    /// The type of its objects.
    pub fn object(&self) -> Type {
        definition(self.definition)
    }
}

/// The type of a definition; anything if there is none.
pub(crate) fn definition(name: &str) -> Type {
    let definitions = &LINES.definitions;
    let found = definitions.binary_search_by(|(other, _)| other.cmp(&name));
    let Ok(found) = found else {
        return Type::any();
    };
    let (name, content) = definitions[found];
    match content.strip_prefix('=') {
        Some(text) => parse(text),
        None => Type::map(Shape::Defined(Definition {
            name,
            fields: content,
        })),
    }
}

impl Definition {
    /// The type of a field.
    pub fn field(&self, name: &str) -> Option<Type> {
        let mut entries = self.entries();
        let (_, _, text) = entries.find(|(other, _, _)| *other == name)?;
        Some(parse(text).or_null())
    }

    /// All fields.
    pub fn fields(&self) -> Fields {
        let named: BTreeMap<Key, Type> = self
            .entries()
            .map(|(name, _, text)| (Key::new(name), parse(text).or_null()))
            .collect();
        Fields::new(named, None)
    }

    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries().map(|(name, _, _)| name)
    }

    /// The names of the required fields.
    pub fn required(&self) -> impl Iterator<Item = &'static str> {
        let required = self.entries().filter(|(_, required, _)| *required);
        required.map(|(name, _, _)| name)
    }

    /// Name, whether it is required, and type of the fields.
    fn entries(&self) -> impl Iterator<Item = (&'static str, bool, &'static str)> + use<> {
        self.fields.split(' ').filter_map(|entry| {
            let (name, text) = entry.split_once(':')?;
            let required = name.ends_with('!');
            Some((name.trim_end_matches('!'), required, text))
        })
    }
}

fn parse(text: &str) -> Type {
    let (first, rest) = text.split_at(text.len().min(1));
    match first {
        "s" => Type::string(),
        "i" => Type::integer(),
        "n" => Type::number(),
        "b" => Type::boolean(),
        "x" => Type {
            string: Strings::All,
            ..Type::integer()
        },
        "q" => Type {
            string: Strings::All,
            ..Type::number()
        },
        "o" => Type::map_of(Type::any()),
        "[" => Type::list(parse(rest)),
        "{" => Type::map_of(parse(rest)),
        "@" => definition(rest),
        "e" => {
            let words = rest.trim_start_matches('(').trim_end_matches(')');
            Type {
                string: Strings::known(words.split('|')),
                ..Type::default()
            }
        }
        _ => Type::any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_types_of_the_table_can_be_read() {
        assert!(kinds().len() > 70, "{}", kinds().len());
        assert!(LINES.definitions.is_sorted());
        for kind in kinds() {
            assert!(kind.object().map.is_some(), "{kind:?}");
        }
        for (name, content) in &LINES.definitions {
            let mut rest = *content;
            while let Some((_, after)) = rest.split_once('@') {
                let end = after.find(' ').unwrap_or(after.len());
                let named = &after[..end];
                let found = LINES.definitions.binary_search_by(|(n, _)| n.cmp(&named));
                assert!(found.is_ok(), "{name} names {named}, which is missing");
                rest = &after[end..];
            }
        }
    }

    #[test]
    fn the_name_of_a_container_is_a_string() {
        let pods = kinds().iter().find(|kind| kind.kind == "Pod").unwrap();
        assert_eq!(
            (pods.group, pods.version, pods.namespaced),
            ("", "v1", true)
        );
        let spec = pods.object().field(&Key::new("spec")).unwrap();
        let containers = spec.field(&Key::new("containers")).unwrap();
        let container = containers.list.unwrap();
        let name = container.field(&Key::new("name")).unwrap();
        assert_eq!(name.to_string(), "a string or null");
    }
}
