//! Random `@patch` stages. Many of them fail on some documents.

use document::{Key, Map, Value, json};

use super::Writer;
use super::shape::Shape;

impl Writer<'_> {
    /// A `@patch` of an object of the document, or of a part of it.
    pub(super) fn patch(&mut self, shape: &Shape) -> Value {
        let object = self.random.pick(&shape.objects).clone();
        let object = object.trim_end_matches('.').to_owned();
        let (at, inside) = match self.random.weighted(&[60, 15, 15, 10]) {
            0 => (object, "/spec"),
            1 => (format!("{object}.spec"), ""),
            // Maps and list indexes on the way from the root.
            2 => {
                let way = object.trim_start_matches('$').replace('.', "/");
                let operations = self.operations(shape, &format!("{way}/spec"), None);
                return self.spec("$", shape, None, operations);
            }
            _ => (format!("{object}.nope"), ""),
        };
        let var = self.random.chance(25).then_some("x");
        let operations = self.operations(shape, inside, var);
        self.spec(&at, shape, var, operations)
    }

    fn spec(&mut self, at: &str, shape: &Shape, var: Option<&str>, operations: Value) -> Value {
        let mut fields = vec![("operations", operations)];
        if at != "$" || self.random.chance(50) {
            fields.push(("at", at.into()));
        }
        if self.random.chance(40) {
            fields.push(("where", self.patch_condition(shape, var).into()));
        }
        if let Some(var) = var {
            fields.push(("forEach", self.items(shape).into()));
            fields.push(("var", var.into()));
        }
        if self.random.chance(15) {
            fields.push(("strict", true.into()));
        }
        let entries = fields.into_iter();
        let entries: Map = entries.map(|(key, value)| (Key::new(key), value)).collect();
        json!({"@patch": entries})
    }

    /// A CEL expression that reads the document.
    fn cel(path: &str) -> String {
        path.trim_start_matches("$.").to_owned()
    }

    fn items(&mut self, shape: &Shape) -> String {
        match self.random.below(5) {
            0 => "[1, 2]".to_owned(),
            1 => "resource".to_owned(),
            _ => Self::cel(&self.numbers(shape)),
        }
    }

    fn patch_condition(&mut self, shape: &Shape, var: Option<&str>) -> String {
        let number = Self::cel(&self.number(shape));
        match (self.random.below(6), var) {
            (0, _) => "resource != null".to_owned(),
            (1, _) => "has(resource.spec) || has(resource.n)".to_owned(),
            (4, _) => "now > timestamp('1970-01-01T00:00:04Z')".to_owned(),
            (2, Some(var)) => format!("${{{var} != 1}}"),
            (3, _) => format!("{number} != 1"),
            _ => format!("${{{number} > 0}}"),
        }
    }

    /// Operations on the fields of the `spec` at this path.
    fn operations(&mut self, shape: &Shape, at: &str, var: Option<&str>) -> Value {
        let mut operations = Vec::new();
        for _ in 0..=self.random.weighted(&[50, 35, 15]) {
            operations.push(self.operation(shape, at, var));
        }
        operations.into()
    }

    fn operation(&mut self, shape: &Shape, at: &str, var: Option<&str>) -> Value {
        let field = *self.random.pick(&["k", "n", "g", "b"]);
        let value = self.patch_value(shape, var);
        match self.random.below(16) {
            0 => json!({"op": "remove", "path": (format!("{at}/{field}"))}),
            1 => json!({"op": "test", "path": (format!("{at}/b")), "value": true}),
            2 => {
                json!({"op": "copy", "from": (format!("{at}/{field}")), "path": (format!("{at}/n"))})
            }
            3 => {
                json!({"op": "move", "from": (format!("{at}/{field}")), "path": (format!("{at}/moved"))})
            }
            4 => json!({"op": "merge", "path": at, "value": {"n": value, "new": {"deep": field}}}),
            5 => {
                json!({"op": "add", "path": (format!("{at}/refs[?(@.name=='a')]/v")), "value": value})
            }
            6 => json!({"op": "remove", "path": (format!("{at}/l[*]"))}),
            7 => json!({"op": "replace", "path": (format!("{at}/l[1]")), "value": value}),
            8 => {
                let name = Self::cel(self.random.pick::<String>(&shape.names));
                json!({"op": "add", "path": (format!("{at}/refs/[?(@.name=='${{{name}}}')]/v")), "value": value})
            }
            9 => {
                let key = Self::cel(&self.path(shape, |depth| depth == 0));
                json!({"op": "add", "path": (format!("{at}/by/${{{key}}}")), "value": value})
            }
            10 | 11 => json!({"op": "add", "path": (format!("{at}/l/-")), "value": value}),
            _ => json!({"op": "replace", "path": (format!("{at}/{field}")), "value": value}),
        }
    }

    fn patch_value(&mut self, shape: &Shape, var: Option<&str>) -> Value {
        let number = Self::cel(&self.number(shape));
        let list = Self::cel(&self.numbers(shape));
        match (self.random.below(10), var) {
            (0, _) => json!(7),
            (1, _) => json!("v${resource.size()}"),
            (8, _) => json!("${string(now)}"),
            (2, _) => format!("${{size({list})}}").into(),
            (3, _) => format!("n-${{{number}}}").into(),
            (4..=6, Some(var)) => format!("${{{var}}}").into(),
            (7, _) => json!({"deep": [(format!("${{{number}}}"))]}),
            _ => format!("${{{number} + 1}}").into(),
        }
    }
}
