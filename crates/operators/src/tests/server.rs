//! The cluster of the tests: the API server in memory, with shortcuts for Operators.

use std::sync::{Arc, Mutex};

use document::{Value, json};
use kube::Client;
use simulation::api::kind::Kind;
use simulation::api::store::version_of;
use simulation::api::{Caller, Server as Api, State};
use simulation::clock::Virtual;
use simulation::faults::Fault;
use simulation::fields::{merge_patch, set, unset};

/// A string that is sent as lists nested 1,000 levels deep.
pub(super) const DEEP: &str = "<deep>";

/// All requests about Operators have this in their path.
const OPERATORS: &str = "/operators";

#[derive(Clone)]
pub(super) struct Server {
    api: Api,
    /// `METHOD path` of the requests so far.
    log: Arc<Mutex<Vec<String>>>,
}

impl Default for Server {
    fn default() -> Self {
        let api = Api::new(Virtual::start(), 1);
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        api.with(|state| {
            state.faults.no_delays();
            state.sent_as.push((DEEP, deep));
        });
        Self {
            api,
            log: Arc::default(),
        }
    }
}

fn kind(group: &str, name: &str) -> &'static Kind {
    Kind::named(group, name).unwrap()
}

fn operators() -> &'static Kind {
    kind("dcontroller.io", "Operator")
}

impl Server {
    pub(super) fn client(&self) -> Client {
        self.api.client(&Caller::new("deltic"))
    }

    /// The number of requests whose `METHOD path` contains this text.
    pub(super) fn count(&self, part: &str) -> usize {
        let sent = self.api.with(|state| state.trace.take_sent());
        let lines = sent
            .iter()
            .map(|sent| format!("{} {}", sent.method, sent.path));
        let mut log = self.log.lock().unwrap();
        log.extend(lines);
        log.iter().filter(|line| line.contains(part)).count()
    }

    /// Refuses requests whose `METHOD path` contains this text.
    pub(super) fn refuse(&self, part: &str) {
        self.always(part, Fault::Answer(500));
    }

    /// Answers such requests again.
    pub(super) fn accept(&self, part: &str) {
        self.always(part, Fault::None);
    }

    /// Sets whether the definition of Operators is missing.
    pub(super) fn missing(&self, missing: bool) {
        let fault = if missing {
            Fault::NotServed
        } else {
            Fault::None
        };
        self.always(OPERATORS, fault);
    }

    fn always(&self, part: &str, fault: Fault) {
        self.api.with(|state| state.faults.always(part, fault));
    }

    /// An Operator by name; null if there is none.
    pub(super) fn get(&self, name: &str) -> Value {
        let key = operators().key("", name);
        self.api.get(&key).unwrap_or_default()
    }

    /// The Events in the order of their arrival, without those about warnings of `check`.
    pub(super) fn events(&self) -> Vec<Value> {
        let (_, others) = self.sorted_events();
        others
    }

    /// The notes of the Events about warnings of `check`.
    pub(super) fn warnings(&self) -> Vec<String> {
        let (warnings, _) = self.sorted_events();
        let notes = warnings.iter().map(|event| event.get("note").as_str());
        notes.flatten().map(str::to_owned).collect()
    }

    fn sorted_events(&self) -> (Vec<Value>, Vec<Value>) {
        let events = self.api.all(kind("events.k8s.io", "Event"));
        let mut events: Vec<Value> = events.into_iter().map(|(_, event)| event).collect();
        events.sort_by_key(version_of);
        let of_check = |event: &Value| event.get("reason").as_str() == Some("Warnings");
        events.into_iter().partition(of_check)
    }

    /// Creates or changes an Operator.
    pub(super) fn apply(&self, name: &str, spec: &Value, annotations: &Value) {
        let old = self.get(name);
        let new = merge_patch(
            &old,
            &json!({"metadata": {"annotations": (annotations.clone())}}),
        );
        let new = set(&new, &["spec"], spec.clone());
        self.api.put(&operators().key("", name), "user", &new);
    }

    /// Sets the finalizers of an Operator.
    pub(super) fn set_finalizers(&self, name: &str, finalizers: &Value) {
        let key = operators().key("", name);
        let change = |old: &Value| set(old, &["metadata", "finalizers"], finalizers.clone());
        self.api.change(&key, "other", change);
    }

    /// Overwrites the status of an Operator.
    pub(super) fn set_status(&self, name: &str, status: &Value) {
        let key = operators().key("", name);
        let change = |old: &Value| set(old, &["status"], status.clone());
        self.api.change(&key, "other", change);
    }

    /// Deletes an Operator; with finalizers it stays until they are removed.
    pub(super) fn delete(&self, name: &str) {
        self.api.delete(&operators().key("", name));
    }

    /// Removes all Operators with their definition, without an event on any watch.
    pub(super) fn vanish(&self) {
        for (key, _) in self.api.all(operators()) {
            let path = ["metadata", "finalizers"];
            self.api.change(&key, "user", |old| unset(old, &path));
            self.api.delete(&key);
        }
        self.api.with(State::compact);
        self.cut();
        self.missing(true);
    }

    /// Ends all watches.
    pub(super) fn cut(&self) {
        self.api.with(State::cut_watches);
    }
}
