//! The documents of one join input, with the hash indexes that the plan wants.

use std::hash::{BuildHasher, Hash, Hasher};

use document::{Chunk, Chunks, Key, Location, Value};
use expr::{Env, Expr, ops::access};
use hashbrown::HashTable;
use smallvec::SmallVec;

use super::{HashMap, scope};
use crate::apply;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline::{Join, JoinKey};

/// A place in a [`Table`]; stable while the entry lives, and until the end of the step
/// in which it dies.
pub(crate) type Slot = u32;

/// The documents of one input of a join.
#[derive(Debug)]
pub(crate) struct Table {
    /// The input's name in the compound document.
    name: Key,
    locals: Vec<Local>,
    sides: Vec<TableSide>,
    pub(crate) entries: Vec<Entry>,
    by_origin: HashTable<Slot>,
    free: Vec<Slot>,
    dead: Vec<Slot>,
    indexes: Vec<Index>,
}

/// A condition that reads this input alone.
#[derive(Debug)]
struct Local {
    conjunct: usize,
    expr: Expr,
    at: Location,
}

/// This input's side of a keyed conjunct.
#[derive(Debug)]
struct TableSide {
    conjunct: usize,
    expr: Expr,
    role: Role,
    at: Location,
}

/// What a side means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A value that must be equal to the other side's.
    Value,
    /// A list that the other side's value must be in.
    List,
    /// A label selector.
    Selector,
    /// Labels.
    Labels,
}

/// A document of the table.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) origin: Origin,
    pub(crate) document: Value,
    /// One for each side, in the order of the conjuncts.
    pub(crate) sides: Box<[SideValue]>,
    pub(crate) local: LocalStatus,
    /// The first thing that failed on this document alone.
    pub(crate) failure: Option<Box<Failure>>,
    pub(crate) live: bool,
    /// The step in which it last changed.
    pub(crate) changed: u32,
}

/// Whether the conditions on this document alone hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalStatus {
    Pass,
    /// One is false: never joined.
    Out,
    /// None is false, and one failed: joined with nothing new.
    Failed,
}

/// What a side gives for a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SideValue {
    /// Null: matches nothing.
    Nothing,
    One(Value),
    /// Sorted, each once.
    Many(Chunk),
    Failed,
}

const _: () = assert!(size_of::<SideValue>() == 16, "a side is two words");

impl SideValue {
    /// The values to look up.
    pub(crate) fn values(&self) -> &[Value] {
        match self {
            Self::Nothing | Self::Failed => &[],
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => &values.slice,
        }
    }
}

/// An index over some sides of a table.
#[derive(Debug)]
struct Index {
    /// Positions in [`Table::sides`].
    sides: Vec<usize>,
    slots: HashMap<u64, SmallVec<[Slot; 4]>>,
}

impl Table {
    /// The table of one input with its conditions.
    pub(crate) fn new(join: &Join, input: usize) -> Self {
        let conjuncts = || join.conjuncts.iter().enumerate();
        let locals = conjuncts()
            .filter(|(_, conjunct)| conjunct.reads.only() == Some(input))
            .map(|(i, conjunct)| Local {
                conjunct: i,
                expr: conjunct.expr.clone(),
                at: conjunct.at.clone(),
            });
        let sides = conjuncts().filter_map(|(i, conjunct)| {
            let key = conjunct.key.as_ref()?;
            let (side, role) = roles(key)
                .into_iter()
                .find(|(side, _)| side.input == input)?;
            Some(TableSide {
                conjunct: i,
                expr: side.expr.clone(),
                role,
                at: conjunct.at.clone(),
            })
        });
        Self {
            name: Key::new(&join.inputs[input]),
            locals: locals.collect(),
            sides: sides.collect(),
            entries: Vec::new(),
            by_origin: HashTable::new(),
            free: Vec::new(),
            dead: Vec::new(),
            indexes: Vec::new(),
        }
    }

    /// The position of the side that belongs to a conjunct.
    pub(crate) fn side(&self, conjunct: usize) -> Option<usize> {
        self.sides.iter().position(|side| side.conjunct == conjunct)
    }

    /// An index over these conjuncts, which all have a side here.
    pub(crate) fn index_on(&mut self, conjuncts: &[usize]) -> usize {
        let sides: Vec<usize> = conjuncts
            .iter()
            .filter_map(|conjunct| self.side(*conjunct))
            .collect();
        if let Some(index) = self.indexes.iter().position(|index| index.sides == sides) {
            return index;
        }
        self.indexes.push(Index {
            sides,
            slots: HashMap::default(),
        });
        self.indexes.len() - 1
    }

    pub(crate) fn find(&self, origin: &Origin) -> Option<Slot> {
        let found = self.by_origin.find(origin.quick_hash(), |slot| {
            self.entries[*slot as usize].origin == *origin
        });
        found.copied()
    }

    pub(crate) fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[slot as usize]
    }

    /// The living entries.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.entries.len() as Slot).filter(|slot| self.entries[*slot as usize].live)
    }

    /// The slots under a hash of key values.
    pub(crate) fn lookup(&self, index: usize, hash: u64) -> &[Slot] {
        self.indexes[index]
            .slots
            .get(&hash)
            .map_or(&[], SmallVec::as_slice)
    }

    /// Puts a document in, or another in its place.
    pub(crate) fn insert(
        &mut self,
        origin: &Origin,
        document: Value,
        step: u32,
        env: &Env,
    ) -> Slot {
        let (sides, local, failure) = self.evaluate(&document, env);
        if let Some(slot) = self.find(origin) {
            let entry = &mut self.entries[slot as usize];
            entry.document = document;
            entry.local = local;
            entry.failure = failure;
            entry.changed = step;
            if entry.sides != sides {
                self.unindex(slot);
                self.entries[slot as usize].sides = sides;
                self.index(slot);
            }
            return slot;
        }
        let entry = Entry {
            origin: origin.clone(),
            document,
            sides,
            local,
            failure,
            live: true,
            changed: step,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as Slot
            }
        };
        self.by_origin
            .insert_unique(origin.quick_hash(), slot, |slot| {
                self.entries[*slot as usize].origin.quick_hash()
            });
        self.index(slot);
        slot
    }

    /// Takes a document out. Its slot stays readable until [`Table::sweep`].
    pub(crate) fn remove(&mut self, slot: Slot) {
        self.unindex(slot);
        let entry = &mut self.entries[slot as usize];
        entry.live = false;
        let found = self
            .by_origin
            .find_entry(entry.origin.quick_hash(), |other| *other == slot);
        if let Ok(found) = found {
            found.remove();
        }
        self.dead.push(slot);
    }

    /// Ends a step: the slots of removed documents may be used again.
    pub(crate) fn sweep(&mut self) {
        for slot in self.dead.drain(..) {
            let entry = &mut self.entries[slot as usize];
            entry.document = Value::NULL;
            entry.sides = Box::new([]);
            entry.failure = None;
            self.free.push(slot);
        }
    }

    fn index(&mut self, slot: Slot) {
        for index in &mut self.indexes {
            for hash in hashes(&self.entries[slot as usize].sides, &index.sides) {
                index.slots.entry(hash).or_default().push(slot);
            }
        }
    }

    fn unindex(&mut self, slot: Slot) {
        for index in &mut self.indexes {
            for hash in hashes(&self.entries[slot as usize].sides, &index.sides) {
                if let Some(slots) = index.slots.get_mut(&hash) {
                    slots.retain(|other| *other != slot);
                    if slots.is_empty() {
                        index.slots.remove(&hash);
                    }
                }
            }
        }
    }

    /// Evaluates all that hangs on this document alone.
    fn evaluate(
        &self,
        document: &Value,
        env: &Env,
    ) -> (Box<[SideValue]>, LocalStatus, Option<Box<Failure>>) {
        let mut failures: SmallVec<[(usize, Failure); 1]> = SmallVec::new();
        let mut local = LocalStatus::Pass;
        // A compound with this input alone: that is all that these expressions read.
        let compound = Value::from(document::Map::from_sorted_iter(
            [(self.name.clone(), document.clone())].into_iter(),
        ));
        for condition in &self.locals {
            match apply::condition(
                &condition.expr,
                &condition.at,
                &scope(env, &compound, &env.now, 0),
            ) {
                Ok(true) => {}
                Ok(false) => local = LocalStatus::Out,
                Err(failure) => {
                    if local == LocalStatus::Pass {
                        local = LocalStatus::Failed;
                    }
                    failures.push((condition.conjunct, failure));
                }
            }
        }
        let sides = self.sides.iter().map(|side| {
            side_value(&side.expr, side.role, &side.at, &compound, env).unwrap_or_else(|failure| {
                failures.push((side.conjunct, failure));
                SideValue::Failed
            })
        });
        let sides = sides.collect();
        if local == LocalStatus::Out {
            failures.clear();
        }
        failures.sort_by_key(|(conjunct, _)| *conjunct);
        let first = failures
            .into_iter()
            .next()
            .map(|(_, failure)| Box::new(failure));
        (sides, local, first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_origin.is_empty() && self.indexes.iter().all(|index| index.slots.is_empty())
    }
}

/// Both sides of a key with their roles.
pub(crate) fn roles(key: &JoinKey) -> [(&crate::pipeline::Side, Role); 2] {
    match key {
        JoinKey::Equal(a, b) => [(a, Role::Value), (b, Role::Value)],
        JoinKey::Member { element, list } => [(element, Role::Value), (list, Role::List)],
        JoinKey::Selector { selector, labels } => {
            [(selector, Role::Selector), (labels, Role::Labels)]
        }
    }
}

/// Which of these keyed conjuncts an index covers: all, but one at most that has many
/// values on a side, because two lists would multiply.
pub(crate) fn indexable(rule: &Join, conjuncts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut lists = 0;
    conjuncts
        .filter(|number| {
            let key = rule.conjuncts[*number].key.as_ref();
            let many = key.is_some_and(|key| {
                let mut roles = roles(key).into_iter();
                roles.any(|(_, role)| matches!(role, Role::List | Role::Labels))
            });
            lists += usize::from(many);
            !many || lists == 1
        })
        .collect()
}

/// Evaluates one side of a keyed conjunct.
pub(crate) fn side_value(
    expr: &Expr,
    role: Role,
    at: &Location,
    compound: &Value,
    env: &Env,
) -> Result<SideValue, Failure> {
    let value = expr.eval(&scope(env, compound, &env.now, 0))?;
    let failed = |kind: expr::ErrorKind| {
        Failure::Expression(Box::new(expr::Error {
            at: at.clone(),
            kind,
        }))
    };
    Ok(match role {
        Role::Value if value.is_null() => SideValue::Nothing,
        Role::Value => SideValue::One(value),
        Role::List => {
            let list = value.as_list().ok_or_else(|| {
                failed(expr::ErrorKind::Type {
                    expected: "a list",
                    found: value.kind(),
                })
            })?;
            many(
                list.iter()
                    .filter(|item| !item.is_null())
                    .cloned()
                    .collect(),
            )
        }
        Role::Selector => match access::Selector::parse(&value).map_err(failed)? {
            None => SideValue::Nothing,
            Some(selector) => SideValue::One(
                selector
                    .first_pair()
                    .map_or(any_label(), |(key, value)| pair(key, value)),
            ),
        },
        Role::Labels => {
            access::check_labels(&value).map_err(failed)?;
            match value.as_map() {
                None => SideValue::Nothing,
                Some(labels) => many(
                    labels
                        .iter()
                        .map(|(key, value)| pair(key, value))
                        .chain([any_label()])
                        .collect(),
                ),
            }
        }
    })
}

/// Under what selectors without a required label are found.
fn any_label() -> Value {
    Value::from(true)
}

fn pair(key: &Key, value: &Value) -> Value {
    Value::from(format!("{key}={}", access::label_text(value)))
}

fn many(mut values: Vec<Value>) -> SideValue {
    values.sort_unstable();
    values.dedup();
    SideValue::Many(Chunks::chunk(values.into_iter()))
}

/// The hashes of the key values of these sides: one, or one for each value of the side
/// that has many; none if a side matches nothing.
pub(crate) fn hashes(values: &[SideValue], sides: &[usize]) -> SmallVec<[u64; 4]> {
    let picked: SmallVec<[&SideValue; 4]> = sides.iter().map(|side| &values[*side]).collect();
    key_hashes(&picked)
}

/// As [`hashes`], of sides that are picked already.
pub(crate) fn key_hashes(sides: &[&SideValue]) -> SmallVec<[u64; 4]> {
    let start = foldhash::fast::FixedState::default().build_hasher();
    let mut hashes = SmallVec::new();
    add_hashes(start, sides, &mut hashes);
    hashes
}

fn add_hashes(
    mut hasher: foldhash::fast::FoldHasher<'_>,
    sides: &[&SideValue],
    hashes: &mut SmallVec<[u64; 4]>,
) {
    for (at, side) in sides.iter().enumerate() {
        match side {
            SideValue::Nothing | SideValue::Failed => return,
            SideValue::One(value) => value.hash(&mut hasher),
            SideValue::Many(values) => {
                for value in &values.slice {
                    let mut branch = hasher.clone();
                    value.hash(&mut branch);
                    add_hashes(branch, &sides[at + 1..], hashes);
                }
                return;
            }
        }
    }
    hashes.push(hasher.finish());
}

/// Whether two sides of a conjunct match; `None` for selectors, which are evaluated.
pub(crate) fn sides_match(key: &JoinKey, first: &SideValue, second: &SideValue) -> Option<bool> {
    match key {
        JoinKey::Equal(..) => {
            Some(matches!((first, second), (SideValue::One(a), SideValue::One(b)) if a == b))
        }
        JoinKey::Member { .. } => Some(match first {
            SideValue::One(element) => second.values().binary_search(element).is_ok(),
            _ => false,
        }),
        JoinKey::Selector { .. } => {
            if matches!(first, SideValue::Nothing) || matches!(second, SideValue::Nothing) {
                return Some(false);
            }
            None
        }
    }
}
