//! Functions of lists, and of lists as sets.

use std::cmp::Ordering;

use super::{Arguments, Result, quantity, sort};
use crate::error::EvalError;
use crate::infix::{arithmetic, compare, contains, equal};
use crate::tree::Arithmetic;
use crate::value::{List, Val};

pub(super) fn distinct(call: &mut Arguments<'_>) -> Result<Val> {
    let mut kept: Vec<Val> = Vec::new();
    for item in call.list(0)?.iter() {
        call.meter.charge(1)?;
        let mut known = false;
        for other in &kept {
            known = equal(other, &item, call.meter)?;
            if known {
                break;
            }
        }
        if !known {
            kept.push(item);
        }
    }
    Ok(Val::from(kept))
}

pub(super) fn first(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::optional(call.list(0)?.get(0)))
}

pub(super) fn last(call: &mut Arguments<'_>) -> Result<Val> {
    let list = call.list(0)?;
    let last = list.len().checked_sub(1).and_then(|at| list.get(at));
    Ok(Val::optional(last))
}

pub(super) fn flatten(call: &mut Arguments<'_>) -> Result<Val> {
    let depth = match call.optional_int(1)? {
        None => 1,
        Some(depth) => u64::try_from(depth).map_err(|_| call.invalid("the depth is negative"))?,
    };
    let mut flat = Vec::new();
    flatten_into(&mut flat, call.list(0)?, depth, call)?;
    Ok(Val::from(flat))
}

fn flatten_into(
    flat: &mut Vec<Val>,
    list: &List,
    depth: u64,
    call: &mut Arguments<'_>,
) -> Result<()> {
    for item in list.iter() {
        call.meter.charge(1)?;
        match item {
            Val::List(inner) if depth > 0 => flatten_into(flat, &inner, depth - 1, call)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

pub(super) fn is_sorted(call: &mut Arguments<'_>) -> Result<Val> {
    let mut items = call.list(0)?.iter();
    let Some(mut previous) = items.next() else {
        return Ok(Val::Bool(true));
    };
    for item in items {
        call.meter.charge(1)?;
        if compare(call.name, &previous, &item, call.meter)?.is_gt() {
            return Ok(Val::Bool(false));
        }
        previous = item;
    }
    Ok(Val::Bool(true))
}

pub(super) fn max(call: &mut Arguments<'_>) -> Result<Val> {
    extreme(call, Ordering::Greater)
}

pub(super) fn min(call: &mut Arguments<'_>) -> Result<Val> {
    extreme(call, Ordering::Less)
}

fn extreme(call: &mut Arguments<'_>, wanted: Ordering) -> Result<Val> {
    let mut items = call.list(0)?.iter();
    let Some(mut best) = items.next() else {
        return Err(call.invalid("the list is empty"));
    };
    for item in items {
        call.meter.charge(1)?;
        if compare(call.name, &item, &best, call.meter)? == wanted {
            best = item;
        }
    }
    Ok(best)
}

pub(super) fn slice(call: &mut Arguments<'_>) -> Result<Val> {
    let list = call.list(0)?;
    let range = (usize::try_from(call.int(1)?), usize::try_from(call.int(2)?));
    match range {
        (Ok(start), Ok(end)) if start <= end && end <= list.len() => {
            call.meter.items(end - start)?;
            Ok((start..end).filter_map(|at| list.get(at)).collect())
        }
        _ => Err(EvalError::OutOfRange(call.name)),
    }
}

pub(super) fn sort(call: &mut Arguments<'_>) -> Result<Val> {
    let list = call.list(0)?;
    call.meter.items(list.len())?;
    let mut keyed: Vec<(Val, Val)> = list.iter().map(|item| (item.clone(), item)).collect();
    sort::by_key(call.name, &mut keyed, call.meter)?;
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

pub(super) fn sum(call: &mut Arguments<'_>) -> Result<Val> {
    let mut total: Option<Val> = None;
    for item in call.list(0)?.iter() {
        call.meter.charge(1)?;
        let is_number = matches!(
            item,
            Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::Duration(_)
        );
        if !is_number && quantity::of(&item).is_none() {
            return Err(EvalError::types(call.name, [item.type_name()]));
        }
        total = Some(match &total {
            None => item,
            Some(total) => match (quantity::of(total), quantity::of(&item)) {
                (Some(total), Some(item)) => quantity::plus(call.name, total, item, call.meter)?,
                _ => arithmetic(Arithmetic::Add, total, &item, call.meter)?,
            },
        });
    }
    Ok(total.unwrap_or(Val::Int(0)))
}

pub(super) fn range(call: &mut Arguments<'_>) -> Result<Val> {
    let end = call.int(0)?;
    call.meter.charge(u64::try_from(end).unwrap_or(0))?;
    Ok((0..end).map(Val::Int).collect())
}

pub(super) fn index_of(call: &mut Arguments<'_>) -> Result<Val> {
    find(call, |found, at| *found = found.or(Some(at)))
}

pub(super) fn last_index_of(call: &mut Arguments<'_>) -> Result<Val> {
    find(call, |found, at| *found = Some(at))
}

fn find(call: &mut Arguments<'_>, keep: impl Fn(&mut Option<usize>, usize)) -> Result<Val> {
    let [Val::List(list), wanted] = call.args else {
        return Err(call.mismatch());
    };
    let mut found = None;
    for (at, item) in list.iter().enumerate() {
        if equal(&item, wanted, call.meter)? {
            keep(&mut found, at);
        }
    }
    Ok(found.map_or(Val::Int(-1), Val::count))
}

pub(super) fn reverse(call: &mut Arguments<'_>) -> Result<Val> {
    let list = call.list(0)?;
    call.meter.items(list.len())?;
    let mut items: Vec<Val> = list.iter().collect();
    items.reverse();
    Ok(Val::from(items))
}

pub(super) fn set_contains(call: &mut Arguments<'_>) -> Result<Val> {
    within(call, 1, 0).map(Val::Bool)
}

pub(super) fn set_equivalent(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(within(call, 1, 0)? && within(call, 0, 1)?))
}

pub(super) fn set_intersects(call: &mut Arguments<'_>) -> Result<Val> {
    call.list(1)?;
    for item in call.list(0)?.iter() {
        if contains(&item, &call.args[1], call.meter)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}

/// Whether all elements of one argument are in the other.
fn within(call: &mut Arguments<'_>, part: usize, whole: usize) -> Result<bool> {
    call.list(whole)?;
    for item in call.list(part)?.iter() {
        if !contains(&item, &call.args[whole], call.meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}
