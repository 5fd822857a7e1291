//! Join planning: for a change in each table, the order in which the others are searched.
//!
//! ```text
//! A.x = B.x,  B.y = C.y,  A.z < C.z
//!
//! a change in A    probe B by the index on x, then C by the index on y; there check z
//! a change in C    probe B by the index on y, then A by the index on x; there check z
//! ```
//!
//! The next table is always the one with the most keys to the tables so far. A conjunct is
//! checked at the first probe after which all inputs that it reads are known.

use crate::pipeline::{Join, JoinKey, SourceSet};
use crate::running::join_table::JoinTable;
use crate::running::side::{indexable, roles};

/// A side of a table: the positions of both.
type SideAt = (usize, usize);

/// How a join finds its tuples.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For a change in each table, the probes of the other tables, in order.
    pub(crate) probes: Vec<Vec<Probe>>,
    /// For each conjunct of the rule, its two sides if it is keyed and reads hard inputs only.
    pub(crate) sides: Vec<Option<[SideAt; 2]>>,
    /// The conjuncts that read several inputs, or none.
    pub(crate) pairwise: Vec<usize>,
    /// The conjuncts that read no input, other than a literal `true`.
    pub(crate) constants: Vec<usize>,
    /// Whether all conjuncts are keys or read a single input. Then documents with the same keys
    /// have the same partners.
    pub(crate) keys_decide: bool,
}

/// The search of one table.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) table: usize,
    /// The index; `None` to visit all documents of the table.
    pub(crate) index: Option<ProbeIndex>,
    /// The keyed conjuncts between this table and those before it.
    pub(crate) keys: Vec<usize>,
    /// The other conjuncts that can be checked at this table.
    pub(crate) filters: Vec<usize>,
}

/// The index of a probe, and the sides that provide the values to look up.
#[derive(Debug)]
pub(crate) struct ProbeIndex {
    pub(crate) number: usize,
    /// The conjuncts that the index covers.
    pub(crate) conjuncts: Vec<usize>,
    pub(crate) from: Vec<SideAt>,
}

impl Plan {
    pub(crate) fn new(rule: &Join, inputs: &[usize], tables: &mut [JoinTable]) -> Self {
        let here: SourceSet = SourceSet(
            inputs
                .iter()
                .fold(0, |set, input| set | SourceSet::of(*input).0),
        );
        let table_of = |input: usize| inputs.iter().position(|other| *other == input);
        let sides: Vec<Option<[SideAt; 2]>> = rule
            .conjuncts
            .iter()
            .enumerate()
            .map(|(number, conjunct)| {
                let key = conjunct
                    .key
                    .as_ref()
                    .filter(|_| conjunct.reads.within(here))?;
                let [(a, _), (b, _)] = roles(key);
                let side = |input| {
                    table_of(input).and_then(|table| Some((table, tables[table].side(number)?)))
                };
                Some([side(a.input)?, side(b.input)?])
            })
            .collect();
        let known: Vec<usize> = (0..rule.conjuncts.len())
            .filter(|number| rule.conjuncts[*number].reads.within(here))
            .collect();
        let is_true =
            |number: &usize| rule.conjuncts[*number].expr.as_literal() == Some(&true.into());
        let constants: Vec<usize> = known
            .iter()
            .copied()
            .filter(|number| rule.conjuncts[*number].reads.is_empty() && !is_true(number))
            .collect();
        let pairwise: Vec<usize> = known
            .iter()
            .copied()
            .filter(|number| rule.conjuncts[*number].reads.only().is_none() && !is_true(number))
            .collect();
        let mut plan = Self {
            probes: Vec::new(),
            sides,
            pairwise,
            constants,
            keys_decide: false,
        };
        for start in 0..tables.len() {
            let probes = plan.order(rule, start, inputs, tables);
            plan.probes.push(probes);
        }
        let filters = plan
            .probes
            .iter()
            .flatten()
            .any(|probe| !probe.filters.is_empty());
        plan.keys_decide = plan.constants.is_empty() && !filters;
        plan
    }

    /// The probes for a change in one table. The next table is the one with the most keys to the
    /// tables so far.
    fn order(
        &self,
        rule: &Join,
        start: usize,
        inputs: &[usize],
        tables: &mut [JoinTable],
    ) -> Vec<Probe> {
        let mut known = vec![start];
        let mut probes = Vec::new();
        while known.len() < tables.len() {
            let next = (0..tables.len())
                .filter(|table| !known.contains(table))
                .max_by_key(|table| {
                    (
                        self.keys_to(*table, &known).len(),
                        std::cmp::Reverse(*table),
                    )
                });
            let Some(table) = next else { break };
            let keys = self.keys_to(table, &known);
            let index = self.index(rule, table, &keys, tables);
            known.push(table);
            let reached = SourceSet(
                known
                    .iter()
                    .fold(0, |set, table| set | SourceSet::of(inputs[*table]).0),
            );
            let filters = self.pairwise.iter().copied().filter(|number| {
                let reads = rule.conjuncts[*number].reads;
                let evaluated = self.sides[*number].is_none()
                    || matches!(rule.conjuncts[*number].key, Some(JoinKey::Selector { .. }));
                evaluated && reads.has(inputs[table]) && reads.within(reached)
            });
            probes.push(Probe {
                table,
                index,
                filters: filters.collect(),
                keys,
            });
        }
        probes
    }

    /// The keyed conjuncts between a table and the tables so far.
    fn keys_to(&self, table: usize, known: &[usize]) -> Vec<usize> {
        (0..self.sides.len())
            .filter(|number| {
                self.sides[*number].is_some_and(|[(a, _), (b, _)]| {
                    (a == table && known.contains(&b)) || (b == table && known.contains(&a))
                })
            })
            .collect()
    }

    /// An index that covers these conjuncts; `None` if there are none.
    fn index(
        &self,
        rule: &Join,
        table: usize,
        keys: &[usize],
        tables: &mut [JoinTable],
    ) -> Option<ProbeIndex> {
        let covered = indexable(rule, keys.iter().copied());
        if covered.is_empty() {
            return None;
        }
        let from = covered
            .iter()
            .filter_map(|number| self.sides[*number].map(|[a, b]| if a.0 == table { b } else { a }))
            .collect();
        Some(ProbeIndex {
            number: tables[table].index_on(&covered),
            conjuncts: covered,
            from,
        })
    }
}
