//! Pages: the objects of a collection at one version, in the order of their keys.
//!
//! A page of an older version is read from the objects of now and the history: an object
//! that has changed since is as its first change after that version found it.
//!
//! ```text
//! version      7         8          9               a list of version 7
//! objects      a1 b1     a2 b1      b1 c1     ──▶   a1 (before 8), b1 (now), no c (before 9)
//! ```
//!
//! So an open list costs writers nothing and keeps nothing in memory. It can be continued
//! as long as the history reaches back to its version.

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

/// How many objects are looked at under one lock.
pub(crate) const CHUNK: usize = 512;

/// How far a list has come.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// The version that is listed.
    pub(crate) version: Version,
    /// The last key that was looked at; `None` at the start.
    after: Option<ObjectName>,
    /// Whether there is no more.
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

    /// The first key to look at.
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
    /// The next objects that a selector admits, at most `most`, after looking at no more
    /// than `look` of them.
    pub(crate) fn chunk(
        &self,
        cursor: &mut Cursor,
        selector: &Selector,
        most: usize,
        look: usize,
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
        let (mut items, mut last) = (Vec::new(), None);
        for _ in 0..look {
            if items.len() >= most {
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
            items.extend(object.filter(|object| selector.admits(object)).cloned());
        }
        if let Some(last) = last {
            cursor.after = Some(last.clone());
        }
        Ok(items)
    }
}

/// Where a list goes on: what a `continue` token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The version of the list; `None` for whichever is the newest.
    pub(crate) version: Option<Version>,
    /// The last key of the page before.
    pub(crate) after: ObjectName,
}

impl Token {
    /// The token after this object of a list.
    pub(crate) fn after(version: Version, object: &Value) -> Option<Self> {
        let after = ObjectName::of(object)?;
        Some(Self {
            version: Some(version),
            after,
        })
    }

    pub(crate) fn print(&self) -> String {
        let version = self.version.map(|version| Value::from(version.to_string()));
        let version = version.unwrap_or(Value::NULL);
        let (namespace, name) = (self.after.namespace(), self.after.name());
        let text = json!([version, namespace, name]).to_string();
        URL_SAFE_NO_PAD.encode(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or(Error::Token)
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let value: Value = std::str::from_utf8(&bytes).ok()?.parse().ok()?;
        let [version, namespace, name] = value.as_list()?.to_vec().try_into().ok()?;
        let version = if version.is_null() {
            None
        } else {
            Some(version.as_str()?.parse().ok()?)
        };
        let after = ObjectName::new(namespace.as_str()?, name.as_str()?);
        Some(Self { version, after })
    }

    /// The list that goes on. `now` is the newest version.
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

    /// This token, given up on its version.
    pub(crate) fn fresh(self) -> Self {
        Self {
            version: None,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_were_printed() {
        for version in [None, Some(Version(u64::MAX))] {
            let after = ObjectName::new("shop", "a \"name\"/é");
            let token = Token { version, after };
            assert_eq!(Token::parse(&token.print()), Ok(token));
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for text in [
            String::new(),
            "?".to_owned(),
            encoded(""),
            encoded("[]"),
            encoded(r#"{"a":1}"#),
            encoded(r#"["1","a"]"#),
            encoded(r#"["x","a","b"]"#),
            encoded(r#"[1,"a","b"]"#),
            encoded(r#"["1","a",null]"#),
            URL_SAFE_NO_PAD.encode([0xff]),
        ] {
            assert_eq!(Token::parse(&text), Err(Error::Token), "{text}");
        }
    }
}
