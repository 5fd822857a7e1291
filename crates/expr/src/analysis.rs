//! Finds what an expression reads, without evaluating it.
//!
//! Join planning needs this, and so do sources, which keep only the fields that a pipeline
//! reads. The analysis may report too much, never too little.
//!
//! ```text
//! {"@eq": ["$.spec.a", "$.b[?(@.x == $.c)]"]}    reads $.spec.a, $.b[…] and $.c
//! {"@map": ["$$.name", "$.items"]}               reads `name` of every item of $.items
//! {"@map": ["$$", "$.items"]}                    reads $.items as a whole
//! ```

use document::path::{Path, Root};
use document::{Location, Value};

use crate::eval::NOW;
use crate::expr::{Args, Expr, SetFieldPath};
use crate::function::{Body, Yields};
use crate::time::Time;

/// Something that an expression reads.
#[derive(Clone, Debug)]
pub enum Read<'a> {
    /// A path from the document. A path from `$$` is part of the list that contains the item.
    /// The list is read as a whole, unless `narrow` lists the fields of its items that are read.
    Path {
        /// The path.
        path: &'a Path,
        /// The paths from the items, if nothing else of an item is read.
        narrow: Option<Vec<&'a Path>>,
    },
    /// Members of the document by name, from CEL.
    Members(Vec<String>),
    /// The whole document.
    Everything,
}

impl Volatile {
    /// What either of these depends on.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            now: self.now || other.now,
            random: self.random || other.random,
        }
    }
}

/// Inputs of an expression that are not part of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volatile {
    /// `"@now"`, or `now` in CEL
    pub now: bool,
    /// `@rnd`
    pub random: bool,
}

impl Expr {
    /// Everything that this expression reads of the document.
    pub fn reads(&self) -> Vec<Read<'_>> {
        let mut reads = Vec::new();
        self.collect_reads(&mut reads);
        reads
    }

    /// Whether the value depends on the time or on random numbers.
    pub fn volatile(&self) -> Volatile {
        let mut volatile = Volatile::default();
        self.walk(&mut |expr| volatile = volatile.or(expr.own_volatile()));
        volatile
    }

    /// What this expression depends on besides the expressions inside it.
    fn own_volatile(&self) -> Volatile {
        let (now, random) = match self {
            Self::Now => (true, false),
            Self::Cel(cel) => (cel.program.reads_variable(NOW), false),
            Self::Random(..) => (false, true),
            Self::Literal(_)
            | Self::Path(_)
            | Self::List(..)
            | Self::One(_)
            | Self::Map(_)
            | Self::Call(_)
            | Self::Switch(..)
            | Self::Query(_)
            | Self::GetField(..)
            | Self::SetField(..) => (false, false),
        };
        Volatile { now, random }
    }

    /// Where the expression computes with the time: arithmetic on `"@now"`, and CEL with `now`. The
    /// value changes all the time, but sets no deadline.
    pub fn computes_with_now(&self) -> Vec<&Location> {
        let mut found = Vec::new();
        self.walk(&mut |expr| {
            if let Self::Cel(cel) = expr
                && expr.own_volatile().now
            {
                found.push(&cel.at);
            }
            if let Self::Call(call) = expr
                && ["@timeAdd", "@timeSub", "@unix"].contains(&call.function.name)
                && let Args::Written(args) = &call.args
                && args.iter().any(|arg| matches!(arg, Self::Now))
            {
                found.push(&call.at);
            }
        });
        found
    }

    /// Whether the value may depend on the time between two deadlines. It does not if `"@now"` is
    /// only compared with what must be a time.
    pub fn shows_now(&self) -> bool {
        if let Self::Call(call) = self
            && call.now_side.is_some()
            && let Args::Written(args) = &call.args
        {
            let mut sides = args.iter();
            return sides.any(|side| !matches!(side, Self::Now) && !side.is_time());
        }
        let mut shows = self.own_volatile().now;
        self.children(&mut |child| shows |= child.shows_now());
        shows
    }

    /// Whether the value must be a time, unless the evaluation fails.
    fn is_time(&self) -> bool {
        let text = self.as_literal().and_then(Value::as_str);
        text.is_some_and(|text| Time::parse(text).is_some()) || self.as_call("@timeAdd").is_some()
    }

    /// Visits this expression and all expressions inside it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        self.children(&mut |child| child.walk(visit));
    }

    /// Visits the expressions directly inside this one.
    fn children<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        match self {
            Self::Literal(_) | Self::Now | Self::Path(_) | Self::Query(_) | Self::Cel(_) => {}
            Self::List(items, _) => items.iter().for_each(visit),
            Self::One(inner) | Self::GetField(inner, _) => visit(inner),
            Self::Map(map) => {
                map.copy.iter().for_each(&mut *visit);
                map.entries.iter().for_each(|(_, value)| visit(value));
                map.setters.iter().for_each(|setter| visit(&setter.value));
            }
            Self::Call(call) => call.args.children(visit),
            Self::Switch(pairs, _) => pairs.iter().for_each(|(case, action)| {
                visit(case);
                visit(action);
            }),
            Self::SetField(field, _) => {
                if let SetFieldPath::Computed(path) = &field.0 {
                    visit(path);
                }
                visit(&field.1);
            }
            Self::Random(args, _) => args.children(visit),
        }
    }

    fn collect_reads<'a>(&'a self, reads: &mut Vec<Read<'a>>) {
        match self {
            Self::Path(path) | Self::Query(path) => read_path(&path.path, reads),
            Self::Map(map) => {
                for setter in &map.setters {
                    read_filters(&setter.path, reads);
                }
                self.children(&mut |child| child.collect_reads(reads));
            }
            Self::Call(call) => {
                if let Args::Written(args) = &call.args
                    && let [body, list] = args.as_ref()
                    && let Self::Path(path) = list
                    && path.path.root() == Root::Document
                    && let Body::Each(_, Yields::Results) = call.function.body
                    && let Some(narrow) = item_paths(body)
                {
                    read_filters(&path.path, reads);
                    reads.push(Read::Path {
                        path: &path.path,
                        narrow: Some(narrow),
                    });
                    body.collect_reads(reads);
                    return;
                }
                self.children(&mut |child| child.collect_reads(reads));
            }
            Self::GetField(..) => reads.push(Read::Everything),
            Self::SetField(field, _) => {
                reads.push(Read::Everything);
                field.1.collect_reads(reads);
            }
            Self::Cel(cel) => {
                for chain in cel.program.reads() {
                    match chain.split_first() {
                        Some((root, rest)) if root == "object" => {
                            reads.push(Read::Members(rest.to_vec()));
                        }
                        Some((root, _)) if root == "item" || root == NOW => {}
                        _ => reads.push(Read::Members(chain)),
                    }
                }
            }
            Self::Literal(_)
            | Self::Now
            | Self::List(..)
            | Self::One(_)
            | Self::Switch(..)
            | Self::Random(..) => self.children(&mut |child| child.collect_reads(reads)),
        }
    }
}

impl Args {
    fn children<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        match self {
            Self::Written(args) => args.iter().for_each(visit),
            Self::Yielded(expr) => visit(expr),
        }
    }
}

/// Adds a path, and the paths in its filters at all levels.
fn read_path<'a>(path: &'a Path, reads: &mut Vec<Read<'a>>) {
    let all = path.filter_reads().chain([path]);
    let document = all.filter(|path| path.root() == Root::Document);
    reads.extend(document.map(|path| Read::Path { path, narrow: None }));
}

/// Adds the paths in the filters of a path, at all levels.
fn read_filters<'a>(path: &'a Path, reads: &mut Vec<Read<'a>>) {
    let inner = path.filter_reads();
    reads.extend(inner.map(|path| Read::Path { path, narrow: None }));
}

/// The paths from the item that a body reads; `None` if it may use the item as a whole.
fn item_paths(body: &Expr) -> Option<Vec<&Path>> {
    let mut paths = Vec::new();
    narrow(body, &mut paths).then_some(paths)
}

/// Adds the paths from the item to `paths`. Returns whether `body` reads nothing else of it.
fn narrow<'a>(body: &'a Expr, paths: &mut Vec<&'a Path>) -> bool {
    if let Expr::Call(call) = body
        && let (Body::Each(..), Args::Written(args)) = (&call.function.body, &call.args)
    {
        // The body of an inner call has another item. Its list is read as a whole.
        return args.iter().skip(1).all(|list| narrow(list, paths));
    }
    match body {
        Expr::Path(path) | Expr::Query(path) => {
            if path.path.root() == Root::Item {
                paths.push(&path.path);
                return !path.path.is_root();
            }
            true
        }
        Expr::Cel(_) | Expr::SetField(..) | Expr::GetField(..) => false,
        Expr::Literal(_)
        | Expr::Now
        | Expr::List(..)
        | Expr::One(_)
        | Expr::Map(_)
        | Expr::Call(_)
        | Expr::Switch(..)
        | Expr::Random(..) => {
            let mut all = true;
            body.children(&mut |child| all &= narrow(child, paths));
            all
        }
    }
}
