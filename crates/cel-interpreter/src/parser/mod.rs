//! The parser: builds the tree of an expression from its tokens. It resolves names, checks
//! functions and their arguments, recognises macros, and compiles literal patterns.
//!
//! Brackets are parsed recursively, everything else in loops. The parser bounds the height of the
//! tree, so that neither the parser nor the interpreter can overflow the stack.

mod named;

use document::{Key, Value};

use crate::error::CompileError;
use crate::lexer::{Token, syntax_error, tokens};
use crate::tree::{Arithmetic, CelExpr, Relation};
use crate::value::Val;

/// How long an expression may be, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;

/// How deep brackets may be nested. A debug build with a stack of 2 MiB overflows at about 175.
pub const MAX_NESTING: usize = 50;

/// How many operators, calls, elements and conditions may build on each other: as in
/// `a + b + c`, `a.f().g()` and `a ? b : c ? d : e`. Lists, `a.b.c`, `&&` and `||` may be
/// of any length. A debug build with a stack of 2 MiB overflows at about 1,100.
pub const MAX_DEPTH: usize = 300;

/// The tree of an expression, and the names of its variables by their numbers.
pub(crate) fn parse(text: &str) -> Result<(CelExpr, Vec<String>)> {
    if text.len() > MAX_LENGTH {
        return Err(CompileError::TooLong { found: text.len() });
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        nesting: 0,
        locals: Vec::new(),
        variables: Vec::new(),
    };
    let tree = parser.expression()?;
    match parser.peek() {
        Token::End => Ok((tree.node, parser.variables)),
        Token::Word(word) => {
            let expected = match operator_of(word) {
                Some(operator) => format!("an operator, such as `{operator}`, or the end"),
                None => "an operator or the end".to_owned(),
            };
            Err(parser.unexpected(&expected))
        }
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// The operator for a word that is one in other languages.
fn operator_of(word: &str) -> Option<&'static str> {
    let is = |other: &str| word.eq_ignore_ascii_case(other);
    match word {
        _ if is("and") => Some("&&"),
        _ if is("or") => Some("||"),
        _ if is("is") || is("eq") => Some("=="),
        _ => None,
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, usize)>,
    /// The number of the next token. The last token is never consumed.
    next: usize,
    /// How many brackets are open.
    nesting: usize,
    /// The variables of the enclosing comprehensions.
    locals: Vec<&'a str>,
    variables: Vec<String>,
}

/// A subtree and its height.
struct Subtree {
    node: CelExpr,
    height: usize,
}

type Result<T> = std::result::Result<T, CompileError>;

impl Subtree {
    fn leaf(node: CelExpr) -> Self {
        Self { node, height: 1 }
    }

    /// A subtree over others, the highest of which has this height.
    fn over(height: usize, node: CelExpr) -> Result<Self> {
        if height >= MAX_DEPTH {
            return Err(CompileError::TooDeep);
        }
        Ok(Self {
            node,
            height: height + 1,
        })
    }

    fn boxed(self) -> Box<CelExpr> {
        Box::new(self.node)
    }
}

fn height(parts: &[Subtree]) -> usize {
    parts.iter().map(|part| part.height).max().unwrap_or(0)
}

fn nodes(parts: Vec<Subtree>) -> Vec<CelExpr> {
    parts.into_iter().map(|part| part.node).collect()
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].0
    }

    /// The token `count` places after the next one.
    fn ahead(&self, count: usize) -> &Token<'a> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + count).min(last)].0
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        if token != Token::End {
            self.next += 1;
        }
        token
    }

    fn eat(&mut self, symbol: &'static str) -> bool {
        let found = *self.peek() == Token::Symbol(symbol);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str) -> Result<()> {
        if self.eat(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{symbol}`")))
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> CompileError {
        let at = self.tokens[self.next].1;
        let found = match self.peek() {
            Token::Word(word) | Token::Quoted(word) => format!("`{word}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Int(_) | Token::UInt(_) | Token::Double(_) => "a number".to_owned(),
            Token::Text(_) | Token::Bytes(_) => "a string".to_owned(),
            Token::End => "the end".to_owned(),
        };
        syntax_error(self.text, at, format!("expected {expected}, found {found}"))
    }

    /// The error for a token that has just been consumed.
    #[cold]
    fn back(&mut self, token: &Token<'_>, expected: &str) -> CompileError {
        self.next -= usize::from(*token != Token::End);
        self.unexpected(expected)
    }

    fn expression(&mut self) -> Result<Subtree> {
        if self.nesting > MAX_NESTING {
            return Err(CompileError::TooDeep);
        }
        self.nesting += 1;
        let part = self.conditional();
        self.nesting -= 1;
        part
    }

    /// `a ? b : c ? d : e`
    fn conditional(&mut self) -> Result<Subtree> {
        let mut branches = Vec::new();
        let mut last = self.logic("||")?;
        while self.eat("?") {
            let then = self.logic("||")?;
            self.expect(":")?;
            branches.push((last, then));
            last = self.logic("||")?;
        }
        while let Some((condition, then)) = branches.pop() {
            let height = condition.height.max(then.height).max(last.height);
            let parts = Box::new([condition.node, then.node, last.node]);
            last = Subtree::over(height, CelExpr::Conditional(parts))?;
        }
        Ok(last)
    }

    /// `a || b || c`, with `a && b && c` as operands.
    fn logic(&mut self, operator: &'static str) -> Result<Subtree> {
        let either = operator == "||";
        let mut parts = Vec::new();
        loop {
            parts.push(if either {
                self.logic("&&")?
            } else {
                self.binary(1)?
            });
            if !self.eat(operator) {
                break;
            }
        }
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return Ok(only);
        }
        let height = height(&parts);
        let nodes = nodes(parts);
        Subtree::over(
            height,
            if either {
                CelExpr::Or(nodes)
            } else {
                CelExpr::And(nodes)
            },
        )
    }

    /// Infix operators of this rank and above, left-associative.
    fn binary(&mut self, rank: u8) -> Result<Subtree> {
        let mut left = self.unary()?;
        while let Some((make, found)) = infix(self.peek()).filter(|(_, found)| *found >= rank) {
            self.next += 1;
            let right = self.binary(found + 1)?;
            let height = left.height.max(right.height);
            left = Subtree::over(height, make(Box::new([left.node, right.node])))?;
        }
        Ok(left)
    }

    /// `!a` and `-a`. More than two signs in a row are reduced to one or two.
    fn unary(&mut self) -> Result<Subtree> {
        let sign = match self.peek() {
            Token::Symbol(sign @ ("!" | "-")) => *sign,
            _ => return self.postfix(),
        };
        let mut count = 0;
        while *self.peek() == Token::Symbol(sign) {
            // The sign of a literal number is part of the literal.
            if sign == "-" && matches!(self.ahead(1), Token::Int(_) | Token::Double(_)) {
                break;
            }
            self.next += 1;
            count += 1;
        }
        let mut part = self.postfix()?;
        for _ in 0..if count > 2 { 2 - count % 2 } else { count } {
            let node = |inner| {
                if sign == "!" {
                    CelExpr::Not(inner)
                } else {
                    CelExpr::Negate(inner)
                }
            };
            part = Subtree::over(part.height, node(Box::new(part.node)))?;
        }
        Ok(part)
    }

    /// An operand with its members, elements and methods.
    fn postfix(&mut self) -> Result<Subtree> {
        let mut part = self.primary()?;
        loop {
            if self.eat(".") {
                part = self.member(part)?;
            } else if self.eat("[") {
                part = self.element(part)?;
            } else if *self.peek() == Token::Symbol("{") {
                return Err(CompileError::Unsupported("messages (`Type{…}`)"));
            } else {
                return Ok(part);
            }
        }
    }

    fn member(&mut self, base: Subtree) -> Result<Subtree> {
        let optional = self.eat("?");
        let at = self.tokens[self.next].1;
        let name = match self.take() {
            Token::Word(name) if !optional && self.eat("(") => {
                return self.method(base, name, at);
            }
            Token::Word(name) | Token::Quoted(name) => name,
            token => return Err(self.back(&token, "the name of a member")),
        };
        read(base, Key::new(name), optional)
    }

    fn element(&mut self, base: Subtree) -> Result<Subtree> {
        let optional = self.eat("?");
        let index = self.expression()?;
        self.expect("]")?;
        if let CelExpr::Literal(Val::Str(name)) = &index.node {
            let key = Key::new(name.as_str().unwrap_or_default());
            return read(base, key, optional);
        }
        let height = base.height.max(index.height);
        let node = CelExpr::Index {
            base: base.boxed(),
            index: index.boxed(),
            optional,
        };
        Subtree::over(height, node)
    }

    fn primary(&mut self) -> Result<Subtree> {
        match self.take() {
            Token::Word(word) => self.named(word),
            Token::Int(size) => self.int(size, false),
            Token::UInt(size) => Ok(literal(Val::UInt(size))),
            Token::Double(double) => Ok(literal(Val::Double(double))),
            Token::Text(text) => Ok(literal(Val::Str(Value::from(text)))),
            Token::Bytes(bytes) => Ok(literal(Val::bytes(&bytes))),
            Token::Symbol("-") => match self.take() {
                Token::Int(size) => self.int(size, true),
                Token::Double(double) => Ok(literal(Val::Double(-double))),
                token => Err(self.back(&token, "a number")),
            },
            Token::Symbol("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Symbol("[") => self.list(),
            Token::Symbol("{") => self.map(),
            Token::Symbol(".") => self.outermost(),
            token => Err(self.back(&token, "an operand")),
        }
    }

    fn int(&self, size: u64, negative: bool) -> Result<Subtree> {
        let int = i128::from(size) * if negative { -1 } else { 1 };
        let int = i64::try_from(int).map_err(|_| {
            let at = self.tokens[self.next - 1].1;
            syntax_error(self.text, at, "the number is out of range")
        })?;
        Ok(literal(Val::Int(int)))
    }

    fn list(&mut self) -> Result<Subtree> {
        let (mut items, mut highest) = (Vec::new(), 0);
        while !self.eat("]") {
            let optional = self.eat("?");
            let item = self.expression()?;
            highest = highest.max(item.height);
            items.push((item.node, optional));
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        Subtree::over(highest, CelExpr::List(items))
    }

    fn map(&mut self) -> Result<Subtree> {
        let (mut entries, mut highest) = (Vec::new(), 0);
        while !self.eat("}") {
            let optional = self.eat("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            highest = highest.max(key.height).max(value.height);
            entries.push((key.node, value.node, optional));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        Subtree::over(highest, CelExpr::Map(entries))
    }
}

fn literal(value: Val) -> Subtree {
    Subtree::leaf(CelExpr::Literal(value))
}

/// A member of an expression. A path gets longer, but not higher.
fn read(base: Subtree, key: Key, optional: bool) -> Result<Subtree> {
    if optional {
        return Subtree::over(base.height, CelExpr::OptionalMember(base.boxed(), key));
    }
    match base.node {
        CelExpr::Path(mut path) => {
            path.keys.push(key);
            Ok(Subtree::leaf(CelExpr::Path(path)))
        }
        node => Subtree::over(base.height, CelExpr::Member(Box::new(node), key)),
    }
}

/// Builds the expression of two operands.
type Binary = fn(Box<[CelExpr; 2]>) -> CelExpr;

/// The infix operator of a token, with its rank: a greater rank binds tighter.
fn infix(token: &Token<'_>) -> Option<(Binary, u8)> {
    let (Token::Symbol(symbol) | Token::Word(symbol)) = token else {
        return None;
    };
    let make: (Binary, u8) = match *symbol {
        "==" => (|pair| CelExpr::Equal(true, pair), 1),
        "!=" => (|pair| CelExpr::Equal(false, pair), 1),
        "<" => (|pair| CelExpr::Relation(Relation::Less, pair), 1),
        "<=" => (|pair| CelExpr::Relation(Relation::LessEqual, pair), 1),
        ">" => (|pair| CelExpr::Relation(Relation::Greater, pair), 1),
        ">=" => (|pair| CelExpr::Relation(Relation::GreaterEqual, pair), 1),
        "in" => (CelExpr::In, 1),
        "+" => (|pair| CelExpr::Arithmetic(Arithmetic::Add, pair), 2),
        "-" => (|pair| CelExpr::Arithmetic(Arithmetic::Subtract, pair), 2),
        "*" => (|pair| CelExpr::Arithmetic(Arithmetic::Multiply, pair), 3),
        "/" => (|pair| CelExpr::Arithmetic(Arithmetic::Divide, pair), 3),
        "%" => (|pair| CelExpr::Arithmetic(Arithmetic::Remainder, pair), 3),
        _ => return None,
    };
    Some(make)
}
