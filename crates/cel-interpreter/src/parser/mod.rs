//! The parser: builds the tree of an expression from its tokens. It resolves names, checks
//! functions and their arguments, recognises macros, and compiles literal patterns.
//!
//! Brackets are parsed recursively, everything else in loops. The parser bounds the height of the
//! tree, so that neither the parser nor the interpreter can overflow the stack.

mod named;
mod subtree;

use std::ops::Range;

use document::{Key, Value};

use crate::error::CompileError;
use crate::lexer::{Token, syntax_error, tokens};
use crate::tree::{Arithmetic, CelExpr, ExprSpan, Relation};
use crate::value::Val;
use subtree::{Binary, Parts, Subtree};

/// How long an expression may be, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;

/// How deep brackets may be nested. A debug build with a stack of 2 MiB overflows at about 175.
pub const MAX_NESTING: usize = 50;

/// How many operators, calls, elements and conditions may build on each other: as in
/// `a + b + c`, `a.f().g()` and `a ? b : c ? d : e`. Lists, `a.b.c`, `&&` and `||` may be
/// of any length. A debug build with a stack of 2 MiB overflows at about 1,100.
pub const MAX_DEPTH: usize = 300;

/// A parsed expression.
pub(crate) struct Parsed {
    pub tree: CelExpr,
    /// Where its parts are in the text.
    pub place: ExprSpan,
    /// The names of the variables, by their numbers in the tree.
    pub names: Vec<String>,
}

/// Parses an expression.
pub(crate) fn parse(text: &str) -> Result<Parsed> {
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
        Token::End => Ok(Parsed {
            tree: tree.node,
            place: *tree.place,
            names: parser.variables,
        }),
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
    tokens: Vec<(Token<'a>, Range<usize>)>,
    /// The number of the next token. The last token is never consumed.
    next: usize,
    /// How many brackets are open.
    nesting: usize,
    /// The variables of the enclosing comprehensions.
    locals: Vec<&'a str>,
    variables: Vec<String>,
}

type Result<T> = std::result::Result<T, CompileError>;

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].0
    }

    /// Where the next token starts.
    fn start(&self) -> usize {
        self.tokens[self.next].1.start
    }

    /// The text from an offset to the end of the last token.
    fn since(&self, start: usize) -> Range<usize> {
        let last = self.next.saturating_sub(1);
        start..self.tokens[last].1.end.max(start)
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
        let at = self.start();
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
            last = self.chosen(condition, then, last)?;
        }
        Ok(last)
    }

    /// `a || b || c`, with `a && b && c` as operands.
    fn logic(&mut self, operator: &'static str) -> Result<Subtree> {
        let either = operator == "||";
        let mut operands = Vec::new();
        loop {
            operands.push(if either {
                self.logic("&&")?
            } else {
                self.binary(1)?
            });
            if !self.eat(operator) {
                break;
            }
        }
        if operands.len() == 1
            && let Some(only) = operands.pop()
        {
            return Ok(only);
        }
        self.combined(operands, either)
    }

    /// Infix operators of this rank and above, left-associative.
    fn binary(&mut self, rank: u8) -> Result<Subtree> {
        let mut left = self.unary()?;
        while let Some((make, found)) = infix(self.peek()).filter(|(_, found)| *found >= rank) {
            self.next += 1;
            let right = self.binary(found + 1)?;
            left = self.pair(left, right, make)?;
        }
        Ok(left)
    }

    /// `!a` and `-a`. More than two signs in a row are reduced to one or two.
    fn unary(&mut self) -> Result<Subtree> {
        let sign = match self.peek() {
            Token::Symbol(sign @ ("!" | "-")) => *sign,
            _ => return self.postfix(),
        };
        let start = self.start();
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
            part = self.signed(part, sign, start)?;
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
        let at = self.start();
        let name = match self.take() {
            Token::Word(name) if !optional && self.eat("(") => {
                return self.method(base, name, at);
            }
            Token::Word(name) | Token::Quoted(name) => name,
            token => return Err(self.back(&token, "the name of a member")),
        };
        self.read(base, Key::new(name), optional)
    }

    fn element(&mut self, base: Subtree) -> Result<Subtree> {
        let optional = self.eat("?");
        let index = self.expression()?;
        self.expect("]")?;
        if let CelExpr::Literal(Val::Str(name)) = &index.node {
            let key = Key::new(name.as_str().unwrap_or_default());
            return self.read(base, key, optional);
        }
        self.index(base, index, optional)
    }

    fn primary(&mut self) -> Result<Subtree> {
        let start = self.start();
        match self.take() {
            Token::Word(word) => self.named(word),
            Token::Int(size) => self.int(size, false),
            Token::UInt(size) => Ok(self.literal(Val::UInt(size), start)),
            Token::Double(double) => Ok(self.literal(Val::Double(double), start)),
            Token::Text(text) => Ok(self.literal(Val::Str(Value::from(text)), start)),
            Token::Bytes(bytes) => Ok(self.literal(Val::bytes(&bytes), start)),
            Token::Symbol("-") => match self.take() {
                Token::Int(size) => self.int(size, true),
                Token::Double(double) => Ok(self.literal(Val::Double(-double), start)),
                token => Err(self.back(&token, "a number")),
            },
            Token::Symbol("(") => {
                let mut inner = self.expression()?;
                self.expect(")")?;
                inner.place.range = self.since(start);
                Ok(inner)
            }
            Token::Symbol("[") => self.list(start),
            Token::Symbol("{") => self.map(start),
            Token::Symbol(".") => self.outermost(),
            token => Err(self.back(&token, "an operand")),
        }
    }

    /// A literal that starts at this offset, and whose last token was just taken.
    fn literal(&self, value: Val, start: usize) -> Subtree {
        Subtree::leaf(CelExpr::Literal(value), self.since(start))
    }

    fn int(&self, size: u64, negative: bool) -> Result<Subtree> {
        let at = self.tokens[self.next - 1].1.start;
        let int = i128::from(size) * if negative { -1 } else { 1 };
        let int = i64::try_from(int)
            .map_err(|_| syntax_error(self.text, at, "the number is out of range"))?;
        // The sign is the token before.
        let first = self.next - 1 - usize::from(negative);
        Ok(self.literal(Val::Int(int), self.tokens[first].1.start))
    }

    fn list(&mut self, start: usize) -> Result<Subtree> {
        let (mut items, mut parts) = (Vec::new(), Parts::default());
        while !self.eat("]") {
            let optional = self.eat("?");
            let item = self.expression()?;
            items.push((parts.add(item), optional));
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        parts.under(CelExpr::List(items), self.since(start))
    }

    fn map(&mut self, start: usize) -> Result<Subtree> {
        let (mut entries, mut parts) = (Vec::new(), Parts::default());
        while !self.eat("}") {
            let optional = self.eat("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            entries.push((parts.add(key), parts.add(value), optional));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        parts.under(CelExpr::Map(entries), self.since(start))
    }
}

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
