//! Conversion between CEL values, documents, and values of the library.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use document::{Key, Map, Value, View};
use kube_cel::cel;
use kube_cel::cel::objects::OptionalValue;

use crate::error::EvalError;
use crate::function::time;
use crate::meter::Meter;
use crate::value::{self, List, Val};

/// The extra cost of converting a list or map, or an entry of a map.
const CONTAINER: u64 = 2;

type Result<T> = std::result::Result<T, EvalError>;

/// Converts a result to a document. Parts that came from a document are shared. Computed parts are
/// charged for, because a short expression can build a value that is huge when it is written out
/// (`[[x, x], [x, x]]` and so on).
pub(crate) fn to_document(value: &Val, meter: &mut Meter) -> Result<Value> {
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
        Val::Str(text) => text.clone(),
        Val::Bytes(_) => {
            let bytes = value.as_bytes().unwrap_or_default();
            meter.bytes(bytes.len())?;
            Value::from(STANDARD.encode(bytes))
        }
        Val::List(List::Document(list)) => list.clone(),
        Val::List(List::Computed(items)) => {
            meter.charge(CONTAINER)?;
            let items = items.iter().map(|item| to_document(item, meter));
            Value::from(items.collect::<Result<Vec<_>>>()?)
        }
        Val::Map(value::Map::Document(map)) => map.clone(),
        Val::Map(value::Map::Computed(entries)) => {
            meter.charge(CONTAINER * (1 + entries.len() as u64))?;
            let entries = entries
                .iter()
                .map(|(key, item)| Ok((key_text(key), to_document(item, meter)?)));
            Value::from(Map::from_entries(entries.collect::<Result<_>>()?))
        }
        Val::Timestamp(at) => Value::from(time::timestamp_text(*at)),
        Val::Duration(nanos) => Value::from(time::duration_text(*nanos)),
        Val::Optional(Some(inner)) => to_document(inner, meter)?,
        Val::Opaque(opaque) => {
            return Err(EvalError::NotJson(format!(
                "a {}",
                opaque.runtime_type_name()
            )));
        }
    })
}

fn number(double: f64) -> Result<Value> {
    Value::number(double).ok_or_else(|| EvalError::NotJson("NaN or infinity".to_owned()))
}

/// The key of a map as a string: `1` and `true` are keys in CEL.
fn key_text(key: &Value) -> Key {
    match key.view() {
        View::Str(text) => Key::new(text),
        _ => Key::new(&key.to_string()),
    }
}

/// An argument for a function of the library.
pub(crate) fn to_library(function: &str, value: &Val, meter: &mut Meter) -> Result<cel::Value> {
    meter.charge(1)?;
    Ok(match value {
        Val::Null => cel::Value::Null,
        Val::Bool(b) => cel::Value::Bool(*b),
        Val::Int(i) => cel::Value::Int(*i),
        Val::UInt(u) => cel::Value::UInt(*u),
        Val::Double(d) => cel::Value::Float(*d),
        Val::Str(_) => cel::Value::from(value.as_str().unwrap_or_default()),
        Val::Bytes(_) => cel::Value::Bytes(Arc::new(value.as_bytes().unwrap_or_default().to_vec())),
        Val::List(list) => {
            let items = list.iter().map(|item| to_library(function, &item, meter));
            cel::Value::List(Arc::new(items.collect::<Result<_>>()?))
        }
        Val::Timestamp(at) => cel::Value::Timestamp(at.fixed_offset()),
        Val::Duration(nanos) => cel::Value::Duration(TimeDelta::nanoseconds(*nanos)),
        Val::Opaque(opaque) => cel::Value::Opaque(opaque.clone()),
        // No library function that we call accepts one.
        Val::Map(_) | Val::Optional(_) => {
            return Err(EvalError::types(function, [value.type_name()]));
        }
    })
}

/// Converts the result of a library function.
pub(crate) fn from_library(value: &cel::Value, meter: &mut Meter) -> Result<Val> {
    meter.charge(1)?;
    Ok(match value {
        cel::Value::Null => Val::Null,
        cel::Value::Bool(b) => Val::Bool(*b),
        cel::Value::Int(i) => Val::Int(*i),
        cel::Value::UInt(u) => Val::UInt(*u),
        cel::Value::Float(d) => Val::Double(*d),
        cel::Value::String(text) => {
            meter.bytes(text.len())?;
            Val::from(text.as_str())
        }
        cel::Value::Bytes(bytes) => {
            meter.bytes(bytes.len())?;
            Val::bytes(bytes)
        }
        cel::Value::List(items) => {
            let items = items.iter().map(|item| from_library(item, meter));
            Val::from(items.collect::<Result<Vec<_>>>()?)
        }
        cel::Value::Map(map) => from_library_map(&map.map, meter)?,
        cel::Value::Duration(duration) => Val::Duration(
            duration
                .num_nanoseconds()
                .ok_or(EvalError::Overflow("duration"))?,
        ),
        cel::Value::Timestamp(at) => Val::Timestamp(at.to_utc()),
        cel::Value::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>() {
            Some(optional) => {
                let inner = optional.value().map(|inner| from_library(inner, meter));
                Val::optional(inner.transpose()?)
            }
            None => Val::Opaque(opaque.clone()),
        },
        cel::Value::Function(..) => return Err(EvalError::NotJson("a function".to_owned())),
    })
}

fn from_library_map(
    map: &HashMap<cel::objects::Key, cel::Value>,
    meter: &mut Meter,
) -> Result<Val> {
    let mut entries = Vec::with_capacity(map.len());
    #[expect(
        clippy::iter_over_hash_type,
        reason = "the entries are sorted afterwards"
    )]
    for (key, item) in map {
        let key = match key {
            cel::objects::Key::Int(i) => Some(Value::from(*i)),
            cel::objects::Key::Uint(u) => i64::try_from(*u).ok().map(Value::from),
            cel::objects::Key::Bool(b) => Some(Value::from(*b)),
            cel::objects::Key::String(text) => Some(Value::from(text.as_str())),
        };
        let key = key.ok_or(EvalError::Overflow("map key"))?;
        entries.push((key, from_library(item, meter)?));
    }
    let map = value::Map::new(entries);
    map.map(Val::Map).ok_or_else(|| {
        EvalError::Other("the library returned a map with a duplicate key".to_owned())
    })
}
