//! Documents in YAML, split at their lines.
//!
//! `---` at the start of a line always begins a document. The items of a block list begin with a
//! dash at the same indentation, and everything in an item is indented more.

use std::io::Read;

use document::Value;

use super::{Documents, ListType, State};
use crate::diagnostic::Diagnostic;
use crate::manifest::expand_lists;

impl<R: Read> Documents<R> {
    /// Skips empty lines, comments and bare `---` before a document.
    pub(super) fn skip_blank(&mut self) -> Result<(), Diagnostic> {
        loop {
            let at = self.json_blank(0)?;
            let known = self.window.bytes();
            let line = known[..at].iter().rposition(|byte| *byte == b'\n');
            let line = line.map_or(0, |newline| newline + 1);
            match known.get(at) {
                // A bracket may follow spaces, but the indentation of YAML counts.
                None | Some(b'{' | b'[') => {
                    self.window.skip(at);
                    return Ok(());
                }
                Some(_) => self.window.skip(line),
            }
            let Some(end) = self.line_end(0)? else {
                return Ok(());
            };
            let text = self.window.bytes()[..end].trim_ascii();
            let bare = text == b"---" && at == line;
            if !text.starts_with(b"#") && !bare {
                return Ok(());
            }
            self.window.skip(end);
        }
    }

    /// Reads a document up to the next marker, or begins a List.
    pub(super) fn yaml_document(&mut self) -> Result<State, Diagnostic> {
        let mut at = 0;
        let mut items = None;
        let mut begun = false;
        while let Some(end) = self.line_end(at)? {
            let line = &self.window.bytes()[at..end];
            if begun && is_marker(line, b"---") {
                break;
            }
            begun |= !line.starts_with(b"%") && !line.trim_ascii().is_empty();
            let (ends, list) = (is_marker(line, b"..."), line.trim_ascii_end() == b"items:");
            at = end;
            if ends {
                break;
            }
            items = items.or(list.then_some(at));
            if at > self.limits.whole
                && let Some(items) = items
                && let Some(state) = self.yaml_list(items)?
            {
                return Ok(state);
            }
            if at > self.limits.max_bytes {
                return Err(self.too_large());
            }
        }
        self.parse(at)?;
        Ok(State::Document)
    }

    /// Begins a List whose items begin at this offset; `None` if the
    /// document is not a List.
    fn yaml_list(&mut self, items: usize) -> Result<Option<State>, Diagnostic> {
        let mut list = ListType::default();
        // A header that cannot be parsed without its items is reported with the whole document.
        let header = self.window.bytes()[..items].to_vec();
        let Ok(header) = crate::load::parse_bytes("", header) else {
            return Ok(None);
        };
        note_all(&mut list, header.first().map(|header| &header.value));
        let mut dash = items;
        while let Some(end) = self.line_end(dash)? {
            let line = &self.window.bytes()[dash..end];
            let text = line.trim_ascii();
            let indent = line.len() - line.trim_ascii_start().len();
            if text.is_empty() || text.starts_with(b"#") {
                dash = end;
            } else if list.may_be_list() && is_item(line, indent) {
                self.window.skip(dash);
                return Ok(Some(State::YamlItem(list, indent)));
            } else {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Reads an item of a List, or its end.
    pub(super) fn yaml_item(
        &mut self,
        mut list: ListType,
        indent: usize,
    ) -> Result<State, Diagnostic> {
        let first = self.line_end(0)?;
        if !first.is_some_and(|end| is_item(&self.window.bytes()[..end], indent)) {
            self.yaml_list_end(&mut list)?;
            return self.end_list(&list);
        }
        let mut at = first.unwrap_or_default();
        while let Some(end) = self.line_end(at)? {
            let line = &self.window.bytes()[at..end];
            if ends_item(line, indent) {
                break;
            }
            at = end;
            if at > self.limits.max_bytes {
                return Err(self.too_large());
            }
        }
        let text = self.take_text(at)?;
        for manifest in self.load(text)? {
            let Some(item) = manifest.single() else {
                return Err(self.error("bad-list", "expected one item of a List".to_owned()));
            };
            if !item.value.is_null() {
                let item = item.in_list(list.item_kind(), &list.version);
                self.ready.extend(expand_lists(vec![item]));
            }
        }
        Ok(State::YamlItem(list, indent))
    }

    /// Reads what follows the items of a List.
    fn yaml_list_end(&mut self, list: &mut ListType) -> Result<(), Diagnostic> {
        let mut at = 0;
        while let Some(end) = self.line_end(at)? {
            let line = &self.window.bytes()[at..end];
            if is_marker(line, b"---") {
                break;
            }
            at = end;
            if at > self.limits.max_bytes {
                return Err(self.too_large());
            }
        }
        let text = self.take_text(at)?;
        let rest = self.load(text)?;
        note_all(list, rest.first().map(|rest| &rest.value));
        Ok(())
    }

    /// The offset after the line that begins at this offset; `None` at the end of the file.
    fn line_end(&mut self, from: usize) -> Result<Option<usize>, Diagnostic> {
        let mut at = from;
        loop {
            let known = self.window.bytes();
            if let Some(newline) = known[at..].iter().position(|byte| *byte == b'\n') {
                return Ok(Some(at + newline + 1));
            }
            at = known.len();
            if at - from > self.limits.max_bytes {
                return Err(self.too_large());
            }
            if !self.more()? {
                return Ok((at > from).then_some(at));
            }
        }
    }
}

/// Notes the members of a part of a List.
fn note_all(list: &mut ListType, part: Option<&Value>) {
    let members = part.and_then(Value::as_map);
    for (key, value) in members.into_iter().flat_map(|map| map.iter()) {
        list.note(key.as_str(), value);
    }
}

/// Whether a line begins or ends a document.
fn is_marker(line: &[u8], marker: &[u8]) -> bool {
    let rest = line.strip_prefix(marker);
    rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Whether a line begins an item behind this many spaces.
fn is_item(line: &[u8], indent: usize) -> bool {
    let (spaces, rest) = line.split_at(indent.min(line.len()));
    let dash = rest.strip_prefix(b"-");
    spaces.iter().all(|byte| *byte == b' ')
        && dash.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Whether a line does not belong to an item that begins behind this many spaces.
fn ends_item(line: &[u8], indent: usize) -> bool {
    let text = line.trim_ascii();
    let spaces = line.iter().take_while(|byte| **byte == b' ').count();
    !text.is_empty() && !text.starts_with(b"#") && spaces <= indent
}
