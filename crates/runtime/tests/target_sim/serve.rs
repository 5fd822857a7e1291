//! Discovery, lists and watches of the server: what a whole deltic needs beside single
//! objects.

use std::collections::BTreeMap;

use document::{Value, json};
use http::Method;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use runtime::target::ObjectKey;
use tokio::sync::mpsc;

use super::{Change, Inner, Kind, Reply, set, shown, status};

/// An open watch.
pub struct Watcher {
    selection: Selection,
    events: mpsc::UnboundedSender<Value>,
}

/// What a list or a watch asks for.
#[derive(Clone, Debug)]
struct Selection {
    group: String,
    kind: String,
    namespace: String,
    /// `labelSelector`, of which only `key=value` is known.
    labels: Vec<(String, String)>,
}

/// The answer to a request that is not about one object.
pub enum Served {
    Once(u16, Value),
    Watch(mpsc::UnboundedReceiver<Value>),
}

/// A body that ends with the watch.
pub fn stream(events: mpsc::UnboundedReceiver<Value>) -> Reply {
    let frames = futures::stream::unfold(events, |mut events| async {
        let line = format!("{}\n", events.recv().await?);
        Some((Ok(Frame::data(Bytes::from(line))), events))
    });
    StreamBody::new(frames).boxed_unsync()
}

impl Inner {
    /// Answers discovery, lists and watches.
    pub(super) fn serve(&mut self, parts: &http::request::Parts) -> Option<Served> {
        if parts.method != Method::GET {
            return None;
        }
        let path: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
        if let Some(found) = self.discover(&path) {
            return Some(Served::Once(200, found));
        }
        let (kind, namespace) = self.collection(&path)?;
        let query = parameters(parts.uri.query().unwrap_or_default());
        let value = |name: &str| query.get(name).map_or("", String::as_str);
        let labels = value("labelSelector").split(',');
        let labels = labels.filter_map(|pair| pair.split_once('='));
        let selection = Selection {
            group: kind.group.to_owned(),
            kind: kind.name.to_owned(),
            namespace,
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        };
        if value("watch") != "true" {
            return Some(Served::Once(200, self.list(&kind, &selection)));
        }
        if value("sendInitialEvents") == "true" {
            let refusal = status(422, "Invalid", "no streaming lists", &json!({}));
            return Some(Served::Once(422, refusal));
        }
        let from = value("resourceVersion").parse().unwrap_or(0);
        Some(self.watch(selection, from))
    }

    /// Whether this is a list that gets no answer for now.
    pub(super) fn is_silent(&self, parts: &http::request::Parts) -> bool {
        let path: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
        let watch = parts.uri.query().unwrap_or_default().contains("watch=true");
        let collection = self.collection(&path).filter(|_| !watch);
        collection.is_some_and(|(kind, _)| self.silent.contains(kind.name))
    }

    fn discover(&self, path: &[&str]) -> Option<Value> {
        let groups = || {
            let mut groups: Vec<(&str, &str)> =
                self.kinds.iter().map(|k| (k.group, k.version)).collect();
            groups.dedup();
            groups.into_iter().filter(|(group, _)| !group.is_empty())
        };
        match path {
            ["api"] => Some(json!({"kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": []})),
            ["apis"] => {
                let groups: Value = groups()
                    .map(|(group, version)| {
                        let version =
                            json!({"groupVersion": (format!("{group}/{version}")), "version": version});
                        json!({"name": group, "versions": [(version.clone())],
                            "preferredVersion": (version)})
                    })
                    .collect();
                Some(json!({"kind": "APIGroupList", "groups": groups}))
            }
            ["api", "v1"] => Some(self.resources("", "v1")),
            ["apis", group, version] => Some(self.resources(group, version)),
            _ => None,
        }
    }

    fn resources(&self, group: &str, version: &str) -> Value {
        let kinds = self.kinds.iter().filter(|kind| kind.group == group);
        let resources: Value = kinds
            .flat_map(|kind| {
                let resource = |name: String| {
                    json!({"name": name, "singularName": "", "namespaced": (kind.namespaced),
                        "kind": (kind.name), "verbs": ["list", "watch"]})
                };
                let status = kind.status.then(|| format!("{}/status", kind.plural));
                let all = std::iter::once(kind.plural.to_owned()).chain(status);
                all.map(resource).collect::<Vec<_>>()
            })
            .collect();
        let group_version = match group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        };
        json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources})
    }

    fn collection(&self, path: &[&str]) -> Option<(Kind, String)> {
        let (group, rest) = match path {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, plural) = match rest {
            ["namespaces", namespace, plural] => (*namespace, plural),
            [plural] => ("", plural),
            _ => return None,
        };
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|kind| kind.group == group && kind.plural == *plural)?;
        Some((kind.clone(), namespace.to_owned()))
    }

    fn list(&self, kind: &Kind, selection: &Selection) -> Value {
        let objects = self.objects.iter();
        let objects = objects.filter(|(key, stored)| selection.admits(key, &stored.object));
        let items: Value = objects.map(|(_, stored)| shown(stored)).collect();
        json!({
            "apiVersion": (kind.api_version()), "kind": (format!("{}List", kind.name)),
            "metadata": {"resourceVersion": (self.version.to_string())}, "items": items,
        })
    }

    fn watch(&mut self, selection: Selection, from: u64) -> Served {
        let floor = self.floors.get(&selection.kind);
        if floor.is_some_and(|floor| from < *floor) {
            return Served::Once(
                410,
                status(410, "Expired", "too old resource version", &json!({})),
            );
        }
        let (events, receiver) = mpsc::unbounded_channel();
        let missed = self.changes.iter().filter(|change| change.version > from);
        for event in missed.filter_map(|change| selection.event(change)) {
            let _ = events.send(event);
        }
        self.watchers.push(Watcher { selection, events });
        Served::Watch(receiver)
    }

    /// Tells the watches of a change.
    pub(super) fn tell(&mut self, change: &Change) {
        self.watchers.retain(|watcher| {
            let event = watcher.selection.event(change);
            event.is_none_or(|event| watcher.events.send(event).is_ok())
        });
    }

    /// Ends the watches of a kind, and forgets what happened to its objects so far: who
    /// watched must list again.
    pub fn expire(&mut self, kind: &str) {
        self.version += 1;
        self.floors.insert(kind.to_owned(), self.version);
        self.watchers
            .retain(|watcher| watcher.selection.kind != kind);
    }
}

impl Selection {
    fn admits(&self, key: &ObjectKey, object: &Value) -> bool {
        let labels = object.get("metadata").get("labels");
        key.group.as_str() == self.group
            && key.kind.as_str() == self.kind
            && (self.namespace.is_empty() || key.namespace() == self.namespace)
            && self
                .labels
                .iter()
                .all(|(label, value)| labels.get(label).as_str() == Some(value))
    }

    fn event(&self, change: &Change) -> Option<Value> {
        let seen = |object: &Option<Value>| {
            let object = object.clone();
            object.filter(|object| self.admits(&change.key, object))
        };
        let (kind, object) = match (seen(&change.old), seen(&change.new)) {
            (None, None) => return None,
            (None, Some(new)) => ("ADDED", new),
            (Some(_), Some(new)) => ("MODIFIED", new),
            (Some(old), None) => {
                let version = Value::from(change.version.to_string());
                (
                    "DELETED",
                    set(&old, &["metadata", "resourceVersion"], version),
                )
            }
        };
        Some(json!({"type": kind, "object": object}))
    }
}

/// The parameters of a query, decoded.
fn parameters(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let code = u8::from_str_radix(&part[..2], 16).unwrap();
        done + &char::from(code).to_string() + &part[2..]
    })
}
