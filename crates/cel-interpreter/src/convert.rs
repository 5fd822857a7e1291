//! Conversion of results to documents.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Map, Value};

use crate::error::EvalError;
use crate::function::time;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{self, List, Val};

/// The extra cost of a list or map, or of an entry of a map.
const CONTAINER: u64 = 2;

/// Bytes of a shared part that cost one unit. With the default limit a result has at most 64 MB when
/// it is written out, which is also the most that a document can be allowed to have.
const WRITTEN: u32 = 64;

type Result<T> = std::result::Result<T, EvalError>;

/// Converts a result to a document. A part of a document is shared.
pub(crate) fn to_document(value: &Val, meter: &mut Meter) -> Result<Value> {
    match value {
        Val::List(List::Document(whole)) | Val::Map(value::Map::Document(whole)) => {
            meter.charge(1)?;
            Ok(whole.clone())
        }
        value => part(value, meter),
    }
}

/// Converts a part of a result. It is charged for by its length when it is written out, because a
/// short expression can build a value that is huge then, such as a list that contains the same
/// text many times.
fn part(value: &Val, meter: &mut Meter) -> Result<Value> {
    meter.charge(1)?;
    Ok(match value {
        Val::Null | Val::Optional(None) => Value::NULL,
        Val::Bool(b) => Value::from(*b),
        Val::Int(i) => Value::from(*i),
        Val::UInt(u) => match i64::try_from(*u) {
            Ok(i) => Value::from(i),
            Err(_) => number(*u as f64)?,
        },
        Val::Double(d) => number(*d)?,
        Val::Bytes(_) => {
            let bytes = value.as_bytes().unwrap_or_default();
            meter.bytes(bytes.len())?;
            Value::from(STANDARD.encode(bytes))
        }
        Val::Str(shared)
        | Val::List(List::Document(shared))
        | Val::Map(value::Map::Document(shared)) => {
            meter.charge(u64::from(shared.measure().bytes / WRITTEN))?;
            shared.clone()
        }
        Val::List(List::Computed(items)) => {
            meter.charge(CONTAINER)?;
            let items = items.iter().map(|item| part(item, meter));
            Value::from(items.collect::<Result<Vec<_>>>()?)
        }
        Val::Map(value::Map::Computed(entries)) => {
            meter.charge(CONTAINER * (1 + entries.len() as u64))?;
            let mut converted = Vec::with_capacity(entries.len());
            for (key, item) in entries.iter() {
                meter.bytes(key.as_str().map_or(0, str::len))?;
                converted.push((key.text(), part(item, meter)?));
            }
            Value::from(Map::from_entries(converted))
        }
        Val::Timestamp(at) => Value::from(at.utc().text()),
        Val::Duration(nanos) => Value::from(time::duration_text(*nanos)),
        Val::Optional(Some(inner)) => part(inner, meter)?,
        Val::Type(named) => Value::from(named.name()),
        Val::Extension(_) => {
            let name = Type::of(value).name();
            return Err(EvalError::NotJson(format!("a {name}")));
        }
    })
}

fn number(double: f64) -> Result<Value> {
    Value::number(double).ok_or_else(|| EvalError::NotJson("NaN or infinity".to_owned()))
}
