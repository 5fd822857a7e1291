//! Collects permissions and renders them as roles.

use std::collections::{BTreeMap, BTreeSet};

use document::{Key, Map, Value, json};
use operator::spec::ServiceAccount;

/// The objects that a permission applies to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    group: String,
    resource: String,
    /// The names of the objects; empty: all.
    names: Vec<String>,
}

impl Subject {
    pub(super) fn all(group: &str, resource: &str) -> Self {
        Self::named(group, resource, &[])
    }

    pub(super) fn named(group: &str, resource: &str, names: &[&str]) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

type Verbs = BTreeSet<&'static str>;

/// Permissions in the whole cluster and in single namespaces.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    cluster: BTreeMap<Subject, Verbs>,
    namespaces: BTreeMap<String, BTreeMap<Subject, Verbs>>,
}

/// The usual order of verbs.
const ORDER: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "impersonate",
];

impl Permissions {
    /// Allows verbs in the whole cluster.
    pub(super) fn allow(&mut self, subject: &Subject, verbs: &[&'static str]) {
        self.allow_where(None, subject, verbs);
    }

    /// Allows verbs in a namespace.
    pub(super) fn allow_in(&mut self, namespace: &str, subject: &Subject, verbs: &[&'static str]) {
        self.allow_where(Some(namespace), subject, verbs);
    }

    /// Allows verbs in a namespace or, without one, in the whole cluster.
    pub(super) fn allow_where(
        &mut self,
        namespace: Option<&str>,
        subject: &Subject,
        verbs: &[&'static str],
    ) {
        let rules = match namespace {
            None => &mut self.cluster,
            Some(namespace) => self.namespaces.entry(namespace.to_owned()).or_default(),
        };
        rules.entry(subject.clone()).or_default().extend(verbs);
    }

    /// The roles and, if an account is given, their bindings.
    pub(super) fn roles(mut self, name: &str, account: Option<&ServiceAccount>) -> Vec<Value> {
        let Self {
            cluster,
            namespaces,
        } = &mut self;
        // A permission for the whole cluster need not be repeated in a namespace.
        for rules in namespaces.values_mut() {
            for (subject, verbs) in rules.iter_mut() {
                if let Some(everywhere) = cluster.get(subject) {
                    verbs.retain(|verb| !everywhere.contains(verb));
                }
            }
            rules.retain(|_, verbs| !verbs.is_empty());
        }
        let mut documents = Vec::new();
        let places = namespaces
            .iter()
            .map(|(namespace, rules)| (Some(namespace.as_str()), rules));
        for (namespace, rules) in [(None, &*cluster)].into_iter().chain(places) {
            if rules.is_empty() {
                continue;
            }
            documents.push(role(name, namespace, rules));
            documents.extend(account.map(|account| binding(name, namespace, account)));
        }
        documents
    }
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    let labels = super::labels();
    match namespace {
        None => json!({"name": name, "labels": labels}),
        Some(namespace) => json!({"name": name, "namespace": namespace, "labels": labels}),
    }
}

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

fn role(name: &str, namespace: Option<&str>, rules: &BTreeMap<Subject, Verbs>) -> Value {
    let kind = if namespace.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    let metadata = metadata(name, namespace);
    let rules = rules_of(rules);
    json!({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "rules": rules})
}

/// Renders rules. Resources of one group with the same verbs share a rule.
fn rules_of(rules: &BTreeMap<Subject, Verbs>) -> Value {
    let mut shared: Vec<(&Subject, &Verbs, Vec<&str>)> = Vec::new();
    for (subject, verbs) in rules {
        let same = shared.iter_mut().find(|(other, others, _)| {
            other.group == subject.group && other.names == subject.names && *others == verbs
        });
        match same {
            Some((_, _, resources)) => resources.push(&subject.resource),
            None => shared.push((subject, verbs, vec![&subject.resource])),
        }
    }
    shared
        .into_iter()
        .map(|(subject, verbs, resources)| rule(subject, verbs, resources))
        .collect()
}

fn rule(subject: &Subject, verbs: &Verbs, resources: Vec<&str>) -> Value {
    let verbs = ORDER.iter().copied().filter(|verb| verbs.contains(verb));
    let mut fields = vec![
        ("apiGroups", list([subject.group.as_str()])),
        ("resources", list(resources)),
        ("verbs", list(verbs)),
    ];
    if !subject.names.is_empty() {
        let names = subject.names.iter().map(String::as_str);
        fields.push(("resourceNames", list(names)));
    }
    let entries = fields
        .into_iter()
        .map(|(key, value)| (Key::new(key), value));
    Map::from_entries(entries.collect()).into()
}

fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    texts.into_iter().map(Value::from).collect()
}

fn binding(name: &str, namespace: Option<&str>, account: &ServiceAccount) -> Value {
    let (kind, role) = match namespace {
        Some(_) => ("RoleBinding", "Role"),
        None => ("ClusterRoleBinding", "ClusterRole"),
    };
    let metadata = metadata(name, namespace);
    json!({
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": (account.name.as_str()),
            "namespace": (account.namespace.as_str()),
        }],
    })
}
