//! What an expression reads, found without evaluating it: for join planning and for
//! keeping only the fields that are read.

use document::path::{Path, Root};

use crate::expr::{Args, Expr, FieldPath};
use crate::table::{Body, Yields};

/// Something that an expression reads.
#[derive(Clone, Debug)]
pub enum Read<'a> {
    /// A path from the document; `$$` paths are part of the list that they walk over,
    /// which is read whole unless `narrow` says which fields of its items are.
    Path {
        /// The path.
        path: &'a Path,
        /// The paths from the items, where the list is only walked over.
        narrow: Option<Vec<&'a Path>>,
    },
    /// Members of the document by name, from CEL.
    Members(Vec<String>),
    /// The whole document.
    Everything,
}

/// Things that are not a function of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volatile {
    /// `"@now"`
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

    /// Whether the value hangs on the time or on chance.
    pub fn volatile(&self) -> Volatile {
        let mut volatile = Volatile::default();
        self.walk(&mut |expr| match expr {
            Self::Now => volatile.now = true,
            Self::Random(..) => volatile.random = true,
            Self::Literal(_)
            | Self::Path(_)
            | Self::List(..)
            | Self::One(_)
            | Self::Map(_)
            | Self::Call(_)
            | Self::Switch(..)
            | Self::Query(_)
            | Self::GetField(..)
            | Self::SetField(..)
            | Self::Cel(_) => {}
        });
        volatile
    }

    /// Visits this expression and all inside it.
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
                if let FieldPath::Computed(path) = &field.0 {
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
                    && let Body::Each(_, Yields::Results) = call.operator.body
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
                        Some((root, _)) if root == "item" => {}
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

/// A path, and those in its filters, at all levels.
fn read_path<'a>(path: &'a Path, reads: &mut Vec<Read<'a>>) {
    let all = path.filter_reads().chain([path]);
    let document = all.filter(|path| path.root() == Root::Document);
    reads.extend(document.map(|path| Read::Path { path, narrow: None }));
}

/// The paths in the filters of a path, at all levels.
fn read_filters<'a>(path: &'a Path, reads: &mut Vec<Read<'a>>) {
    let inner = path.filter_reads();
    reads.extend(inner.map(|path| Read::Path { path, narrow: None }));
}

/// The paths from the items that a body reads, where nothing in it passes an item on.
fn item_paths(body: &Expr) -> Option<Vec<&Path>> {
    let mut paths = Vec::new();
    narrow(body, &mut paths).then_some(paths)
}

/// Whether all that `body` reads of the item is in `paths`.
fn narrow<'a>(body: &'a Expr, paths: &mut Vec<&'a Path>) -> bool {
    match body {
        Expr::Path(path) | Expr::Query(path) => {
            if path.path.root() == Root::Item {
                paths.push(&path.path);
                return !path.path.is_root();
            }
            true
        }
        Expr::Cel(_) | Expr::SetField(..) | Expr::GetField(..) => false,
        Expr::Call(call) => {
            // The body of an inner operator has another item; its list is read whole.
            if let (Body::Each(..), Args::Written(args)) = (&call.operator.body, &call.args) {
                return args.iter().skip(1).all(|list| narrow(list, paths));
            }
            let mut all = true;
            body.children(&mut |child| all &= narrow(child, paths));
            all
        }
        Expr::Literal(_)
        | Expr::Now
        | Expr::List(..)
        | Expr::One(_)
        | Expr::Map(_)
        | Expr::Switch(..)
        | Expr::Random(..) => {
            let mut all = true;
            body.children(&mut |child| all &= narrow(child, paths));
            all
        }
    }
}
