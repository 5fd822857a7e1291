//! The documents of one input of a join, with hash indexes.
//!
//! A document has a slot, a small number by which tuples and indexes refer to it. The conditions
//! and key sides that read this input alone are evaluated once, when the document is stored.
//!
//! ```text
//! slot   origin     document     sides        local
//! 0      Pod a/x    {node: n1}   ["n1"]       Pass       index on side 0: hash("n1") → [0, 2]
//! 1      Pod a/y    {node: 7}    [7]          Out                         hash(7)    → [1]
//! 2      Pod a/z    {node: n1}   ["n1"]       Pass
//! ```

use document::{Key, Location, Value};
use expr::{Env, Expr};
use hashbrown::HashTable;
use smallvec::SmallVec;

use super::reads::Reads;
use super::side::{Role, SideValue, hashes, roles, side_value};
use super::{Detach, HashMap, scope};
use crate::apply;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline::Join;

/// The position of a document in a [`JoinTable`]. It stays valid until the end of the step that
/// removes the document.
pub(crate) type Slot = u32;

/// The documents of one input of a join.
#[derive(Debug)]
pub(crate) struct JoinTable {
    /// The name of the input in the joined document.
    name: Key,
    locals: Vec<Local>,
    sides: Vec<TableSide>,
    /// The fields that `locals` and `sides` read of a document.
    reads: Reads,
    pub(crate) entries: Vec<TableEntry>,
    by_origin: HashTable<Slot>,
    free: Vec<Slot>,
    dead: Vec<Slot>,
    /// How many documents fail by themselves.
    failing: usize,
    indexes: Vec<Index>,
}

/// A conjunct that reads this input alone.
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

/// The side values of a document. Most joins have one or two.
pub(crate) type Sides = SmallVec<[SideValue; 2]>;

/// Detaches the sides: they may outlive the document that they are part of.
fn detached(sides: Sides) -> Sides {
    sides.into_iter().map(SideValue::detach).collect()
}

/// A document of the table.
#[derive(Debug)]
pub(crate) struct TableEntry {
    pub(crate) origin: Origin,
    pub(crate) document: Value,
    /// One for each side, in the order of the conjuncts.
    pub(crate) sides: Sides,
    pub(crate) local: LocalStatus,
    /// The first failure on this document alone.
    pub(crate) failure: Option<Box<Failure>>,
    pub(crate) live: bool,
    /// The number of the step in which it last changed.
    pub(crate) changed: u32,
}

/// The result of the conditions on this document alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalStatus {
    Pass,
    /// One is false. The document has no tuples.
    Out,
    /// None is false, and one fails. The document gets no new tuples.
    Failed,
}

/// An index over some sides of a table.
#[derive(Debug)]
struct Index {
    /// Positions in [`JoinTable::sides`].
    sides: Vec<usize>,
    slots: HashMap<u64, SmallVec<[Slot; 4]>>,
}

impl JoinTable {
    /// An empty table for one input of a join.
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
        let name = Key::new(&join.inputs[input]);
        let (locals, sides): (Vec<Local>, Vec<TableSide>) = (locals.collect(), sides.collect());
        let local = locals.iter().map(|local| &local.expr);
        let exprs = local.chain(sides.iter().map(|side| &side.expr));
        Self {
            reads: Reads::of(exprs).below(&name),
            name,
            locals,
            sides,
            entries: Vec::new(),
            by_origin: HashTable::new(),
            free: Vec::new(),
            dead: Vec::new(),
            failing: 0,
            indexes: Vec::new(),
        }
    }

    /// The position of the side that belongs to a conjunct.
    pub(crate) fn side(&self, conjunct: usize) -> Option<usize> {
        self.sides.iter().position(|side| side.conjunct == conjunct)
    }

    /// The number of an index over these conjuncts, which all have a side in this table. The index
    /// is created if there is none yet.
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
        // Usually the slot is the one that was found before.
        if let Some(place) = origin.slot_hint()
            && let Some(entry) = self.entries.get(place as usize)
            && entry.live
            && entry.origin.same(origin)
        {
            return Some(place);
        }
        let found = self.by_origin.find(origin.quick_hash(), |slot| {
            self.entries[*slot as usize].origin == *origin
        });
        let slot = found.copied()?;
        origin.remember_slot(slot);
        Some(slot)
    }

    pub(crate) fn entry(&self, slot: Slot) -> &TableEntry {
        &self.entries[slot as usize]
    }

    /// The slots of all live documents.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.entries.len() as Slot).filter(|slot| self.entries[*slot as usize].live)
    }

    /// Whether a document fails by itself.
    pub(crate) fn fails(&self) -> bool {
        self.failing > 0
    }

    /// The slots with this hash of their key values.
    pub(crate) fn lookup(&self, index: usize, hash: u64) -> &[Slot] {
        self.indexes[index]
            .slots
            .get(&hash)
            .map_or(&[], SmallVec::as_slice)
    }

    /// Stores a document, or replaces the document of its origin.
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
            self.failing += usize::from(failure.is_some());
            self.failing -= usize::from(entry.failure.is_some());
            entry.document = document;
            entry.local = local;
            entry.failure = failure;
            entry.changed = step;
            if entry.sides != sides {
                self.unindex(slot);
                self.entries[slot as usize].sides = detached(sides);
                self.index(slot);
            }
            return slot;
        }
        self.failing += usize::from(failure.is_some());
        let entry = TableEntry {
            origin: origin.clone(),
            document,
            sides: detached(sides),
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
        origin.remember_slot(slot);
        self.by_origin
            .insert_unique(origin.quick_hash(), slot, |slot| {
                self.entries[*slot as usize].origin.quick_hash()
            });
        self.index(slot);
        slot
    }

    /// Replaces a document if its keys and the results of its conditions stay the same. Returns
    /// whether it did.
    pub(crate) fn replace(&mut self, slot: Slot, document: &Value, env: &Env) -> bool {
        let entry = &self.entries[slot as usize];
        if entry.failure.is_some() {
            return false;
        }
        if !self.reads.same(&entry.document, document) {
            let (sides, local, failure) = self.evaluate(document, env);
            if failure.is_some() || local != entry.local || sides != entry.sides {
                return false;
            }
        }
        self.entries[slot as usize].document = document.clone();
        true
    }

    /// Removes a document. Its slot stays readable until [`JoinTable::sweep`].
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

    /// Ends a step: frees the slots of removed documents.
    pub(crate) fn sweep(&mut self) {
        for slot in self.dead.drain(..) {
            let entry = &mut self.entries[slot as usize];
            entry.document = Value::NULL;
            entry.sides = Sides::new();
            self.failing -= usize::from(entry.failure.take().is_some());
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

    /// Evaluates the conditions and sides that read this document alone.
    fn evaluate(&self, document: &Value, env: &Env) -> (Sides, LocalStatus, Option<Box<Failure>>) {
        let mut failures: SmallVec<[(usize, Failure); 1]> = SmallVec::new();
        let mut local = LocalStatus::Pass;
        // These expressions read no other input, so a joined document with this one is enough.
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
