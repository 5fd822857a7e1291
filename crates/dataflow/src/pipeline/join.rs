//! `@join`: the condition as a set of conjuncts.
//!
//! A condition is split at `@and`. For each conjunct the parser finds the inputs that it reads,
//! and whether it is a key, which an index can look up:
//!
//! ```text
//! {"@and": [                                       reads   key
//!   {"@eq": ["$.A.x", "$.B.y"]},                   A, B    Equal
//!   {"@in": ["$.A.x", "$.B.list"]},                A, B    Member
//!   {"@selector": ["$.A.sel", "$.B.labels"]},      A, B    Selector
//!   {"@gt": ["$.A.x", 1]},                         A       none
//!   {"@lt": ["$.A.x", "$.B.y"]}]}                  A, B    none
//! ```

use document::path::{Root, Segment};
use document::{Location, Map, Value};
use expr::{DocumentKind, Expr, Items, Read};

use super::{PipelineErrorKind, PipelineReader};

/// A set of inputs of a join, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSet(pub u64);

/// The most inputs of a join.
pub(super) const MAX_INPUTS: usize = 64;

impl SourceSet {
    /// The set of one input.
    pub fn of(input: usize) -> Self {
        Self(1 << input)
    }

    /// The first `count` inputs.
    pub fn first(count: usize) -> Self {
        Self(if count >= 64 {
            u64::MAX
        } else {
            (1 << count) - 1
        })
    }

    /// Whether an input is in it.
    pub fn has(self, input: usize) -> bool {
        self.0 & (1 << input) != 0
    }

    /// The union of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is a subset of the other set.
    pub fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The number of inputs.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The input, if there is exactly one.
    pub fn only(self) -> Option<usize> {
        (self.len() == 1).then(|| self.0.trailing_zeros() as usize)
    }

    /// The inputs, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |input| self.has(*input))
    }
}

/// A join of inputs.
#[derive(Clone, Debug)]
pub struct Join {
    /// The keys of the inputs in the joined document.
    pub inputs: Vec<String>,
    /// The conjuncts of the condition. False wins over error, in any order.
    pub conjuncts: Vec<Conjunct>,
    /// The soft inputs: a row without a partner has null for them.
    pub soft: SourceSet,
}

/// One conjunct of the condition.
#[derive(Clone, Debug)]
pub struct Conjunct {
    /// The condition.
    pub expr: Expr,
    /// The inputs that it reads.
    pub reads: SourceSet,
    /// Its two sides, if an index can look it up.
    pub key: Option<JoinKey>,
    /// The spec, for `explain`.
    pub spec: Value,
    /// The location in the spec.
    pub at: Location,
}

/// A conjunct that an index can look up. Each side reads exactly one input.
#[derive(Clone, Debug)]
pub enum JoinKey {
    /// `@eq`: both sides are equal and not null.
    Equal(Side, Side),
    /// `@in`: the list contains the element, which is not null.
    Member {
        /// The element.
        element: Side,
        /// The list.
        list: Side,
    },
    /// `@selector`: the labels match the selector.
    Selector {
        /// The label selector.
        selector: Side,
        /// The labels.
        labels: Side,
    },
}

/// One side of a [`JoinKey`].
#[derive(Clone, Debug)]
pub struct Side {
    /// The input that it reads.
    pub input: usize,
    /// The expression.
    pub expr: Expr,
}

impl JoinKey {
    /// Both sides.
    pub fn sides(&self) -> [&Side; 2] {
        match self {
            Self::Equal(a, b) => [a, b],
            Self::Member { element, list } => [element, list],
            Self::Selector { selector, labels } => [selector, labels],
        }
    }
}

impl Join {
    /// The inputs that are not soft.
    pub fn hard(&self) -> SourceSet {
        SourceSet(SourceSet::first(self.inputs.len()).0 & !self.soft.0)
    }
}

impl PipelineReader<'_> {
    /// Parses `@join`; `inputs` are the names of the inputs.
    pub(super) fn join(&mut self, spec: &Value, at: &Location, inputs: &[String]) -> Join {
        if inputs.len() > MAX_INPUTS {
            self.error(at, PipelineErrorKind::TooManySources { limit: MAX_INPUTS });
            return Join {
                inputs: inputs.to_vec(),
                conjuncts: Vec::new(),
                soft: SourceSet::default(),
            };
        }
        let parts = self.join_parts(spec, at);
        let mut conjuncts = Vec::new();
        for (condition, at) in &parts.conditions {
            self.conjuncts(condition, at, inputs, &mut conjuncts);
        }
        if let Some((pair, at)) = parts.index {
            self.index(pair, &at, inputs, &mut conjuncts);
        }
        let soft = self.soft(&parts.soft, inputs, at);
        Join {
            inputs: inputs.to_vec(),
            conjuncts,
            soft,
        }
    }

    /// Parses the three forms: a condition, `{on, soft}`, or `[condition, {soft, index}]`.
    fn join_parts<'v>(&mut self, spec: &'v Value, at: &Location) -> JoinParts<'v> {
        let mut parts = JoinParts::default();
        if let Some(map) = spec.as_map()
            && let Some(on) = condition_key(map)
        {
            let condition = (spec.get(on), at.key(on));
            self.condition(condition, &mut parts);
            self.join_options(spec, &[on, "soft"], at, &mut parts);
            return parts;
        }
        match spec.as_list() {
            Some(list)
                if list.len() > 1
                    && list
                        .iter()
                        .all(|item| item.as_map().is_some_and(is_operator)) =>
            {
                self.error(
                    at,
                    PipelineErrorKind::JoinForm {
                        hint: Some(USE_AND),
                    },
                );
            }
            Some(list)
                if list.len() == 2
                    && list
                        .get(1)
                        .is_some_and(|options| options.as_map().is_some()) =>
            {
                if let Some(condition) = list.get(0) {
                    self.condition((condition, at.index(0)), &mut parts);
                }
                if let Some(options) = list.get(1) {
                    self.join_options(options, &["soft", "index"], &at.index(1), &mut parts);
                }
            }
            Some(_) => self.error(at, PipelineErrorKind::JoinForm { hint: None }),
            None => self.condition((spec, at.clone()), &mut parts),
        }
        parts
    }

    /// Adds a condition, unless it is a map without operator: that is never true or false.
    fn condition<'v>(&mut self, (condition, at): (&'v Value, Location), parts: &mut JoinParts<'v>) {
        let map = condition.as_map();
        let Some(map) = map.filter(|map| !is_operator(map)) else {
            parts.conditions.push((condition, at));
            return;
        };
        let mut names = map.iter().map(|(name, _)| name.as_str());
        let hint = if names.clone().any(|name| name == "soft") {
            "did you mean \"on\"? A soft join is {\"on\": <condition>, soft: [<source>, …]}"
        } else if names.clone().filter(|name| name.starts_with('@')).count() > 1 {
            USE_AND
        } else if names.any(|name| name.eq_ignore_ascii_case("on")) {
            "did you mean \"on\"?"
        } else {
            "a condition is an operator, such as {\"@eq\": [<expression>, <expression>]}"
        };
        self.error(&at, PipelineErrorKind::JoinForm { hint: Some(hint) });
    }

    fn join_options<'v>(
        &mut self,
        options: &'v Value,
        known: &[&'static str],
        at: &Location,
        parts: &mut JoinParts<'v>,
    ) {
        for (name, value) in options.as_map().into_iter().flatten() {
            let at = at.key(name.as_str());
            match name.as_str() {
                "on" | "true" if known.contains(&name.as_str()) => {}
                "soft" => match value.as_list() {
                    Some(list) => {
                        let names = list.iter().enumerate();
                        parts
                            .soft
                            .extend(names.map(|(i, name)| (name, at.index(i))));
                    }
                    None => parts.soft.push((value, at)),
                },
                "index" if known.contains(&"index") => parts.index = Some((value, at)),
                _ => self.error(
                    &at,
                    PipelineErrorKind::UnknownName {
                        what: "option of @join",
                        name: name.as_str().to_owned(),
                        nearest: expr::nearest(name.as_str(), known.iter().copied())
                            .map(str::to_owned),
                        known: known.iter().map(|&name| name.to_owned()).collect(),
                    },
                ),
            }
        }
    }

    fn soft(
        &mut self,
        names: &[(&Value, Location)],
        inputs: &[String],
        at: &Location,
    ) -> SourceSet {
        let mut soft = SourceSet::default();
        for (name, at) in names {
            let text = name.as_str().unwrap_or_default();
            match inputs.iter().position(|input| input == text) {
                Some(input) => soft = soft.union(SourceSet::of(input)),
                None => self.error(
                    at,
                    PipelineErrorKind::UnknownName {
                        what: "source",
                        name: name
                            .as_str()
                            .map_or_else(|| name.to_string(), str::to_owned),
                        nearest: expr::nearest(text, inputs.iter().map(String::as_str))
                            .map(str::to_owned),
                        known: inputs.to_vec(),
                    },
                ),
            }
        }
        if !inputs.is_empty() && soft == SourceSet::first(inputs.len()) {
            self.error(at, PipelineErrorKind::AllSoft);
        }
        soft
    }

    /// Splits a condition at `@and`, at all levels.
    fn conjuncts(
        &mut self,
        spec: &Value,
        at: &Location,
        inputs: &[String],
        out: &mut Vec<Conjunct>,
    ) {
        if let Some([(name, args)]) = spec.as_map().map(Map::entries)
            && name.as_str() == "@and"
            && let Some(args) = args.as_list()
        {
            for (i, arg) in args.iter().enumerate() {
                self.conjuncts(arg, &at.key("@and").index(i), inputs, out);
            }
            return;
        }
        let expr = self.compile(DocumentKind::Joined, |compiler| {
            compiler.expr(spec, at, Items::None)
        });
        self.conjunct(expr, spec.clone(), at, inputs, out);
    }

    /// The `index` option: a pair of expressions that becomes another `@eq`.
    fn index(&mut self, pair: &Value, at: &Location, inputs: &[String], out: &mut Vec<Conjunct>) {
        let spec = document::json!({"@eq": (pair.clone())});
        let expr = self.compile(DocumentKind::Joined, |compiler| {
            compiler.function("@eq", pair, at, Items::None)
        });
        self.conjunct(expr, spec, at, inputs, out);
    }

    fn conjunct(
        &mut self,
        expr: Expr,
        spec: Value,
        at: &Location,
        inputs: &[String],
        out: &mut Vec<Conjunct>,
    ) {
        let volatile = expr.volatile();
        if volatile.now || volatile.random {
            let what = "a @join condition";
            self.error(at, PipelineErrorKind::Volatile { what });
        }
        out.push(Conjunct {
            reads: sources_read(&expr, inputs),
            key: join_key(&expr, inputs),
            expr,
            spec,
            at: at.clone(),
        });
    }
}

/// What to do about several conditions.
const USE_AND: &str = "combine the conditions with @and: {\"@and\": [<condition>, …]}";

/// The key of the condition in `{on, soft}`. kubectl reads YAML 1.1, in which `on` without quotes is a
/// boolean, and sends the key `true`.
fn condition_key(map: &Map) -> Option<&'static str> {
    let known = |name: &str| matches!(name, "true" | "soft");
    if map.get_str("on").is_some() {
        Some("on")
    } else if map.get_str("true").is_some() && map.iter().all(|(name, _)| known(name.as_str())) {
        Some("true")
    } else {
        None
    }
}

/// Whether a map is an operator with its argument.
fn is_operator(map: &Map) -> bool {
    matches!(map.entries(), [(name, _)] if name.as_str().starts_with('@'))
}

#[derive(Default)]
struct JoinParts<'v> {
    conditions: Vec<(&'v Value, Location)>,
    soft: Vec<(&'v Value, Location)>,
    /// The pair of the `index` option.
    index: Option<(&'v Value, Location)>,
}

/// The inputs that an expression on the joined document reads.
fn sources_read(expr: &Expr, inputs: &[String]) -> SourceSet {
    let all = SourceSet::first(inputs.len());
    let named = |name: &str| {
        inputs
            .iter()
            .position(|input| input == name)
            .map_or(SourceSet::default(), SourceSet::of)
    };
    expr.reads().iter().fold(SourceSet::default(), |set, read| {
        set.union(match read {
            Read::Everything => all,
            Read::Members(chain) => chain.first().map_or(all, |name| named(name)),
            Read::Path { path, .. } if path.root() == Root::Document => {
                match path.segments().first() {
                    Some(Segment::Name(name)) => named(name.as_str()),
                    _ => all,
                }
            }
            Read::Path { .. } => SourceSet::default(),
        })
    })
}

fn join_key(expr: &Expr, inputs: &[String]) -> Option<JoinKey> {
    let pair = |name| {
        let [a, b] = expr.args_of(name)? else {
            return None;
        };
        let side = |expr: &Expr| {
            Some(Side {
                input: sources_read(expr, inputs).only()?,
                expr: expr.clone(),
            })
        };
        let (a, b) = (side(a)?, side(b)?);
        (a.input != b.input).then_some((a, b))
    };
    if let Some((a, b)) = pair("@eq") {
        return Some(JoinKey::Equal(a, b));
    }
    if let Some((element, list)) = pair("@in") {
        return Some(JoinKey::Member { element, list });
    }
    let (selector, labels) = pair("@selector")?;
    Some(JoinKey::Selector { selector, labels })
}
