//! `@patch`: the fields that it writes, and those that its expressions read.

use ::patch::{RESOURCE, Written, WrittenPath};
use dataflow::pipeline::Patch;
use document::path::Segment;
use document::{Key, Location};
use schema::{Origin, Type};

use super::inference::{Inference, Scope, literal};
use super::path::peek;

impl Inference {
    pub(super) fn patch(&mut self, patch: &Patch, at: &Location, document: &Type) -> Type {
        let path = patch.resource_path.segments();
        let scope = Scope::of(document.clone());
        let before = self.read(&patch.resource_path, &at.key("at"), &scope);
        let mut after = before.clone();
        for written in patch.edit.written() {
            after = self.written(&after, &written);
        }
        // Expressions see the resource as earlier operations left it.
        let resource = self.union(&before, &after);
        let patched = if patch.edit.is_conditional() {
            resource.clone()
        } else {
            after
        };
        let result = if path.is_empty() {
            // It is still the source object, with fields set.
            let origin = before.origin.as_ref().map(Origin::changed);
            Type { origin, ..patched }
        } else {
            self.set(document, path, patched, at)
        };
        let known = self.union(document, &result);
        patch.edit.programs(&mut |program, at, var| {
            for chain in program.reads() {
                let Some((root, rest)) = chain.split_first() else {
                    continue;
                };
                if root == RESOURCE {
                    self.chain(&resource, rest, RESOURCE, at);
                } else if Some(root.as_str()) != var && root != "now" {
                    self.variable(root, rest, &known, at);
                }
            }
        });
        result
    }

    /// The type of the resource after an operation.
    fn written(&mut self, resource: &Type, written: &Written<'_>) -> Type {
        let mut resource = resource.clone();
        if let Some(from) = written.from.as_ref().filter(|_| written.name == "move") {
            resource = self.changed(&resource, from, Type::any(), written.at);
        }
        let value_at = written.at.key("value");
        let value = match (written.name, written.value) {
            ("test", _) => return resource,
            ("remove", _) => Type::null(),
            (_, Some(value)) => literal(value, &value_at),
            (_, None) => Type::any(),
        };
        let value = if written.name == "merge" {
            let old = peek(&resource, &segments(&written.path));
            old.merged(&value, &self.budget)
        } else {
            value
        };
        self.changed(&resource, &written.path, value, written.at)
    }

    fn changed(&mut self, resource: &Type, path: &WrittenPath, value: Type, at: &Location) -> Type {
        let mut keys: &[String] = &path.keys;
        let mut value = value;
        // A position changes the list that it is in.
        if let Some(position) = keys.iter().position(|key| is_position(key)) {
            keys = &keys[..position];
            value = Type::list(Type::any());
        } else if !path.whole {
            value = Type::any();
        }
        let segments: Vec<Segment> = keys
            .iter()
            .map(|key| Segment::Name(Key::new(key)))
            .collect();
        self.set(resource, &segments, value, at)
    }
}

fn segments(path: &WrittenPath) -> Vec<Segment> {
    let keys = path.keys.iter();
    keys.map(|key| Segment::Name(Key::new(key))).collect()
}

/// Whether a key is probably a position in a list.
fn is_position(key: &str) -> bool {
    key == "-" || (!key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()))
}
