//! Unions of types, and the type of a deep merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Key;

use crate::budget::Budget;
use crate::shape::{Fields, Shape};
use crate::types::{Origin, Type};

impl Type {
    /// The values of both types.
    #[must_use]
    pub fn union(&self, other: &Self, budget: &Budget) -> Self {
        if self.is_never() {
            return other.clone();
        }
        if other.is_never() {
            return self.clone();
        }
        if self.any || other.any || !budget.take() {
            return Self::any();
        }
        Self {
            any: false,
            null: self.null || other.null,
            boolean: self.boolean || other.boolean,
            number: self.number.max(other.number),
            string: self.string.union(&other.string),
            list: either(self.list.as_ref(), other.list.as_ref(), |a, b| {
                if Arc::ptr_eq(a, b) {
                    return a.clone();
                }
                Arc::new(a.union(b, budget))
            }),
            map: self.union_maps(other, budget),
            origin: self.origin.clone().filter(|_| self.origin == other.origin),
            at: self.at.clone().or_else(|| other.at.clone()),
        }
    }

    fn union_maps(&self, other: &Self, budget: &Budget) -> Option<Shape> {
        match (&self.map, &other.map) {
            (Some(a), Some(b)) if a.same(b) => Some(a.clone()),
            (one, None) | (None, one) => one.clone(),
            (Some(_), Some(_)) => {
                let (a, b) = (self.fields()?, other.fields()?);
                if !budget.pay(a.named.len() + b.named.len()) {
                    return Some(Fields::open(Self::any()).into());
                }
                Some(union_fields(&a, &b, budget).into())
            }
        }
    }

    /// The type of values of this type with values of the other merged into them: maps merge key by
    /// key, everything else is replaced.
    #[must_use]
    pub fn merged(&self, over: &Self, budget: &Budget) -> Self {
        if over.any || !budget.take() {
            return Self::any();
        }
        let Some(upper) = over.fields() else {
            return over.clone();
        };
        if self.any {
            // The fields of `over` are known, but other fields may be there as well.
            return Self {
                map: Some(Fields::new(upper.named.clone(), Some(Type::any())).into()),
                at: over.at.clone(),
                ..over.clone()
            };
        }
        let Some(lower) = self.fields() else {
            return over.clone();
        };
        if lower.named.is_empty() && lower.rest.is_none() {
            return over.clone();
        }
        if !budget.pay(lower.named.len() + upper.named.len()) {
            return Self::any();
        }
        let merged = merge_fields(&lower, &upper, budget);
        let merged = if self.has_other_than_map() {
            union_fields(&merged, &upper, budget)
        } else {
            merged
        };
        Self {
            map: Some(merged.into()),
            origin: (self.origin.as_ref().or(over.origin.as_ref())).map(Origin::changed),
            at: over.at.clone().or_else(|| self.at.clone()),
            ..over.clone()
        }
    }

    /// The type without the places where values are written, and without their origins.
    #[must_use]
    pub fn without_places(&self, budget: &Budget) -> Self {
        if !budget.take() {
            return Self::any();
        }
        let listed = |shape: &Shape| match shape {
            Shape::Defined(_) => shape.clone(),
            Shape::Listed(fields) => {
                let named = fields.named.iter();
                let named = named.map(|(key, field)| (key.clone(), field.without_places(budget)));
                let rest = fields.rest.as_ref().map(|rest| rest.without_places(budget));
                Fields::new(named.collect(), rest).into()
            }
        };
        Self {
            list: (self.list.as_ref()).map(|element| Arc::new(element.without_places(budget))),
            map: self.map.as_ref().map(listed),
            origin: None,
            at: None,
            ..self.clone()
        }
    }

    fn has_other_than_map(&self) -> bool {
        let mut rest = self.clone();
        rest.map = None;
        !rest.is_never()
    }
}

fn either<T: Clone>(a: Option<&T>, b: Option<&T>, both: impl FnOnce(&T, &T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (one, None) | (None, one) => one.cloned(),
    }
}

fn union_fields(a: &Fields, b: &Fields, budget: &Budget) -> Fields {
    let rest = either(a.rest.as_ref(), b.rest.as_ref(), |a, b| a.union(b, budget));
    let mut named: BTreeMap<Key, Type> = BTreeMap::new();
    for (key, field) in &a.named {
        let other = b.field(key);
        named.insert(key.clone(), in_both(field, other.as_ref(), budget));
    }
    for (key, field) in &b.named {
        if !a.named.contains_key(key) {
            let other = a.field(key);
            named.insert(key.clone(), in_both(field, other.as_ref(), budget));
        }
    }
    Fields::new(named, rest)
}

/// A field that the other map may not have.
fn in_both(field: &Type, other: Option<&Type>, budget: &Budget) -> Type {
    match other {
        Some(other) => field.union(other, budget),
        None => field.clone().or_null(),
    }
}

fn merge_fields(lower: &Fields, upper: &Fields, budget: &Budget) -> Fields {
    let mut named = lower.named.clone();
    for (key, field) in &upper.named {
        let below = lower.field(key);
        let merged = match &below {
            Some(below) => below.merged(field, budget),
            None => field.clone(),
        };
        // A field that may be missing leaves the one below as it is.
        let merged = match &below {
            Some(below) if field.null => merged.union(below, budget),
            Some(_) | None => merged,
        };
        named.insert(key.clone(), merged);
    }
    if let Some(rest) = &upper.rest {
        for (key, field) in &mut named {
            if !upper.named.contains_key(key) {
                *field = field.union(&field.merged(rest, budget), budget);
            }
        }
    }
    let rest = either(lower.rest.as_ref(), upper.rest.as_ref(), |a, b| {
        a.union(&a.merged(b, budget), budget).union(b, budget)
    });
    Fields::new(named, rest)
}
