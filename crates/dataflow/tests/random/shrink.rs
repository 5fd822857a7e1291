//! Shrinks a failing case as long as it still fails.

use document::{Value, View};

use super::{Case, Event};

/// The number of smaller cases to try.
const ATTEMPTS: usize = 20_000;

/// The smallest case found for which `fails` still holds.
pub(crate) fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut smallest = case.clone();
    let mut attempts = ATTEMPTS;
    loop {
        let smaller = candidates(&smallest)
            .take(attempts)
            .inspect(|_| attempts -= 1)
            .find(&fails);
        match smaller {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Cases that are one step smaller. Larger steps come first.
fn candidates(case: &Case) -> impl Iterator<Item = Case> {
    let with_history = |history| Case {
        history,
        ..case.clone()
    };
    let batches = (0..case.history.len()).map(move |i| {
        let mut history = case.history.clone();
        // The time of the other batches stays.
        let removed = history.remove(i);
        if let Some(next) = history.get_mut(i) {
            next.after += removed.after;
        }
        with_history(history)
    });
    let ticks = (0..case.history.len()).filter(move |i| case.history[*i].tick);
    let ticks = ticks.map(move |i| {
        let mut history = case.history.clone();
        history[i].tick = false;
        with_history(history)
    });
    let events = places(case).map(move |(i, j)| {
        let mut history = case.history.clone();
        history[i].events.remove(j);
        with_history(history)
    });
    let pipelines = smaller(&case.pipeline)
        .into_iter()
        .map(move |pipeline| Case {
            pipeline,
            ..case.clone()
        });
    let objects = places(case).flat_map(move |(i, j)| {
        let event = case.history[i].events[j].clone();
        smaller_objects(&event).into_iter().map(move |object| {
            let mut history = case.history.clone();
            history[i].events[j].object = Some(object);
            with_history(history)
        })
    });
    batches
        .chain(ticks)
        .chain(events)
        .chain(pipelines)
        .chain(objects)
}

fn places(case: &Case) -> impl Iterator<Item = (usize, usize)> {
    let batches = case.history.iter().enumerate();
    batches.flat_map(|(i, batch)| (0..batch.events.len()).map(move |j| (i, j)))
}

/// The object of an event with a smaller spec or smaller metadata; its name stays.
fn smaller_objects(event: &Event) -> Vec<Value> {
    let Some(object) = event.object.as_ref().and_then(Value::as_map) else {
        return Vec::new();
    };
    let mut objects = Vec::new();
    for (key, value) in object {
        for value in smaller(value) {
            let named = key.as_str() != "metadata" || value.get("name") == &event.name.name;
            if named {
                objects.push(object.with(key.clone(), value).into());
            }
        }
    }
    objects
}

/// The value without one element or member, or replaced by one of its parts.
fn smaller(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match value.view() {
        View::List(items) => {
            let items = items.to_vec();
            for i in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(i);
                found.push(fewer.into());
            }
            found.extend(items.iter().cloned());
            for (i, item) in items.iter().enumerate() {
                for item in smaller(item) {
                    let mut other = items.clone();
                    other[i] = item;
                    found.push(other.into());
                }
            }
        }
        View::Map(map) => {
            found.extend(
                map.iter()
                    .map(|(key, _)| Value::from(map.without(key.as_str()))),
            );
            found.extend(map.values().cloned());
            for (key, member) in map {
                let members = smaller(member).into_iter();
                found.extend(members.map(|member| Value::from(map.with(key.clone(), member))));
            }
        }
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => {}
    }
    found
}
