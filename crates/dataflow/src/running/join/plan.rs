//! Join planning: in which order a change of one input looks for partners in the
//! others, through which index, and where each condition is checked.

use crate::pipeline::{Join, JoinKey, SourceSet};
use crate::running::join_table::JoinTable;
use crate::running::side::{indexable, roles};

/// A (table, side) pair.
type SideAt = (usize, usize);

/// How a join finds its tuples.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For a change in each table, the tables to look into, one after the other.
    pub(crate) probes: Vec<Vec<Probe>>,
    /// For each conjunct of the rule that is keyed here, its two sides.
    pub(crate) sides: Vec<Option<[SideAt; 2]>>,
    /// The conjuncts that read several inputs, or none.
    pub(crate) pairwise: Vec<usize>,
    /// The conjuncts that read no input, and are not simply true.
    pub(crate) constants: Vec<usize>,
    /// Whether keys and conditions on single inputs are all there is: then documents
    /// with the same keys have the same partners.
    pub(crate) keys_decide: bool,
}

/// The look into one table.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) table: usize,
    /// Without one, all documents of the table are looked at.
    pub(crate) index: Option<ProbeIndex>,
    /// The keyed conjuncts between this table and those known already.
    pub(crate) keys: Vec<usize>,
    /// The other conjuncts that can be checked from here on.
    pub(crate) filters: Vec<usize>,
}

/// Which index, and where the values to look up come from.
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

    /// From one table to all others: next comes the table with the most keys to those
    /// that are known.
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

    /// The keyed conjuncts between a table and tables that are known.
    fn keys_to(&self, table: usize, known: &[usize]) -> Vec<usize> {
        (0..self.sides.len())
            .filter(|number| {
                self.sides[*number].is_some_and(|[(a, _), (b, _)]| {
                    (a == table && known.contains(&b)) || (b == table && known.contains(&a))
                })
            })
            .collect()
    }

    /// An index that serves these conjuncts.
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
