//! Just enough of protobuf for the few messages that clients send in no other form.
//!
//! Everything else is JSON. A message is a sequence of fields; a field is a number, a wire type
//! and a value, of which only texts and nested messages (wire type 2) matter here.

/// What the objects of Kubernetes start with in protobuf.
const MAGIC: &[u8] = b"k8s\0";

/// A message. Reading one that is malformed ends where it is malformed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    /// The object in a body: the envelope of Kubernetes has it in its second field.
    pub(crate) fn object(body: &'a [u8]) -> Option<Self> {
        let envelope = Self(body.strip_prefix(MAGIC)?);
        Some(envelope.message(2))
    }

    /// The last value of a field; empty if there is none.
    pub(crate) fn bytes(self, number: u64) -> &'a [u8] {
        let found = Fields(self.0).filter(|(field, _)| *field == number);
        found.last().map_or(&[], |(_, value)| value)
    }

    pub(crate) fn message(self, number: u64) -> Self {
        Self(self.bytes(number))
    }

    pub(crate) fn has(self, number: u64) -> bool {
        Fields(self.0).any(|(field, _)| field == number)
    }

    pub(crate) fn text(self, number: u64) -> String {
        String::from_utf8_lossy(self.bytes(number)).into_owned()
    }
}

/// The fields of a message, by number.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => {
                self.varint()?;
                &[]
            }
            1 => self.take(8)?,
            2 => {
                let length = self.varint()?;
                self.take(length)?
            }
            5 => self.take(4)?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

/// A field with a text or a message.
pub(crate) fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or_default());
    bytes.extend(value);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let long = "x".repeat(300);
        let inner = [field(1, b"a"), field(3, long.as_bytes())].concat();
        let body = [MAGIC, &field(1, b"type"), &field(2, &inner)].concat();
        let object = Message::object(&body).unwrap();
        assert_eq!(object.text(1), "a");
        assert_eq!(object.text(3), long);
        assert!(object.has(1) && !object.has(2) && object.text(2).is_empty());
    }

    #[test]
    fn malformed_messages_end() {
        assert!(Message::object(b"{}").is_none());
        for body in [
            &b"k8s\0"[..],
            b"k8s\0\x12",
            b"k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"k8s\0\x12\x7fabc",
            b"k8s\0\x0f",
        ] {
            assert_eq!(Message::object(body).unwrap().text(1), "");
        }
    }
}
