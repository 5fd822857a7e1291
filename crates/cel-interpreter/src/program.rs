//! Programs: compiled once, evaluated many times.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use document::Value;

use crate::convert::to_document;
use crate::error::{CompileError, EvalError};
use crate::eval::Interpreter;

use crate::lexer::{closing_brace, conjuncts};
use crate::parser::{Parsed, parse};
use crate::reads::{reads, variable_place};
use crate::tree::Located;
use crate::typing::{DocumentTypes, TypeFinding, Typed, check};

/// A compiled expression. Cloning increments one reference count.
///
/// ```
/// use cel_interpreter::{Limits, Program};
/// use document::json;
///
/// let program = Program::compile("object.spec.replicas > 3 ? 'many' : 'few'")?;
/// assert_eq!(program.variables(), ["object"]);
///
/// let object = json!({"spec": {"replicas": 5}});
/// let lookup = |name: &str| (name == "object").then(|| object.clone());
/// assert_eq!(program.eval(&lookup, &Limits::default())?, json!("many"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Program(Arc<Compiled>);

struct Compiled {
    text: String,
    parsed: Parsed,
    /// The names of the variables, sorted.
    variables: Vec<String>,
}

/// The limits of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greatest cost; see [the crate](crate#cost).
    pub cost: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cost: 1_000_000 }
    }
}

impl Program {
    /// Compiles an expression.
    pub fn compile(text: &str) -> Result<Self, CompileError> {
        let parsed = parse(text)?;
        let mut variables = parsed.names.clone();
        variables.sort();
        Ok(Self(Arc::new(Compiled {
            text: text.to_owned(),
            parsed,
            variables,
        })))
    }

    /// Compiles the expression at the start of a text, up to its closing `}`. The text is what
    /// follows a `${` in a template. Also returns the offset of the brace.
    ///
    /// ```
    /// let text = "{'a}': {}}.size() + 1} and more";
    /// let (program, end) = cel_interpreter::Program::compile_braced(text)?;
    /// assert_eq!(program.text(), "{'a}': {}}.size() + 1");
    /// assert_eq!(&text[end..], "} and more");
    /// # Ok::<(), cel_interpreter::CompileError>(())
    /// ```
    pub fn compile_braced(text: &str) -> Result<(Self, usize), CompileError> {
        let end = closing_brace(text)?;
        Ok((Self::compile(&text[..end])?, end))
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The parts of a conjunction, as they were written; the whole expression if it is none.
    ///
    /// ```
    /// let program = cel_interpreter::Program::compile("a && (b || c) && d == '&&'")?;
    /// assert_eq!(program.conjuncts(), ["a", "(b || c)", "d == '&&'"]);
    /// # Ok::<(), cel_interpreter::CompileError>(())
    /// ```
    pub fn conjuncts(&self) -> Vec<&str> {
        conjuncts(self.text())
    }

    /// The free variables, sorted, without functions and the variables of comprehensions.
    pub fn variables(&self) -> &[String] {
        &self.0.variables
    }

    /// Whether the expression has this free variable.
    pub fn reads_variable(&self, name: &str) -> bool {
        self.0.variables.iter().any(|variable| variable == name)
    }

    /// The members that the expression reads. Each is a chain of names that starts with a
    /// variable. The chains are sorted and distinct.
    ///
    /// A chain ends at an index or a computed key, and where a value is used as a whole.
    ///
    /// ```
    /// let program = cel_interpreter::Program::compile("object.spec.a.b + x['y'] + l[0].z")?;
    /// assert_eq!(
    ///     program.reads(),
    ///     [vec!["l"], vec!["object", "spec", "a", "b"], vec!["x", "y"]]
    /// );
    /// # Ok::<(), cel_interpreter::CompileError>(())
    /// ```
    pub fn reads(&self) -> Vec<Vec<String>> {
        reads(&self.0.parsed.tree, &self.0.parsed.names)
    }

    /// Where a variable is first read, with its members: a range of bytes of the text.
    ///
    /// ```
    /// let program = cel_interpreter::Program::compile("1 + object.a.b")?;
    /// assert_eq!(program.place_of("object"), Some(4..14));
    /// # Ok::<(), cel_interpreter::CompileError>(())
    /// ```
    pub fn place_of(&self, variable: &str) -> Option<Range<usize>> {
        variable_place(self.located(), variable, &self.0.parsed.names)
    }

    fn located(&self) -> Located<'_> {
        Located {
            node: &self.0.parsed.tree,
            place: &self.0.parsed.place,
        }
    }

    /// Checks the types of operands, given those of the variables. Returns the type of the value,
    /// and what is wrong.
    pub fn check<T: DocumentTypes>(&self, types: &mut T) -> (Typed<T::Part>, Vec<TypeFinding>) {
        check(self.located(), &self.0.parsed.names, types)
    }

    /// The value of the expression. `variables` is called on the first use of a variable, and
    /// at most once for each.
    pub fn eval(
        &self,
        variables: &dyn Fn(&str) -> Option<Value>,
        limits: &Limits,
    ) -> Result<Value, EvalError> {
        self.eval_with_cost(variables, limits).0
    }

    /// Like [`Program::eval`], with the cost, for callers that evaluate many expressions within
    /// one limit.
    pub fn eval_with_cost(
        &self,
        variables: &dyn Fn(&str) -> Option<Value>,
        limits: &Limits,
    ) -> (Result<Value, EvalError>, u64) {
        let mut interpreter = Interpreter::new(&self.0.parsed.names, variables, limits.cost);
        let value = interpreter
            .eval(&self.0.parsed.tree)
            .and_then(|value| to_document(&value, &mut interpreter.meter));
        (value, interpreter.meter.spent())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.text()).finish()
    }
}
