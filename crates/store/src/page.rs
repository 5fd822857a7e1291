//! Lists in pages: the objects of a collection at one version, in the order of their keys.
//!
//! A page of an older version is computed from the current objects and the history. If an
//! object has changed since that version, the history has its state before the first such
//! change:
//!
//! ```text
//! version      7         8          9               a list at version 7
//! objects      a1 b1     a2 b1      b1 c1     ──▶   a1 (before 8), b1 (now), no c (before 9)
//! ```
//!
//! So an open list costs writers nothing and needs no memory. It can be continued as long as
//! its version is in the history.

use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use document::{Value, json};
use object::ObjectName;

use crate::error::Error;
use crate::selector::Selector;
use crate::state::Objects;
use crate::version::Version;
use crate::watch::Expired;

/// How many objects are visited under one lock.
pub(crate) const CHUNK: usize = 512;
/// After how many bytes of objects a chunk of a watch ends: one that is not read keeps them.
pub(crate) const CHUNK_BYTES: usize = 1024 * 1024;

/// How much of a list is read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    /// How many objects it has at most.
    pub(crate) most: usize,
    /// How many objects are visited.
    pub(crate) look: usize,
    /// After how many bytes of objects it ends.
    pub(crate) bytes: usize,
}

/// The progress of a list.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// The version of the list.
    pub(crate) version: Version,
    /// The last key that was visited; `None` at the start.
    after: Option<ObjectName>,
    /// Whether the list is complete.
    pub(crate) done: bool,
}

impl Cursor {
    pub(crate) fn start(version: Version) -> Self {
        Self {
            version,
            after: None,
            done: false,
        }
    }

    /// The first key to visit.
    fn from(&self, selector: &Selector) -> Bound<ObjectName> {
        match (&self.after, &selector.namespace) {
            (Some(after), _) => Bound::Excluded(after.clone()),
            (None, None) => Bound::Unbounded,
            (None, Some(namespace)) => {
                let name = selector.name.as_deref().unwrap_or_default();
                Bound::Included(ObjectName::new(namespace, name))
            }
        }
    }
}

impl Objects {
    /// The next objects that a selector admits.
    pub(crate) fn chunk(
        &self,
        cursor: &mut Cursor,
        selector: &Selector,
        portion: Portion,
    ) -> Result<Vec<Value>, Expired> {
        let version = cursor.version;
        let changes = self.history.after(version);
        let unchanged = match changes {
            Some(mut changes) => changes.next().is_none(),
            None => return Err(Expired { from: version }),
        };
        let from = cursor.from(selector);
        let changed = |from: Bound<&ObjectName>| self.history.next_key(from);
        let mut past = (!unchanged).then(|| changed(from.as_ref())).flatten();
        let mut live = self.entries.range((from, Bound::Unbounded)).peekable();
        let (mut items, mut last, mut bytes) = (Vec::new(), None, 0);
        for _ in 0..portion.look {
            if items.len() >= portion.most || bytes >= portion.bytes {
                break;
            }
            let now = live.peek().map(|(key, _)| *key);
            let next = now.into_iter().chain(past).min();
            let Some(key) = next.filter(|key| !selector.ends_before(key)) else {
                cursor.done = true;
                break;
            };
            last = Some(key);
            let entry = live.next_if(|(live, _)| *live == key);
            let mut object = entry.map(|(_, entry)| &entry.object);
            if past == Some(key) {
                past = changed(Bound::Excluded(key));
                if let Some(change) = self.history.first_after(key, version) {
                    object = change.old.as_ref();
                }
            }
            if let Some(object) = object.filter(|object| selector.admits(object)) {
                bytes += object.measure().bytes as usize;
                items.push(object.clone());
            }
        }
        if let Some(last) = last {
            cursor.after = Some(last.clone());
        }
        Ok(items)
    }
}

/// The content of a `continue` token: where a list continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The version of the list; `None` for the newest.
    pub(crate) version: Option<Version>,
    /// The last key of the previous page.
    pub(crate) after: ObjectName,
    /// How many objects follow, if that is known.
    pub(crate) remaining: Option<usize>,
}

impl Token {
    /// The token for the objects after this one.
    pub(crate) fn after(version: Version, object: &Value) -> Option<Self> {
        let after = ObjectName::of(object)?;
        Some(Self {
            version: Some(version),
            after,
            remaining: None,
        })
    }

    pub(crate) fn print(&self) -> String {
        let version = self.version.map(|version| Value::from(version.to_string()));
        let version = version.unwrap_or(Value::NULL);
        let (namespace, name) = (self.after.namespace(), self.after.name());
        let remaining = self.remaining.and_then(|number| i64::try_from(number).ok());
        let remaining = remaining.map_or(Value::NULL, Value::from);
        let text = json!([version, namespace, name, remaining]).to_string();
        URL_SAFE_NO_PAD.encode(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or(Error::Token)
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let value: Value = std::str::from_utf8(&bytes).ok()?.parse().ok()?;
        let [version, namespace, name, remaining] = value.as_list()?.to_vec().try_into().ok()?;
        let version = if version.is_null() {
            None
        } else {
            Some(version.as_str()?.parse().ok()?)
        };
        let after = ObjectName::new(namespace.as_str()?, name.as_str()?);
        let remaining = remaining.as_int();
        let remaining = remaining.and_then(|number| usize::try_from(number).ok());
        Some(Self {
            version,
            after,
            remaining,
        })
    }

    /// The list to continue. `now` is the newest version.
    pub(crate) fn cursor(&self, now: Version) -> Result<Cursor, Expired> {
        let version = self.version.unwrap_or(now);
        if version > now {
            return Err(Expired { from: version });
        }
        Ok(Cursor {
            version,
            after: Some(self.after.clone()),
            done: false,
        })
    }

    /// The same token, but for the newest version.
    pub(crate) fn fresh(self) -> Self {
        Self {
            version: None,
            remaining: None,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_token_is_parsed_to_the_same() {
        for version in [None, Some(Version(u64::MAX))] {
            let after = ObjectName::new("shop", "a \"name\"/é");
            let token = Token {
                version,
                after,
                remaining: version.map(|_| 7),
            };
            assert_eq!(Token::parse(&token.print()), Ok(token));
        }
    }

    #[test]
    fn an_invalid_token_is_refused() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for text in [
            String::new(),
            "?".to_owned(),
            encoded(""),
            encoded("[]"),
            encoded(r#"{"a":1}"#),
            encoded(r#"["1","a"]"#),
            encoded(r#"["x","a","b",1]"#),
            encoded(r#"[1,"a","b",1]"#),
            encoded(r#"["1","a",null,1]"#),
            URL_SAFE_NO_PAD.encode([0xff]),
        ] {
            assert_eq!(Token::parse(&text), Err(Error::Token), "{text}");
        }
    }
}
