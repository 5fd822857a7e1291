//! Filters: the condition of a `[?…]`, and whether it holds for an element.
//!
//! Comparisons are typed as in RFC 9535. Values of different types are unequal and have no
//! order. A path without a match yields *nothing*, which equals only nothing.

use std::ops::ControlFlow;

use super::pattern::{Extent, Pattern};
use super::search::{self, Search};
use super::segment::Segment;
use super::{Path, Root};
use crate::value::{Value, View};

/// The condition of a filter selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(pub(super) Box<Condition>);

/// A comparison of a field of the element with literals.
#[derive(Clone, Debug)]
pub struct FilterComparison<'a> {
    /// The path of the field from the element.
    pub segments: &'a [Segment],
    /// The literals. The field must equal one of them, or be in order with it (`<` and the like).
    pub literals: Vec<&'a Value>,
    /// Whether the order is compared: `<` and the like.
    pub ordered: bool,
    /// Whether it is `!=`.
    pub negated: bool,
}

/// A condition on an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// `a || b || …`
    Any(Vec<Condition>),
    /// `a && b && …`
    All(Vec<Condition>),
    /// `!a`
    Not(Box<Condition>),
    /// A query that finds something.
    Exists(Query),
    /// `a == b`, `a < b`, …
    Compare(Operand, Comparison, Operand),
    /// `a in [b, c, …]`
    In(Operand, Vec<Operand>),
    /// `a =~ /b/`, and `match` or `search` with a literal pattern.
    Matches(Operand, Pattern),
    /// `match` or `search` with a pattern from the document.
    MatchesComputed(Operand, Operand, Extent),
}

/// A comparison between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An operand, which has at most one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Literal(Value),
    /// Invariant: the query is singular.
    Query(Query),
    /// `length(…)`
    Length(Box<Operand>),
    /// `count(…)`
    Count(Query),
    /// `value(…)`
    Value(Query),
}

/// A path inside a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// `@…`: from the element that is tested.
    Element(Box<[Segment]>),
    /// `$…`: from the document. Invariant: its root is [`Root::Document`].
    Document(Path),
}

impl Filter {
    /// The parts of an element that this filter reads: the segments of its `@` paths. No
    /// segments means the whole element. The `@` paths of filters inside such a path are in its
    /// segments.
    pub fn element_reads(&self) -> impl Iterator<Item = &[Segment]> {
        self.queries().into_iter().filter_map(|query| match query {
            Query::Element(segments) => Some(&**segments),
            Query::Document(_) => None,
        })
    }

    /// The `$` paths of this filter. Those of filters inside one of its paths are in the
    /// segments of that path.
    pub fn document_reads(&self) -> impl Iterator<Item = &Path> {
        self.queries().into_iter().filter_map(|query| match query {
            Query::Document(path) => Some(path),
            Query::Element(_) => None,
        })
    }

    /// The comparisons of fields of the element with literals, for code that checks types.
    pub fn comparisons(&self) -> Vec<FilterComparison<'_>> {
        let mut found = Vec::new();
        self.0.comparisons(&mut found);
        found
    }

    fn queries(&self) -> Vec<&Query> {
        let mut queries = Vec::new();
        self.0.queries(&mut queries);
        queries
    }

    /// Whether the condition holds for `element`.
    pub(super) fn holds(&self, element: &Value, search: &Search<'_>) -> bool {
        self.0.holds(element, search)
    }
}

/// The `$` paths in the filters of `segments`, at all levels.
pub(super) fn document_reads<'p>(segments: &'p [Segment], reads: &mut Vec<&'p Path>) {
    for query in segments
        .iter()
        .flat_map(Segment::filters)
        .flat_map(Filter::queries)
    {
        if let Query::Document(path) = query {
            debug_assert_eq!(path.root, Root::Document);
            reads.push(path);
        }
        document_reads(query.segments(), reads);
    }
}

impl Condition {
    fn comparisons<'p>(&'p self, found: &mut Vec<FilterComparison<'p>>) {
        match self {
            Self::Any(conditions) | Self::All(conditions) => {
                for condition in conditions {
                    condition.comparisons(found);
                }
            }
            Self::Not(condition) => condition.comparisons(found),
            Self::Compare(left, comparison, right) => {
                let ((Operand::Query(Query::Element(segments)), Operand::Literal(literal))
                | (Operand::Literal(literal), Operand::Query(Query::Element(segments)))) =
                    (left, right)
                else {
                    return;
                };
                found.push(FilterComparison {
                    segments,
                    literals: vec![literal],
                    ordered: !matches!(comparison, Comparison::Equal | Comparison::NotEqual),
                    negated: *comparison == Comparison::NotEqual,
                });
            }
            Self::In(Operand::Query(Query::Element(segments)), items) => {
                let literals: Option<Vec<&Value>> = items
                    .iter()
                    .map(|item| match item {
                        Operand::Literal(literal) => Some(literal),
                        Operand::Query(_)
                        | Operand::Length(_)
                        | Operand::Count(_)
                        | Operand::Value(_) => None,
                    })
                    .collect();
                found.extend(literals.map(|literals| FilterComparison {
                    segments,
                    literals,
                    ordered: false,
                    negated: false,
                }));
            }
            Self::Exists(_) | Self::In(..) | Self::Matches(..) | Self::MatchesComputed(..) => {}
        }
    }

    fn queries<'p>(&'p self, queries: &mut Vec<&'p Query>) {
        match self {
            Self::Any(conditions) | Self::All(conditions) => {
                for condition in conditions {
                    condition.queries(queries);
                }
            }
            Self::Not(condition) => condition.queries(queries),
            Self::Exists(query) => queries.push(query),
            Self::Compare(left, _, right) | Self::MatchesComputed(left, right, _) => {
                left.queries(queries);
                right.queries(queries);
            }
            Self::In(left, items) => {
                left.queries(queries);
                for item in items {
                    item.queries(queries);
                }
            }
            Self::Matches(left, _) => left.queries(queries),
        }
    }

    fn holds(&self, element: &Value, search: &Search<'_>) -> bool {
        match self {
            Self::Any(conditions) => conditions.iter().any(|c| c.holds(element, search)),
            Self::All(conditions) => conditions.iter().all(|c| c.holds(element, search)),
            Self::Not(condition) => !condition.holds(element, search),
            Self::Exists(query) => query.count(1, element, search) > 0,
            Self::Compare(left, comparison, right) => {
                let (mut a, mut b) = (Value::NULL, Value::NULL);
                let left = left.value(element, search, &mut a);
                let right = right.value(element, search, &mut b);
                search.may_compare(left, right) && comparison.holds(left, right)
            }
            Self::In(left, items) => {
                let mut a = Value::NULL;
                let left = left.value(element, search, &mut a);
                let is_left = |item: &Operand| {
                    let mut b = Value::NULL;
                    let item = item.value(element, search, &mut b);
                    search.may_compare(left, item) && item == left
                };
                left.is_some() && items.iter().any(is_left)
            }
            Self::Matches(left, pattern) => left
                .value(element, search, &mut Value::default())
                .and_then(Value::as_str)
                .is_some_and(|text| search.may_read(text.len()) && pattern.matches(text)),
            Self::MatchesComputed(left, right, extent) => {
                let (mut a, mut b) = (Value::NULL, Value::NULL);
                let text = left.value(element, search, &mut a);
                let source = right.value(element, search, &mut b);
                text.and_then(Value::as_str)
                    .zip(source.and_then(Value::as_str))
                    .is_some_and(|(text, source)| {
                        search.may_read(text.len()) && search.matches(source, *extent, text)
                    })
            }
        }
    }
}

impl Comparison {
    fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => is_less(left, right),
            Self::LessOrEqual => left == right || is_less(left, right),
            Self::Greater => is_less(right, left),
            Self::GreaterOrEqual => left == right || is_less(right, left),
        }
    }
}

/// Only two numbers or two strings have an order.
fn is_less(left: Option<&Value>, right: Option<&Value>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    match (left.view(), right.view()) {
        (View::Str(a), View::Str(b)) => a < b,
        _ => left
            .as_number()
            .zip(right.as_number())
            .is_some_and(|(a, b)| a < b),
    }
}

impl Operand {
    fn queries<'p>(&'p self, queries: &mut Vec<&'p Query>) {
        match self {
            Self::Literal(_) => {}
            Self::Query(query) | Self::Count(query) | Self::Value(query) => queries.push(query),
            Self::Length(operand) => operand.queries(queries),
        }
    }

    /// The value; `None` is RFC 9535's *nothing*. A computed value is stored in `slot`. Most
    /// values are borrowed, and comparing them is the inner loop of a filter.
    fn value<'v>(
        &'v self,
        element: &'v Value,
        search: &Search<'v>,
        slot: &'v mut Value,
    ) -> Option<&'v Value> {
        match self {
            Self::Literal(value) => return Some(value),
            Self::Query(query) => {
                return search::place(query.segments(), query.start(element, search));
            }
            Self::Value(query) => return query.only(element, search),
            Self::Length(operand) => {
                let mut inner = Value::NULL;
                let measured = operand.value(element, search, &mut inner)?;
                let text = measured.as_str().map_or(0, str::len);
                if !search.may_read(text) {
                    return None;
                }
                *slot = Value::from(length(measured)?);
            }
            Self::Count(query) => {
                *slot = Value::from(query.count(usize::MAX, element, search));
            }
        }
        Some(slot)
    }
}

/// Characters of a string, elements of a list, members of a map.
fn length(value: &Value) -> Option<usize> {
    match value.view() {
        View::Str(text) => Some(text.chars().count()),
        View::List(list) => Some(list.len()),
        View::Map(map) => Some(map.len()),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => None,
    }
}

impl Query {
    pub(super) fn segments(&self) -> &[Segment] {
        match self {
            Self::Element(segments) => segments,
            Self::Document(path) => path.segments(),
        }
    }

    pub(super) fn is_singular(&self) -> bool {
        self.segments().iter().all(Segment::is_singular)
    }

    fn start<'v>(&self, element: &'v Value, search: &Search<'v>) -> &'v Value {
        match self {
            Self::Element(_) => element,
            Self::Document(_) => search.document(),
        }
    }

    /// How many matches there are; stops counting at `limit`.
    fn count(&self, limit: usize, element: &Value, search: &Search<'_>) -> usize {
        let mut count = 0;
        let _ = search.walk(self.segments(), self.start(element, search), &mut |_| {
            count += 1;
            if count == limit {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        count
    }

    /// The match, if there is exactly one.
    fn only<'v>(&self, element: &'v Value, search: &Search<'v>) -> Option<&'v Value> {
        let mut found = Ok(None);
        let _ = search.walk(self.segments(), self.start(element, search), &mut |value| {
            found = match found {
                Ok(None) => Ok(Some(value)),
                _ => Err(()),
            };
            if found.is_err() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        found.ok().flatten()
    }
}
