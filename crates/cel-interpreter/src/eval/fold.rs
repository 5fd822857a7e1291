//! Comprehensions: `all`, `map`, `transformMap` and the like.

use super::{Interpreter, Result};
use crate::error::EvalError;
use crate::function::sort;
use crate::key::MapKey;
use crate::tree::{CelExpr, Fold, FoldKind};
use crate::value::{List, Map, Val};

/// The values of the variables of a comprehension.
struct Item {
    first: Val,
    /// Of a comprehension with two variables.
    second: Option<Val>,
}

impl Item {
    fn single(first: Val) -> Self {
        let second = None;
        Self { first, second }
    }

    fn pair(first: Val, second: Val) -> Self {
        let second = Some(second);
        Self { first, second }
    }
}

impl Interpreter<'_> {
    pub(super) fn fold(&mut self, fold: &Fold) -> Result<Val> {
        // Evaluated in a function of its own, because macros of macros nest here.
        let range = self.eval(&fold.range)?;
        self.fold_range(fold, range)
    }

    #[inline(never)]
    fn fold_range(&mut self, fold: &Fold, range: Val) -> Result<Val> {
        match (range, fold.pairs) {
            (Val::List(list), _) if fold.kind == FoldKind::SortBy => self.sort_by(fold, &list),
            (Val::List(list), false) => self.fold_items(fold, list.iter().map(Item::single)),
            (Val::List(list), true) => {
                let items = list.iter().enumerate();
                let pairs = items.map(|(at, item)| Item::pair(Val::count(at), item));
                self.fold_items(fold, pairs)
            }
            (Val::Map(map), pairs) if fold.kind != FoldKind::SortBy => {
                self.meter.items(map.len())?;
                if pairs {
                    let entries = map.entries().into_iter();
                    let pairs = entries.map(|(key, value)| Item::pair(key.value(), value));
                    return self.fold_items(fold, pairs);
                }
                self.fold_items(fold, map.keys().into_iter().map(Item::single))
            }
            (other, _) => Err(EvalError::types(fold.kind.name(), [other.type_name()])),
        }
    }

    fn fold_items(&mut self, fold: &Fold, items: impl Iterator<Item = Item>) -> Result<Val> {
        match fold.kind {
            FoldKind::All => self.decide_items(fold, items, false),
            FoldKind::Exists => self.decide_items(fold, items, true),
            FoldKind::ExistsOne => self.exists_one(fold, items),
            FoldKind::Map => self.map_items(fold, items),
            FoldKind::Filter => self.filter_items(fold, items),
            FoldKind::TransformMap => self.transform_map(fold, items),
            FoldKind::TransformMapEntry => self.transform_entries(fold, items),
            // Done by the caller, which has the list.
            FoldKind::SortBy => Err(EvalError::types(fold.kind.name(), ["list"])),
        }
    }

    /// Like `&&` or `||` over all items.
    fn decide_items(
        &mut self,
        fold: &Fold,
        items: impl Iterator<Item = Item>,
        decisive: bool,
    ) -> Result<Val> {
        let mut failed = None;
        for item in items {
            match self.test(fold.kind, &item, &fold.body) {
                Ok(b) if b == decisive => return Ok(Val::Bool(decisive)),
                Err(error) if error.is_final() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
                Ok(_) => {}
            }
        }
        failed.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn exists_one(&mut self, fold: &Fold, items: impl Iterator<Item = Item>) -> Result<Val> {
        let mut found = 0;
        for item in items {
            found += usize::from(self.test(fold.kind, &item, &fold.body)?);
        }
        Ok(Val::Bool(found == 1))
    }

    fn map_items(&mut self, fold: &Fold, items: impl Iterator<Item = Item>) -> Result<Val> {
        let mut results = Vec::new();
        for item in items {
            if self.admits(fold, &item)? {
                results.push(self.with_item(&item, &fold.body)?);
            }
        }
        Ok(Val::from(results))
    }

    fn filter_items(&mut self, fold: &Fold, items: impl Iterator<Item = Item>) -> Result<Val> {
        let mut results = Vec::new();
        for item in items {
            if self.test(fold.kind, &item, &fold.body)? {
                results.push(item.first);
            }
        }
        Ok(Val::from(results))
    }

    fn transform_map(&mut self, fold: &Fold, items: impl Iterator<Item = Item>) -> Result<Val> {
        let mut entries = Vec::new();
        for item in items {
            if self.admits(fold, &item)? {
                let value = self.with_item(&item, &fold.body)?;
                // The first variable is an index or the key of a map, so it can be a key.
                entries.extend(MapKey::of(&item.first)?.map(|key| (key, value)));
            }
        }
        collected(fold.kind, entries)
    }

    fn transform_entries(&mut self, fold: &Fold, items: impl Iterator<Item = Item>) -> Result<Val> {
        let mut entries = Vec::new();
        for item in items {
            if !self.admits(fold, &item)? {
                continue;
            }
            match self.with_item(&item, &fold.body)? {
                Val::Map(map) => {
                    self.meter.items(map.len())?;
                    entries.extend(map.entries());
                }
                other => return Err(EvalError::types(fold.kind.name(), [other.type_name()])),
            }
        }
        collected(fold.kind, entries)
    }

    fn sort_by(&mut self, fold: &Fold, list: &List) -> Result<Val> {
        let mut keyed = Vec::with_capacity(list.len());
        for item in list.iter() {
            let item = Item::single(item);
            let key = self.with_item(&item, &fold.body)?;
            keyed.push((key, item.first));
        }
        sort::by_key(fold.kind.name(), &mut keyed, &mut self.meter)?;
        Ok(keyed.into_iter().map(|(_, item)| item).collect())
    }

    fn admits(&mut self, fold: &Fold, item: &Item) -> Result<bool> {
        match &fold.filter {
            Some(filter) => self.test(fold.kind, item, filter),
            None => Ok(true),
        }
    }

    fn test(&mut self, kind: FoldKind, item: &Item, condition: &CelExpr) -> Result<bool> {
        match self.with_item(item, condition)? {
            Val::Bool(b) => Ok(b),
            other => Err(EvalError::types(kind.name(), [other.type_name()])),
        }
    }

    fn with_item(&mut self, item: &Item, body: &CelExpr) -> Result<Val> {
        let outer = self.locals.len();
        self.locals.push(item.first.clone());
        self.locals.extend(item.second.clone());
        let result = self.eval(body);
        self.locals.truncate(outer);
        result
    }
}

fn collected(kind: FoldKind, entries: Vec<(MapKey, Val)>) -> Result<Val> {
    Map::new(entries).map(Val::Map).ok_or(EvalError::Argument {
        function: kind.name(),
        reason: "a key occurs twice",
    })
}
