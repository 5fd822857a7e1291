//! Reads steps and what they expect.

use document::{Location, Value};
use expr::Time;

use super::{TestReader, not};
use crate::expect::{CompleteObject, Expect, ExpectedError, ExpectedObjects, Targets};
use crate::file::{Placed, TestStep};
use crate::object_ref::ObjectRef;

const EVENT: &str = "an event such as ADDED health/shop/web";

impl TestReader<'_> {
    /// Reads a step. `clock` is the time before it, and is moved on.
    pub(super) fn step(
        &mut self,
        value: &Value,
        at: &Location,
        clock: &mut Time,
    ) -> Option<TestStep> {
        let fields = ["name", "apply", "patch", "delete", "advance", "expect"];
        if !self.known(value, &fields, at) {
            return None;
        }
        let advance = value.get("advance");
        let now = (!advance.is_null())
            .then(|| self.advance(advance, &at.key("advance"), *clock))
            .flatten();
        *clock = now.unwrap_or(*clock);
        Some(TestStep {
            name: match value.get("name") {
                name if name.is_null() => does(value),
                name => self.text(name, &at.key("name"))?,
            },
            at: at.clone(),
            apply: self.objects(value.get("apply"), &at.key("apply")),
            patch: self.placed_objects(value.get("patch"), &at.key("patch")),
            delete: self.object_refs(value.get("delete"), &at.key("delete")),
            now,
            expect: self.expect(value.get("expect"), &at.key("expect")),
        })
    }

    /// The time after a duration, in whole seconds.
    fn advance(&mut self, value: &Value, at: &Location, clock: Time) -> Option<Time> {
        let after = value.as_str().and_then(|text| clock.plus(text));
        let after = after.and_then(|after| Time::of_unix(after.seconds()));
        if after.is_none_or(|after| after < clock) {
            let expected = "a duration such as 90s, 1h30m or 7d";
            let message = match value.as_str() {
                Some(text) => format!("expected {expected}, found {text:?}"),
                None => not(expected, value),
            };
            let mut problem = self.problem("bad-field", at, message);
            let meant = value.as_str().and_then(expr::meant_duration);
            problem.help = meant.map(|meant| format!("did you mean {meant}?"));
            self.problems.push(problem);
            return None;
        }
        after
    }

    pub(super) fn expect(&mut self, value: &Value, at: &Location) -> Expect {
        let fields = [
            "targets", "contains", "absent", "objects", "errors", "events",
        ];
        if value.is_null() || !self.known(value, &fields, at) {
            return Expect::default();
        }
        let map = value.as_map();
        let member = |name: &str| {
            let value = map.and_then(|map| map.get_str(name));
            value.map(|value| (value, at.key(name)))
        };
        Expect {
            targets: member("targets").map(|(value, at)| Placed {
                value: self.targets(value, &at),
                at,
            }),
            contains: self.placed_objects(value.get("contains"), &at.key("contains")),
            absent: self.object_refs(value.get("absent"), &at.key("absent")),
            objects: self.expected_objects(value.get("objects"), &at.key("objects")),
            errors: member("errors").map(|(value, at)| Placed {
                value: self.recorded(value, &at, Self::error),
                at,
            }),
            events: member("events").map(|(value, at)| Placed {
                value: self.recorded(value, &at, Self::event),
                at,
            }),
        }
    }

    /// What is expected of the objects in the cluster.
    fn expected_objects(&mut self, value: &Value, at: &Location) -> ExpectedObjects {
        let fields = ["complete", "contains", "absent"];
        if value.is_null() || !self.known(value, &fields, at) {
            return ExpectedObjects::default();
        }
        let complete = self.items(value.get("complete"), &at.key("complete"));
        let complete = complete.into_iter().flat_map(|(item, at)| {
            let in_file = item.as_str().is_some();
            let objects = self.item_objects(&item, &at);
            let placed = objects.into_iter().map(move |object| Placed {
                value: CompleteObject { object, in_file },
                at: at.clone(),
            });
            placed.collect::<Vec<_>>()
        });
        ExpectedObjects {
            complete: complete.collect(),
            contains: self.placed_objects(value.get("contains"), &at.key("contains")),
            absent: self.object_refs(value.get("absent"), &at.key("absent")),
        }
    }

    fn targets(&mut self, value: &Value, at: &Location) -> Targets {
        if value.is_null() {
            return Targets::default();
        }
        let file = match value.as_list().map(|list| (list.len(), list.get(0))) {
            Some((1, Some(only))) => only.as_str(),
            _ => value.as_str(),
        };
        let objects = self.objects(value, at);
        Targets {
            file: file.map(str::to_owned),
            inline: value.as_list().is_some_and(|list| list.iter().eq(&objects)),
            objects: Some(objects),
        }
    }

    /// A list of expectations; `None` if it is still to be recorded.
    fn recorded<T>(
        &mut self,
        value: &Value,
        at: &Location,
        read: impl Fn(&mut Self, &Value, &Location) -> Option<T>,
    ) -> Option<Vec<T>> {
        if value.is_null() {
            return None;
        }
        let items = self.items(value, at).into_iter();
        Some(
            items
                .filter_map(|(item, at)| read(self, &item, &at))
                .collect(),
        )
    }

    fn error(&mut self, value: &Value, at: &Location) -> Option<ExpectedError> {
        let fields = ["code", "controller", "stage", "object", "message"];
        if !self.known(value, &fields, at) {
            return None;
        }
        let mut text = |field: &str| match value.get(field) {
            value if value.is_null() => None,
            value => self.text(value, &at.key(field)),
        };
        let (code, controller) = (text("code"), text("controller"));
        let (stage, message) = (text("stage"), text("message"));
        let object = match value.get("object") {
            value if value.is_null() => None,
            value => self.object_ref(value, &at.key("object")),
        };
        Some(ExpectedError {
            code,
            controller,
            stage,
            object: object.map(|object| object.value),
            message,
        })
    }

    fn event(&mut self, value: &Value, at: &Location) -> Option<String> {
        let words: Vec<&str> = value
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let named = match words.as_slice() {
            [kind, name] => ObjectRef::parse(name).map(|name| (*kind, name)),
            _ => None,
        };
        let Some((kind, name)) = named else {
            self.expected(EVENT, value, at);
            return None;
        };
        if !["ADDED", "MODIFIED", "DELETED"].contains(&kind) {
            let message = format!("expected ADDED, MODIFIED or DELETED, found {kind}");
            let problem = self.problem("bad-field", at, message);
            self.problems.push(problem);
            return None;
        }
        Some(format!("{kind} {}", name.with_kind_of(&self.kinds)))
    }

    fn object_refs(&mut self, value: &Value, at: &Location) -> Vec<Placed<ObjectRef>> {
        let names = self.items(value, at).into_iter();
        names
            .filter_map(|(name, at)| self.object_ref(&name, &at))
            .collect()
    }

    fn object_ref(&mut self, value: &Value, at: &Location) -> Option<Placed<ObjectRef>> {
        let name = match value.as_str() {
            Some(text) => ObjectRef::parse(text),
            None => ObjectRef::of(value),
        };
        if name.is_none() {
            self.expected("a name such as pod/shop/web or node/a", value, at);
        }
        name.map(|name| Placed {
            value: name.with_kind_of(&self.kinds),
            at: at.clone(),
        })
    }
}

/// What a step without a name does: `apply pod/shop/web, …`.
fn does(step: &Value) -> String {
    if let Some(duration) = step.get("advance").as_str() {
        return format!("advance {duration}");
    }
    for verb in ["apply", "patch", "delete"] {
        let Some(list) = step.get(verb).as_list() else {
            continue;
        };
        let names = list.iter().map(|item| match item.as_str() {
            Some(text) => text.to_owned(),
            None => ObjectRef::describe(item),
        });
        let names: Vec<String> = names.collect();
        return match names.as_slice() {
            [name] => format!("{verb} {name}"),
            [name, ..] => format!("{verb} {name}, …"),
            [] => verb.to_owned(),
        };
    }
    "no change".to_owned()
}
