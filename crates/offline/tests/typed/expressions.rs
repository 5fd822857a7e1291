//! Random expressions on documents of a type.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use document::{Value, json};
use schema::{Numbers, Strings, Type};
use seeded::Random;

/// The type that an expression should have. Now and then it has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    Boolean,
    Number,
    String,
    List,
    Map,
}

pub(crate) struct Expressions<'a> {
    pub(crate) random: &'a mut Random,
    document: &'a Type,
    /// The variable of CEL that is the document.
    pub(crate) variable: &'static str,
}

impl<'a> Expressions<'a> {
    pub(crate) fn new(random: &'a mut Random, document: &'a Type) -> Self {
        Self {
            random,
            document,
            variable: "object",
        }
    }

    /// An expression that is nested this deep at most.
    pub(crate) fn make(&mut self, wanted: Wanted, depth: usize) -> Value {
        let all = [
            Wanted::Boolean,
            Wanted::Number,
            Wanted::String,
            Wanted::List,
            Wanted::Map,
        ];
        let wanted = if wanted == Wanted::Any || self.random.chance(4) {
            *self.random.pick(&all)
        } else {
            wanted
        };
        if depth == 0 || self.random.chance(25) {
            return match self.path(wanted) {
                Some(path) if self.random.chance(70) => self.defined(path, wanted),
                _ => self.literal(wanted),
            };
        }
        match wanted {
            Wanted::Boolean | Wanted::Any => self.boolean(depth - 1),
            Wanted::Number => self.number(depth - 1),
            Wanted::String => self.string(depth - 1),
            Wanted::List => self.list(depth - 1),
            Wanted::Map if self.random.chance(50) => self.cel(Wanted::Map),
            Wanted::Map => {
                json!({"x": (self.make(Wanted::Any, depth - 1)), "y": (self.make(Wanted::Any, 0))})
            }
        }
    }

    /// The value at a path, mostly with a default for objects that do not have it.
    fn defined(&mut self, path: String, wanted: Wanted) -> Value {
        if self.random.chance(85) {
            return json!({"@definedOr": [path, (self.literal(wanted))]});
        }
        path.into()
    }

    pub(crate) fn literal(&mut self, wanted: Wanted) -> Value {
        let random = &mut *self.random;
        match wanted {
            Wanted::Any | Wanted::Boolean => random.chance(50).into(),
            Wanted::Number => i64::try_from(random.below(9)).unwrap().into(),
            Wanted::String => Value::from(*random.pick(&["a", "b", "12", "Always", "TCP"])),
            Wanted::List => {
                let lists = [json!([]), json!([1, 2]), json!(["a"]), json!([{"x": 1}])];
                random.pick(&lists).clone()
            }
            Wanted::Map => random.pick(&[json!({}), json!({"x": 1})]).clone(),
        }
    }

    fn boolean(&mut self, depth: usize) -> Value {
        let two = |make: &mut Self, wanted| {
            json!([(make.make(wanted, depth)), (make.make(wanted, depth))])
        };
        match self.random.below(13) {
            11 | 12 => self.cel(Wanted::Boolean),
            0 => json!({"@and": (two(self, Wanted::Boolean))}),
            1 => json!({"@or": (two(self, Wanted::Boolean))}),
            2 => json!({"@not": (self.make(Wanted::Boolean, depth))}),
            3 => json!({"@eq": (two(self, Wanted::Any))}),
            4 => json!({"@gt": (two(self, Wanted::Number))}),
            5 => json!({"@exists": (self.make(Wanted::Any, depth))}),
            6 => {
                json!({"@in": [(self.make(Wanted::Any, depth)), (self.make(Wanted::List, depth))]})
            }
            7 => json!({"@contains": (two(self, Wanted::String))}),
            8 => {
                json!({"@any": [{"@eq": ["$$", (self.make(Wanted::Any, 0))]}, (self.make(Wanted::List, depth))]})
            }
            9 => json!({"@lt": (two(self, Wanted::String))}),
            _ => json!({"@isnil": (self.make(Wanted::Any, depth))}),
        }
    }

    fn number(&mut self, depth: usize) -> Value {
        let two = |make: &mut Self| {
            json!([
                (make.make(Wanted::Number, depth)),
                (make.make(Wanted::Number, depth))
            ])
        };
        match self.random.below(8) {
            6 | 7 => self.cel(Wanted::Number),
            0 => json!({"@add": (two(self))}),
            1 => json!({"@mul": (two(self))}),
            2 => json!({"@len": (self.make(Wanted::List, depth))}),
            3 => json!({"@len": (self.make(Wanted::String, depth))}),
            4 => json!({"@sum": (two(self))}),
            _ => self.chosen(Wanted::Number, depth),
        }
    }

    fn string(&mut self, depth: usize) -> Value {
        match self.random.below(9) {
            7 | 8 => self.cel(Wanted::String),
            0 => {
                json!({"@concat": [(self.make(Wanted::Any, depth)), (self.make(Wanted::String, depth))]})
            }
            1 => json!({"@concat": [(self.make(Wanted::Any, depth))]}),
            2 => json!({"@string": (self.make(Wanted::Any, depth))}),
            3 => json!({"@lower": (self.make(Wanted::String, depth))}),
            4 => json!({"@hash": (self.make(Wanted::Any, depth))}),
            5 => json!({"@join": [(self.make(Wanted::List, depth)), ","]}),
            _ => self.chosen(Wanted::String, depth),
        }
    }

    fn list(&mut self, depth: usize) -> Value {
        match self.random.below(9) {
            7 | 8 => self.cel(Wanted::List),
            0 => json!({"@map": [{"@string": "$$"}, (self.make(Wanted::List, depth))]}),
            1 => json!({"@map": ["$$.name", (self.make(Wanted::List, depth))]}),
            2 => json!({"@filter": [{"@exists": "$$"}, (self.make(Wanted::List, depth))]}),
            3 => json!({"@keys": (self.make(Wanted::Map, depth))}),
            4 => json!({"@split": [(self.make(Wanted::String, depth)), "-"]}),
            5 => json!([
                (self.make(Wanted::Any, depth)),
                (self.make(Wanted::Any, depth))
            ]),
            _ => self.chosen(Wanted::List, depth),
        }
    }

    fn cel(&mut self, wanted: Wanted) -> Value {
        json!({"@cel": (self.cel_text(wanted))})
    }

    /// A list or a map that CEL builds.
    fn built(&mut self, wanted: Wanted) -> String {
        let [one, other] = [(); 2].map(|()| self.operand(Wanted::Any));
        if wanted == Wanted::Map {
            return match self.random.below(3) {
                0 => format!("{{'x': {one}, 'y': {other}}}"),
                1 => format!(
                    "{{'x': [{one}], {}: {other}}}",
                    self.operand(Wanted::String)
                ),
                _ => format!("[{one}, {other}].transformMap(i, x, x)"),
            };
        }
        match self.random.below(7) {
            0 => format!("[{one}, {other}]"),
            1 => format!("[{one}] + [{other}]"),
            2 => format!("{} + [{one}]", self.operand(Wanted::List)),
            3 => format!("[{one}, {other}].map(x, string(x))"),
            4 => format!("{}.filter(x, x != {one})", self.operand(Wanted::List)),
            5 => format!("{} ? [{one}] : [{other}]", self.operand(Wanted::Boolean)),
            _ => format!("[{{'x': {one}}}, {{'x': {other}}}]"),
        }
    }

    /// CEL that mostly has a value of the wanted type.
    pub(crate) fn cel_text(&mut self, wanted: Wanted) -> String {
        match wanted {
            Wanted::List | Wanted::Map => self.built(wanted),
            Wanted::Number => match self.random.below(6) {
                4 => {
                    let [one, other] = [(); 2].map(|()| self.operand(wanted));
                    format!("[{one}, {other}][0] + 1")
                }
                5 => format!("{{'x': {}}}.x * 2", self.operand(wanted)),
                0 => format!("{} + {}", self.operand(wanted), self.operand(wanted)),
                1 => format!("size({})", self.operand(Wanted::String)),
                2 => format!("-({})", self.operand(wanted)),
                _ => format!("{} * 2", self.operand(wanted)),
            },
            Wanted::String => match self.random.below(4) {
                0 => format!("{} + {}", self.operand(wanted), self.operand(wanted)),
                1 => format!("string({})", self.operand(Wanted::Any)),
                2 => format!("{}.upperAscii()", self.operand(wanted)),
                _ => {
                    let condition = self.operand(Wanted::Boolean);
                    format!("{condition} ? 'a' : {}", self.operand(wanted))
                }
            },
            Wanted::Any | Wanted::Boolean => match self.random.below(6) {
                0 => format!(
                    "{} == {}",
                    self.operand(Wanted::Any),
                    self.operand(Wanted::Any)
                ),
                1 => format!(
                    "{} < {}",
                    self.operand(Wanted::Number),
                    self.operand(Wanted::Number)
                ),
                2 => format!("!({})", self.operand(Wanted::Boolean)),
                3 => format!(
                    "{}.startsWith({})",
                    self.operand(Wanted::String),
                    self.operand(Wanted::String)
                ),
                4 => format!(
                    "{} in {}",
                    self.operand(Wanted::Any),
                    self.operand(Wanted::List)
                ),
                _ => format!(
                    "{}.exists(x, x == {}) || true",
                    self.operand(Wanted::List),
                    self.operand(Wanted::Any)
                ),
            },
        }
    }

    /// An operand of CEL: mostly a literal, because a missing field is an error.
    fn operand(&mut self, wanted: Wanted) -> String {
        let path = self.random.chance(35).then(|| self.path(wanted)).flatten();
        match path {
            Some(path) => path.replacen('$', self.variable, 1),
            None => self.literal(wanted).to_string(),
        }
    }

    /// The path of a patch, through maps, and what is there.
    pub(crate) fn patch_path(&mut self) -> Option<(String, Wanted)> {
        let wanted = [Wanted::Boolean, Wanted::Number, Wanted::String, Wanted::Map];
        let wanted = *self.random.pick(&wanted);
        let path = self.path(wanted)?;
        let keys = path.strip_prefix('$')?;
        let keys = keys.replace("[\"", "/").replace("\"]", "");
        // A list that is too short is an error, so only its end is used.
        let path = keys.replace("[0]", "[*]");
        Some((path, wanted))
    }

    fn chosen(&mut self, wanted: Wanted, depth: usize) -> Value {
        let condition = self.make(Wanted::Boolean, depth);
        let (one, other) = (self.make(wanted, depth), self.make(wanted, depth));
        match self.random.below(3) {
            0 => json!({"@cond": [condition, one, other]}),
            1 => json!({"@switch": [[condition, one], [true, other]]}),
            _ => json!({"@definedOr": [one, other]}),
        }
    }

    /// A path to a value of the wanted type; it may not find one.
    pub(crate) fn path(&mut self, wanted: Wanted) -> Option<String> {
        for _ in 0..20 {
            let (path, found) = self.walk();
            if suits(&found, wanted) {
                return Some(path);
            }
        }
        None
    }

    fn walk(&mut self) -> (String, Type) {
        let mut path = "$".to_owned();
        let mut here = self.document.clone();
        for _ in 0..=self.random.below(5) {
            if here.any {
                break;
            }
            if let Some(element) = &here.list {
                path.push_str("[0]");
                here = (**element).clone();
                continue;
            }
            let Some(shape) = &here.map else { break };
            let fields = shape.fields();
            let names: Vec<_> = fields.named.keys().collect();
            let name = if names.is_empty() {
                document::Key::new("app")
            } else {
                (*self.random.pick(&names)).clone()
            };
            path = format!("{path}[\"{name}\"]");
            here = shape.field(&name).unwrap_or_else(Type::any);
        }
        (path, here)
    }
}

fn suits(found: &Type, wanted: Wanted) -> bool {
    !found.any
        && match wanted {
            Wanted::Any => true,
            Wanted::Boolean => found.boolean,
            Wanted::Number => found.number != Numbers::None,
            Wanted::String => found.string != Strings::None,
            Wanted::List => found.list.is_some(),
            Wanted::Map => found.map.is_some(),
        }
}
