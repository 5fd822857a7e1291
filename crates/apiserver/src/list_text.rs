//! The text of a large list in pieces, which are written while the client reads them. So the text of
//! 100,000 objects is never in memory as a whole, writing it does not hold up others, and a client
//! that stops reading costs no more than the objects themselves.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::Bytes;
use document::{ListRef, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use crate::answer::Body;
use crate::sending::PIECE;

/// The lists that may be large, in lists of objects and in tables.
const LISTS: [&str; 2] = ["items", "rows"];

/// The text of a document whose list is written item by item.
pub(crate) struct ListText {
    items: Vec<Value>,
    next: usize,
    /// What comes before the next item.
    before: String,
    /// What comes after the last item.
    after: String,
    done: bool,
}

impl ListText {
    /// One piece.
    pub(crate) fn whole(text: String) -> Self {
        Self {
            items: Vec::new(),
            next: 0,
            before: text,
            after: String::new(),
            done: false,
        }
    }

    /// The pieces of a document. If it has no large list, there is only one.
    pub(crate) fn new(value: &Value) -> Self {
        let list = LISTS
            .iter()
            .find(|list| value.get(list).as_list().is_some());
        let (Some(list), Some(map)) = (list, value.as_map()) else {
            return Self::whole(format!("{value}\n"));
        };
        let mut pieces = Self::whole(String::new());
        let mut text = "{".to_owned();
        for (at, (key, field)) in map.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&Value::from(key.as_str()).to_string());
            text.push(':');
            if key.as_str() == *list {
                text.push('[');
                pieces.items = field.as_list().map_or(Vec::new(), ListRef::to_vec);
                pieces.before = std::mem::take(&mut text);
                text.push(']');
            } else {
                text.push_str(&field.to_string());
            }
        }
        text.push_str("}\n");
        pieces.after = text;
        pieces
    }

    /// How long the whole text is, roughly, if the pieces so far have this length.
    pub(crate) fn estimate(&self, so_far: usize) -> usize {
        so_far * self.items.len().max(1) / self.next.max(1)
    }

    /// Whether all pieces were taken.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// The body of an answer, compressed or not. `first` was taken from these pieces before.
    pub(crate) fn body(self, first: String, gzip: bool) -> Body {
        let sending = Sending {
            text: self,
            first: Some(first),
            ready: Bytes::new(),
            encoder: gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast())),
        };
        let frames = stream::unfold(sending, |mut sending| async move {
            let bytes = sending.next()?;
            Some((Ok::<_, Infallible>(Frame::data(bytes)), sending))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

impl Iterator for ListText {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.done {
            return None;
        }
        let mut text = std::mem::take(&mut self.before);
        while let Some(item) = self.items.get(self.next) {
            if self.next > 0 {
                text.push(',');
            }
            text.push_str(&item.to_string());
            self.next += 1;
            if text.len() >= PIECE {
                return Some(text);
            }
        }
        text.push_str(&self.after);
        self.done = true;
        Some(text)
    }
}

/// A text on its way to a client.
struct Sending {
    text: ListText,
    first: Option<String>,
    /// What is to be sent next.
    ready: Bytes,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Sending {
    /// The next bytes, of which there are not many at once.
    fn next(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() {
            self.ready = self.more()?;
        }
        Some(self.ready.split_to(self.ready.len().min(PIECE)))
    }

    /// The bytes of the next piece. A compressed one may be held back until there is more.
    fn more(&mut self) -> Option<Bytes> {
        loop {
            let text = self.first.take().or_else(|| self.text.next());
            let Some(encoder) = &mut self.encoder else {
                return text.map(Bytes::from);
            };
            let Some(text) = text else {
                // Writing to memory does not fail.
                let rest = self.encoder.take()?.finish().unwrap_or_default();
                return (!rest.is_empty()).then(|| Bytes::from(rest));
            };
            let _ = encoder.write_all(text.as_bytes());
            let compressed = std::mem::take(encoder.get_mut());
            if !compressed.is_empty() {
                return Some(Bytes::from(compressed));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use document::json;
    use flate2::read::GzDecoder;

    use super::*;

    fn list(count: i64) -> Value {
        let items: Value = (0..count)
            .map(|number| json!({"metadata": {"name": (format!("object-{number}"))}, "n": number}))
            .collect();
        json!({"apiVersion": "g/v1", "items": items, "kind": "L", "metadata": {"a\"b": "1"}})
    }

    fn check(value: &Value) -> usize {
        let pieces: Vec<String> = ListText::new(value).collect();
        assert_eq!(pieces.concat(), format!("{value}\n"));
        pieces.len()
    }

    #[test]
    fn the_pieces_together_are_the_text() {
        assert_eq!(check(&list(0)), 1);
        assert_eq!(check(&list(1)), 1);
        assert!(check(&list(10_000)) > 5);
        assert_eq!(check(&json!({"kind": "Status", "items": 1})), 1);
        assert_eq!(check(&json!([1, 2])), 1);
        let rows = list(3);
        let rows = json!({"columnDefinitions": [], "rows": (rows.get("items").clone())});
        assert_eq!(check(&rows), 1);
    }

    #[tokio::test]
    async fn compressed_pieces_are_one_text() {
        let value = list(10_000);
        for gzip in [false, true] {
            let mut pieces = ListText::new(&value);
            let first = pieces.next().unwrap();
            let body = pieces.body(first, gzip).collect().await.unwrap().to_bytes();
            let text = if gzip {
                let mut text = String::new();
                GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
                assert!(body.len() < text.len() / 4);
                text
            } else {
                String::from_utf8(body.to_vec()).unwrap()
            };
            assert_eq!(text, format!("{value}\n"));
        }
    }
}
