//! Functions of strings. Positions count characters, not bytes.

use super::{Arguments, Result, list};
use crate::error::EvalError;
use crate::value::{Map, Val};

pub(super) fn size(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::Str(_) => Ok(Val::count(call.text(0)?.chars().count())),
        Val::Bytes(_) => Ok(Val::count(call.args[0].as_bytes().map_or(0, <[u8]>::len))),
        Val::List(list) => Ok(Val::count(list.len())),
        Val::Map(map) => Ok(Val::count(Map::len(map))),
        _ => Err(call.mismatch()),
    }
}

pub(super) fn starts_with(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(call.text(0)?.starts_with(call.text(1)?)))
}

pub(super) fn ends_with(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(call.text(0)?.ends_with(call.text(1)?)))
}

pub(super) fn contains(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(call.text(0)?.contains(call.text(1)?)))
}

pub(super) fn lower_ascii(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::from(call.text(0)?.to_ascii_lowercase()))
}

pub(super) fn upper_ascii(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::from(call.text(0)?.to_ascii_uppercase()))
}

pub(super) fn trim(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::from(call.text(0)?.trim()))
}

pub(super) fn reverse(call: &mut Arguments<'_>) -> Result<Val> {
    match &call.args[0] {
        Val::List(_) => list::reverse(call),
        _ => Ok(Val::from(call.text(0)?.chars().rev().collect::<String>())),
    }
}

/// The character at a position; empty at the end of the text.
pub(super) fn char_at(call: &mut Arguments<'_>) -> Result<Val> {
    let text = call.text(0)?;
    let at = byte_at(text, call.int(1)?, call)?;
    let found = text[at..].chars().next();
    Ok(Val::from(found.map(String::from).unwrap_or_default()))
}

pub(super) fn substring(call: &mut Arguments<'_>) -> Result<Val> {
    let text = call.text(0)?;
    let start = byte_at(text, call.int(1)?, call)?;
    let end = match call.optional_int(2)? {
        Some(end) => byte_at(text, end, call)?,
        None => text.len(),
    };
    text.get(start..end)
        .map(Val::from)
        .ok_or(EvalError::OutOfRange(call.name))
}

/// The byte offset of a character.
fn byte_at(text: &str, position: i64, call: &Arguments<'_>) -> Result<usize> {
    let position = usize::try_from(position).ok();
    let places = text.char_indices().map(|(at, _)| at);
    position
        .and_then(|position| places.chain([text.len()]).nth(position))
        .ok_or(EvalError::OutOfRange(call.name))
}

pub(super) fn index_of(call: &mut Arguments<'_>) -> Result<Val> {
    if matches!(call.args[0], Val::List(_)) {
        return list::index_of(call);
    }
    let (text, wanted) = (call.text(0)?, call.text(1)?);
    let from = call.optional_int(2)?.unwrap_or(0);
    if wanted.is_empty() {
        return Ok(Val::Int(from));
    }
    let Some(from) = offset(text, from, call)? else {
        return Ok(Val::Int(-1));
    };
    let found = text[from..].find(wanted).map(|at| from + at);
    Ok(position(text, found))
}

/// The last occurrence of a text that starts at or before the given position.
pub(super) fn last_index_of(call: &mut Arguments<'_>) -> Result<Val> {
    if matches!(call.args[0], Val::List(_)) {
        return list::last_index_of(call);
    }
    let (text, wanted) = (call.text(0)?, call.text(1)?);
    let to = match call.optional_int(2)? {
        Some(to) if wanted.is_empty() => return Ok(Val::Int(to)),
        Some(to) => match offset(text, to, call)? {
            Some(to) => to.saturating_add(wanted.len()),
            None => return Ok(Val::Int(-1)),
        },
        None => text.len(),
    };
    // No match can end inside a character.
    let found = text[..text.floor_char_boundary(to)].rfind(wanted);
    Ok(position(text, found))
}

/// The byte offset of a character, or `None` behind the last one.
fn offset(text: &str, position: i64, call: &Arguments<'_>) -> Result<Option<usize>> {
    let position = usize::try_from(position).map_err(|_| EvalError::OutOfRange(call.name))?;
    Ok(text.char_indices().nth(position).map(|(at, _)| at))
}

fn position(text: &str, found: Option<usize>) -> Val {
    found.map_or(Val::Int(-1), |at| Val::count(text[..at].chars().count()))
}

pub(super) fn replace(call: &mut Arguments<'_>) -> Result<Val> {
    let (text, old, new) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let limit = call.optional_int(3)?;
    // A negative limit means no limit.
    let limit = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let count = text.matches(old).take(limit).count();
    call.meter
        .bytes(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Val::from(text.replacen(old, new, limit)))
}

pub(super) fn split(call: &mut Arguments<'_>) -> Result<Val> {
    let (text, separator) = (call.text(0)?, call.text(1)?);
    // A negative limit means no limit.
    let limit = call.optional_int(2)?.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    if limit == 0 {
        return Ok(Val::from(Vec::new()));
    }
    let count = text.matches(separator).take(limit).count();
    call.meter.items(count)?;
    if separator.is_empty() {
        return Ok(characters(text, limit));
    }
    Ok(text.splitn(limit, separator).map(Val::from).collect())
}

/// Splits a text into characters. The last piece is the rest.
fn characters(text: &str, limit: usize) -> Val {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let starts = &places[..places.len().min(limit)];
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    let pieces = starts.iter().zip(ends);
    pieces
        .map(|(start, end)| Val::from(&text[*start..end]))
        .collect()
}

pub(super) fn join(call: &mut Arguments<'_>) -> Result<Val> {
    let list = call.list(0)?;
    let separator = match call.args.get(1) {
        Some(_) => call.text(1)?,
        None => "",
    };
    let mut joined = String::new();
    for (at, item) in list.iter().enumerate() {
        let item = item
            .as_str()
            .ok_or_else(|| EvalError::types(call.name, [item.type_name()]))?;
        call.meter.charge(1)?;
        call.meter.bytes(item.len() + separator.len())?;
        if at > 0 {
            joined.push_str(separator);
        }
        joined.push_str(item);
    }
    Ok(Val::from(joined))
}

pub(super) fn quote(call: &mut Arguments<'_>) -> Result<Val> {
    let mut quoted = String::from('"');
    for c in call.text(0)?.chars() {
        let escaped = match c {
            '\\' => "\\\\",
            '"' => "\\\"",
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{b}' => "\\v",
            c => {
                quoted.push(c);
                continue;
            }
        };
        quoted.push_str(escaped);
    }
    quoted.push('"');
    Ok(Val::from(quoted))
}
