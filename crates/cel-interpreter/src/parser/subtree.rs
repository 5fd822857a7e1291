//! Subtrees, and how they are combined. The functions here do not recurse, so what they need is not on
//! the stack while the parser goes deeper.

use std::ops::Range;

use document::Key;

use super::{MAX_DEPTH, Parser, Result};
use crate::error::CompileError;
use crate::tree::{CelExpr, ExprSpan};

/// A subtree, its height, and where it is in the text.
pub(super) struct Subtree {
    pub(super) node: CelExpr,
    pub(super) height: usize,
    pub(super) place: Box<ExprSpan>,
}

impl Subtree {
    pub(super) fn leaf(node: CelExpr, range: Range<usize>) -> Self {
        let parts = Vec::new();
        Self {
            node,
            height: 1,
            place: Box::new(ExprSpan { range, parts }),
        }
    }

    /// Where it starts.
    pub(super) fn start(&self) -> usize {
        self.place.range.start
    }
}

/// The subtrees of a node that is being built. They are added in the order of [`CelExpr::each`].
#[derive(Default)]
pub(super) struct Parts {
    /// The height of the highest one.
    pub(super) height: usize,
    pub(super) places: Vec<ExprSpan>,
}

impl Parts {
    pub(super) fn add(&mut self, part: Subtree) -> CelExpr {
        self.height = self.height.max(part.height);
        self.places.push(*part.place);
        part.node
    }

    pub(super) fn boxed(&mut self, part: Subtree) -> Box<CelExpr> {
        Box::new(self.add(part))
    }

    /// The subtree of a node over these.
    pub(super) fn under(self, node: CelExpr, range: Range<usize>) -> Result<Subtree> {
        if self.height >= MAX_DEPTH {
            return Err(CompileError::TooDeep);
        }
        let parts = self.places;
        Ok(Subtree {
            node,
            height: self.height + 1,
            place: Box::new(ExprSpan { range, parts }),
        })
    }
}

/// Builds the expression of two operands.
pub(super) type Binary = fn(Box<[CelExpr; 2]>) -> CelExpr;

impl Parser<'_> {
    /// `condition ? then : other`
    pub(super) fn chosen(
        &self,
        condition: Subtree,
        then: Subtree,
        other: Subtree,
    ) -> Result<Subtree> {
        let range = self.since(condition.start());
        let mut parts = Parts::default();
        let nodes = [condition, then, other].map(|part| parts.add(part));
        parts.under(CelExpr::Conditional(Box::new(nodes)), range)
    }

    /// `a || b || c`, or `a && b && c`.
    pub(super) fn combined(&self, operands: Vec<Subtree>, either: bool) -> Result<Subtree> {
        let range = self.since(operands.first().map_or(0, Subtree::start));
        let mut parts = Parts::default();
        let nodes = operands.into_iter().map(|part| parts.add(part)).collect();
        let node = if either {
            CelExpr::Or(nodes)
        } else {
            CelExpr::And(nodes)
        };
        parts.under(node, range)
    }

    /// An infix operator with its operands.
    pub(super) fn pair(&self, left: Subtree, right: Subtree, make: Binary) -> Result<Subtree> {
        let range = self.since(left.start());
        let mut parts = Parts::default();
        let pair = Box::new([left, right].map(|part| parts.add(part)));
        parts.under(make(pair), range)
    }

    /// `!a` or `-a`, which starts at this offset.
    pub(super) fn signed(&self, part: Subtree, sign: &str, start: usize) -> Result<Subtree> {
        let mut parts = Parts::default();
        let inner = parts.boxed(part);
        let node = if sign == "!" {
            CelExpr::Not(inner)
        } else {
            CelExpr::Negate(inner)
        };
        parts.under(node, self.since(start))
    }

    /// `base[index]`
    pub(super) fn index(&self, base: Subtree, index: Subtree, optional: bool) -> Result<Subtree> {
        let range = self.since(base.start());
        let mut parts = Parts::default();
        let node = CelExpr::Index {
            base: parts.boxed(base),
            index: parts.boxed(index),
            optional,
        };
        parts.under(node, range)
    }

    /// A member of an expression. A path gets longer, but not higher.
    pub(super) fn read(&self, base: Subtree, key: Key, optional: bool) -> Result<Subtree> {
        let range = self.since(base.start());
        match base {
            Subtree {
                node: CelExpr::Path(mut path),
                ..
            } if !optional => {
                path.keys.push(key);
                Ok(Subtree::leaf(CelExpr::Path(path), range))
            }
            base => {
                let mut parts = Parts::default();
                let base = parts.boxed(base);
                let node = if optional {
                    CelExpr::OptionalMember(base, key)
                } else {
                    CelExpr::Member(base, key)
                };
                parts.under(node, range)
            }
        }
    }
}
